"""What the lists of a decoder add to logits, and the states of its rows.

A row names its list by id; a row with id -1 is left as it is, bit for bit. States are relative to their list, so adding
and removing other lists changes nothing for a row that is on its way.

There are two ways to the same scores. On the CPU the arcs of all rows are laid end to end; elsewhere every row has
room for the most arcs that a state has, so that shapes are fixed and nothing is asked back from the device.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from murmur_cli.bias.index import KEEP, TokenClasses
from murmur_cli.bias.packed import NO_ARC, START, BiasList
from murmur_cli.bias.shelf import Shelf, ShelfArrays, ShelfTable
from murmur_cli.bias.states import FIRST_CUT

__all__ = ["NO_LIST", "BiasStore"]

NO_LIST = -1
"""The id of rows that have no list."""

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


@dataclass(frozen=True, slots=True)
class _Lifts:
    """What arcs add: row, token and value, of shapes that fit; a token may occur more than once in a row."""

    rows: Tensor
    tokens: Tensor
    values: Tensor


class BiasStore:
    """Lists by id.

    Args:
        classes: Of the vocabulary that all lists were compiled for.
        device: Of the logits.
        is_padded: Which of the two ways; None for what suits the device.
    """

    def __init__(self, classes: TokenClasses, device: torch.device, *, is_padded: bool | None = None) -> None:
        self._device = device
        self._is_padded = device.type != "cpu" if is_padded is None else is_padded
        self._vocabulary = classes.sha256
        self._n_tokens = classes.n_tokens
        self._column = self._put(classes.column).long()
        self._after = self._put(classes.after).long()
        self._is_tail = self._put(classes.is_tail)
        self._outcome = self._put(classes.outcome).long()
        self._is_word = self._put(classes.is_word)
        self._likely = self._put(classes.likely).float()
        self._begins_word = self._is_word[0][self._column].float()
        self._shelf = Shelf(classes.n_tokens)
        self._loaded: _Lists | None = None

    def add(self, source: BiasList, *, strength: float = 3.0) -> int:
        """Register a list, or count one more user of it.

        Args:
            source: Compiled for the store's vocabulary.
            strength: Multiplies all that it adds to logits, which are in nats.

        Returns:
            Its id, which stays as long as it has users; the same list with the same strength has the same one.
        """
        assert source.vocabulary == self._vocabulary, "a list of another vocabulary"
        return self._shelf.add(source, strength=strength)

    def remove(self, list_id: int) -> None:
        """Take back one ``add``; after the last one the list is gone, and its id free for another.

        Raises:
            KeyError: There is no such list.
        """
        self._shelf.remove(list_id)
        if self._shelf.is_empty:
            self._loaded = None

    def start(self, n_rows: int) -> Tensor:
        """The states of rows in which nothing is written yet, (n_rows,) int64."""
        return torch.full((n_rows,), START, dtype=torch.int64, device=self._device)

    def score(self, logits: Tensor, states: Tensor, list_ids: Tensor, floor: Tensor | None = None) -> None:
        """Add what each next token earns to its logit, in place.

        Args:
            logits: (B, V).
            states: (B,) of ``start`` or ``advance``.
            list_ids: (B,) int64; -1 for none.
            floor: (B,) Only tokens whose own logit is at least this earn something by the phrases that they begin or go
                on; what a match that breaks off loses is taken from all tokens. None: all do.
        """
        lists = self._load()
        if lists is None:
            return
        rows = self._locate(lists, states, list_ids)
        lifts = self._join_padded(lists, rows) if self._is_padded else self._join_ragged(lists, rows)
        values = lifts.values * lists.table.strength[rows.list_id][lifts.rows]
        if floor is not None:
            values = torch.where(logits[lifts.rows, lifts.tokens] >= floor[lifts.rows], values, _SAME)
        values = torch.where(values == 0, _SAME, values).to(logits.dtype)
        self._add_bases(logits, lists, rows)
        if self._is_padded:
            logits.scatter_add_(1, lifts.tokens, values)
        else:
            logits.index_put_((lifts.rows, lifts.tokens), values, accumulate=True)

    def advance(self, states: Tensor, list_ids: Tensor, tokens: Tensor, granted: Tensor | None = None) -> Tensor:
        """Read one token in each row.

        Args:
            states: (B,).
            list_ids: (B,) int64; -1 for none.
            tokens: (B,) int64.
            granted: (B,) bool, whether the token was at its row's floor or above. One that was not begins and goes on
                no phrase. None: all were.

        Returns:
            (B,) the states after it; the start in rows without a list.
        """
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

    def settle(self, states: Tensor, list_ids: Tensor) -> Tensor:
        """What is added where a text ends: usually less than nothing, since an unfinished match is taken back; (B,)."""
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
            if not self._is_padded and not bool(is_live.any()):
                return
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

    def _join_ragged(self, lists: _Lists, rows: _Rows) -> _Lifts:
        """Lay the arcs of all rows end to end."""
        found = []
        for place, is_live in self._iter_chain(lists, rows):
            begin, end = lists.arrays.begins[place], lists.arrays.ends[place]
            row, arc = _lay_out(begin + lists.table.first_arcs[rows.list_id], (end - begin) * is_live)
            found.append(_Lifts(row, lists.arrays.keys[arc] - place[row] * self._n_tokens, lists.arrays.values[arc]))
        row, arc = _lay_out(lists.table.first_roots[rows.list_id], lists.table.n_roots[rows.list_id] * rows.is_on)
        found.append(self._read_roots(lists, rows, row, arc))
        return _Lifts(
            torch.cat([each.rows for each in found]),
            torch.cat([each.tokens for each in found]),
            torch.cat([each.values for each in found]),
        )

    def _join_padded(self, lists: _Lists, rows: _Rows) -> _Lifts:
        """Give every row room for as many arcs as any state has; the rest is token 0 and nothing."""
        row = torch.arange(len(rows.place), device=self._device)[:, None]
        tokens, values = [], []
        for place, is_live in self._iter_chain(lists, rows):
            arc = lists.arrays.begins[place][:, None] + torch.arange(lists.n_widest, device=self._device)
            is_arc = (arc < lists.arrays.ends[place][:, None]) & is_live[:, None]
            arc = torch.where(is_arc, arc + lists.table.first_arcs[rows.list_id][:, None], 0)
            tokens.append(torch.where(is_arc, lists.arrays.keys[arc] - place[:, None] * self._n_tokens, 0))
            values.append(torch.where(is_arc, lists.arrays.values[arc], 0.0))
        arc = torch.arange(lists.n_widest_root, device=self._device)
        is_arc = (arc < lists.table.n_roots[rows.list_id][:, None]) & rows.is_on[:, None]
        roots = self._read_roots(
            lists, rows, row, torch.where(is_arc, arc + lists.table.first_roots[rows.list_id][:, None], 0)
        )
        tokens.append(torch.where(is_arc, roots.tokens, 0))
        values.append(torch.where(is_arc, roots.values, 0.0))
        return _Lifts(row, torch.cat(tokens, dim=1), torch.cat(values, dim=1))

    def _read_roots(self, lists: _Lists, rows: _Rows, row: Tensor, arc: Tensor) -> _Lifts:
        tokens = lists.arrays.root_keys[arc] % self._n_tokens
        is_word = lists.arrays.words[rows.place][row]
        if self._is_padded or bool(rows.cut.any()):
            cut = rows.cut[row]
            is_word = torch.where(cut == 0, is_word, self._is_word[cut, self._column[tokens]])
        return _Lifts(row, tokens, lists.arrays.root_values[is_word.long(), arc])

    def _add_bases(self, logits: Tensor, lists: _Lists, rows: _Rows) -> None:
        """Add what every token earns, by the class of its first character; in most rows that is nothing."""
        strength = lists.table.strength[rows.list_id]
        border, word = rows.border_base * strength, rows.word_base * strength
        if self._is_padded:
            base = torch.where(self._is_word[rows.cut][:, self._column], word[:, None], border[:, None])
            logits.add_(torch.where(base == 0, _SAME, base).to(logits.dtype))
            return
        for row in torch.nonzero((border != 0) | (word != 0)).flatten().tolist():
            logits[row] += border[row].to(logits.dtype)
            if bool(border[row] != word[row]):
                cut = rows.cut[row]
                begins_word = self._is_word[cut][self._column] if cut else self._begins_word
                logits[row].addcmul_(begins_word.to(logits.dtype), (word[row] - border[row]).to(logits.dtype))

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
    """Let there be one element to point to where there are none."""
    return array if array.shape[-1] else np.zeros((*array.shape[:-1], 1), array.dtype)


def _lay_out(begin: Tensor, count: Tensor) -> tuple[Tensor, Tensor]:
    """Lay ranges end to end: for each element its row, and its index."""
    row = torch.repeat_interleave(count)
    before = torch.cumsum(count, dim=0) - count
    return row, torch.arange(len(row)) - (before - begin)[row]


def _search(keys: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor]:
    """Find keys among sorted ones: where each is, or might be, and whether it is there."""
    place = torch.searchsorted(keys, wanted).clamp(max=len(keys) - 1)
    return place, keys[place] == wanted
