"""Rows of a decoder that say the same over and over while they are being written.

All is done on the device: nothing is asked back from it.
"""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["TurnCounter", "count_enough", "extend_runs"]

# A list is only kept from feeding a loop here, which costs little where somebody does repeat themselves: less is
# needed than to say that nobody said it (repetition.py).
_LONGEST_PERIOD = 30
_LEAST_REPEATS = 3
_LEAST_TOKENS = 9

_NOTHING = -1  # no token


def count_enough(longest: int, device: torch.device, *, least_repeats: int, least_tokens: int) -> Tensor:
    """Tell for every period up to the longest how many tokens must repeat for a loop, shape (longest,), int64.

    Args:
        longest: The longest period, in tokens.
        device: Of the tokens.
        least_repeats: How often something is said, the first time among them.
        least_tokens: How many tokens that are, all times together.
    """
    periods = torch.arange(1, longest + 1, device=device)
    return torch.clamp(least_repeats * periods, min=least_tokens) - periods


def extend_runs(last: Tensor, runs: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
    """Read one more token of every row.

    Args:
        last: The tokens before, the newest first, shape (n_rows, longest period).
        runs: By period, how many tokens in a row were those of a period before, of the same shape.
        tokens: Shape (n_rows,).

    Returns:
        The same two with it.
    """
    runs = torch.where(last == tokens[:, None], runs + 1, 0)
    return torch.cat([tokens[:, None], last[:, :-1]], dim=1), runs


class TurnCounter:
    """Counts for every period how many tokens at the end of each row repeat with it.

    Args:
        n_rows: Rows, in which nothing is written yet.
        device: Of the tokens.
    """

    def __init__(self, n_rows: int, device: torch.device) -> None:
        self._last = torch.full((n_rows, _LONGEST_PERIOD), _NOTHING, device=device)  # the newest token first
        self._runs = torch.zeros((n_rows, _LONGEST_PERIOD), dtype=torch.int64, device=device)
        self._enough = count_enough(_LONGEST_PERIOD, device, least_repeats=_LEAST_REPEATS, least_tokens=_LEAST_TOKENS)

    def read(self, tokens: Tensor) -> None:
        """Read one more token of every row, (n_rows,)."""
        self._last, self._runs = extend_runs(self._last, self._runs, tokens)

    def select(self, rows: Tensor) -> None:
        """Let row i go on from the history of row ``rows[i]``, (any number,) int64."""
        self._last, self._runs = self._last[rows], self._runs[rows]

    def is_turning(self) -> Tensor:
        """Tell of every row whether it repeats itself: 3 times or more, and 9 tokens or more; (n_rows,) bool."""
        return (self._runs >= self._enough).any(dim=1)
