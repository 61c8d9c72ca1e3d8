"""When each person of a recording talks, as arrays that answer many questions at once.

The stretches of a timeline are sorted and disjoint: what one person says twice at a time counts once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from murmur_cli.types import Speaker, Stretch, Turn

__all__ = ["Floats", "Timeline", "lay_out_turns", "leave_out", "unite"]

Floats: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """The stretches in which one person talks, in seconds, both arrays (n_stretches,) with at least one."""

    starts: Floats
    ends: Floats

    def measure_overlaps(self, starts: Floats, ends: Floats) -> Floats:
        """Return the seconds of talk inside each ``[start, end]``; all arrays (n,).

        Where a single stretch covers a query, the answer is exactly ``end - start``: ties stay ties.
        """
        spoken = np.concatenate([[0.0], np.cumsum(self.ends - self.starts)])
        first = np.searchsorted(self.ends, starts, side="right")
        last = np.searchsorted(self.starts, ends, side="left") - 1
        touched = first <= last
        first, last = np.where(touched, first, 0), np.where(touched, last, 0)
        first_start, last_end = np.maximum(starts, self.starts[first]), np.minimum(ends, self.ends[last])
        between = spoken[last] - spoken[np.minimum(first + 1, last)]
        several = (self.ends[first] - first_start) + between + (last_end - self.starts[last])
        overlaps = np.where(first == last, last_end - first_start, several)
        return np.where(touched, np.maximum(overlaps, 0.0), 0.0)

    def measure_distances(self, starts: Floats, ends: Floats) -> Floats:
        """Return the seconds from each ``[start, end]`` to the nearest stretch, 0 where they touch; all arrays (n,)."""
        ahead = np.searchsorted(self.ends, starts, side="left")  # the first stretch that is not over before the start
        n = len(self.starts)
        to_next = np.where(ahead < n, self.starts[np.minimum(ahead, n - 1)] - ends, np.inf)
        to_last = np.where(ahead > 0, starts - self.ends[ahead - 1], np.inf)
        return np.maximum(np.minimum(to_next, to_last), 0.0)

    def find_beginnings(self, moments: Floats) -> Floats:
        """Return when the stretch began, or begins, that is the first to go on after each moment; inf if none does."""
        ahead = np.searchsorted(self.ends, moments, side="right")
        n = len(self.starts)
        return np.where(ahead < n, self.starts[np.minimum(ahead, n - 1)], np.inf)


def lay_out_turns(turns: Iterable[Turn]) -> dict[Speaker, Timeline]:
    """Sort turns by speaker, the speakers by their first turn."""
    by_speaker: dict[Speaker, list[Stretch]] = {}
    for turn in sorted(turns):
        by_speaker.setdefault(turn.speaker, []).append(Stretch(turn.start, turn.end))
    return {speaker: _to_timeline(unite(stretches)) for speaker, stretches in by_speaker.items()}


def unite(stretches: Iterable[Stretch]) -> list[Stretch]:
    """Sort stretches, and make one of those that overlap or touch."""
    united: list[Stretch] = []
    for stretch in sorted(stretches):
        if united and stretch.start <= united[-1].end:
            united[-1] = Stretch(united[-1].start, max(united[-1].end, stretch.end))
        else:
            united.append(stretch)
    return united


def leave_out(stretches: Iterable[Stretch], others: Iterable[Stretch]) -> list[Stretch]:
    """Return what of ``stretches`` is in none of ``others``, sorted and disjoint."""
    rest = unite(stretches)
    for other in unite(others):
        parts = [
            part
            for each in rest
            for part in (
                Stretch(each.start, min(each.end, other.start)),
                Stretch(max(each.start, other.end), each.end),
            )
        ]
        rest = [part for part in parts if part.start < part.end]
    return rest


def _to_timeline(stretches: Sequence[Stretch]) -> Timeline:
    return Timeline(np.array([each.start for each in stretches]), np.array([each.end for each in stretches]))
