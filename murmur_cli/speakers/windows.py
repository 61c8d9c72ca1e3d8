"""The grid on which voices are told apart: windows of 10 s, 5 s apart, each of 589 frames.

Windows do not depend on the blocks that the signal came in. All times here are counts of samples or
frames; the sums are those of segmentation 3.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from murmur_cli.types import SPEECH_RATE, Samples

__all__ = [
    "FRAMES_PER_WINDOW",
    "FRAME_S",
    "HOP_SAMPLES",
    "LOCAL_SPEAKERS",
    "SPEAKER_RATE",
    "WINDOW_SAMPLES",
    "BoolArray",
    "Window",
    "count_frames",
    "find_first_frame",
    "find_frame_start",
    "iter_windows",
]

BoolArray: TypeAlias = npt.NDArray[np.bool_]

SPEAKER_RATE = SPEECH_RATE
"""Samples per second that a diarizer and an embedder hear."""

WINDOW_SAMPLES = 10 * SPEAKER_RATE
"""Length of a window."""

HOP_SAMPLES = 5 * SPEAKER_RATE
"""From the start of one window to the next: each moment is heard twice."""

FRAMES_PER_WINDOW = 589
"""Frames of a window."""

LOCAL_SPEAKERS = 3
"""The most people that are told apart within a window."""

_FRAME_STEP_SAMPLES = 270  # and the samples behind one frame:
_FRAME_SAMPLES = 991

FRAME_S = _FRAME_STEP_SAMPLES / SPEAKER_RATE
"""Seconds from one frame to the next."""


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """A window of the signal, shape (WINDOW_SAMPLES,); after ``n_samples`` the signal is over, and zeros follow."""

    samples: Samples
    n_samples: int

    @property
    def inside(self) -> BoolArray:
        """Say which frames have their centre in the signal, shape (FRAMES_PER_WINDOW,)."""
        centres = np.arange(FRAMES_PER_WINDOW) * _FRAME_STEP_SAMPLES + _FRAME_SAMPLES // 2
        return centres < self.n_samples


def iter_windows(blocks: Iterable[Samples]) -> Iterator[Window]:
    """Cut a signal into windows; together they cover it.

    Args:
        blocks: The signal in order, in pieces of any size, at ``SPEAKER_RATE``.
    """
    pending: list[Samples] = []
    n_pending = 0
    n_covered = 0  # samples at the start of what is pending that the window before has heard
    for block in blocks:
        pending.append(block)
        n_pending += len(block)
        if n_pending < WINDOW_SAMPLES:
            continue
        signal = np.concatenate(pending)
        while len(signal) >= WINDOW_SAMPLES:
            yield Window(signal[:WINDOW_SAMPLES], WINDOW_SAMPLES)
            signal = signal[HOP_SAMPLES:]
            n_covered = WINDOW_SAMPLES - HOP_SAMPLES
        pending, n_pending = [signal.copy()], len(signal)
    if n_pending > n_covered:
        yield Window(np.pad(np.concatenate(pending), (0, WINDOW_SAMPLES - n_pending)), n_pending)


def find_first_frame(window: int) -> int:
    """Give the frame of the recording at which a window starts."""
    return round(window * HOP_SAMPLES / _FRAME_STEP_SAMPLES)


def count_frames(n_samples: int) -> int:
    """Give the frames of a recording."""
    return round(n_samples / _FRAME_STEP_SAMPLES)


def find_frame_start(frame: int) -> float:
    """Give the second at which a frame of the recording starts: half a step before its centre."""
    return ((frame - 0.5) * _FRAME_STEP_SAMPLES + _FRAME_SAMPLES / 2) / SPEAKER_RATE
