"""From slots with names to frames with names: the windows over a frame vote on who speaks in it.

Segmentation says how many speak at once, votes say who. Only the frames under one window are in
memory at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from murmur_cli.speakers.slots import Slot
from murmur_cli.speakers.windows import FRAMES_PER_WINDOW, BoolArray, find_first_frame

__all__ = ["Run", "find_runs"]


@dataclass(frozen=True, slots=True, order=True)
class Run:
    """Frames ``[start, end)`` of the recording in which one person speaks."""

    start: int
    end: int
    person: int


def find_runs(
    activity: Sequence[BoolArray],
    slots: Sequence[Slot],
    labels: npt.NDArray[np.intp],
    *,
    n_frames: int,
) -> list[Run]:
    """Count the votes.

    Args:
        activity: Of each window, shape (FRAMES_PER_WINDOW, LOCAL_SPEAKERS).
        slots: In the order of their windows.
        labels: The person of each slot, from 0, shape (n_slots,).
        n_frames: The frames of the recording, which no run passes.

    Returns:
        Runs in order; those of one person neither overlap nor touch.
    """
    if not slots:
        return []
    return sorted(_iter_runs(_iter_decisions(activity, slots, labels), n_frames))


def _iter_decisions(
    activity: Sequence[BoolArray], slots: Sequence[Slot], labels: npt.NDArray[np.intp]
) -> Iterator[BoolArray]:
    """Yield who speaks in the frames of the recording, in order, in pieces of shape (frames, people)."""
    bounds = np.searchsorted([slot.window for slot in slots], np.arange(len(activity) + 1))
    n_people = int(labels.max()) + 1
    votes = np.zeros((FRAMES_PER_WINDOW, n_people), np.int32)
    n_active = np.zeros(FRAMES_PER_WINDOW, np.int32)
    n_windows = np.zeros(FRAMES_PER_WINDOW, np.int32)
    for window, active in enumerate(activity):
        n_active += active.sum(1, dtype=np.int32)
        n_windows += 1
        for i in range(bounds[window], bounds[window + 1]):
            slot = slots[i]
            votes[slot.first : slot.end, labels[i]] += active[slot.first : slot.end, slot.local]
        is_last = window + 1 == len(activity)
        n_done = FRAMES_PER_WINDOW if is_last else find_first_frame(window + 1) - find_first_frame(window)
        n_speaking = np.floor(n_active[:n_done] / n_windows[:n_done] + 0.5).astype(np.intp)
        yield _elect(votes[:n_done], n_speaking)
        for count in (votes, n_active, n_windows):
            count[: FRAMES_PER_WINDOW - n_done] = count[n_done:].copy()
            count[FRAMES_PER_WINDOW - n_done :] = 0


def _elect(votes: npt.NDArray[np.int32], n_speaking: npt.NDArray[np.intp]) -> BoolArray:
    """Give each frame to the ``n_speaking`` people with the most votes, of equals to the first."""
    order = np.argsort(-votes, axis=1, kind="stable")
    elected = np.zeros(votes.shape, np.bool_)
    np.put_along_axis(elected, order, np.arange(votes.shape[1]) < n_speaking[:, np.newaxis], axis=1)
    return elected & (votes > 0)


def _iter_runs(decisions: Iterable[BoolArray], n_frames: int) -> Iterator[Run]:
    starts: dict[int, int] = {}  # where the runs began that go on
    n_past = 0
    for piece in decisions:
        speaking = piece[: max(0, n_frames - n_past)]
        before = np.zeros((1, piece.shape[1]), np.bool_)
        before[0, list(starts)] = True
        frames, people = np.nonzero(np.diff(np.concatenate([before, speaking]), axis=0))
        for frame, person in zip((frames + n_past).tolist(), people.tolist(), strict=True):
            if person in starts:
                yield Run(starts.pop(person), frame, person)
            else:
                starts[person] = frame
        n_past += len(speaking)
    for person, start in starts.items():
        yield Run(start, n_past, person)
