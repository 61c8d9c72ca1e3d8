"""How many people there may be."""

from __future__ import annotations

from dataclasses import dataclass

from murmur_cli.options import SpeakerOptions

__all__ = ["ANY_NUMBER", "SpeakerLimits", "to_limits"]


@dataclass(frozen=True, slots=True)
class SpeakerLimits:
    """At least ``least`` people, at most ``most``; None is no limit."""

    least: int = 1
    most: int | None = None

    def __post_init__(self) -> None:
        if self.least < 1 or (self.most is not None and self.most < self.least):
            raise ValueError(f"no such number of people: from {self.least} to {self.most}")


ANY_NUMBER = SpeakerLimits()
"""No limits."""


def to_limits(options: SpeakerOptions) -> SpeakerLimits:
    """Read the limits out of the options; ``none`` has none."""
    if options.speakers.isdigit():
        return SpeakerLimits(int(options.speakers), int(options.speakers))
    least = options.min_speakers or 1
    return SpeakerLimits(least, options.max_speakers)
