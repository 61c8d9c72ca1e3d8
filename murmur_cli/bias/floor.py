"""How likely a token must be that a list may raise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Floor"]


@dataclass(frozen=True, slots=True, eq=False)
class Floor:
    """Of B rows.

    Attributes:
        least: The logit that a token must have at least, (B,); infinity where none is raised.
        certain: The logit that stands for certainty, (B,): the logarithm of the sum of all.
        margin: In nats, (B,): the logit of a token with some leeway is no further below certainty than the leeway's
            part of this.
    """

    least: Tensor
    certain: Tensor
    margin: Tensor

    def find(self, leeways: Tensor) -> Tensor:
        """Find the least logits of tokens with some leeways, (B,) or (B, n), which are parts of the margin."""
        shape = (-1, *[1] * (leeways.ndim - 1))
        lowest = self.certain.view(shape) - self.margin.view(shape) * leeways
        return lowest.maximum(self.least.view(shape))

    def select(self, rows: Tensor) -> Floor:
        """Select rows."""
        return Floor(self.least[rows], self.certain[rows], self.margin[rows])
