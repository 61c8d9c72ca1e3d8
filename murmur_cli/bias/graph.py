"""Compiling a list: phrases, their tree, its arcs, and these as arrays.

Values of arcs are stored as differences: to the value of the next arc for the same token along the links, or to that
of the root. Scoring adds them all up, so no arc hides another, and storage is linear in the phrases.

Source:
    The graph for many streams at once, and one list for each: NVIDIA-NeMo/NeMo, pull requests 15800 and 15125.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from murmur_cli.bias.allocation import Phrase
from murmur_cli.bias.arcs import Arc, Arcs, find_arcs
from murmur_cli.bias.index import TokenIndex
from murmur_cli.bias.packed import NO_ARC, BiasList
from murmur_cli.bias.reading import Reader, find_cuts
from murmur_cli.bias.states import FIRST_CUT, StateMap, number_states
from murmur_cli.bias.trie import BORDER, WORD, build_trie

__all__ = ["build_graph", "measure_depth"]

_NOTHING = 1e-7
_LONGEST_CHAIN = 1000
_NO_VALUE = Arc(NO_ARC, 0.0)


def build_graph(phrases: Sequence[Phrase], index: TokenIndex, *, sha256: str) -> BiasList:
    """Compile phrases for a vocabulary.

    Args:
        phrases: With their bonus spread over them.
        index: Of the vocabulary.
        sha256: Of all that they were made from.
    """
    with _no_collection():
        trie = build_trie(phrases)
        states = number_states(Reader(trie, index, find_cuts(trie, index)))
        return _pack(find_arcs(states), n_phrases=len(phrases), sha256=sha256)


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Keep the collector from walking, over and over, millions of objects that are all in use; a third of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def measure_depth(links: npt.NDArray[np.int32]) -> int:
    """Count the states of the longest chain of links, the first one among them; -1 if one does not end."""
    reached, depth = np.arange(len(links), dtype=np.int32), 0
    while bool((reached >= FIRST_CUT).any()):
        reached, depth = links[reached], depth + 1
        if depth > _LONGEST_CHAIN:
            return -1
    return depth


def _pack(arcs: Arcs, *, n_phrases: int, sha256: str) -> BiasList:
    states, trie = arcs.states, arcs.states.reader.trie
    links = np.array([states.find_link(place) for place in states.places], np.int32)
    cuts = _number_cuts(states)
    bounds, tokens, own = [0], list[int](), list[Arc]()
    for state in range(states.n_states):
        for token, arc in _subtract(arcs, state, links, int(cuts[state])):
            tokens.append(token)
            own.append(arc)
        bounds.append(len(tokens))
    root_tokens = sorted(arcs.roots[BORDER].keys() | arcs.roots[WORD].keys())
    root_arcs = [[root.get(token, _NO_VALUE) for token in root_tokens] for root in arcs.roots]
    links = _skip_empty(links, bounds)
    return BiasList(
        links=links,
        bases=np.array(arcs.base, np.float32),
        words=np.array([trie.is_word[place.node] for place in states.places], np.bool_),
        cuts=cuts,
        debtors=np.array([1 + states.debtors.get(place.node, -1) for place in states.places], np.int32),
        debts=np.array([trie.debt(node) for node in states.debtors], np.float32),
        bounds=np.array(bounds, np.int32),
        tokens=np.array(tokens, np.int32),
        values=np.array([arc.value for arc in own], np.float32),
        targets=np.array([arc.target for arc in own], np.int32),
        root_tokens=np.array(root_tokens, np.int32),
        root_values=np.array([[arc.value for arc in row] for row in root_arcs], np.float32),
        root_targets=np.array([[arc.target for arc in row] for row in root_arcs], np.int32),
        n_root_level=states.n_root_level,
        depth=measure_depth(links),
        n_phrases=n_phrases,
        vocabulary=states.reader.index.classes.sha256,
        sha256=sha256,
    )


def _number_cuts(states: StateMap) -> npt.NDArray[np.int16]:
    """The number of each state's cut character; at root level those of the vocabulary come first, in order."""
    partial = states.reader.index.partial
    numbers = [partial.begin(place.cut) if place.cut else 0 for place in states.places]
    numbers[FIRST_CUT : FIRST_CUT + partial.n_states - 1] = range(1, partial.n_states)
    return np.array(numbers, np.int16)


def _subtract(arcs: Arcs, state: int, links: npt.NDArray[np.int32], cut: int) -> Iterator[tuple[int, Arc]]:
    """Find the arcs of a state as differences to those of its suffixes, without those that would change nothing."""
    own = arcs.own[state]
    if not own:
        return
    shorter, link = list[dict[int, Arc]](), int(links[state])
    while link >= FIRST_CUT:
        if arcs.own[link]:
            shorter.append(arcs.own[link])
        link = int(links[link])
    classes = arcs.states.reader.index.classes
    root = arcs.roots[arcs.states.reader.trie.is_word[arcs.states.places[state].node]]
    for token in sorted(own):
        arc = own[token]
        if cut:
            root = arcs.roots[int(classes.is_word[cut, classes.column[token]])]
        known = _find_first(shorter, token)
        below = known or root.get(token)
        if below is None:
            yield token, arc
        elif known is None or known.target != arc.target or abs(arc.value - known.value) > _NOTHING:
            yield token, Arc(arc.target, arc.value - below.value)


def _find_first(suffixes: Sequence[Mapping[int, Arc]], token: int) -> Arc | None:
    for suffix in suffixes:
        arc = suffix.get(token)
        if arc is not None:
            return arc
    return None


def _skip_empty(links: npt.NDArray[np.int32], bounds: Sequence[int]) -> npt.NDArray[np.int32]:
    """Let links pass over states that have no arcs."""
    empty = np.diff(bounds) == 0
    empty[:FIRST_CUT] = False
    while bool(empty[links].any()):
        links = np.where(empty[links], links[links], links).astype(np.int32)
    return links
