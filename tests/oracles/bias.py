"""What a list earns on a text, straight from the definition: by looking at strings, without trees, links or tokens."""

# ruff: noqa: RUF001 - letters that look alike are what these texts are about

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Sequence

from murmur_cli.bias.allocation import Phrase

_UNSPACED = (
    (0x0E00, 0x0EFF), (0x0F00, 0x109F), (0x1780, 0x17FF), (0x2E80, 0x312F), (0x31A0, 0x4DBF), (0x4E00, 0xA4CF),
    (0xF900, 0xFAFF), (0xFF65, 0xFF9F), (0x20000, 0x323AF),
)  # fmt: skip


def fold_plainly(text: str) -> str:
    folded = []
    for character in text:
        if character in "İı":
            folded.append("i")
        elif character == "ŉ":
            folded.append(character)
        else:
            folded.append(character.casefold())
    swap = {"’": "'", "‘": "'", "ʼ": "'", "‐": "-", "‑": "-", "‒": "-", "–": "-"}
    swap |= dict.fromkeys("\u00a0\u202f\t\n\r", " ")
    return "".join(swap.get(character, character) for character in "".join(folded))


def is_word_plainly(character: str) -> bool:
    if any(first <= ord(character) <= last for first, last in _UNSPACED):
        return False
    return character == "_" or unicodedata.category(character)[0] in ("L", "N", "M")


class PlainBonus:
    """A list's bonus on texts."""

    def __init__(self, phrases: Sequence[Phrase]) -> None:
        self.beginnings: defaultdict[str, float] = defaultdict(float)
        self.whole: dict[str, float] = {}
        self.open: set[str] = set()
        for phrase in phrases:
            for length in range(1, len(phrase.text) + 1):
                beginning = phrase.text[:length]
                self.beginnings[beginning] = max(self.beginnings[beginning], phrase.potential[length - 1])
            self.whole[phrase.text] = max(self.whole.get(phrase.text, 0.0), phrase.potential[-1])
            if phrase.is_open:
                self.open.add(phrase.text)

    def measure(self, text: str, *, has_ended: bool = False) -> float:
        """What the text has earned up to its end, where more may follow, or a border."""
        folded, certain, window = fold_plainly(text), 0.0, ""
        for i, character in enumerate(folded):
            if window:
                border = not (is_word_plainly(window[-1]) and is_word_plainly(character))
                certain += self._earn(window, border=border) - self._earn_inside(window)
            window = self._find_window(folded[: i + 1])
        if not window:
            return certain
        earned = self._earn(window, border=True)
        if not has_ended:
            earned = max(earned, self.beginnings[window])
        return certain + earned - self._earn_inside(window)

    def _find_window(self, text: str) -> str:
        """The longest end of a text that begins at a border and begins a phrase."""
        longest = max(map(len, self.beginnings), default=0)
        for begin in range(max(len(text) - longest, 0), len(text)):
            if text[begin:] in self.beginnings and _is_border(text, begin):
                return text[begin:]
        return ""

    def _earn(self, window: str, *, border: bool) -> float:
        """The most that finished phrases earn in a window, none in another, if a border or a word's letter follows."""
        return self._fill(window, border=border, to_end=True)

    def _earn_inside(self, window: str) -> float:
        return self._fill(window, border=False, to_end=False)

    def _fill(self, window: str, *, border: bool, to_end: bool) -> float:
        best = [0.0] * (len(window) + 1)
        for end in range(1, len(window) + 1):
            best[end] = best[end - 1]
            if end == len(window) and not to_end:
                continue
            closes = border if end == len(window) else _is_border(window, end)
            for begin in range(end):
                phrase = window[begin:end]
                if phrase in self.whole and (closes or phrase in self.open) and _is_border(window, begin):
                    best[end] = max(best[end], best[begin] + self.whole[phrase])
        return best[-1]


def _is_border(text: str, place: int) -> bool:
    return place == 0 or not (is_word_plainly(text[place - 1]) and is_word_plainly(text[place]))
