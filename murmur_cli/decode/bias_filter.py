"""Keywords in a decoder that chooses one token of every row at a time: each row listens for those of its own list.

A token is raised only if it is text, nearly as likely as the best one, and the best one is text, too: whether a text
ends, and whose it is, is decided as if there were no list. Rows without one are left as they are, bit for bit.

All that a choice reads and writes are tensors that stay where they are; off the CPU it asks the device for nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from murmur_cli.bias.floor import Floor
from murmur_cli.bias.index import TokenClasses
from murmur_cli.bias.packed import NO_LIST, BiasList
from murmur_cli.bias.store import BiasStore
from murmur_cli.decode.gate import TEXT, TextGate
from murmur_cli.decode.loop_guard import LoopGuard

__all__ = ["BiasFilter", "BiasKit", "Pick", "RowBias"]

Pick = Callable[[Tensor], Tensor]
"""Chooses a token of every row by logits, shape (B, V): (B, 1). It chooses the same each time."""

_ALL = slice(None)


@dataclass(frozen=True, slots=True, eq=False)
class BiasKit:
    """What there is to know of a vocabulary: its tokens by what they hold, and where they are text."""

    classes: TokenClasses
    gate: TextGate


@dataclass(frozen=True, slots=True, eq=False)
class RowBias:
    """What a row listens for.

    Attributes:
        kit: Of the vocabulary; all rows of a decoder have the same.
        graph: The list.
        margin: How much less likely than the best one a token may be that is raised, in nats.
        gate: The gate's state before the row's first token.
    """

    kit: BiasKit
    graph: BiasList
    margin: float
    gate: int


class BiasFilter:
    """The lists of B rows, and where each is in its own.

    Args:
        kit: Of the vocabulary.
        n_rows: B.
        device: Of the logits.
        is_padded: Whether shapes are fixed and the device is asked for nothing; None for what suits the device.
    """

    def __init__(self, kit: BiasKit, n_rows: int, device: torch.device, *, is_padded: bool | None = None) -> None:
        self._is_padded = device.type != "cpu" if is_padded is None else is_padded
        self._store = BiasStore(kit.classes, device, is_padded=self._is_padded)
        self._after = torch.from_numpy(kit.gate.after).to(device)
        self._is_spoken = torch.from_numpy(kit.gate.is_spoken).to(device)
        self._unspoken = (~self._is_spoken).nonzero()[:, 0]
        self._is_content = torch.from_numpy(kit.gate.is_content).to(device)
        self._outside = kit.gate.start
        self._list_ids = torch.full((n_rows,), NO_LIST, device=device)
        self._margins = torch.zeros(n_rows, device=device)
        self._states = self._store.start(n_rows)
        self._gates = torch.full((n_rows,), kit.gate.start, device=device)
        self._granted = torch.zeros(n_rows, dtype=torch.bool, device=device)
        self._guard = LoopGuard(n_rows, device)
        self._seated = [NO_LIST] * n_rows
        self._left: list[int] = []
        self._n_users: Counter[int] = Counter()
        self.changed = torch.zeros((n_rows, 1), dtype=torch.bool, device=device)

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """All that a step changes here."""
        guard = self._guard
        return self._states, self._gates, self._granted, self.changed, guard.is_quiet, guard.history, guard.runs

    # --- rows come and go

    def seat(self, row: int, bias: RowBias | None) -> bool:
        """Let another text begin in a row.

        Returns:
            Whether the lists on the device change: what was recorded reads those that were there before.
        """
        self._leave(row)
        self.begin(row, self._outside if bias is None else bias.gate)
        return bias is not None and self._listen(row, bias)

    def drop_left(self) -> bool:
        """Give up the lists of rows that were left; the next row may have had the same one.

        Returns:
            As ``seat`` does.
        """
        is_changed = False
        for list_id in self._left:
            self._store.remove(list_id)
            self._n_users[list_id] -= 1
            is_changed |= self._n_users[list_id] == 0
        self._left.clear()
        return is_changed

    def _leave(self, row: int) -> None:
        if self._seated[row] != NO_LIST:
            self._left.append(self._seated[row])
        self._seated[row] = NO_LIST
        self._list_ids[row] = NO_LIST

    def _listen(self, row: int, bias: RowBias) -> bool:
        list_id = self._store.add(bias.graph)
        self._n_users[list_id] += 1
        self._seated[row] = list_id
        self._list_ids[row] = list_id
        self._margins[row] = bias.margin
        return self._n_users[list_id] == 1

    # --- token by token

    def choose(self, logits: Tensor, pick: Pick, rows: slice = _ALL) -> Tensor:
        """Choose the next token of some rows, (B, 1); ``changed`` tells where another would have been chosen.

        Args:
            logits: Shape (B, V), float32; they are left as they are.
            pick: Chooses by logits.
            rows: Which rows these are.
        """
        plain = pick(logits)
        best = logits.argmax(-1, keepdim=True)
        is_open = (self._list_ids[rows] > NO_LIST) & (self._gates[rows] == TEXT) & ~self._guard.is_quiet[rows]
        is_open &= self._is_spoken[best[:, 0]]
        tokens = plain
        if self._is_padded or bool(is_open.any()):
            margins = self._margins[rows]
            floor = Floor(logits.gather(1, best)[:, 0] - margins, logits.logsumexp(-1), margins)
            list_ids = torch.where(is_open, self._list_ids[rows], NO_LIST)
            tokens = pick(self._raise(logits, best, list_ids, floor, rows))
            granted = is_open & self._store.grant(logits.gather(1, tokens)[:, 0], list_ids, tokens[:, 0], floor)
            self._granted[rows].copy_(granted & self._is_spoken[tokens[:, 0]])
        else:
            self._granted[rows].zero_()
        self.changed[rows].copy_(tokens != plain)
        return tokens

    def _raise(self, logits: Tensor, best: Tensor, list_ids: Tensor, floor: Floor, rows: slice) -> Tensor:
        raised = logits.clone()
        self._store.score(raised, self._states[rows], list_ids, floor)
        # A match that breaks off is taken back from all tokens that break it. What is no text breaks none, and would
        # gain on the best token: it follows that one down, and never up.
        fall = (raised.gather(1, best) - logits.gather(1, best)).clamp(max=0.0)
        own = logits.index_select(1, self._unspoken)
        is_open = list_ids[:, None] > NO_LIST
        return raised.index_copy_(1, self._unspoken, torch.where(is_open, own + fall, own))

    def read(self, tokens: Tensor, rows: slice = _ALL) -> None:
        """Go on by tokens that were chosen, shape (B, 1)."""
        self._read(tokens[:, 0], self._granted[rows], rows)

    def begin(self, row: int, gate: int) -> None:
        """Begin a row's text anew, where the gate is in some state."""
        self._states[row] = self._store.start(1)[0]
        self._gates[row] = gate
        self._guard.forget(row)

    def read_text(self, row: int, tokens: Sequence[int]) -> None:
        """Go on in a row by tokens of which none begins or goes on a keyword."""
        rows = slice(row, row + 1)
        none = torch.zeros_like(self._granted[rows])
        for token in tokens:
            self._read(torch.tensor([token], device=none.device), none, rows)

    def _read(self, tokens: Tensor, granted: Tensor, rows: slice) -> None:
        gates = self._after[self._gates[rows], tokens].long()
        self._states[rows].copy_(self._store.advance(self._states[rows], self._list_ids[rows], tokens, granted))
        self._gates[rows].copy_(gates)
        self._guard.read(tokens, self._is_content[gates], rows)

    def wake(self, row: int) -> None:
        """Listen again where a loop had put an end to it: another text begins."""
        self._guard.is_quiet[row] = False
