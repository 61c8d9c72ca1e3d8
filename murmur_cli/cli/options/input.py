"""What is read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from murmur_cli.options import CHANNELS, ON_LAG, PCM_FORMATS

__all__ = [
    "Channels",
    "Duration",
    "InputChannels",
    "InputFormat",
    "InputRate",
    "ListMicrophones",
    "Microphone",
    "OnLag",
    "Paths",
    "Realtime",
    "SaveAudio",
]

_PANEL = "Input"

# readable=False: what cannot be read is an error of that file, not of the command line.
Paths = Annotated[
    list[Path], typer.Argument(help="Recordings, in any format that FFmpeg reads.", metavar="PATH…", readable=False)
]
Channels = Annotated[
    str,
    typer.Option(
        "--channels",
        help=f"What becomes of the channels of a file: {' or '.join(CHANNELS)} (each channel is one person).",
        metavar="HOW",
        rich_help_panel=_PANEL,
    ),
]
Realtime = Annotated[
    bool, typer.Option("--realtime", help="Play a file at its own pace, as if it were live.", rich_help_panel=_PANEL)
]
Duration = Annotated[
    float | None,
    typer.Option("--duration", help="End after so many seconds of audio.", metavar="S", rich_help_panel=_PANEL),
]
OnLag = Annotated[
    str,
    typer.Option(
        "--on-lag",
        help=f"Where decoding is slower than speech: {' (lose nothing) or '.join(ON_LAG)} (leave out the oldest).",
        metavar="WHAT",
        rich_help_panel=_PANEL,
    ),
]
SaveAudio = Annotated[
    str | None,
    typer.Option("--save-audio", help="Keep what is heard in this WAV file.", metavar="FILE", rich_help_panel=_PANEL),
]
Microphone = Annotated[
    str | None,
    typer.Option(
        "--microphone",
        help="Hear this microphone: its number, its name or a part of it (see --list-microphones).",
        metavar="NAME|INDEX",
        rich_help_panel=_PANEL,
    ),
]
ListMicrophones = Annotated[
    bool,
    typer.Option("--list-microphones", help="List the microphones, and do nothing else.", rich_help_panel=_PANEL),
]
InputFormat = Annotated[
    str | None,
    typer.Option(
        "--input-format",
        help=f"The input has no header; its samples are {', '.join(PCM_FORMATS)}. Without a header stdin is s16le.",
        metavar="FORMAT",
        rich_help_panel=_PANEL,
    ),
]
InputRate = Annotated[
    int | None,
    typer.Option(
        "--input-rate",
        help="Samples per second of an input without a header; 16000 if not given.",
        metavar="HZ",
        rich_help_panel=_PANEL,
    ),
]
InputChannels = Annotated[
    int | None,
    typer.Option(
        "--input-channels",
        help="Channels of an input without a header; 1 if not given.",
        metavar="N",
        rich_help_panel=_PANEL,
    ),
]
