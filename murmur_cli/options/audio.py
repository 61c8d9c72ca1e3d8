"""What is taken from a file."""

from __future__ import annotations

import re
from dataclasses import dataclass

from murmur_cli.options.pcm import require_pcm
from murmur_cli.options.require import require

__all__ = ["CHANNELS", "AudioOptions"]

CHANNELS = ("mix", "left", "right", "speakers")
"""What is made of the channels of a file, as ``--channels`` spells it, beside the number of one of them."""

_NUMBERED = {"left": 1, "right": 2}
# 90.5, 1:30.5, 0:01:30.5: only the first number may be more than 59.
_PLACE = re.compile(r"(?:(\d+):(?=[0-5]\d:))?(?:(\d+):(?=[0-5]\d(?:\.|$)))?(\d+(?:\.\d*)?)", re.ASCII)
_LONGEST_S = 1e7  # 115 days: no recording is as long


@dataclass(frozen=True, slots=True, kw_only=True)
class AudioOptions:
    """What is taken from a file.

    ``channels`` is ``mix``; or ``left``, ``right`` or the number of a channel, from 1, for that one alone; or
    ``speakers`` where each channel is one person. ``audio_stream`` is the number of an audio stream, from 1; None is
    the first that can be decoded. ``start`` and ``end`` are places in the file, in seconds or as ``h:mm:ss``.
    ``input_format`` says that the files have no header, and how their samples are written; None for the rate or the
    channels: 16000 Hz, one.
    """

    channels: str = "mix"
    audio_stream: int | None = None
    start: str | None = None
    end: str | None = None
    input_format: str | None = None
    input_rate: int | None = None
    input_channels: int | None = None

    def __post_init__(self) -> None:
        known = self.channels in CHANNELS or self.channel is not None
        hint = f"choose from {', '.join(CHANNELS)}, or give a number from 1 on"
        require("--channels", f"no such way: {self.channels}", hint, unless=known)
        numbered = self.audio_stream is None or self.audio_stream >= 1
        require("--audio-stream", f"there is no number {self.audio_stream}", "the first is 1", unless=numbered)
        start_s, end_s = self.start_s, self.end_s
        starts_first = end_s is None or end_s > start_s
        require("--end", f"{self.end} is not after --start {self.start or 0}", "give a later one", unless=starts_first)
        require_pcm(self.input_format, self.input_rate, self.input_channels)
        for option, value in (
            ("--input-rate", self.input_rate),
            ("--input-channels", self.input_channels),
        ):
            said = value is None or self.input_format is not None
            require(
                option, "files with a header say this themselves", "add --input-format, or leave it out", unless=said
            )
        one = self.audio_stream is None or self.input_format is None
        require("--audio-stream", "goes against --input-format", "choose one", unless=one)

    @property
    def channel(self) -> int | None:
        """The number of the one channel that is wanted, from 1; None where it is not one."""
        if self.channels in _NUMBERED:
            return _NUMBERED[self.channels]
        is_number = self.channels.isascii() and self.channels.isdecimal() and len(self.channels) <= 4
        return int(self.channels) or None if is_number else None

    @property
    def start_s(self) -> float:
        """Where what is wanted begins, in seconds of the file."""
        return 0.0 if self.start is None else _parse_place("--start", self.start)

    @property
    def end_s(self) -> float | None:
        """Where what is wanted ends, in seconds of the file; None is the end of the file."""
        return None if self.end is None else _parse_place("--end", self.end)


def _parse_place(option: str, text: str) -> float:
    """Read seconds, ``m:ss`` or ``h:mm:ss``, with a fraction or without.

    Raises:
        UsageError: It is none of these.
    """
    found = _PLACE.fullmatch(text)
    hours, minutes, seconds = (float(number or 0) for number in found.groups()) if found else (0.0, 0.0, _LONGEST_S)
    place_s = 3600 * hours + 60 * minutes + seconds
    require(option, f"{text} is no place in a recording", "write seconds or h:mm:ss", unless=place_s < _LONGEST_S)
    return place_s
