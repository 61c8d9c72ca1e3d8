"""In the middle of a character: what may still become of the bytes so far, a word's character or another.

Tokens of bytes may cut a character. Beginnings of characters that leave the same open are one state: some hundreds
stand for all of Unicode. Ids are those that the states have in a graph: see ``RootLevel``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cache

from murmur_cli.bias.fold import mark_words

__all__ = ["BROKEN", "PartialTable", "RootLevel", "build_partial_table"]

BROKEN = -1
"""The bytes are of no character."""


class RootLevel(IntEnum):
    """The first states of every graph: where no phrase has begun.

    After them come those in which no phrase has begun and a character is cut: ``1 + number``, from number 1 on.
    """

    BORDER = 0  # at the start, or after a character that is of no word
    WORD = 1  # after a word's character


@dataclass(frozen=True, slots=True)
class PartialTable:
    """An automaton over the bytes of UTF-8.

    Attributes:
        steps: By state and byte: ``BROKEN``, a ``RootLevel`` where the character is complete, else 1 + a state.
            State 0 is between characters. From the others only 0x80 to 0xBF lead on, so these rows hold 64 bytes.
        likely: By state, whether it is probably a word's character; what it counts as where it breaks off.
    """

    steps: tuple[tuple[int, ...], ...]
    likely: tuple[bool, ...]

    @property
    def n_states(self) -> int:
        """How many, with the one between characters."""
        return len(self.steps)

    def read(self, state: int, continuation: bytes) -> int:
        """Read bytes 0x80 to 0xBF inside a character and say what comes of it; see ``steps``."""
        outcome = 1 + state
        for byte in continuation:
            if outcome <= RootLevel.WORD:
                return BROKEN
            outcome = self.steps[outcome - 1][byte - 0x80]
        return outcome

    def begin(self, beginning: bytes) -> int:
        """The state after the first bytes of a character, which they do not complete."""
        return self.read(self.steps[0][beginning[0]] - 1, beginning[1:]) - 1


@cache  # it is always the same
def build_partial_table() -> PartialTable:
    """Sort all beginnings of characters by what may become of them."""
    words = mark_words()
    states: dict[tuple[tuple[int, ...], bool], int] = {((), False): 0}

    def add(outcomes: Sequence[int], beginning: bytes) -> int:
        kinds = set(outcomes) - {BROKEN}
        certain = kinds <= {0} or kinds <= {1}
        likely = kinds == {1} if certain else _guess(beginning)
        return 1 + states.setdefault((tuple(outcomes), likely), len(states))

    def visit(beginning: bytes, n_left: int) -> int:
        if n_left == 1:
            return add_last(beginning)
        return add([visit(bytes([*beginning, byte]), n_left - 1) for byte in range(0x80, 0xC0)], beginning)

    def add_last(beginning: bytes) -> int:
        try:
            first = ord((beginning + b"\x80").decode())
        except UnicodeDecodeError:
            return BROKEN
        return add(words[first : first + 64], beginning)

    lead = [visit(bytes([byte]), _count_left(byte)) if byte >= 0xC2 else BROKEN for byte in range(0x80, 0xF5)]
    steps, likely = zip(*states, strict=True)
    start = (*words[:0x80], *lead, *[BROKEN] * 11)
    return PartialTable((start, *steps[1:]), likely)


def _count_left(lead: int) -> int:
    return 1 if lead < 0xE0 else 2 if lead < 0xF0 else 3


def _guess(beginning: Iterable[int]) -> bool:
    """Guess from one or two bytes: Indic but not Thai, Lao; not Myanmar, Khmer; Hangul but neither CJK nor symbols."""
    lead, second = (*beginning, 0)[:2]
    if lead == 0xE0:
        return second < 0xB8
    if lead == 0xE1:
        return second not in (0x80, 0x81, 0x82, 0x9E, 0x9F)
    return 0xC3 <= lead <= 0xDF or 0xEA <= lead <= 0xED
