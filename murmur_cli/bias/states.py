"""The states of a list's graph, by number.

In this order: root level (``RootLevel``, cut characters of the vocabulary, cut characters with which a phrase may
begin), the nodes of the tree, then nodes with a cut character with which a phrase goes on. Beyond the last are those
that are computed and not stored: a node whose bonus depends on the class of the character that is cut after it, of
which phrases at root level alone may take notice. They are ``n_states + debtor * (n_root_level - 2) + state - 2``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from murmur_cli.bias.fold import is_border
from murmur_cli.bias.reading import Place, Reader
from murmur_cli.bias.trie import BORDER, WORD, Trie

__all__ = ["FIRST_CUT", "StateMap", "number_states"]

FIRST_CUT = WORD + 1
"""The first state in the middle of a character."""

_LEAST_DEBT = 1e-9


@dataclass(slots=True, eq=False)
class StateMap:
    """Numbers of places.

    Attributes:
        reader: Of the list and the vocabulary.
        places: By number; at root level the cut characters of the vocabulary are ``Place(BORDER)``.
        cut_ids: Of places with a cut character.
        n_root_level: How many are at root level.
        debtors: Nodes whose bonus depends on the class of what follows, to their number.
    """

    reader: Reader
    places: list[Place]
    cut_ids: dict[Place, int] = field(default_factory=dict)
    n_root_level: int = 0
    debtors: dict[int, int] = field(default_factory=dict)

    @property
    def n_states(self) -> int:
        """How many are stored."""
        return len(self.places)

    def find(self, place: Place) -> int:
        """The number of a place."""
        if not place.cut:
            return place.node if place.node <= WORD else self.n_root_level + place.node - 2
        number = self.cut_ids.get(place)
        if number is not None:
            return number
        matching = self.reader.find_matching(place)
        if matching > WORD:
            return self.cut_ids[Place(matching, place.cut)]
        state = self.cut_ids.get(Place(matching, place.cut))
        if state is None:
            state = 1 + self.reader.index.partial.begin(place.cut)
        debtor = self.debtors.get(place.node)
        if debtor is None:
            return state
        return self.n_states + debtor * (self.n_root_level - FIRST_CUT) + state - FIRST_CUT

    def find_link(self, place: Place) -> int:
        """The state without the first characters of a place: where arcs that it has not are looked for."""
        trie = self.reader.trie
        if place.node <= WORD:
            return BORDER
        if not place.cut:
            return self.find(Place(trie.link[place.node]))
        shorter = Place(trie.link[place.node], place.cut)
        root = Place(WORD if trie.is_word[place.node] else BORDER, place.cut)
        matching = self.reader.find_matching(shorter)
        return self.find(Place(matching, place.cut) if matching > WORD else root)

    def base(self, place: Place, *, is_word: bool) -> float:
        """What a text earns by a token that begins with a character of a class, and goes on no phrase."""
        trie = self.reader.trie
        if not place.cut:
            border = is_border(trie.is_word[place.node], is_word)
            return trie.gain(place.node, border=border) - trie.held(place.node)
        return self.reader.gain(place, is_word=is_word) - self.reader.held(place)


def number_states(reader: Reader) -> StateMap:
    """Number the states of a list's graph."""
    trie, cuts = reader.trie, reader.cuts
    states = StateMap(reader, [Place(BORDER), Place(WORD)])
    states.places += [Place(BORDER)] * (reader.index.partial.n_states - 1)
    inner_cuts: dict[int, list[bytes]] = {}
    for place in cuts:
        if place.node <= WORD:
            _add_cut(states, place)
        else:
            inner_cuts.setdefault(place.node, []).append(place.cut)
    states.n_root_level = len(states.places)
    states.places += [Place(node) for node in range(2, trie.n_nodes)]
    for node, own in inner_cuts.items():
        for cut in own:
            _add_cut(states, Place(node, cut))
    for node in range(2, trie.n_nodes):
        if trie.debt(node) > _LEAST_DEBT:
            states.debtors[node] = len(states.debtors)
            _add_debtor_cuts(states, node, inner_cuts)
    return states


def _add_debtor_cuts(states: StateMap, node: int, inner_cuts: dict[int, list[bytes]]) -> None:
    """A node's own debt, in the middle of a character with which only a shorter suffix goes on."""
    for shorter in _iter_inner_links(states.reader.trie, node):
        for cut in inner_cuts.get(shorter, ()):
            if Place(node, cut) not in states.cut_ids:
                _add_cut(states, Place(node, cut))


def _iter_inner_links(trie: Trie, node: int) -> list[int]:
    return [each for each in trie.iter_links(trie.link[node]) if each > WORD]


def _add_cut(states: StateMap, place: Place) -> None:
    states.cut_ids[place] = len(states.places)
    states.places.append(place)
