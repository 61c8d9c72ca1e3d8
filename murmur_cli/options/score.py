"""What is scored."""

from __future__ import annotations

from dataclasses import dataclass

from murmur_cli.options.require import require

__all__ = ["METRICS", "NORMALIZERS", "ScoreOptions"]

METRICS = ("wer", "cpwer", "tcpwer", "orcwer", "der")
"""The scores, as ``--metric`` spells them."""

NORMALIZERS = ("whisper-english", "none")
"""How texts are brought to one spelling before they are compared, as ``--normalizer`` spells it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreOptions:
    """What is scored. Without a ``metric``, all for which the files hold enough.

    ``bias`` are lists of keywords: how well they are heard is scored beside the metrics.

    ``collar`` is how far a word may be from its place and still be right, in seconds; for tcpWER alone.
    """

    metric: tuple[str, ...] = ()
    normalizer: str = "whisper-english"
    collar: float = 5.0
    bias: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in self.metric:
            require("--metric", f"no such metric: {name}", f"choose from {', '.join(METRICS)}", unless=name in METRICS)
        known = self.normalizer in NORMALIZERS
        hint = f"choose from {', '.join(NORMALIZERS)}"
        require("--normalizer", f"no such normaliser: {self.normalizer}", hint, unless=known)
        # At 0, meeteval would apply no collar at all, and compare words as points in time.
        sane = 0.0 < self.collar <= 3600.0
        require("--collar", f"{self.collar:g} s is not between 0 and 3600", "leave it out for 5", unless=sane)
