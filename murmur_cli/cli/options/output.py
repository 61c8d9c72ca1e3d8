"""What is written."""

from __future__ import annotations

from typing import Annotated

import typer

from murmur_cli.options import FORMATS, LIVE_FORMATS, TEMPLATE_FIELDS

__all__ = [
    "Captions",
    "Format",
    "LiveFormat",
    "MaxCps",
    "MaxDuration",
    "MaxLineWidth",
    "MaxLines",
    "MinDuration",
    "NoSpeakers",
    "Output",
    "OutputTemplate",
    "Overwrite",
    "SpeakerNames",
    "Step",
    "WordTimes",
]

_PANEL = "Output"
_SUBTITLES = "Subtitles (srt, vtt, ass)"

LiveFormat = Annotated[
    list[str] | None,
    typer.Option(
        "--format",
        "-f",
        help=f"What to write: {', '.join(LIVE_FORMATS)}. Several with commas.",
        metavar="FORMAT",
        rich_help_panel=_PANEL,
    ),
]
Captions = Annotated[
    int | None,
    typer.Option(
        "--captions",
        help="On a terminal, show the last N lines and nothing else.",
        metavar="N",
        rich_help_panel=_PANEL,
    ),
]
Step = Annotated[
    float,
    typer.Option(
        "--step",
        help="Where drafts are shown (a terminal, jsonl): a new one after so many seconds, if there is time for it.",
        metavar="S",
        rich_help_panel=_PANEL,
    ),
]
Format = Annotated[
    list[str] | None,
    typer.Option(
        "--format",
        "-f",
        help=f"What to write: {', '.join(FORMATS)}. Several with commas.",
        metavar="FORMAT",
        rich_help_panel=_PANEL,
    ),
]
Output = Annotated[
    str | None,
    typer.Option("--output", "-o", help="File, folder, or - for stdout.", metavar="PATH", rich_help_panel=_PANEL),
]
OutputTemplate = Annotated[
    str | None,
    typer.Option(
        "--output-template",
        help="Names of transcripts, such as {stem}.{ext}, in the folder of the recording or of --output. Fields: "
        f"{', '.join(TEMPLATE_FIELDS)} (the name without its ending, the format, the name, its folder, a number).",
        metavar="TEMPLATE",
        rich_help_panel=_PANEL,
    ),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace transcripts that exist.", rich_help_panel=_PANEL)]
WordTimes = Annotated[
    bool | None,
    typer.Option(
        "--word-times/--no-word-times", help="Times of every word, in json and jsonl.", rich_help_panel=_PANEL
    ),
]
SpeakerNames = Annotated[
    str | None,
    typer.Option(
        "--speaker-names",
        help="New names for speakers, such as S1=Ann,S2=Bob.",
        metavar="OLD=NEW,…",
        rich_help_panel=_PANEL,
    ),
]
NoSpeakers = Annotated[
    bool,
    typer.Option(
        "--no-speakers",
        help="Write no names of speakers; rttm, which holds nothing else, is refused.",
        rich_help_panel=_PANEL,
    ),
]
MaxLineWidth = Annotated[
    int, typer.Option("--max-line-width", help="Columns of a line at most.", metavar="N", rich_help_panel=_SUBTITLES)
]
MaxLines = Annotated[
    int, typer.Option("--max-lines", help="Lines at once at most.", metavar="N", rich_help_panel=_SUBTITLES)
]
MaxCps = Annotated[
    float,
    typer.Option(
        "--max-cps",
        help="Characters a second at most, where there is time for it.",
        metavar="N",
        rich_help_panel=_SUBTITLES,
    ),
]
MinDuration = Annotated[
    float,
    typer.Option(
        "--min-duration",
        help="Seconds that a subtitle is shown at least, where there is time for it.",
        metavar="S",
        rich_help_panel=_SUBTITLES,
    ),
]
MaxDuration = Annotated[
    float,
    typer.Option(
        "--max-duration", help="Seconds that a subtitle is shown at most.", metavar="S", rich_help_panel=_SUBTITLES
    ),
]
