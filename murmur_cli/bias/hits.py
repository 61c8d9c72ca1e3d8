"""Where the keywords of a list are in a text: at borders of words, the longest from the left, none in another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from murmur_cli.bias.fold import fold, fold_character, is_border, is_word
from murmur_cli.bias.keywords import Form, Keyword, KeywordList

__all__ = ["Hit", "HitFinder", "spell_as_list"]


@dataclass(frozen=True, slots=True)
class Hit:
    """A keyword in a text, in one of its forms; ``[start, end)`` in characters.

    An open form's hit reaches to the end of the word.
    """

    keyword: Keyword
    form: Form
    start: int
    end: int


@dataclass(slots=True, eq=False)
class _Node:
    children: dict[str, _Node] = field(default_factory=dict)
    closed: tuple[Keyword, Form] | None = None
    open: tuple[Keyword, Form] | None = None


class HitFinder:
    """Finds the keywords of a list. Of two that are the same when folded, the first is found."""

    def __init__(self, keywords: KeywordList) -> None:
        self._root = _Node()
        for keyword in keywords.keywords:
            for form in keyword.forms if keyword.weight > 0 else ():
                self._add(keyword, form)

    def find(self, text: str) -> tuple[Hit, ...]:
        """Find keywords in a text, in order."""
        return tuple(self._iter_hits(_Folded(text)))

    def _add(self, keyword: Keyword, form: Form) -> None:
        node = self._root
        for character in fold(form.text):
            node = node.children.setdefault(character, _Node())
        if form.is_open:
            node.open = node.open or (keyword, form)
        else:
            node.closed = node.closed or (keyword, form)

    def _iter_hits(self, text: _Folded) -> Iterator[Hit]:
        place = 0
        while place < len(text.letters):
            found = self._find_longest(text, place) if text.may_begin(place) else None
            if found is None:
                place += 1
                continue
            (keyword, form), end = found
            yield Hit(keyword, form, text.origins[place], text.origins[end - 1] + 1)
            place = end

    def _find_longest(self, text: _Folded, begin: int) -> tuple[tuple[Keyword, Form], int] | None:
        """Find the longest keyword that begins at a place, and where it ends."""
        found, longest = None, 0
        node: _Node | None = self._root
        for place in range(begin, len(text.letters)):
            node = node.children.get(text.letters[place]) if node is not None else None
            if node is None:
                break
            if node.closed is not None and place + 1 > longest and text.may_end(place + 1):
                found, longest = (node.closed, place + 1), place + 1
            if node.open is not None and text.find_word_end(place + 1) > longest:
                longest = text.find_word_end(place + 1)
                found = node.open, longest
        return found


class _Folded:
    """A folded text; ``origins`` are the characters that its letters come from."""

    def __init__(self, text: str) -> None:
        pairs = [(letter, i) for i, character in enumerate(text) for letter in fold_character(character)]
        self.letters = [letter for letter, _ in pairs]
        self.origins = [i for _, i in pairs]
        self._classes = [is_word(letter) for letter in self.letters]

    def may_begin(self, place: int) -> bool:
        """Tell whether a word may begin at a letter."""
        return place == 0 or is_border(self._classes[place - 1], self._classes[place])

    def may_end(self, end: int) -> bool:
        """Tell whether a word may end before a letter."""
        return end == len(self.letters) or self.may_begin(end)

    def find_word_end(self, end: int) -> int:
        """Find where the word ends of which a letter is the last that is looked at so far."""
        while not self.may_end(end):
            end += 1
        return end


def spell_as_list(text: str, hits: Sequence[Hit]) -> str:
    """Write the hits in a text as their list spells them; those of open forms stay, as the list has but their stem."""
    parts, done = [], 0
    for hit in hits:
        if not hit.form.is_open and not hit.keyword.forms[0].is_open:
            parts += [text[done : hit.start], hit.keyword.display]
            done = hit.end
    return "".join([*parts, text[done:]])
