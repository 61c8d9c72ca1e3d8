"""The clock of a container: where in a film its audio begins, and where the audio has holes.

Silence takes the place of what is not there, so that every sample stands where a player plays it, and captions fit
the picture.
"""

from __future__ import annotations

import av

from murmur_cli.audio.container import AudioContainer
from murmur_cli.types import Stretch

__all__ = ["ContainerClock"]

# Formats that put every frame on a clock: a hole between two frames was left on purpose. Others number the frames anew
# wherever a program broke off, or have no clock.
_CLOCKED_FORMATS = ("matroska", "mov")
# What is less comes from rounding, and from encoders that number their delay. FFmpeg's own limit, to the same end: the
# option min_hard_comp of its resampler.
_LEAST_S = 0.1
# A damaged clock that jumps by years must not fill the disk: 0.9 GB.
_MOST_S = 4 * 3600.0


class ContainerClock:
    """Says how much silence belongs before each frame of a stream, in order.

    Args:
        container: An open file.
    """

    def __init__(self, container: AudioContainer) -> None:
        # None where there is no clock, else that of the stream that begins first: players begin there.
        self._zero_s = (container.handle.start_time or 0) / av.time_base
        self._is_kept = container.handle.format.name.startswith(_CLOCKED_FORMATS)
        self._holes: list[Stretch] = []
        self._silence_s = 0.0
        self._jumps: list[str] = []
        self._start_s: float | None = None
        self._end_s = 0.0

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know about the clock, a clause each."""
        if not self._holes:
            return tuple(self._jumps)
        first, n_holes = self._holes[0], len(self._holes)
        if n_holes == 1:
            told = f"{first.end - first.start:.1f} s without audio at {first.start:.1f} s are kept as silence"
        else:
            told = f"{n_holes} holes are kept as silence, {self._silence_s:.1f} s in all from {first.start:.1f} s on"
        return (told, *self._jumps)

    @property
    def covered_s(self) -> float:
        """How much time the frames took so far, with the holes between them."""
        return self._end_s - (self._start_s or 0.0)

    def place(self, frame_s: float | None, *, length_s: float, reached_s: float) -> float:
        """Say how many seconds of silence belong before a frame.

        Args:
            frame_s: When the container says that the frame begins, if it does.
            length_s: How long the frame is.
            reached_s: Where the signal that was given so far ends, silence and all.
        """
        if frame_s is None or not self._is_kept:
            return 0.0
        self._start_s = frame_s if self._start_s is None else self._start_s
        self._end_s = frame_s + length_s
        hole_s = frame_s - self._zero_s - reached_s
        if hole_s < _LEAST_S:
            return 0.0
        if self._silence_s + hole_s > _MOST_S:
            self._zero_s += hole_s
            self._jumps.append(f"its clock jumps by {hole_s:.0f} s at {reached_s:.1f} s, which is not believed")
            return 0.0
        self._silence_s += hole_s
        self._holes.append(Stretch(reached_s, reached_s + hole_s))
        return hole_s
