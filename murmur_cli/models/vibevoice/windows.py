"""From blocks of any size to the windows that a streaming model hears.

Window k begins with chunk k and goes on for the look-ahead: windows overlap. How the audio was split into blocks makes
no difference, and memory does not grow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from murmur_cli.models.vibevoice.geometry import Geometry
from murmur_cli.types import Samples

__all__ = ["Window", "WindowCutter"]


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """What is heard at once.

    Attributes:
        index: k, from 0.
        samples: Shape (n_window,), filled up with zeros after the end of the session.
        n_heard: Samples of it that are no filling.
        before: The audio in front of it, shape (n_before,); shorter at the start of a session.
    """

    index: int
    samples: Samples
    n_heard: int
    before: Samples


class WindowCutter:
    """Cuts a session into windows; there are as many as chunks have begun.

    Args:
        geometry: How long chunks and windows are.
        n_before: Samples in front of a window that come with it.
    """

    def __init__(self, geometry: Geometry, *, n_before: int) -> None:
        self._n_chunk = geometry.chunk_samples
        self._n_before = n_before
        self._buffer = np.zeros(n_before + geometry.window_samples, dtype=np.float32)
        self._end = n_before  # of what is in the buffer
        self._index = 0

    def push(self, samples: Samples) -> Iterator[Window]:
        """Take the next block, shape (n_samples,), and give the windows that are whole with it."""
        at = 0
        while at < len(samples):
            n = min(len(samples) - at, len(self._buffer) - self._end)
            self._buffer[self._end : self._end + n] = samples[at : at + n]
            self._end += n
            at += n
            if self._end == len(self._buffer):
                yield self._cut()

    def finish(self) -> Iterator[Window]:
        """Give the windows whose chunks have begun."""
        while self._end > self._n_before:
            self._buffer[self._end :] = 0
            yield self._cut()

    def _cut(self) -> Window:
        first = self._n_before - min(self._n_before, self._index * self._n_chunk)
        window = Window(
            index=self._index,
            samples=self._buffer[self._n_before :].copy(),
            n_heard=self._end - self._n_before,
            before=self._buffer[first : self._n_before].copy(),
        )
        n_left = max(self._end - self._n_chunk, 0)
        self._buffer[:n_left] = self._buffer[self._n_chunk : self._n_chunk + n_left]
        self._end = max(n_left, self._n_before)
        self._index += 1
        return window
