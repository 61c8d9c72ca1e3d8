"""What lists add to logits where shapes must be fixed and nothing may be asked back from the device.

Every row has room for the most arcs that a state has.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from murmur_cli.bias.floor import Floor
from murmur_cli.bias.index import KEEP, TokenClasses
from murmur_cli.bias.leeway import ANY_LEEWAY, measure_leeways
from murmur_cli.bias.packed import NO_ARC, NO_LIST, START, BiasList
from murmur_cli.bias.shelf import Shelf, ShelfArrays, ShelfTable
from murmur_cli.bias.states import FIRST_CUT

__all__ = ["PaddedScorer"]

_SAME = -0.0  # added to a number, leaves even the sign of a zero as it is


@dataclass(frozen=True, slots=True)
class _Lists:
    """The shelf on the device, and the widths that arcs are given room for."""

    table: ShelfTable[Tensor]
    arrays: ShelfArrays[Tensor]
    any_id: int
    depth: int
    n_widest: int
    n_widest_root: int


@dataclass(frozen=True, slots=True)
class _Rows:
    """Where the rows of a batch are; each of shape (B,).

    ``state`` is that of which the arcs count, in its list, and ``place`` the same among all; ``debtor`` is 0 for none.
    Rows without a list are at the start of some list, with the base 0.
    """

    is_on: Tensor
    list_id: Tensor
    state: Tensor
    place: Tensor
    cut: Tensor
    debtor: Tensor
    border_base: Tensor
    word_base: Tensor


class PaddedScorer:
    """Scores rows on any device; what its methods take and give is told at ``BiasStore``'s.

    Args:
        classes: Of the vocabulary that all lists were compiled for.
        device: Of the logits.
    """

    def __init__(self, classes: TokenClasses, device: torch.device) -> None:
        self._device = device
        self._classes = classes
        self._n_tokens = classes.n_tokens
        self._column = self._put(classes.column).long()
        self._after = self._put(classes.after).long()
        self._is_tail = self._put(classes.is_tail)
        self._outcome = self._put(classes.outcome).long()
        self._is_word = self._put(classes.is_word)
        self._likely = self._put(classes.likely).float()
        self._shelf = Shelf(classes.n_tokens)
        self._loaded: _Lists | None = None

    def add(self, list_id: int, source: BiasList, *, strength: float) -> None:
        """Add a list by an id that is free."""
        self._shelf.add(list_id, source, measure_leeways(source, self._classes), strength=strength)

    def remove(self, list_id: int) -> None:
        """Take a list out."""
        self._shelf.remove(list_id)
        if self._shelf.is_empty:
            self._loaded = None

    def score(self, logits: Tensor, states: Tensor, list_ids: Tensor, floor: Floor | None) -> None:
        """Add what each next token earns to its logit, in place."""
        lists = self._load()
        if lists is None:
            return
        rows = self._locate(lists, states, list_ids)
        tokens, values, leeways = self._join(lists, rows)
        values = values * lists.table.strength[rows.list_id][:, None]
        if floor is not None:
            values = torch.where(logits.gather(1, tokens) >= floor.find(leeways), values, _SAME)
        values = torch.where(values == 0, _SAME, values).to(logits.dtype)
        self._add_bases(logits, lists, rows)
        logits.scatter_add_(1, tokens, values)

    def advance(self, states: Tensor, list_ids: Tensor, tokens: Tensor, granted: Tensor | None) -> Tensor:
        """Read one token in each row."""
        lists = self._load()
        if lists is None:
            return torch.full_like(states, START)
        rows = self._locate(lists, states, list_ids)
        column, after = self._column[tokens], self._after[tokens]
        is_whole = rows.cut == 0
        root_class = torch.where(is_whole, lists.arrays.words[rows.place], self._is_word[rows.cut, column]).long()
        target = self._find_target(lists, rows, tokens, root_class)
        if granted is not None:
            target = torch.where(granted, target, NO_ARC)
        target = torch.where(target == NO_ARC, after, target)
        kept = torch.where(is_whole, root_class, self._outcome[rows.cut, column])
        target = torch.where(target == KEEP, kept, target)
        only_cut = torch.where(is_whole, self._is_tail[tokens], after == KEEP)
        n_states, n_level = lists.table.n_states[rows.list_id], lists.table.n_root_level[rows.list_id]
        owes = only_cut & (rows.debtor > 0) & (target >= FIRST_CUT) & (target < n_level)
        owing = n_states + (rows.debtor - 1) * (n_level - FIRST_CUT) + target - FIRST_CUT
        return torch.where(rows.is_on, torch.where(owes, owing, target), START)

    def find_leeways(self, list_ids: Tensor, tokens: Tensor) -> Tensor:
        """Find the leeway of one token in each row."""
        lists = self._load()
        if lists is None:
            return torch.full_like(tokens, ANY_LEEWAY, dtype=torch.float32)
        is_on = list_ids > NO_LIST
        first = lists.table.first_states[torch.where(is_on, list_ids, lists.any_id)]
        arc, is_found = _search(lists.arrays.root_keys, first * self._n_tokens + tokens)
        return torch.where(is_found & is_on, lists.arrays.root_leeways[arc], ANY_LEEWAY)

    def settle(self, states: Tensor, list_ids: Tensor) -> Tensor:
        """What is added where a text ends."""
        lists = self._load()
        if lists is None:
            return torch.zeros(len(states), device=self._device)
        rows = self._locate(lists, states, list_ids)
        return rows.border_base * lists.table.strength[rows.list_id]

    # --- where rows are

    def _locate(self, lists: _Lists, states: Tensor, list_ids: Tensor) -> _Rows:
        is_on = list_ids > NO_LIST
        list_id = torch.where(is_on, list_ids, lists.any_id)
        n_states = lists.table.n_states[list_id]
        states = torch.where(is_on, states, START)
        is_owing = states >= n_states
        beyond = (states - n_states).clamp(min=0)
        width = lists.table.n_root_level[list_id] - FIRST_CUT
        debtor = torch.div(beyond, width, rounding_mode="floor")
        state = torch.where(is_owing, beyond - debtor * width + FIRST_CUT, states)
        place = state + lists.table.first_states[list_id]
        cut = lists.arrays.cuts[place]
        debt = lists.arrays.debts[torch.where(is_owing, lists.table.first_debts[list_id] + debtor, 0)]
        likely = self._likely[cut]
        return _Rows(
            is_on=is_on,
            list_id=list_id,
            state=state,
            place=place,
            cut=cut,
            debtor=torch.where(is_owing, debtor + 1, lists.arrays.debtors[place]),
            border_base=torch.where(is_owing, likely * debt, lists.arrays.bases[0, place]) * is_on,
            word_base=torch.where(is_owing, (likely - 1) * debt, lists.arrays.bases[1, place]) * is_on,
        )

    def _iter_chain(self, lists: _Lists, rows: _Rows) -> Iterator[tuple[Tensor, Tensor]]:
        """Walk from each row's state along the links: the places among all lists, and which rows still have one."""
        state, place = rows.state, rows.place
        for _ in range(lists.depth):
            is_live = rows.is_on & (state >= FIRST_CUT)
            yield place, is_live
            state = torch.where(is_live, lists.arrays.links[place], state)
            place = state + lists.table.first_states[rows.list_id]

    def _find_target(self, lists: _Lists, rows: _Rows, tokens: Tensor, root_class: Tensor) -> Tensor:
        """Find where the arcs of each row's token lead; ``NO_ARC`` where there is none."""
        target = torch.full_like(tokens, NO_ARC)
        for place, is_live in self._iter_chain(lists, rows):
            arc, is_found = _search(lists.arrays.keys, place * self._n_tokens + tokens)
            target = torch.where(is_found & is_live & (target == NO_ARC), lists.arrays.targets[arc], target)
        first = lists.table.first_states[rows.list_id]
        arc, is_found = _search(lists.arrays.root_keys, first * self._n_tokens + tokens)
        return torch.where(is_found & (target == NO_ARC), lists.arrays.root_targets[root_class, arc], target)

    # --- what arcs and bases add

    def _join(self, lists: _Lists, rows: _Rows) -> tuple[Tensor, Tensor, Tensor]:
        """Collect tokens, values and leeways of every row's arcs; a token may occur more than once. The rest is 0."""
        arrays, found = lists.arrays, []
        for place, is_live in self._iter_chain(lists, rows):
            arc = arrays.begins[place][:, None] + torch.arange(lists.n_widest, device=self._device)
            is_arc = (arc < arrays.ends[place][:, None]) & is_live[:, None]
            arc = torch.where(is_arc, arc + lists.table.first_arcs[rows.list_id][:, None], 0)
            tokens = torch.where(is_arc, arrays.keys[arc] - place[:, None] * self._n_tokens, 0)
            found.append((tokens, torch.where(is_arc, arrays.values[arc], 0.0), arrays.leeways[arc]))
        arc = torch.arange(lists.n_widest_root, device=self._device)
        is_arc = (arc < lists.table.n_roots[rows.list_id][:, None]) & rows.is_on[:, None]
        arc = torch.where(is_arc, arc + lists.table.first_roots[rows.list_id][:, None], 0)
        tokens = torch.where(is_arc, arrays.root_keys[arc] % self._n_tokens, 0)
        cut = rows.cut[:, None]
        is_word = torch.where(cut == 0, arrays.words[rows.place][:, None], self._is_word[cut, self._column[tokens]])
        values = torch.where(is_arc, arrays.root_values[is_word.long(), arc], 0.0)
        columns = zip(*found, (tokens, values, arrays.root_leeways[arc]), strict=True)
        tokens, values, leeways = (torch.cat(column, dim=1) for column in columns)
        return tokens, values, leeways

    def _add_bases(self, logits: Tensor, lists: _Lists, rows: _Rows) -> None:
        """Add what every token earns, by the class of its first character; in most rows that is nothing."""
        strength = lists.table.strength[rows.list_id]
        border, word = rows.border_base * strength, rows.word_base * strength
        base = torch.where(self._is_word[rows.cut][:, self._column], word[:, None], border[:, None])
        logits.add_(torch.where(base == 0, _SAME, base).to(logits.dtype))

    # --- tensors

    def _load(self) -> _Lists | None:
        """Bring the lists to the device if they have changed; None if there are none."""
        if self._shelf.is_empty:
            return None
        changed = self._shelf.take_changes()
        if changed is not None:
            arrays, table = changed
            self._loaded = _Lists(
                ShelfTable(*(self._put(getattr(table, each.name)) for each in fields(ShelfTable))),
                ShelfArrays(*(self._put(_pad(getattr(arrays, each.name))) for each in fields(ShelfArrays))),
                any_id=self._shelf.any_id,
                depth=self._shelf.depth,
                n_widest=self._shelf.n_widest,
                n_widest_root=int(table.n_roots.max()),
            )
        return self._loaded

    def _put(self, array: npt.NDArray[np.generic]) -> Tensor:
        return torch.from_numpy(array).to(self._device)


def _pad(array: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    """Let there be one element to point to where there are none, which is no key."""
    return array if array.shape[-1] else np.full((*array.shape[:-1], 1), -1, array.dtype)


def _search(keys: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor]:
    """Find keys among sorted ones: where each is, or might be, and whether it is there."""
    place = torch.searchsorted(keys, wanted).clamp(max=len(keys) - 1)
    return place, keys[place] == wanted
