"""Which keywords are listened for, and how eagerly."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from murmur_cli.options.require import require
from murmur_cli.options.run import COLORS
from murmur_cli.options.score import NORMALIZERS

__all__ = ["BIAS_DISPLAY", "BIAS_STRENGTHS", "BiasOptions", "CompileOptions", "ExplainOptions", "TuneOptions"]

BIAS_STRENGTHS = {"low": 2.0, "medium": 3.0, "high": 4.0}
"""The most that a token of a keyword may be raised by, in nats, as ``--bias-strength`` spells it."""

BIAS_DISPLAY = ("model", "list")
"""Whose spelling of a keyword is written, as ``--bias-display`` spells it."""

_MOST_NATS = 20.0
_SHORT_LIST, _LONG_LIST = 300, 5_000  # phrases between which a named strength falls by a nat


@dataclass(frozen=True, slots=True, kw_only=True)
class BiasOptions:
    """Lists of keywords, single ones, and how eagerly they are heard: a name of ``BIAS_STRENGTHS`` or a number of nats.

    ``bias_map`` is a file that gives recordings lists of their own.
    """

    bias: tuple[str, ...] = ()
    phrase: tuple[str, ...] = ()
    bias_strength: str = "medium"
    bias_display: str = "model"
    bias_map: str | None = None

    def __post_init__(self) -> None:
        is_number = re.fullmatch(r"[0-9]{1,2}(\.[0-9]+)?", self.bias_strength) is not None
        sane = self.bias_strength in BIAS_STRENGTHS or (is_number and 0 < float(self.bias_strength) <= _MOST_NATS)
        hint = f"give {', '.join(BIAS_STRENGTHS)}, or a number of nats up to {_MOST_NATS:g}"
        require("--bias-strength", f"no such strength: {self.bias_strength}", hint, unless=sane)
        known = self.bias_display in BIAS_DISPLAY
        hint = f"choose from {', '.join(BIAS_DISPLAY)}"
        require("--bias-display", f"no such way: {self.bias_display}", hint, unless=known)

    def fit_margin(self, n_phrases: int) -> float:
        """The strength for a list of so many phrases, in nats: one that was named is less for a long list.

        Source:
            Measured with Whisper base on LibriSpeech: a list of 6,000 words does no harm at 2 nats, one of 100 at 3.
        """
        if self.bias_strength not in BIAS_STRENGTHS:
            return self.margin
        length = (math.log(max(n_phrases, 1)) - math.log(_SHORT_LIST)) / (math.log(_LONG_LIST) - math.log(_SHORT_LIST))
        return self.margin - min(max(length, 0.0), 1.0)

    @property
    def margin(self) -> float:
        """The strength, in nats."""
        return BIAS_STRENGTHS.get(self.bias_strength) or float(self.bias_strength)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileOptions:
    """For which model a list is compiled, and where to; without ``output``, into the cache alone.

    ``strict`` makes an error of every warning.
    """

    model: str = "auto"
    output: str | None = None
    overwrite: bool = False
    strict: bool = False
    offline: bool = False
    json: bool = False

    def __post_init__(self) -> None:
        fits = self.output is None or self.output.lower().endswith(".mbias")
        require("--output", f"does not end with .mbias: {self.output}", "name it so, and --bias knows it", unless=fits)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainOptions:
    """For which model a list is tried on a text, and how that is written."""

    model: str = "auto"
    offline: bool = False
    color: str = "auto"
    json: bool = False

    def __post_init__(self) -> None:
        hint = f"choose from {', '.join(COLORS)}"
        require("--color", f"no such way: {self.color}", hint, unless=self.color in COLORS)


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneOptions:
    """How recordings are recognised and scored, at one strength after the other."""

    model: str = "auto"
    device: str = "auto"
    dtype: str = "auto"
    language: str | None = None
    offline: bool = False
    force: bool = False
    normalizer: str = "whisper-english"
    json: bool = False

    def __post_init__(self) -> None:
        hint = f"choose from {', '.join(NORMALIZERS)}"
        known = self.normalizer in NORMALIZERS
        require("--normalizer", f"no such normaliser: {self.normalizer}", hint, unless=known)
