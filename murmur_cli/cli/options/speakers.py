"""Who is told apart."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["Diarizer", "Enrol", "MaxSpeakers", "MinSpeakers", "Speakers"]

_PANEL = "Speakers"

Speakers = Annotated[
    str,
    typer.Option("--speakers", help="auto, none, or how many there are.", metavar="N", rich_help_panel=_PANEL),
]
MinSpeakers = Annotated[int | None, typer.Option("--min-speakers", help="At least so many.", rich_help_panel=_PANEL)]
MaxSpeakers = Annotated[int | None, typer.Option("--max-speakers", help="At most so many.", rich_help_panel=_PANEL)]
Diarizer = Annotated[
    str,
    typer.Option(
        "--diarizer",
        help="slots (comes with murmur), or the hub id of a pyannote.audio pipeline.",
        metavar="NAME",
        rich_help_panel=_PANEL,
    ),
]
Enrol = Annotated[
    list[str] | None,
    typer.Option(
        "--enrol",
        help="Name who sounds as in FILE, where only that person talks, for 3 s or more. Can be given several times.",
        metavar="NAME=FILE",
        rich_help_panel=_PANEL,
    ),
]
