"""Who is told apart."""

from __future__ import annotations

import re
from dataclasses import dataclass

from murmur_cli.options.require import require

__all__ = ["MOST_SPEAKERS", "SpeakerOptions"]

MOST_SPEAKERS = 100
"""The most people that can be asked for: more is a slip of the finger."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeakerOptions:
    """Who is told apart.

    ``speakers`` is ``auto``, ``none`` or a number of people; ``min_speakers`` and ``max_speakers`` bound
    ``auto``. ``diarizer`` is ``slots``, which comes with murmur, or the hub id of a pyannote.audio pipeline.
    ``enrol`` are people whose voices are known, each ``NAME=FILE``.
    """

    speakers: str = "auto"
    min_speakers: int | None = None
    max_speakers: int | None = None
    diarizer: str = "slots"
    enrol: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        number = re.fullmatch(r"[0-9]{1,3}", self.speakers) is not None and 1 <= int(self.speakers) <= MOST_SPEAKERS
        hint = f"give auto, none or a number from 1 to {MOST_SPEAKERS}"
        sane = number or self.speakers in ("auto", "none")
        require("--speakers", f"neither a number nor a way: {self.speakers}", hint, unless=sane)
        for option, value in (("--min-speakers", self.min_speakers), ("--max-speakers", self.max_speakers)):
            sane = value is None or 1 <= value <= MOST_SPEAKERS
            require(option, f"{value} is not between 1 and {MOST_SPEAKERS}", "leave it out", unless=sane)
            free = value is None or self.speakers == "auto"
            require(option, f"goes against --speakers {self.speakers}", "choose one", unless=free)
        ordered = self.min_speakers is None or self.max_speakers is None or self.min_speakers <= self.max_speakers
        problem = f"{self.min_speakers} is more than --max-speakers {self.max_speakers}"
        require("--min-speakers", problem, "lower it", unless=ordered)
        known = self.diarizer == "slots" or re.fullmatch(r"[\w.-]+/[\w.-]+", self.diarizer, re.ASCII) is not None
        hint = "give slots, or a hub id such as pyannote/speaker-diarization-community-1"
        require("--diarizer", f"no such diarizer: {self.diarizer}", hint, unless=known)
        named = not (self.enrol and self.speakers == "none")
        require("--enrol", "goes against --speakers none", "choose one", unless=named)
