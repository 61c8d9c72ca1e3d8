"""Text set in lines: how much fits, and where it is best broken.

A unit is never cut: one that is wider than its line stands there alone, and sticks out.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from murmur_cli.transcript.line_breaks import Unit, break_cost, display_width, find_units

__all__ = ["Passage", "lay_out", "measure", "partition"]


@dataclass(frozen=True, slots=True)
class Passage:
    """A text with its units: what a break after each costs, and the columns where each begins and ends."""

    text: str
    units: tuple[Unit, ...]
    costs: tuple[float, ...]
    begins: tuple[int, ...]
    ends: tuple[int, ...]

    def width(self, i: int, j: int) -> int:
        """Return the columns that units ``[i, j)`` take on one line."""
        return self.ends[j - 1] - self.begins[i]

    def fit(self, i: int, widths: Sequence[int]) -> int:
        """Return the greatest j so that units ``[i, j)`` fill lines of these ``widths``; each takes a unit at least."""
        for width in widths:
            if i < len(self.units):
                i = max(i + 1, bisect_right(self.ends, self.begins[i] + width))
        return i


def measure(text: str, word_ends: frozenset[int]) -> Passage:
    """Find the units of ``text``; a break at one of ``word_ends``, in characters, splits no word."""
    units = find_units(text)
    columns = [0, *accumulate(map(display_width, text))]
    return Passage(
        text=text,
        units=tuple(units),
        costs=tuple(
            break_cost(
                text, unit, splits_word=unit.end not in word_ends and not text[unit.end : unit.end + 1].isspace()
            )
            for unit in units
        ),
        begins=tuple(columns[unit.begin] for unit in units),
        ends=tuple(columns[unit.end] for unit in units),
    )


def lay_out(passage: Passage, i: int, j: int, *, widths: Sequence[int]) -> tuple[str, ...]:
    """Set units ``[i, j)`` in as few lines as can be, broken at the best places, of about the same length.

    Args:
        passage: The text.
        i: The first unit.
        j: The unit after the last; ``passage.fit(i, widths)`` or less.
        widths: The columns of each line.
    """

    def width_from(k: int) -> int:
        return widths[0] if k == i else widths[-1]

    def reach(k: int) -> int:
        return min(j, passage.fit(k, [width_from(k)]))

    def cost(k: int, m: int) -> float:
        # The first term keeps the number of lines least: the others add up to less, for up to 10 lines.
        emptiness = max(0.0, 1 - passage.width(k, m) / max(1, width_from(k)))
        return 100.0 + (0.0 if m == j else passage.costs[m - 1]) + 4 * emptiness**2

    cuts = partition(i, j, reach=reach, cost=cost)
    return tuple(passage.text[passage.units[k].begin : passage.units[m - 1].end] for k, m in pairwise(cuts))


def partition(first: int, last: int, *, reach: Callable[[int], int], cost: Callable[[int, int], float]) -> list[int]:
    """Cut ``[first, last)`` into neighbouring groups so that their costs add up to the least.

    Args:
        first: Where the first group begins.
        last: Where the last group ends.
        reach: The furthest end of a group that begins at k, more than k.
        cost: The cost of the group ``[k, m)``.

    Returns:
        The borders in order, ``first`` and ``last`` among them; of equals, the one with the later border last.

    Source:
        Knuth and Plass, Breaking Paragraphs into Lines, 1981: dynamic programming over the breaks.
    """
    best = {first: 0.0}
    before: dict[int, int] = {}
    for k in range(first, last):
        for m in range(k + 1, min(reach(k), last) + 1):
            total = best[k] + cost(k, m)
            if total < best.get(m, math.inf):
                best[m], before[m] = total, k
    borders = [last]
    while borders[-1] > first:
        borders.append(before[borders[-1]])
    return borders[::-1]
