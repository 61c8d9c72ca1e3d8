"""Words given to speakers quarter of a second by quarter of a second. Times are multiples of it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from murmur_cli.types import Segment, Turn, Word

CELL_S = 0.25
Part = tuple[str, tuple[Word, ...]]  # a speaker, and what they say


def to_cells(start: float, end: float) -> set[int]:
    return set(range(round(start / CELL_S), round(end / CELL_S)))


def choose_plainly(start: float, end: float, turns: Sequence[Turn]) -> str:
    """Most cells in common, then the nearest turn, then who began the talk that goes on first, then who is first."""
    order = list(dict.fromkeys(turn.speaker for turn in sorted(turns)))
    ranks = []
    for number, speaker in enumerate(order):
        own = [turn for turn in turns if turn.speaker == speaker]
        talk = set().union(*(to_cells(turn.start, turn.end) for turn in own))
        common = len(to_cells(start, end) & talk)
        distance = min(max(0.0, turn.start - end, start - turn.end) for turn in own)
        beginning = min((cell for cell in talk if cell >= round(start / CELL_S)), default=10**9)
        while beginning - 1 in talk:
            beginning -= 1
        ranks.append((-common, distance, beginning, number))
    return order[min(ranks)[-1]]


def attribute_plainly(segment: Segment, turns: Sequence[Turn]) -> list[Part]:
    """The parts of a segment whose words cling to nothing."""
    if not segment.words:
        return [(choose_plainly(segment.start, segment.end, turns), ())]
    speakers = [choose_plainly(word.start, word.end, turns) for word in segment.words]
    for i in range(1, len(speakers) - 1):
        is_short = segment.words[i].end - segment.words[i].start < 0.4
        if is_short and speakers[i - 1] == speakers[i + 1]:
            speakers[i] = speakers[i - 1]
    named = list(zip(speakers, segment.words, strict=True))
    return [(speaker, tuple(word for _, word in run)) for speaker, run in groupby(named, key=lambda each: each[0])]
