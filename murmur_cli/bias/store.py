"""What the lists of a decoder add to logits, and the states of its rows.

A row names its list by id; a row with id -1 is left as it is, bit for bit. States are relative to their list, so adding
and removing other lists changes nothing for a row that is on its way.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from murmur_cli.bias.floor import Floor
from murmur_cli.bias.index import TokenClasses
from murmur_cli.bias.packed import START, BiasList
from murmur_cli.bias.padded import PaddedScorer
from murmur_cli.bias.rowwise import RowwiseScorer

__all__ = ["BiasStore"]


@dataclass(slots=True)
class _Entry:
    """What was added, and how often."""

    sha256: str
    strength: float
    n_users: int


class BiasStore:
    """Lists by id.

    There are two ways to the same scores: on the CPU row by row, where only tokens are looked up that may be raised;
    elsewhere with fixed shapes, where nothing is asked back from the device.

    Args:
        classes: Of the vocabulary that all lists were compiled for.
        device: Of the logits.
        is_padded: Which of the two ways; None for what suits the device.
    """

    def __init__(self, classes: TokenClasses, device: torch.device, *, is_padded: bool | None = None) -> None:
        self._device = device
        self._vocabulary = classes.sha256
        self._entries: dict[int, _Entry] = {}
        is_padded = device.type != "cpu" if is_padded is None else is_padded
        self._scorer = PaddedScorer(classes, device) if is_padded else RowwiseScorer(classes)

    def add(self, source: BiasList, *, strength: float = 3.0) -> int:
        """Register a list, or count one more user of it.

        Args:
            source: Compiled for the store's vocabulary.
            strength: Multiplies all that it adds to logits, which are in nats.

        Returns:
            Its id, which stays as long as it has users; the same list with the same strength has the same one.
        """
        assert source.vocabulary == self._vocabulary, "a list of another vocabulary"
        for list_id, entry in self._entries.items():
            if (entry.sha256, entry.strength) == (source.sha256, strength):
                entry.n_users += 1
                return list_id
        list_id = next(number for number in range(len(self._entries) + 1) if number not in self._entries)
        self._entries[list_id] = _Entry(source.sha256, strength, 1)
        self._scorer.add(list_id, source, strength=strength)
        return list_id

    def remove(self, list_id: int) -> None:
        """Take back one ``add``; after the last one the list is gone, and its id free for another.

        Raises:
            KeyError: There is no such list.
        """
        entry = self._entries[list_id]
        entry.n_users -= 1
        if entry.n_users == 0:
            del self._entries[list_id]
            self._scorer.remove(list_id)

    def start(self, n_rows: int) -> Tensor:
        """The states of rows in which nothing is written yet, (n_rows,) int64."""
        return torch.full((n_rows,), START, dtype=torch.int64, device=self._device)

    def score(self, logits: Tensor, states: Tensor, list_ids: Tensor, floor: Floor | None = None) -> None:
        """Add what each next token earns to its logit, in place.

        Args:
            logits: (B, V).
            states: (B,) of ``start`` or ``advance``.
            list_ids: (B,) int64; -1 for none.
            floor: Only tokens whose own logit is there or above earn something by the phrases that they begin or go
                on; what a match that breaks off loses is taken from all tokens. None: all do.
        """
        self._scorer.score(logits, states, list_ids, floor)

    def find_affected(self, logits: Tensor, states: Tensor, list_ids: Tensor, floor: Floor, *, best: Tensor) -> Tensor:
        """Find rows so that ``score`` with the same arguments changes no other one; (n,) int64, in order.

        Args:
            logits: (B, V).
            states: (B,).
            list_ids: (B,) int64; -1 for none.
            floor: Which tokens are raised.
            best: (B, n) the likeliest tokens of each row, in order: where the last one is below the floor no other need
                be looked at.
        """
        if isinstance(self._scorer, PaddedScorer):
            return torch.arange(len(states), device=self._device)  # to find out would ask the device
        return self._scorer.find_affected(logits, states, list_ids, floor, best=best)

    def grant(self, logits: Tensor, list_ids: Tensor, tokens: Tensor, floor: Floor) -> Tensor:
        """Tell of one token in each row whether it was at the floor or above.

        Args:
            logits: (B,) the token's own.
            list_ids: (B,) int64; -1 for none.
            tokens: (B,) int64.
            floor: That was scored with.

        Returns:
            (B,) bool.
        """
        return logits >= floor.find(self._scorer.find_leeways(list_ids, tokens))

    def advance(self, states: Tensor, list_ids: Tensor, tokens: Tensor, granted: Tensor | None = None) -> Tensor:
        """Read one token in each row.

        Args:
            states: (B,).
            list_ids: (B,) int64; -1 for none.
            tokens: (B,) int64.
            granted: (B,) bool, what ``grant`` says. A token that was not begins and goes on no phrase. None: all
                were.

        Returns:
            (B,) the states after it; the start in rows without a list.
        """
        return self._scorer.advance(states, list_ids, tokens, granted)

    def settle(self, states: Tensor, list_ids: Tensor) -> Tensor:
        """What is added where a text ends: usually less than nothing, since an unfinished match is taken back; (B,)."""
        return self._scorer.settle(states, list_ids)
