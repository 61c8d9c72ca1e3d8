"""What is read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from murmur_cli.options import CHANNELS, ON_LAG, PCM_FORMATS

__all__ = [
    "AudioStream",
    "Channels",
    "Duration",
    "End",
    "Exclude",
    "FilesFrom",
    "Include",
    "InputChannels",
    "InputFormat",
    "InputRate",
    "ListMicrophones",
    "Microphone",
    "Null",
    "OnLag",
    "Paths",
    "RawFormat",
    "Realtime",
    "Recursive",
    "SaveAudio",
    "Start",
]

_PANEL = "Input"

# readable=False: what cannot be read is an error of that file, not of the command line.
Paths = Annotated[
    list[Path] | None,
    typer.Argument(
        help="Recordings, in any format that FFmpeg reads; folders of them; - is stdin.",
        metavar="PATH…",
        readable=False,
    ),
]
Recursive = Annotated[
    bool, typer.Option("--recursive", "-r", help="Look in the folders of a folder too.", rich_help_panel=_PANEL)
]
Include = Annotated[
    list[str] | None,
    typer.Option(
        "--include",
        help="Of a folder, take files with names such as 'talk*', whatever their ending. Can be given several times.",
        metavar="GLOB",
        rich_help_panel=_PANEL,
    ),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option(
        "--exclude",
        help="Of a folder, leave out files and folders with such names. Can be given several times.",
        metavar="GLOB",
        rich_help_panel=_PANEL,
    ),
]
FilesFrom = Annotated[
    str | None,
    typer.Option(
        "--files-from",
        help="Read more names from this file, a line each; - is stdin.",
        metavar="FILE",
        rich_help_panel=_PANEL,
    ),
]
Null = Annotated[
    bool,
    typer.Option("--null", help="Names in --files-from end with a null character, not a line.", rich_help_panel=_PANEL),
]
AudioStream = Annotated[
    int | None,
    typer.Option(
        "--audio-stream",
        help="Which audio stream of a film, from 1; the first if not given.",
        metavar="N",
        rich_help_panel=_PANEL,
    ),
]
Start = Annotated[
    str | None,
    typer.Option("--start", help="Begin there: seconds or h:mm:ss.", metavar="TIME", rich_help_panel=_PANEL),
]
End = Annotated[
    str | None, typer.Option("--end", help="End there: seconds or h:mm:ss.", metavar="TIME", rich_help_panel=_PANEL)
]
RawFormat = Annotated[
    str | None,
    typer.Option(
        "--input-format",
        help=f"The inputs have no header; their samples are {', '.join(PCM_FORMATS)}.",
        metavar="FORMAT",
        rich_help_panel=_PANEL,
    ),
]
Channels = Annotated[
    str,
    typer.Option(
        "--channels",
        help=f"What becomes of the channels of a file: {', '.join(CHANNELS)} (each channel is one person), or a number"
        " for that one alone.",
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
