"""How a run behaves."""

from __future__ import annotations

from typing import Annotated

import typer

from murmur_cli.options import COLORS, PROGRESS

__all__ = [
    "Color",
    "Debug",
    "DryRun",
    "FailFast",
    "JournalDir",
    "JsonErrors",
    "NoResume",
    "Progress",
    "Quiet",
    "Stats",
    "Verbose",
]

_PANEL = "Run"

Stats = Annotated[
    str | None,
    typer.Option(
        "--stats",
        help="Write what each chunk cost into this file, as JSON lines.",
        metavar="FILE",
        rich_help_panel=_PANEL,
    ),
]
JournalDir = Annotated[
    str | None,
    typer.Option(
        "--journal-dir",
        help="Where finished chunks are kept, so that the same command goes on where it was stopped.",
        metavar="DIR",
        rich_help_panel=_PANEL,
    ),
]
NoResume = Annotated[
    bool,
    typer.Option(
        "--no-resume",
        help="Use nothing of a run that was stopped (--overwrite alone does), and keep nothing for the next.",
        rich_help_panel=_PANEL,
    ),
]
FailFast = Annotated[bool, typer.Option("--fail-fast", help="Stop at the first failure.", rich_help_panel=_PANEL)]
Progress = Annotated[
    str,
    typer.Option(
        "--progress", help=f"How progress is shown: {', '.join(PROGRESS)}.", metavar="HOW", rich_help_panel=_PANEL
    ),
]
Color = Annotated[
    str, typer.Option("--color", help=f"Colour on stderr: {', '.join(COLORS)}.", metavar="WHEN", rich_help_panel=_PANEL)
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.", rich_help_panel=_PANEL)]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Say more.", rich_help_panel=_PANEL)]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.", rich_help_panel=_PANEL)]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Write nothing but a plan to stdout: files, seconds, chunks, memory. No weights are read.",
        rich_help_panel=_PANEL,
    ),
]
# On the command line alone (see ``murmur_cli.cli.app``): it holds for what is wrong with the command line itself, too.
JsonErrors = Annotated[
    bool,
    typer.Option("--json-errors", help="Write each error as a line of JSON on stderr.", rich_help_panel=_PANEL),
]
