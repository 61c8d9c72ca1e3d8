"""Reading tokens in a tree of phrases, exactly: what every arc of a graph stands for.

A place is a node and the bytes of a character that is cut. As long as it is cut, a text has earned what its node
holds if some phrase may go on with these bytes; otherwise the character counts as of its probable class.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from murmur_cli.bias.fold import fold_character, is_border
from murmur_cli.bias.index import TokenIndex
from murmur_cli.bias.partial import BROKEN
from murmur_cli.bias.trie import BORDER, WORD, Trie

__all__ = ["Place", "Reader", "find_cuts"]


class Place(NamedTuple):
    """Where a text is: after a node's characters, in the middle of one of which ``cut`` are the first bytes."""

    node: int
    cut: bytes = b""


@dataclass(frozen=True, slots=True, eq=False)
class Reader:
    """Reads tokens.

    Attributes:
        trie: Of the phrases.
        index: Of the vocabulary.
        cuts: The cut characters with which a phrase goes on at their node: see ``find_cuts``.
    """

    trie: Trie
    index: TokenIndex
    cuts: dict[Place, tuple[bytes, ...]] = field(repr=False)

    def is_likely_word(self, cut: bytes) -> bool:
        """The class that a cut character counts as where it breaks off."""
        partial = self.index.partial
        return partial.likely[partial.begin(cut)]

    def find_matching(self, place: Place) -> int:
        """The longest suffix of a place's node at which a phrase goes on with its cut character; else the root."""
        for node in self.trie.iter_links(place.node):
            if Place(node, place.cut) in self.cuts:
                return node
        return node

    def held(self, place: Place) -> float:
        """What a text in this place has earned beyond what was certain before the cut character."""
        trie = self.trie
        if not place.cut:
            return trie.held(place.node)
        matching = self.find_matching(place)
        if matching == place.node:
            return trie.held(matching)
        border = is_border(trie.is_word[place.node], self.is_likely_word(place.cut))
        lost = trie.gain(matching, border=border)
        return trie.gain(place.node, border=border) - lost + trie.held(matching)

    def gain(self, place: Place, *, is_word: bool) -> float:
        """What becomes certain when the next character, which may be cut, is of a class and goes on no phrase."""
        trie = self.trie
        return trie.gain(place.node, border=is_border(trie.is_word[place.node], is_word))

    def read(self, place: Place, token: int) -> tuple[Place, float]:
        """Read a token.

        Returns:
            The place after it, and what the text has earned by it.
        """
        before = self.held(place)
        parts = self.index.parts[token]
        if parts is None:
            likely = self.is_likely_word(place.cut) if place.cut else False
            return Place(BORDER), self.gain(place, is_word=likely) - before
        place, gained = self._read_head(place, parts.head)
        if place.cut and (parts.body or parts.tail):
            place, more = self._drop(place)
            gained += more
        node = place.node
        for character in parts.body:
            node, more = self.trie.advance(node, character)
            gained += more
        place = Place(node, parts.tail or place.cut)
        return place, gained + self.held(place) - before

    def _read_head(self, place: Place, head: bytes) -> tuple[Place, float]:
        if not head:
            return place, 0.0
        if not place.cut:  # ends no character, so it is a border
            return Place(WORD if self.trie.is_word[place.node] else BORDER), self.gain(place, is_word=False)
        cut = place.cut + head
        partial = self.index.partial
        outcome = partial.read(partial.begin(place.cut), head)
        if outcome == BROKEN:
            return self._drop(place)
        if outcome > WORD:
            return Place(place.node, cut), 0.0
        node, gained = place.node, 0.0
        for character in fold_character(cut.decode()):
            node, more = self.trie.advance(node, character)
            gained += more
        return Place(node), gained

    def _drop(self, place: Place) -> tuple[Place, float]:
        """Give up a character that breaks off."""
        likely = self.is_likely_word(place.cut)
        return Place(WORD if likely else BORDER), self.gain(place, is_word=likely)


def find_cuts(trie: Trie, index: TokenIndex) -> dict[Place, tuple[bytes, ...]]:
    """Find the cut characters with which a phrase goes on at a node, and with which bytes it does."""
    found: dict[Place, set[bytes]] = {}
    for node in range(trie.n_nodes):
        children = trie.children[node]
        if node == WORD:
            children = {letter: child for letter, child in trie.children[BORDER].items() if not trie.is_word[child]}
        for letter, child in children.items():
            for spelling in _spell(index, letter):
                if _goes_on(trie, child, fold_character(spelling)):
                    encoded = spelling.encode()
                    for n_bytes in range(1, len(encoded)):
                        found.setdefault(Place(node, encoded[:n_bytes]), set()).add(encoded[n_bytes:])
    return {place: tuple(sorted(rests)) for place, rests in found.items()}


def _spell(index: TokenIndex, letter: str) -> tuple[str, ...]:
    others = index.spellings.get(letter, ())
    return others if letter.isascii() else (letter, *others)


def _goes_on(trie: Trie, child: int, folded: str) -> bool:
    """Tell whether reading a folded character, whose first letter leads to a child, may earn anything."""
    return len(folded) == 1 or folded[1] in trie.children[child] or trie.is_open_end(child)
