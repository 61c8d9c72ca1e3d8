"""Notices, on the device, that a row writes the same over and over; nothing is asked back from it.

Where keywords are raised a loop may be their doing, so they are not listened for until the text that loops is over.
"""

from __future__ import annotations

import torch
from torch import Tensor

from murmur_cli.decode.turning import count_enough, extend_runs

__all__ = ["LONGEST_TURN", "LoopGuard"]

LONGEST_TURN = 16  # tokens

# Raised lists fall into loops of a word or two, or of a phrase. People seldom say one three times on end.
_TURNS = 3
_LEAST_TOKENS = 8  # of all turns together: "no no no no" is no loop
_NOTHING = -1


class LoopGuard:
    """Of B rows.

    Attributes:
        is_quiet: Whether a row's text has begun to loop, shape (B,).
        history: The last tokens of its text, the newest first, shape (B, LONGEST_TURN).
        runs: By period, how many tokens in a row were those of a period before, of the same shape.
    """

    def __init__(self, n_rows: int, device: torch.device) -> None:
        self.is_quiet = torch.zeros(n_rows, dtype=torch.bool, device=device)
        self.history = torch.full((n_rows, LONGEST_TURN), _NOTHING, device=device)
        self.runs = torch.zeros_like(self.history)
        self._enough = count_enough(LONGEST_TURN, device, least_repeats=_TURNS, least_tokens=_LEAST_TOKENS)

    def read(self, tokens: Tensor, is_text: Tensor, rows: slice) -> None:
        """Read a token of some rows.

        Args:
            tokens: Shape (B,).
            is_text: Whether it is of a text that goes on, shape (B,); else all is forgotten.
            rows: Which rows these are.
        """
        kept = is_text[:, None]
        history, runs = extend_runs(self.history[rows], self.runs[rows], tokens)
        is_looping = (runs >= self._enough).any(-1)
        self.is_quiet[rows].copy_(is_text & (self.is_quiet[rows] | is_looping))
        self.history[rows].copy_(torch.where(kept, history, _NOTHING))
        self.runs[rows].copy_(torch.where(kept, runs, 0))

    def forget(self, row: int) -> None:
        """Begin anew with a row."""
        self.is_quiet[row] = False
        self.history[row] = _NOTHING
        self.runs[row] = 0
