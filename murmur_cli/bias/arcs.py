"""Which tokens mean something else in a state than in its shorter suffixes: the arcs of a list's graph.

An arc's value is what a text earns beyond the state's base, which all tokens have that go on no phrase. Candidates are
found from the text of tokens; wherever a phrase is finished inside a token, or a character is cut, the arc is read out
exactly. An arc too many does no harm.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from murmur_cli.bias.fold import fold_character, is_border, is_word
from murmur_cli.bias.index import KEEP
from murmur_cli.bias.reading import Place
from murmur_cli.bias.states import StateMap
from murmur_cli.bias.trie import BORDER, WORD
from murmur_cli.errors import UsageError

__all__ = ["MOST_READ", "Arc", "Arcs", "find_arcs"]


MOST_READ = 6_000_000
"""Arcs that are read out one by one, at most: a short stem has some 900. So many take a minute and 1 GB."""


class Arc(NamedTuple):
    """To which state a token leads, and what it earns beyond the base."""

    target: int
    value: float


@dataclass(slots=True, eq=False)
class Arcs:
    """The arcs of a graph.

    Attributes:
        states: Of the graph.
        n_read: How many arcs were read out one by one.
        own: By state, by token.
        roots: By ``RootLevel`` of the text before a token, by token: where a phrase begins in it.
        base: By class of a token's first character, by state: see ``StateMap.base``.
    """

    states: StateMap
    own: list[dict[int, Arc]]
    roots: tuple[dict[int, Arc], dict[int, Arc]] = field(default_factory=lambda: ({}, {}))
    base: tuple[list[float], list[float]] = field(default_factory=lambda: ([], []))

    n_read: int = 0

    def read(self, place: Place, token: int) -> None:
        """Add the arc of a token from a place that is a state, exactly.

        Raises:
            UsageError: There are too many.
        """
        self.n_read += 1
        if self.n_read > MOST_READ:
            problem = f"more than {MOST_READ:,} tokens go on behind its phrases"
            raise UsageError(problem, where="the list", hint="write fewer stems (word*), or longer ones")
        states = self.states
        state = states.find(place)
        classes, partial = states.reader.index.classes, states.reader.index.partial
        number = partial.begin(place.cut) if place.cut else 0
        is_word_ = classes.is_word[number, classes.column[token]]
        target, earned = states.reader.read(place, token)
        self.own[state][token] = Arc(states.find(target), earned - self.base[int(is_word_)][state])


def find_arcs(states: StateMap) -> Arcs:
    """Find all arcs.

    Raises:
        UsageError: There are too many for any machine.
    """
    arcs = Arcs(states, [{} for _ in states.places])
    arcs.base[0].extend(states.base(place, is_word=False) for place in states.places)
    arcs.base[1].extend(states.base(place, is_word=True) for place in states.places)
    _add_paths(arcs)
    _add_overruns(arcs)
    _add_cuts(arcs)
    _add_completions(arcs)
    _add_roots(arcs)
    return arcs


def _add_paths(arcs: Arcs) -> None:
    """Tokens that lead from node to node inside one phrase: what they earn is known without reading them."""
    trie, whole = arcs.states.reader.trie, arcs.states.reader.index.whole
    longest = max(map(len, whole), default=0)
    offset = arcs.states.n_root_level - 2
    for node in range(2, trie.n_nodes):
        text, depth, source = trie.text[node], trie.depth[node], trie.parent[node]
        earned = max(trie.potential[node], trie.at_border[node])
        for begin in range(depth - 1, max(depth - longest, 1) - 1, -1):
            tokens = whole.get(text[begin:])
            if tokens:
                border = is_border(trie.is_word[source], is_word(text[begin]))
                certain = trie.at_border[source] if border else trie.in_word[source]
                arc = Arc(node + offset, earned - certain)
                own = arcs.own[source + offset]
                for token in tokens:
                    own[token] = arc
            source = trie.parent[source]


def _add_overruns(arcs: Arcs) -> None:
    """Tokens inside which a phrase is finished, and that go on."""
    trie, index = arcs.states.reader.trie, arcs.states.reader.index
    for node in range(2, trie.n_nodes):
        if not trie.endings[node]:
            continue
        is_open = trie.is_open_end(node)
        for source, text in _iter_ways(arcs.states, node):
            for token in index.inner.get(text, ()):
                parts = index.parts[token]
                if parts is not None and not parts.head and parts.body.startswith(text):
                    arcs.read(Place(source), token)
            for token in index.iter_longer(text) if is_open else ():
                arcs.read(Place(source), token)


def _iter_ways(states: StateMap, node: int) -> Iterator[tuple[int, str]]:
    """Each node on the way to another, without the root, and the text from there on; the shortest first."""
    trie = states.reader.trie
    source, text = trie.parent[node], trie.text[node]
    for begin in range(trie.depth[node] - 1, 0, -1):
        yield source, text[begin:]
        source = trie.parent[source]


def _add_cuts(arcs: Arcs) -> None:
    """Tokens that end in the middle of a character with which a phrase goes on."""
    index = arcs.states.reader.index
    for place in arcs.states.cut_ids:
        bodies = index.tails.get(place.cut)
        if bodies and place.node > WORD:
            for source, text in ((place.node, ""), *_iter_ways(arcs.states, place.node)):
                for token in bodies.get(text, ()):
                    arcs.read(Place(source), token)


def _add_completions(arcs: Arcs) -> None:
    """Tokens that go on with a cut character: to its end and further, or not even to its end."""
    states = arcs.states
    index, cuts = states.reader.index, states.reader.cuts
    for place in states.cut_ids:
        for rest in cuts.get(place, ()):
            for token in index.heads.get(rest, ()):
                if _goes_on(states, place, rest, token):
                    arcs.read(place, token)
        for n_bytes in range(1, len(place.cut)):
            for token in index.heads.get(place.cut[n_bytes:], ()):
                parts = index.parts[token]
                if parts is not None and not parts.body and not parts.tail:
                    arcs.read(Place(place.node, place.cut[:n_bytes]), token)


def _goes_on(states: StateMap, place: Place, rest: bytes, token: int) -> bool:
    """Tell whether what follows a completed character in a token may concern the phrase that it goes on."""
    trie, parts = states.reader.trie, states.reader.index.parts[token]
    if parts is None or not parts.body:
        return parts is not None
    node: int | None = place.node
    for character in fold_character((place.cut + rest).decode()):
        node = trie.find_child(node, character) if node is not None else None
    return node is None or parts.body[0] in trie.children[node] or bool(trie.endings[node])


def _add_roots(arcs: Arcs) -> None:
    """Tokens in which a phrase begins."""
    states = arcs.states
    after = states.reader.index.classes.after
    for token in _find_beginnings(states):
        for root in (BORDER, WORD):
            target, earned = states.reader.read(Place(root), token)
            default = root if after[token] == KEEP else int(after[token])
            arc = Arc(states.find(target), earned)
            if arc != (default, 0.0):
                arcs.roots[root][token] = arc


def _find_beginnings(states: StateMap) -> set[int]:
    trie, index = states.reader.trie, states.reader.index
    found: set[int] = set()
    for node in range(2, trie.n_nodes):
        text = trie.text[node]
        found.update(index.starts.get((text, b""), ()))
        if trie.ending[node]:
            found.update(index.inner.get(text, ()))
            if trie.is_open_end(node):
                found.update(index.iter_starting(text))
    for place in states.cut_ids:
        found.update(index.starts.get((trie.text[place.node], place.cut), ()))
    return found
