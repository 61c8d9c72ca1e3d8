"""The compiled lists of a decoder side by side in arrays, by ids that stay.

A list is appended at the end; when one leaves, those behind it move up. Nothing inside a list depends on its place but
the keys by which its arcs are found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Generic, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from murmur_cli.bias.leeway import Leeways
from murmur_cli.bias.packed import BiasList

__all__ = ["Array", "Shelf", "ShelfArrays", "ShelfTable"]

Array = TypeVar("Array")
"""Of numpy here, of torch where they are used."""

_Data: TypeAlias = npt.NDArray[np.generic]
_Sizes: TypeAlias = tuple[int, ...]
"""Of states, arcs, arcs of the roots, and debts."""

_AXES = (*[0] * 7, *[1] * 4, *[2] * 4, 3)
"""Which of ``_Sizes`` the last axis of each field of ``ShelfArrays`` has."""


@dataclass(frozen=True, slots=True, eq=False)
class ShelfArrays(Generic[Array]):
    """Those of ``BiasList`` and of its ``Leeways``, of all lists in a row, along the last axis.

    ``keys`` and ``root_keys`` are sorted: the place of the state, or that of the list's first state, times the number
    of tokens, plus the token. ``begins`` and ``ends`` bound a state's arcs, counted in its list.
    """

    links: Array
    bases: Array
    words: Array
    cuts: Array
    debtors: Array
    begins: Array
    ends: Array
    keys: Array
    values: Array
    leeways: Array
    targets: Array
    root_keys: Array
    root_values: Array
    root_leeways: Array
    root_targets: Array
    debts: Array


@dataclass(frozen=True, slots=True, eq=False)
class ShelfTable(Generic[Array]):
    """By id, where a list begins in the arrays and what it has; each of shape (n_ids,)."""

    first_states: Array
    first_arcs: Array
    first_roots: Array
    first_debts: Array
    n_states: Array
    n_roots: Array
    n_root_level: Array
    strength: Array


@dataclass(slots=True, eq=False)
class _Entry:
    """One list, and where it begins in the arrays."""

    source: BiasList
    leeways: Leeways
    strength: float
    begins: _Sizes = ()

    @property
    def sizes(self) -> _Sizes:
        source = self.source
        return source.n_states, len(source.tokens), len(source.root_tokens), len(source.debts)


class Shelf:
    """Lists by id.

    Args:
        n_tokens: Of the vocabulary.
    """

    def __init__(self, n_tokens: int) -> None:
        self._n_tokens = n_tokens
        self._entries: dict[int, _Entry] = {}  # in the order of the arrays
        self._n_stored = 0  # so many of them are in the arrays
        self._is_changed = True
        self._arrays = _join([])

    @property
    def is_empty(self) -> bool:
        """Whether there is no list."""
        return not self._entries

    def add(self, list_id: int, source: BiasList, leeways: Leeways, *, strength: float) -> None:
        """Add a list by an id that is free."""
        self._entries[list_id] = _Entry(source, leeways, strength)
        self._is_changed = True

    def remove(self, list_id: int) -> None:
        """Take a list out."""
        entry = self._entries[list_id]
        self._append()
        self._cut(entry)
        del self._entries[list_id]
        self._n_stored -= 1
        self._is_changed = True

    def take_changes(self) -> tuple[ShelfArrays[_Data], ShelfTable[_Data]] | None:
        """Return the arrays if they have changed since they were last taken, and there is a list."""
        if not self._is_changed or not self._entries:
            return None
        self._append()
        self._is_changed = False
        return self._arrays, self._describe()

    @property
    def n_widest(self) -> int:
        """The most arcs that a state has."""
        return max(int(np.diff(entry.source.bounds).max(initial=0)) for entry in self._entries.values())

    @property
    def depth(self) -> int:
        """The most states that a chain of links has."""
        return max(entry.source.depth for entry in self._entries.values())

    @property
    def any_id(self) -> int:
        """The id of some list."""
        return next(iter(self._entries))

    def _append(self) -> None:
        """Bring the lists into the arrays that are not yet there; many at once cost no more than one."""
        new = list(self._entries.values())[self._n_stored :]
        begins = _measure(self._arrays)
        for entry in new:
            entry.begins = begins
            begins = tuple(begin + size for begin, size in zip(begins, entry.sizes, strict=True))
        if new:
            self._arrays = _join([self._arrays, *(_convert(entry, self._n_tokens) for entry in new)])
            self._n_stored = len(self._entries)

    def _cut(self, entry: _Entry) -> None:
        """Take a list out, and move up those behind it."""
        begins, sizes = entry.begins, entry.sizes
        kept = []
        for axis, each in zip(_AXES, fields(ShelfArrays), strict=True):
            array = getattr(self._arrays, each.name)
            begin, end = begins[axis], begins[axis] + sizes[axis]
            kept.append(np.concatenate([array[..., :begin], array[..., end:]], axis=-1))
        arrays = ShelfArrays(*kept)
        arrays.keys[begins[1] :] -= sizes[0] * self._n_tokens
        arrays.root_keys[begins[2] :] -= sizes[0] * self._n_tokens
        self._arrays = arrays
        for other in self._entries.values():
            if other.begins[0] > begins[0]:
                other.begins = tuple(begin - size for begin, size in zip(other.begins, sizes, strict=True))

    def _describe(self) -> ShelfTable[_Data]:
        n_ids = 1 + max(self._entries)
        begins = np.zeros((4, n_ids), np.int64)
        counts = np.zeros((3, n_ids), np.int64)
        strength = np.zeros(n_ids, np.float32)
        for list_id, entry in self._entries.items():
            begins[:, list_id] = entry.begins
            counts[:, list_id] = entry.source.n_states, len(entry.source.root_tokens), entry.source.n_root_level
            strength[list_id] = entry.strength
        columns: list[_Data] = [*begins, *counts, strength]
        return ShelfTable(*columns)


def _measure(arrays: ShelfArrays[_Data]) -> _Sizes:
    return len(arrays.links), len(arrays.keys), len(arrays.root_keys), len(arrays.debts)


def _convert(entry: _Entry, n_tokens: int) -> ShelfArrays[_Data]:
    """Lay out one list for its place."""
    source = entry.source
    states = np.repeat(np.arange(source.n_states, dtype=np.int64), np.diff(source.bounds))
    first = entry.begins[0]
    return ShelfArrays(
        links=source.links.astype(np.int64),
        bases=source.bases,
        words=source.words,
        cuts=source.cuts.astype(np.int64),
        debtors=source.debtors.astype(np.int64),
        begins=source.bounds[:-1].astype(np.int64),
        ends=source.bounds[1:].astype(np.int64),
        keys=(first + states) * n_tokens + source.tokens,
        values=source.values,
        leeways=entry.leeways.own,
        targets=source.targets.astype(np.int64),
        root_keys=first * n_tokens + source.root_tokens.astype(np.int64),
        root_values=source.root_values,
        root_leeways=entry.leeways.roots,
        root_targets=source.root_targets.astype(np.int64),
        debts=source.debts,
    )


def _join(pieces: Sequence[ShelfArrays[_Data]]) -> ShelfArrays[_Data]:
    if not pieces:
        whole, real = np.zeros(0, np.int64), np.zeros(0, np.float32)
        pairs, words = np.zeros((2, 0), np.float32), np.zeros(0, np.bool_)
        return ShelfArrays(
            links=whole,
            bases=pairs,
            words=words,
            cuts=whole,
            debtors=whole,
            begins=whole,
            ends=whole,
            keys=whole,
            values=real,
            leeways=real,
            targets=whole,
            root_keys=whole,
            root_values=pairs,
            root_leeways=real,
            root_targets=pairs.astype(np.int64),
            debts=real,
        )
    columns = ([getattr(piece, each.name) for piece in pieces] for each in fields(ShelfArrays))
    return ShelfArrays(*(np.concatenate(each, axis=-1) for each in columns))
