"""What counts as the same text, and where words begin and end: both character by character.

Folding commutes with concatenation: the fold of a text is that of its characters, one after the other. Whatever one
character folds to is of one class, so no border of words is ever inside it.
"""

from __future__ import annotations

import sys
import unicodedata
from functools import lru_cache

__all__ = ["find_spellings", "fold", "fold_character", "is_border", "is_word", "mark_words"]

_SAME = {
    **dict.fromkeys("\u0130\u0131", "i"),  # Turkish: dotted capital, dotless small
    **dict.fromkeys("\u2018\u2019\u02bc", "'"),
    **dict.fromkeys("\u2010\u2011\u2012\u2013", "-"),
    **dict.fromkeys("\u00a0\u202f\t\n\r", " "),
    "\u0149": "\u0149",  # deprecated; it would fold to an apostrophe and a letter, with a border between them
}

_UNSPACED = (
    range(0x0E00, 0x0F00),  # Thai, Lao
    range(0x0F00, 0x10A0),  # Tibetan, Myanmar
    range(0x1780, 0x1800),  # Khmer
    range(0x2E80, 0x3130),  # radicals, CJK punctuation, kana, Bopomofo
    range(0x31A0, 0x4DC0),  # Bopomofo, kana, CJK extension A
    range(0x4E00, 0xA4D0),  # CJK, Yi
    range(0xF900, 0xFB00),  # CJK compatibility
    range(0xFF65, 0xFFA0),  # half-width kana
    range(0x20000, 0x323B0),  # CJK extensions
)
"""Scripts that write no spaces between words."""


def fold(text: str) -> str:
    """Fold a text: case, apostrophes, hyphens and white space do not matter."""
    return "".join(map(fold_character, text))


@lru_cache(maxsize=1 << 16)
def fold_character(character: str) -> str:
    """Fold one character; a few become more than one, such as ss from a sharp s."""
    same = _SAME.get(character)
    return same if same is not None else "".join(_SAME.get(each, each) for each in character.casefold())


@lru_cache(maxsize=1 << 16)
def is_word(character: str) -> bool:
    """Tell a letter, mark or digit of a script that puts spaces between words. CJK, kana, Thai and others do not."""
    if character != "_" and unicodedata.category(character)[0] not in "LNM":
        return False
    point = ord(character)
    return not any(point in script for script in _UNSPACED)


def is_border(before: bool, after: bool) -> bool:  # noqa: FBT001 - two characters' classes, in their order
    """Tell whether a word may begin or end between two characters, of which it is known whether they are of words."""
    return not (before and after)


def find_spellings() -> dict[str, tuple[str, ...]]:
    """List, by the character that a folding begins with, the other characters of more than one byte that fold so."""
    found: dict[str, list[str]] = {}
    for point in range(0x80, sys.maxunicode + 1):
        character = chr(point)
        if character in _SAME or character.casefold() != character:
            first = fold_character(character)[0]
            if first != character:
                found.setdefault(first, []).append(character)
    return {first: tuple(characters) for first, characters in found.items()}


def mark_words() -> bytes:
    """By code point, 1 where its character folds to a word's character; the same as ``is_word`` of all, but fast."""
    marks = bytearray(unicodedata.category(chr(point))[0] in "LNM" for point in range(sys.maxunicode + 1))
    for script in _UNSPACED:
        marks[script.start : script.stop] = bytes(len(script))
    marks[ord("_")] = 1
    for first, characters in find_spellings().items():
        for character in characters:
            marks[ord(character)] = is_word(first)
    return bytes(marks)
