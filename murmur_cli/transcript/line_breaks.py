"""Where a text may be broken: at blanks, and between the characters of scripts that write none.

A unit is the least piece of text that a line or a cue can hold: a word with its punctuation, or one
character of Chinese, Japanese, Thai and the like with what clings to it. Nothing is broken inside one.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

__all__ = ["Unit", "break_cost", "display_width", "ends_sentence", "find_units", "is_spaceless"]

# Unicode 16.0, Blocks.txt: the scripts that Unicode Line Breaking (UAX 14) treats as ideographic, or as
# complex context (classes ID, CJ and SA). Hangul is absent: Korean writes blanks.
_SPACELESS = re.compile(
    "[\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\u1780-\u17ff"  # Myanmar, Khmer
    "\u2e80-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # radicals, kana, Bopomofo, Han
    "\uff00-\uff9f"  # full-width punctuation, half-width kana
    "\U00020000-\U0003ffff]"  # rarer Han
)
# No-break spaces (U+00A0, U+2007, U+202F) hold their neighbours together.
_RUN = re.compile("(?:[^\\s]|[\u00a0\u2007\u202f])+")

# What may not begin a line: marks, closing punctuation, iteration and length marks (by category), small kana,
# and the Thai and Lao vowels that are written after their consonant. UAX 14, classes CM, CL, EX, NS, CJ.
_CLINGS_BACK = ("Mn", "Mc", "Me", "Pe", "Pf", "Po", "Pd", "Lm")
_FOLLOWERS = frozenset("ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮヵヶ\u0e30\u0e32\u0e33\u0e45\u0eb0\u0eb2\u0eb3")
# What may not end a line: opening punctuation, and the Thai and Lao vowels that are written before it.
_CLINGS_FORTH = ("Ps", "Pi")
_LEADERS = frozenset("\u0e40\u0e41\u0e42\u0e43\u0e44\u0ec0\u0ec1\u0ec2\u0ec3\u0ec4")
_VIRAMA = 9  # combining class: the next consonant is stacked below

_SENTENCE_ENDS = frozenset(".?!…。？！｡．؟।۔")  # noqa: RUF001 -- meant as they stand
_CLAUSE_ENDS = frozenset(",;:–—、，；：،؛")  # noqa: RUF001 -- meant as they stand
_CLOSERS = "\"'”’»)]}」』）】》"  # noqa: RUF001 -- meant as they stand


@dataclass(frozen=True, slots=True)
class Unit:
    """Characters ``[begin, end)`` of a text, without the blanks around them."""

    begin: int
    end: int


def find_units(text: str) -> list[Unit]:
    """Cut ``text`` into the pieces between which it may be broken; blanks belong to none of them."""
    units: list[Unit] = []
    for run in _RUN.finditer(text):
        begin = run.start()
        for i in range(run.start() + 1, run.end()):
            if _may_break(text[i - 1], text[i]):
                units.append(Unit(begin, i))
                begin = i
        units.append(Unit(begin, run.end()))
    return units


def is_spaceless(character: str) -> bool:
    """Tell whether ``character`` belongs to a script that writes no blanks between words."""
    return _SPACELESS.match(character) is not None


def display_width(character: str) -> int:
    """Return the columns that ``character`` takes: 2 for wide ones such as Han and kana, else 1."""
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def ends_sentence(text: str) -> bool:
    """Tell whether ``text`` ends a sentence, closing quotes and brackets aside."""
    return text.rstrip().rstrip(_CLOSERS)[-1:] in _SENTENCE_ENDS


def break_cost(text: str, unit: Unit, *, splits_word: bool) -> float:
    """Rate a break after ``unit`` from 0 (after a sentence) to 2 (``splits_word``: inside a word)."""
    piece = text[unit.begin : unit.end]
    if ends_sentence(piece):
        return 0.0
    if piece.rstrip(_CLOSERS)[-1:] in _CLAUSE_ENDS:
        return 0.5
    return 2.0 if splits_word else 1.5


def _may_break(left: str, right: str) -> bool:
    if not (is_spaceless(left) or is_spaceless(right)):
        return False
    if right in _FOLLOWERS or unicodedata.category(right) in _CLINGS_BACK:
        return False
    clings_forth = left in _LEADERS or unicodedata.category(left) in _CLINGS_FORTH
    return not clings_forth and unicodedata.combining(left) != _VIRAMA
