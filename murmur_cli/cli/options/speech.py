"""Where speech is found."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["MaxChunkS", "MinSilenceMs", "MinSpeechMs", "SpeechPadMs", "VadThreshold"]

_PANEL = "Speech"

MaxChunkS = Annotated[
    float, typer.Option("--max-chunk-s", help="Longest decoding unit, in seconds.", rich_help_panel=_PANEL)
]
VadThreshold = Annotated[
    float, typer.Option("--vad-threshold", help="Speech probability at which speech begins.", rich_help_panel=_PANEL)
]
MinSpeechMs = Annotated[int, typer.Option("--min-speech-ms", help="Shorter speech is dropped.", rich_help_panel=_PANEL)]
MinSilenceMs = Annotated[
    int, typer.Option("--min-silence-ms", help="Shorter silence is part of the speech.", rich_help_panel=_PANEL)
]
SpeechPadMs = Annotated[
    int, typer.Option("--speech-pad-ms", help="Speech is widened by this on both sides.", rich_help_panel=_PANEL)
]
