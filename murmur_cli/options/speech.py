"""Where speech is found, and how long a decoding unit may be."""

from __future__ import annotations

from dataclasses import dataclass

from murmur_cli.options.require import require

__all__ = ["ChunkOptions", "VadOptions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class VadOptions:
    """Where speech is found. Durations are in milliseconds.

    ``vad_threshold`` is the speech probability at which a span opens; it closes 0.15 lower, after
    ``min_silence_ms`` below that. Spans shorter than ``min_speech_ms`` are dropped, the rest are
    widened by ``speech_pad_ms`` on both sides, but by no more than 3/8 of the pause there.
    """

    vad_threshold: float = 0.5
    min_speech_ms: int = 150
    min_silence_ms: int = 100
    speech_pad_ms: int = 400

    def __post_init__(self) -> None:
        sane = 0.0 < self.vad_threshold < 1.0
        require("--vad-threshold", f"{self.vad_threshold:g} is not between 0 and 1", "try 0.5", unless=sane)
        for name in ("min_speech_ms", "min_silence_ms", "speech_pad_ms"):
            value = int(getattr(self, name))
            option = f"--{name.replace('_', '-')}"
            require(option, f"{value} is not between 0 and 60000 ms", "leave it out", unless=0 <= value <= 60_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkOptions:
    """How long a decoding unit may be, in seconds."""

    max_chunk_s: float = 300.0

    def __post_init__(self) -> None:
        sane = 10.0 <= self.max_chunk_s <= 3600.0
        require("--max-chunk-s", f"{self.max_chunk_s:g} s is not between 10 and 3600", "try 300", unless=sane)
