"""Rows of a decoder that say the same over and over while they are being written.

All is done on the device: nothing is asked back from it.
"""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["TurnCounter"]

# A list is only kept from feeding a loop here, which costs little where somebody does repeat themselves: less is
# needed than to say that nobody said it (repetition.py).
_LONGEST_PERIOD = 30
_LEAST_REPEATS = 3
_LEAST_TOKENS = 9

_NOTHING = -1  # no token


class TurnCounter:
    """Counts for every period how many tokens at the end of each row repeat with it.

    Args:
        n_rows: Rows, in which nothing is written yet.
        device: Of the tokens.
    """

    def __init__(self, n_rows: int, device: torch.device) -> None:
        self._last = torch.full((n_rows, _LONGEST_PERIOD), _NOTHING, device=device)  # the newest token first
        self._runs = torch.zeros((n_rows, _LONGEST_PERIOD), dtype=torch.int64, device=device)
        periods = torch.arange(1, _LONGEST_PERIOD + 1, device=device)
        self._enough = torch.clamp(_LEAST_REPEATS * periods, min=_LEAST_TOKENS) - periods

    def read(self, tokens: Tensor) -> None:
        """Read one more token of every row, (n_rows,)."""
        self._runs = torch.where(self._last == tokens[:, None], self._runs + 1, 0)
        self._last = torch.cat([tokens[:, None], self._last[:, :-1]], dim=1)

    def select(self, rows: Tensor) -> None:
        """Let row i go on from the history of row ``rows[i]``, (any number,) int64."""
        self._last, self._runs = self._last[rows], self._runs[rows]

    def is_turning(self) -> Tensor:
        """Tell of every row whether it repeats itself: 3 times or more, and 9 tokens or more; (n_rows,) bool."""
        return (self._runs >= self._enough).any(dim=1)
