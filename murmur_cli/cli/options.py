"""The options that commands share, each declared once.

Names and defaults equal the fields of the options records (a test compares the two).
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from murmur_cli.options import CHANNELS, COLORS, EVICT, FORMATS, LIVE_FORMATS, ON_LAG, PCM_FORMATS, PROGRESS

__all__ = [
    "AcousticNoise",
    "BatchSize",
    "Channels",
    "Color",
    "Context",
    "Debug",
    "Device",
    "Diarizer",
    "Dtype",
    "Duration",
    "Enrol",
    "Evict",
    "FailFast",
    "Force",
    "Format",
    "InputChannels",
    "InputFormat",
    "InputRate",
    "Language",
    "LiveFormat",
    "MaxChunkS",
    "MaxSpeakers",
    "MinSilenceMs",
    "MinSpeakers",
    "MinSpeechMs",
    "Model",
    "NoSpeakers",
    "Offline",
    "OnLag",
    "Output",
    "Overwrite",
    "Paths",
    "Progress",
    "Quiet",
    "Realtime",
    "SaveAudio",
    "SpeakerNames",
    "Speakers",
    "SpeechPadMs",
    "Stats",
    "VadThreshold",
    "Verbose",
    "WordTimes",
]

_INPUT = "Input"
_OUTPUT, _MODEL, _SPEAKERS, _SPEECH, _RUN = "Output", "Model", "Speakers", "Speech", "Run"


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
        rich_help_panel=_INPUT,
    ),
]

Realtime = Annotated[
    bool, typer.Option("--realtime", help="Play a file at its own pace, as if it were live.", rich_help_panel=_INPUT)
]
Duration = Annotated[
    float | None,
    typer.Option("--duration", help="End after so many seconds of audio.", metavar="S", rich_help_panel=_INPUT),
]
OnLag = Annotated[
    str,
    typer.Option(
        "--on-lag",
        help=f"Where decoding is slower than speech: {' (lose nothing) or '.join(ON_LAG)} (leave out the oldest).",
        metavar="WHAT",
        rich_help_panel=_INPUT,
    ),
]
SaveAudio = Annotated[
    str | None,
    typer.Option("--save-audio", help="Keep what is heard in this WAV file.", metavar="FILE", rich_help_panel=_INPUT),
]
InputFormat = Annotated[
    str | None,
    typer.Option(
        "--input-format",
        help=f"The input has no header; its samples are {', '.join(PCM_FORMATS)}. Without a header stdin is s16le.",
        metavar="FORMAT",
        rich_help_panel=_INPUT,
    ),
]
InputRate = Annotated[
    int | None,
    typer.Option(
        "--input-rate",
        help="Samples per second of an input without a header; 16000 if not given.",
        metavar="HZ",
        rich_help_panel=_INPUT,
    ),
]
InputChannels = Annotated[
    int | None,
    typer.Option(
        "--input-channels",
        help="Channels of an input without a header; 1 if not given.",
        metavar="N",
        rich_help_panel=_INPUT,
    ),
]

LiveFormat = Annotated[
    list[str] | None,
    typer.Option(
        "--format",
        "-f",
        help=f"What to write: {', '.join(LIVE_FORMATS)}. Several with commas.",
        metavar="FORMAT",
        rich_help_panel=_OUTPUT,
    ),
]
Format = Annotated[
    list[str] | None,
    typer.Option(
        "--format",
        "-f",
        help=f"What to write: {', '.join(FORMATS)}. Several with commas.",
        metavar="FORMAT",
        rich_help_panel=_OUTPUT,
    ),
]
Output = Annotated[
    str | None,
    typer.Option("--output", "-o", help="File, folder, or - for stdout.", metavar="PATH", rich_help_panel=_OUTPUT),
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace transcripts that exist.", rich_help_panel=_OUTPUT)
]
WordTimes = Annotated[
    bool | None,
    typer.Option(
        "--word-times/--no-word-times", help="Times of every word, in json and jsonl.", rich_help_panel=_OUTPUT
    ),
]
SpeakerNames = Annotated[
    str | None,
    typer.Option(
        "--speaker-names",
        help="New names for speakers, such as S1=Ann,S2=Bob.",
        metavar="OLD=NEW,…",
        rich_help_panel=_OUTPUT,
    ),
]
NoSpeakers = Annotated[
    bool,
    typer.Option(
        "--no-speakers",
        help="Write no names of speakers; rttm, which holds nothing else, is refused.",
        rich_help_panel=_OUTPUT,
    ),
]

Model = Annotated[
    str,
    typer.Option("--model", help="Name (see murmur models list), folder or hub id.", rich_help_panel=_MODEL),
]
Device = Annotated[str, typer.Option("--device", help="auto, cpu, cuda, cuda:N or mps.", rich_help_panel=_MODEL)]
Dtype = Annotated[
    str, typer.Option("--dtype", help="auto (fast), float32 (exact), bfloat16 or float16.", rich_help_panel=_MODEL)
]
BatchSize = Annotated[
    str,
    typer.Option(
        "--batch-size", help="Chunks decoded side by side: auto or a number.", metavar="N", rich_help_panel=_MODEL
    ),
]
Evict = Annotated[
    str,
    typer.Option(
        "--evict",
        help=f"What is forgotten of a chunk while it is decoded: {', '.join(EVICT)}.",
        metavar="WHAT",
        rich_help_panel=_MODEL,
    ),
]
Force = Annotated[
    bool, typer.Option("--force", help="Run a model even where it is too slow to be of use.", rich_help_panel=_MODEL)
]
Offline = Annotated[bool, typer.Option("--offline", help="Use no network.", rich_help_panel=_MODEL)]
Language = Annotated[
    str | None,
    typer.Option(
        "--language",
        help="Spoken language, such as en. Detected when not given.",
        metavar="CODE",
        rich_help_panel=_MODEL,
    ),
]

Context = Annotated[
    str | None,
    typer.Option(
        "--context",
        help="What the model should know: names, topic; @FILE reads it from a file.",
        metavar="TEXT",
        rich_help_panel=_MODEL,
    ),
]
AcousticNoise = Annotated[
    int | None,
    typer.Option(
        "--acoustic-noise",
        help="Add noise to what the model hears, as its authors do, from this seed.",
        metavar="SEED",
        rich_help_panel=_MODEL,
    ),
]

Speakers = Annotated[
    str,
    typer.Option("--speakers", help="auto, none, or how many there are.", metavar="N", rich_help_panel=_SPEAKERS),
]
MinSpeakers = Annotated[int | None, typer.Option("--min-speakers", help="At least so many.", rich_help_panel=_SPEAKERS)]
MaxSpeakers = Annotated[int | None, typer.Option("--max-speakers", help="At most so many.", rich_help_panel=_SPEAKERS)]
Diarizer = Annotated[
    str,
    typer.Option(
        "--diarizer",
        help="slots (comes with murmur), or the hub id of a pyannote.audio pipeline.",
        metavar="NAME",
        rich_help_panel=_SPEAKERS,
    ),
]
Enrol = Annotated[
    list[str] | None,
    typer.Option(
        "--enrol",
        help="Name who sounds as in FILE, where only that person talks, for 3 s or more. Can be given several times.",
        metavar="NAME=FILE",
        rich_help_panel=_SPEAKERS,
    ),
]

MaxChunkS = Annotated[
    float, typer.Option("--max-chunk-s", help="Longest decoding unit, in seconds.", rich_help_panel=_SPEECH)
]
VadThreshold = Annotated[
    float, typer.Option("--vad-threshold", help="Speech probability at which speech begins.", rich_help_panel=_SPEECH)
]
MinSpeechMs = Annotated[
    int, typer.Option("--min-speech-ms", help="Shorter speech is dropped.", rich_help_panel=_SPEECH)
]
MinSilenceMs = Annotated[
    int, typer.Option("--min-silence-ms", help="Shorter silence is part of the speech.", rich_help_panel=_SPEECH)
]
SpeechPadMs = Annotated[
    int, typer.Option("--speech-pad-ms", help="Speech is widened by this on both sides.", rich_help_panel=_SPEECH)
]

Stats = Annotated[
    str | None,
    typer.Option(
        "--stats",
        help="Write what each chunk cost into this file, as JSON lines.",
        metavar="FILE",
        rich_help_panel=_RUN,
    ),
]
FailFast = Annotated[bool, typer.Option("--fail-fast", help="Stop at the first failure.", rich_help_panel=_RUN)]
Progress = Annotated[
    str,
    typer.Option(
        "--progress", help=f"How progress is shown: {', '.join(PROGRESS)}.", metavar="HOW", rich_help_panel=_RUN
    ),
]
Color = Annotated[
    str, typer.Option("--color", help=f"Colour on stderr: {', '.join(COLORS)}.", metavar="WHEN", rich_help_panel=_RUN)
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.", rich_help_panel=_RUN)]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Say more.", rich_help_panel=_RUN)]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.", rich_help_panel=_RUN)]
