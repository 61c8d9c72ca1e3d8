"""What is taken from a file."""

from __future__ import annotations

from dataclasses import dataclass

from murmur_cli.options.require import require

__all__ = ["CHANNELS", "AudioOptions"]

CHANNELS = ("mix", "speakers")
"""What is made of the channels of a file, as ``--channels`` spells it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AudioOptions:
    """What is taken from a file. ``channels`` is ``mix``, or ``speakers`` where each channel is one person."""

    channels: str = "mix"

    def __post_init__(self) -> None:
        known = self.channels in CHANNELS
        require("--channels", f"no such way: {self.channels}", f"choose from {', '.join(CHANNELS)}", unless=known)
