"""What is listened for."""

from __future__ import annotations

from typing import Annotated

import typer

from murmur_cli.options import BIAS_DISPLAY, BIAS_STRENGTHS

__all__ = ["Bias", "BiasDisplay", "BiasMap", "BiasStrength", "Phrase"]

_PANEL = "Keywords"

Bias = Annotated[
    list[str] | None,
    typer.Option(
        "--bias",
        help="Listen for the keywords in this list: txt, jsonl, csv or mbias. Can be given several times.",
        metavar="FILE",
        rich_help_panel=_PANEL,
    ),
]
Phrase = Annotated[
    list[str] | None,
    typer.Option(
        "--phrase",
        help="Listen for this, written as in a line of a list. Can be given several times.",
        metavar="X",
        rich_help_panel=_PANEL,
    ),
]
BiasStrength = Annotated[
    str,
    typer.Option(
        "--bias-strength",
        help=f"How eagerly: {', '.join(BIAS_STRENGTHS)}, or by how many nats a keyword may be raised.",
        metavar="HOW",
        rich_help_panel=_PANEL,
    ),
]
BiasDisplay = Annotated[
    str,
    typer.Option(
        "--bias-display",
        help=f"Whose spelling of a keyword is written: {' or '.join(BIAS_DISPLAY)}.",
        metavar="WHOSE",
        rich_help_panel=_PANEL,
    ),
]
BiasMap = Annotated[
    str | None,
    typer.Option(
        "--bias-map",
        help='Lists of single recordings, beside those of all: lines {"path": "a.wav", "lists": ["a.txt"]}; '
        "names are looked for from the file's folder on.",
        metavar="FILE",
        rich_help_panel=_PANEL,
    ),
]
