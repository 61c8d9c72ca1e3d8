"""What lists add to logits on a CPU: row by row, each with its own list, and only tokens that may be raised.

Rows are few, and so are the arcs of one token. Between two steps a decoder's weights drive everything else out of the
processor's caches: plain numbers that are looked up one at a time cost less than operations on arrays of rows.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from murmur_cli.bias.floor import Floor
from murmur_cli.bias.index import KEEP, TokenClasses
from murmur_cli.bias.leeway import ANY_LEEWAY, Leeways, measure_leeways
from murmur_cli.bias.packed import NO_ARC, NO_LIST, START, BiasList
from murmur_cli.bias.states import FIRST_CUT

__all__ = ["RowwiseScorer"]

_Real = npt.NDArray[np.float32]
_Tokens = npt.NDArray[np.signedinteger]
_Lifts = tuple[_Tokens, _Real, _Real]
"""What arcs add: tokens, each of them once, values, and leeways."""


class RowwiseScorer:
    """Scores rows on a CPU; what its methods take and give is told at ``BiasStore``'s.

    Args:
        classes: Of the vocabulary that all lists were compiled for.
    """

    def __init__(self, classes: TokenClasses) -> None:
        self._token_classes = classes
        self._classes = _ClassReader(classes)
        self._lists: dict[int, _ListReader] = {}

    def add(self, list_id: int, source: BiasList, *, strength: float) -> None:
        """Add a list by an id that is free."""
        self._lists[list_id] = _ListReader(
            source, measure_leeways(source, self._token_classes), self._classes, strength=strength
        )

    def remove(self, list_id: int) -> None:
        """Take a list out."""
        del self._lists[list_id]

    def score(self, logits: Tensor, states: Tensor, list_ids: Tensor, floor: Floor | None) -> None:
        """Add what each next token earns to its logit, in place."""
        floors = [_NO_FLOOR] * len(states) if floor is None else _to_rows(floor)
        raised = logits.float()  # the same tensor, if it is float32
        own = raised.numpy()
        for row, reader, state in self._iter_rows(states, list_ids):
            reader.score(own[row], state, floors[row])
        if raised is not logits:
            logits.copy_(raised)

    def find_affected(self, logits: Tensor, states: Tensor, list_ids: Tensor, floor: Floor, *, best: Tensor) -> Tensor:
        """Find the rows of which ``score`` may change something."""
        own, floors, tokens = logits.float().numpy(), _to_rows(floor), best.numpy()
        rows = self._iter_rows(states, list_ids)
        affected = [row for row, reader, state in rows if reader.affects(own[row], state, floors[row], tokens[row])]
        return torch.tensor(affected, dtype=torch.int64)

    def advance(self, states: Tensor, list_ids: Tensor, tokens: Tensor, granted: Tensor | None) -> Tensor:
        """Read one token in each row."""
        result, read = [START] * len(states), tokens.tolist()
        are_granted = [True] * len(states) if granted is None else granted.tolist()
        for row, reader, state in self._iter_rows(states, list_ids):
            result[row] = reader.advance(state, read[row], is_granted=are_granted[row])
        return torch.tensor(result)

    def find_leeways(self, list_ids: Tensor, tokens: Tensor) -> Tensor:
        """Find the leeway of one token in each row."""
        rows = zip(list_ids.tolist(), tokens.tolist(), strict=True)
        own = [ANY_LEEWAY if list_id <= NO_LIST else self._lists[list_id].find_leeway(token) for list_id, token in rows]
        return torch.tensor(own, dtype=torch.float32)

    def settle(self, states: Tensor, list_ids: Tensor) -> Tensor:
        """What is added where a text ends."""
        result = [0.0] * len(states)
        for row, reader, state in self._iter_rows(states, list_ids):
            result[row], _ = reader.find_bases(state)
        return torch.tensor(result)

    def _iter_rows(self, states: Tensor, list_ids: Tensor) -> Iterator[tuple[int, _ListReader, int]]:
        """Iterate over the rows that have a list: number, list, state."""
        for row, (list_id, state) in enumerate(zip(list_ids.tolist(), states.tolist(), strict=True)):
            if list_id > NO_LIST:
                yield row, self._lists[list_id], state


@dataclass(frozen=True, slots=True)
class _RowFloor:
    """Of one row; see ``Floor``."""

    least: float
    certain: float
    margin: float


_NO_FLOOR = _RowFloor(-math.inf, 0.0, math.inf)


def _to_rows(floor: Floor) -> list[_RowFloor]:
    columns = (each.tolist() for each in (floor.least, floor.certain, floor.margin))
    return [_RowFloor(*each) for each in zip(*columns, strict=True)]


class _ClassReader:
    """A vocabulary's ``TokenClasses``; views give plain numbers."""

    def __init__(self, classes: TokenClasses) -> None:
        self._classes = classes
        self.column = classes.column.data
        self.after = classes.after.data
        self.is_tail = classes.is_tail.data
        self.outcome = classes.outcome.data
        self.is_word = classes.is_word.data
        self.likely = classes.likely.data
        self._begins_word = self.find_words(0).astype(np.float32)

    def add_bases(self, logits: _Real, cut: int, border: float, word: float) -> None:
        """Add what every token earns, by the class of its first character, in place."""
        if word != border:
            begins_word = self.find_words(cut).astype(np.float32) if cut else self._begins_word
            logits += begins_word * np.float32(word - border)
        logits += np.float32(border)

    def mark(self, tokens: _Tokens) -> bytearray:
        """Mark tokens among all."""
        marks = np.zeros(len(self._classes.column), np.bool_)
        marks[tokens] = True
        return bytearray(marks)

    def find_words(self, cut: int, tokens: _Tokens | None = None) -> npt.NDArray[np.bool_]:
        """Tell of tokens whether the first character is a word's: the one that is cut, if there is one.

        Args:
            cut: The number of a cut character; 0 for none.
            tokens: None: all.
        """
        columns = self._classes.column if tokens is None else self._classes.column[tokens]
        found: npt.NDArray[np.bool_] = self._classes.is_word[cut][columns]
        return found


class _ListReader:
    """One list, with its strength; views give plain numbers."""

    def __init__(self, source: BiasList, leeways: Leeways, classes: _ClassReader, *, strength: float) -> None:
        self._source = source
        self._classes = classes
        self._strength = np.float32(strength)
        self._links = source.links.data
        self._bases = tuple(each.data for each in self._strength * source.bases)
        self._words = source.words.data
        self._cuts = source.cuts.data
        self._debtors = source.debtors.data
        self._bounds = source.bounds.data
        self._tokens = source.tokens.data
        self._targets = source.targets.data
        self._root_tokens = source.root_tokens.data
        self._leeways = leeways
        self._root_leeways = leeways.roots.data
        self._roots = tuple(self._scale_root(values) for values in source.root_values)
        self._begins = tuple(classes.mark(tokens) for tokens, _, _ in self._roots)

    def score(self, logits: _Real, state: int, floor: _RowFloor) -> None:
        """Add what each next token earns to its logit, in place."""
        stored, _ = self._resolve(state)
        found = self._find_lifts(logits, stored, floor) if floor.least < math.inf else ()
        border, word = self.find_bases(state)
        if border or word:
            self._classes.add_bases(logits, self._cuts[stored], border, word)
        for tokens, values, _ in found:
            logits[tokens] += values

    def affects(self, logits: _Real, state: int, floor: _RowFloor, best: _Tokens) -> bool:
        """Tell whether anything may be added to any token."""
        if any(self.find_bases(state)):
            return True
        if floor.least == math.inf:
            return False
        stored, _ = self._resolve(state)
        if stored >= FIRST_CUT or logits[best[-1]] >= floor.least:
            return any(len(tokens) for tokens, _, _ in self._find_lifts(logits, stored, floor))
        begins = self._begins[self._words[stored]]
        return any(begins[token] for token in best[logits[best] >= floor.least].tolist())

    def advance(self, state: int, token: int, *, is_granted: bool) -> int:
        """Read one token."""
        source, classes = self._source, self._classes
        stored, debtor = self._resolve(state)
        cut, column, after = self._cuts[stored], classes.column[token], classes.after[token]
        root_class = int(classes.is_word[cut, column] if cut else self._words[stored])
        target = self._find_target(stored, token, root_class) if is_granted else NO_ARC
        if target == NO_ARC:
            target = after
        if target == KEEP:
            target = classes.outcome[cut, column] if cut else root_class
        only_cut = after == KEEP if cut else classes.is_tail[token]
        if debtor and only_cut and FIRST_CUT <= target < source.n_root_level:
            target += source.n_states + (debtor - 1) * (source.n_root_level - FIRST_CUT) - FIRST_CUT
        return target

    def find_bases(self, state: int) -> tuple[float, float]:
        """Find what every token earns whose first character is of no word, and what others do."""
        source = self._source
        if state < source.n_states:
            border, word = self._bases
            return border[state], word[state]
        stored, debtor = self._resolve(state)
        debt = float(self._strength * source.debts[debtor - 1])
        return (debt, 0.0) if self._classes.likely[self._cuts[stored]] else (0.0, -debt)

    def _resolve(self, state: int) -> tuple[int, int]:
        """The stored state of which the arcs count, and the debtor plus 1."""
        source = self._source
        if state < source.n_states:
            return state, self._debtors[state]
        debtor, root = divmod(state - source.n_states, source.n_root_level - FIRST_CUT)
        return root + FIRST_CUT, debtor + 1

    def _iter_arcs(self, stored: int) -> Iterator[tuple[int, int]]:
        """Walk from a state along the links to where no phrase has begun: the bounds of each state's arcs."""
        while stored >= FIRST_CUT:
            yield self._bounds[stored], self._bounds[stored + 1]
            stored = self._links[stored]

    def find_leeway(self, token: int) -> float:
        """Find the leeway of a token."""
        place = bisect_left(self._root_tokens, token)
        is_there = place < len(self._root_tokens) and self._root_tokens[place] == token
        return self._root_leeways[place] if is_there else ANY_LEEWAY

    def _find_lifts(self, logits: _Real, stored: int, floor: _RowFloor) -> list[_Lifts]:
        """Find what arcs add to tokens at the floor."""
        source, cut = self._source, self._cuts[stored]
        found = []
        for begin, end in self._iter_arcs(stored):
            tokens = source.tokens[begin:end]
            (kept,) = (logits[tokens] >= floor.least).nonzero()
            values, leeways = self._strength * source.values[begin:end][kept], self._leeways.own[begin:end][kept]
            found.append((tokens[kept], values, leeways))
        for root_class in (0, 1) if cut else (self._words[stored],):
            tokens, values, leeways = self._roots[root_class]
            (kept,) = (logits.take(tokens) >= floor.least).nonzero()
            if cut:
                kept = kept[self._classes.find_words(cut, tokens[kept]) == root_class]
            if len(kept):
                found.append((tokens[kept], values[kept], leeways[kept]))
        return [_keep_likely(lifts, logits, floor) for lifts in found]

    def _scale_root(self, values: _Real) -> _Lifts:
        """Leave out what adds nothing; numpy looks indices up that it need not convert first."""
        (kept,) = values.nonzero()
        tokens = self._source.root_tokens[kept].astype(np.intp)
        return tokens, self._strength * values[kept], self._leeways.roots[kept]

    def _find_target(self, stored: int, token: int, root_class: int) -> int:
        """Find where a token's first arc leads; ``NO_ARC`` where there is none."""
        for begin, end in self._iter_arcs(stored):
            place = bisect_left(self._tokens, token, begin, end)
            if place < end and self._tokens[place] == token:
                return self._targets[place]
        place = bisect_left(self._root_tokens, token)
        if place < len(self._root_tokens) and self._root_tokens[place] == token:
            return int(self._source.root_targets[root_class, place])
        return NO_ARC


def _keep_likely(lifts: _Lifts, logits: _Real, floor: _RowFloor) -> _Lifts:
    """Leave out the tokens that must be likelier by themselves than they are."""
    tokens, values, leeways = lifts
    kept = logits[tokens] >= floor.certain - floor.margin * leeways
    return (tokens[kept], values[kept], leeways[kept]) if not kept.all() else lifts
