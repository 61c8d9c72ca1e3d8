"""The phrases of a list as a tree of characters, with what a text has earned in every place of it.

A text's state is its longest suffix that is a place of the tree and begins at a border of words. What it has earned is
a part that is certain and a part that is taken back unless the phrase is finished: ``C + held(state)``. That is a
function of the folded text alone, so a phrase earns the same however it is written in tokens.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from murmur_cli.bias.allocation import Phrase
from murmur_cli.bias.fold import is_border, is_word
from murmur_cli.bias.partial import RootLevel

__all__ = ["Trie", "build_trie"]

BORDER, WORD = int(RootLevel.BORDER), int(RootLevel.WORD)
_CLOSED, _OPEN = 1, 2


@dataclass(slots=True, eq=False)
class Trie:
    """Nodes by number; the first two are roots (see ``RootLevel``), of which the children hang on ``BORDER``.

    Attributes:
        children: By character, the nodes one character further.
        parent: One character before.
        letter: The last character.
        depth: How many characters.
        is_word: The class of the last character.
        potential: What unfinished phrases have earned up to here, at most.
        bonus: What the phrase that ends here earns; 0 where none does.
        ending: Whether a phrase ends here: 0, closed (1) or open (2).
        link: The state without the first characters: the longest proper suffix that is a node and begins at a border.
        endings: The nodes of the phrases that end here, as suffixes, this one first.
        inside: What is certain strictly inside: earned by phrases that are finished before the last character.
        at_border: What is certain if a border follows.
        in_word: What is certain if a character of the same word follows.
        text: The characters from the root.
    """

    children: list[dict[str, int]] = field(default_factory=lambda: [{}, {}])
    parent: list[int] = field(default_factory=lambda: [BORDER, WORD])
    letter: list[str] = field(default_factory=lambda: ["", ""])
    depth: list[int] = field(default_factory=lambda: [0, 0])
    is_word: list[bool] = field(default_factory=lambda: [False, True])
    potential: list[float] = field(default_factory=lambda: [0.0, 0.0])
    bonus: list[float] = field(default_factory=lambda: [0.0, 0.0])
    ending: list[int] = field(default_factory=lambda: [0, 0])
    link: list[int] = field(default_factory=list)
    endings: list[tuple[int, ...]] = field(default_factory=list)
    inside: list[float] = field(default_factory=list)
    at_border: list[float] = field(default_factory=list)
    in_word: list[float] = field(default_factory=list)
    text: list[str] = field(default_factory=list)

    @property
    def n_nodes(self) -> int:
        """How many, roots and all."""
        return len(self.parent)

    def held(self, node: int) -> float:
        """What a text in this state has earned and would lose if the phrase broke off."""
        return max(self.potential[node], self.at_border[node]) - self.inside[node]

    def gain(self, node: int, *, border: bool) -> float:
        """What becomes certain when a next character follows, at a border or in the same word."""
        return (self.at_border[node] if border else self.in_word[node]) - self.inside[node]

    def debt(self, node: int) -> float:
        """How much depends on the class of the next character."""
        return self.at_border[node] - self.in_word[node] if self.is_word[node] else 0.0

    def is_open_end(self, node: int) -> bool:
        """Tell whether an open phrase ends here, which any character may follow."""
        return any(self.ending[each] == _OPEN for each in self.endings[node])

    def find_child(self, node: int, character: str) -> int | None:
        """The node one character further; from a root, if a phrase may begin there."""
        if node > WORD:
            return self.children[node].get(character)
        child = self.children[BORDER].get(character)
        return None if child is None or (node == WORD and self.is_word[child]) else child

    def iter_links(self, node: int) -> Iterator[int]:
        """Walk from a node over its suffixes to the root."""
        while node > WORD:
            yield node
            node = self.link[node]
        yield node

    def advance(self, node: int, character: str) -> tuple[int, float]:
        """Read a character.

        Returns:
            The state after it, and what has become certain.
        """
        is_word_ = is_word(character)
        gained = self.gain(node, border=is_border(self.is_word[node], is_word_))
        for each in self.iter_links(node):
            child = self.find_child(each, character)
            if child is not None:
                return child, gained
        return (WORD if is_word_ else BORDER), gained


def build_trie(phrases: Sequence[Phrase]) -> Trie:
    """Build the tree of some phrases: nodes, then links, then what is certain, each by depth."""
    trie = Trie()
    for phrase in phrases:
        _add_phrase(trie, phrase)
    order = sorted(range(2, trie.n_nodes), key=trie.depth.__getitem__)
    trie.link = [BORDER, WORD] + [BORDER] * len(order)
    trie.endings = [()] * trie.n_nodes
    trie.text = [""] * trie.n_nodes
    trie.inside, trie.at_border, trie.in_word = ([0.0] * trie.n_nodes for _ in range(3))
    for node in order:
        trie.text[node] = trie.text[trie.parent[node]] + trie.letter[node]
        trie.link[node] = link = _find_link(trie, node)
        trie.endings[node] = ((node,) if trie.ending[node] else ()) + trie.endings[link]
        _settle(trie, node)
    return trie


def _add_phrase(trie: Trie, phrase: Phrase) -> None:
    node = BORDER
    for character, potential in zip(phrase.text, phrase.potential, strict=True):
        child = trie.children[node].get(character)
        if child is None:
            child = _add_node(trie, node, character)
        node = child
        trie.potential[node] = max(trie.potential[node], potential)
    trie.ending[node] = max(trie.ending[node], _OPEN if phrase.is_open else _CLOSED)
    trie.bonus[node] = max(trie.bonus[node], phrase.potential[-1])


def _add_node(trie: Trie, parent: int, character: str) -> int:
    node = trie.n_nodes
    trie.children[parent][character] = node
    trie.children.append({})
    trie.parent.append(parent)
    trie.letter.append(character)
    trie.depth.append(trie.depth[parent] + 1)
    trie.is_word.append(is_word(character))
    trie.potential.append(0.0)
    trie.bonus.append(0.0)
    trie.ending.append(0)
    return node


def _find_link(trie: Trie, node: int) -> int:
    """Find the longest proper suffix that is a node, from that of the parent.

    Source:
        Aho & Corasick, Communications of the ACM 18(6), 1975; borders of words are tested where the suffix begins.
    """
    parent = trie.parent[node]
    if parent > WORD:
        for shorter in trie.iter_links(trie.link[parent]):
            child = trie.find_child(shorter, trie.letter[node])
            if child is not None:
                return child
    return WORD if trie.is_word[node] else BORDER


def _settle(trie: Trie, node: int) -> None:
    """Find what is certain at a node: the best of the phrases that end there, with what was certain before them."""
    parent = trie.parent[node]
    inside = 0.0
    if parent > WORD:
        border = is_border(trie.is_word[parent], trie.is_word[node])
        inside = trie.at_border[parent] if border else trie.in_word[parent]
    at_border = in_word = inside
    for end in trie.endings[node]:
        before = node
        for _ in range(trie.depth[end]):
            before = trie.parent[before]
        value = trie.bonus[end] + (trie.at_border[before] if before > WORD else 0.0)
        at_border = max(at_border, value)
        if trie.ending[end] == _OPEN:
            in_word = max(in_word, value)
    trie.inside[node], trie.at_border[node], trie.in_word[node] = inside, at_border, in_word
