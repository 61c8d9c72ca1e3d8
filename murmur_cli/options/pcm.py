"""How samples without a header are written."""

from __future__ import annotations

from murmur_cli.options.require import require

__all__ = ["PCM_FORMATS", "require_pcm"]

PCM_FORMATS = ("s16le", "f32le", "mulaw", "alaw")
"""How samples without a header are written, as ``--input-format`` spells it."""


def require_pcm(input_format: str | None, input_rate: int | None, input_channels: int | None) -> None:
    """Refuse what cannot be said of samples without a header; None is what was not said.

    Raises:
        UsageError: A value is none of those that there are.
    """
    known = input_format is None or input_format in PCM_FORMATS
    hint = f"choose from {', '.join(PCM_FORMATS)}"
    require("--input-format", f"no such format: {input_format}", hint, unless=known)
    sane = input_rate is None or 1000 <= input_rate <= 768_000
    require("--input-rate", f"{input_rate} Hz is not between 1000 and 768000", "try 16000", unless=sane)
    sane = input_channels is None or 1 <= input_channels <= 64
    require("--input-channels", f"{input_channels} is not between 1 and 64", "leave it out for 1", unless=sane)
