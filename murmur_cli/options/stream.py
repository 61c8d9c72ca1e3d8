"""What a live session hears, and what the recogniser is told."""

from __future__ import annotations

from dataclasses import dataclass

from murmur_cli.options.pcm import require_pcm
from murmur_cli.options.require import require

__all__ = ["LONGEST_CONTEXT", "ON_LAG", "CaptionOptions", "StreamOptions"]

LONGEST_CONTEXT = 60
"""Minutes that ``--context-minutes`` may be at most; no model was trained on so many."""

ON_LAG = ("wait", "skip")
"""What is done where decoding is slower than speech, as ``--on-lag`` spells it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamOptions:
    """What a live session hears, and what the recogniser is told.

    ``language`` and ``context`` are as in ``DecodeOptions``. ``on_lag`` says what happens where decoding is slower than
    speech. ``realtime`` plays a file at its own pace; ``duration`` ends the session after so many seconds of audio.
    ``save_audio`` is a WAV file for what is heard. ``microphone`` is the number, the name or a part of the name of one;
    None is the default one, where nothing else is heard. ``input_format`` says that the input has no header, and how
    its samples are written; without it, stdin is looked at. None for the rate or the channels: 16000 Hz, one. Where
    drafts are shown, there is a new one after ``step`` seconds of audio, if there is time for it. ``context_minutes``
    is how much of the audio a model that hears live audio by itself has before it at most.
    """

    language: str | None = None
    context: str | None = None
    context_minutes: float = 6.0
    on_lag: str = "wait"
    realtime: bool = False
    duration: float | None = None
    save_audio: str | None = None
    microphone: str | None = None
    input_format: str | None = None
    input_rate: int | None = None
    input_channels: int | None = None
    step: float = 1.0

    def __post_init__(self) -> None:
        sane = 1.0 <= self.context_minutes <= LONGEST_CONTEXT
        problem = f"{self.context_minutes:g} is not from 1 to {LONGEST_CONTEXT} minutes"
        require("--context-minutes", problem, "the models were trained on about 8", unless=sane)
        known = self.on_lag in ON_LAG
        require("--on-lag", f"no such way: {self.on_lag}", f"choose from {', '.join(ON_LAG)}", unless=known)
        sane = self.duration is None or 0.0 < self.duration < 1e9
        require("--duration", f"{self.duration} is no number of seconds", "give more than 0", unless=sane)
        require_pcm(self.input_format, self.input_rate, self.input_channels)
        sane = 0.1 <= self.step <= 60.0
        require("--step", f"{self.step} s is not between 0.1 and 60", "leave it out for 1", unless=sane)
        named = self.save_audio is None or bool(self.save_audio)
        require("--save-audio", "the name is empty", "give a file", unless=named)
        named = self.microphone is None or bool(self.microphone.strip())
        require("--microphone", "the name is empty", "see --list-microphones", unless=named)


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptionOptions:
    """What a terminal shows of a live session: with ``captions``, only so many lines, the last ones."""

    captions: int | None = None

    def __post_init__(self) -> None:
        sane = self.captions is None or 1 <= self.captions <= 1000
        problem = f"{self.captions} lines are not between 1 and 1000"
        require("--captions", problem, "leave it out to see all", unless=sane)
