"""Which recogniser, and how it runs."""

from __future__ import annotations

import re
from dataclasses import dataclass

from murmur_cli.options.require import require

__all__ = ["DTYPES", "EVICT", "MOST_ROWS", "ModelOptions"]

DTYPES = ("auto", "float32", "bfloat16", "float16")
"""The precisions of a model, as ``--dtype`` spells them."""

EVICT = ("auto", "none", "output", "speech", "both")
"""What a model forgets of a chunk while it decodes it, as ``--evict`` spells it."""

MOST_ROWS = 1024
"""The most chunks that can be decoded side by side."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """Which recogniser, and how it runs.

    ``batch_size`` is how many chunks are decoded side by side, or ``auto``: as many as the memory takes. ``evict`` is
    what is forgotten of a chunk while it is decoded; ``auto``: its audio, if more chunks go side by side then.
    ``force`` runs a model even where it is too slow to be of use.
    """

    model: str = "auto"
    device: str = "auto"
    dtype: str = "auto"
    batch_size: str = "auto"
    evict: str = "auto"
    offline: bool = False
    force: bool = False

    def __post_init__(self) -> None:
        known = self.evict in EVICT
        require("--evict", f"no such way: {self.evict}", f"choose from {', '.join(EVICT)}", unless=known)
        number = re.fullmatch(r"[0-9]{1,4}", self.batch_size) is not None and 1 <= int(self.batch_size) <= MOST_ROWS
        hint = f"give auto or a number from 1 to {MOST_ROWS}"
        problem = f"neither a number nor auto: {self.batch_size}"
        require("--batch-size", problem, hint, unless=number or self.batch_size == "auto")
        choices = ", ".join(DTYPES)
        require("--dtype", f"no such precision: {self.dtype}", f"choose from {choices}", unless=self.dtype in DTYPES)
        kind, _, index = self.device.partition(":")
        known = kind in ("auto", "cpu", "cuda", "mps") and (not index or (kind == "cuda" and index.isdigit()))
        require("--device", f"no such device: {self.device}", "choose auto, cpu, cuda, cuda:N or mps", unless=known)
