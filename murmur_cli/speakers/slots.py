"""Slots: the speech of one local speaker in pieces of about 2 s, each long enough to hear whose it is.

One vector for all that a local speaker says in a window would be dearer and worse: far from the
microphone, segmentation takes two people for one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from murmur_cli.speakers.windows import FRAME_S, BoolArray

__all__ = ["SLOT_S", "TRUSTED_S", "Slot", "SlotFrames", "iter_slots"]

SLOT_S = 2.0
"""Seconds of activity in a slot. Measured: 3 s tells fewer people apart."""

TRUSTED_S = 1.5
"""Seconds of clean speech behind a vector that is to be trusted; a shorter slot borrows up to that."""

_SLOT_FRAMES = SLOT_S / FRAME_S
_TRUSTED_FRAMES = int(TRUSTED_S / FRAME_S)
_LEAST_FRAMES = 0.1 / FRAME_S  # a local speaker with less did not speak
_LEAST_CLEAN_FRAMES = 0.4 / FRAME_S  # with less speech of their own, what others talk into is taken as well
_PAUSE_FRAMES = 0.5 / FRAME_S  # no slot reaches over a longer one


@dataclass(frozen=True, slots=True)
class Slot:
    """A stretch of a window in which one local speaker is active, in frames ``[first, end)`` of the window.

    ``own_s`` are the seconds in it during which nobody else speaks.
    """

    window: int
    local: int
    first: int
    end: int
    own_s: float


@dataclass(frozen=True, slots=True, eq=False)
class SlotFrames:
    """A slot, and the frames of its window in which its voice is heard, shape (FRAMES_PER_WINDOW,)."""

    slot: Slot
    heard: BoolArray


def iter_slots(active: BoolArray, window: int) -> Iterator[SlotFrames]:
    """Cut the activity of one window into slots.

    Args:
        active: Shape (FRAMES_PER_WINDOW, LOCAL_SPEAKERS).
        window: The number of the window.
    """
    alone = active.sum(1) == 1
    for local in range(active.shape[1]):
        spoken = np.flatnonzero(active[:, local])
        if len(spoken) < _LEAST_FRAMES:
            continue
        clean = np.flatnonzero(active[:, local] & alone)
        voice = clean if len(clean) >= _LEAST_CLEAN_FRAMES else spoken
        for piece in _iter_pieces(spoken):
            first, end = int(piece[0]), int(piece[-1]) + 1
            frames = voice[(voice >= first) & (voice < end)]
            slot = Slot(window, local, first, end, len(frames) * FRAME_S)
            if len(frames) < _TRUSTED_FRAMES:
                frames = _take_nearest(voice, first, end)
            heard = np.zeros(len(active), np.bool_)
            heard[frames] = True
            yield SlotFrames(slot, heard)


def _iter_pieces(spoken: npt.NDArray[np.intp]) -> Iterator[npt.NDArray[np.intp]]:
    """Split frames at pauses, and what is long into equal parts."""
    for run in np.split(spoken, np.flatnonzero(np.diff(spoken) > _PAUSE_FRAMES) + 1):
        yield from np.array_split(run, max(1, round(len(run) / _SLOT_FRAMES)))


def _take_nearest(voice: npt.NDArray[np.intp], first: int, end: int) -> npt.NDArray[np.intp]:
    distance = np.maximum(first - voice, voice - (end - 1)).clip(0)
    return voice[np.argsort(distance, kind="stable")[:_TRUSTED_FRAMES]]
