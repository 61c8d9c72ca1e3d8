"""What the recogniser is told."""

from __future__ import annotations

from dataclasses import dataclass

from murmur_cli.options.require import require

__all__ = ["DecodeOptions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeOptions:
    """What the recogniser is told.

    ``language`` None means: detect it, once per recording. ``context`` is a text that it reads before the audio, or
    ``@FILE`` that holds one. ``acoustic_noise`` is the seed of the noise that is added to what it hears; None: none.
    """

    language: str | None = None
    context: str | None = None
    acoustic_noise: int | None = None

    def __post_init__(self) -> None:
        sane = self.acoustic_noise is None or 0 <= self.acoustic_noise < 2**63
        require("--acoustic-noise", f"{self.acoustic_noise} is no seed", "give a number from 0", unless=sane)
