"""Where a decoder's clock is on that of a live session: audio that was skipped lies between the two."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

__all__ = ["SessionClock"]


class SessionClock:
    """Counts what was decoded and what was skipped.

    Args:
        sample_rate: Samples per second.
    """

    def __init__(self, sample_rate: int) -> None:
        self._sample_rate = sample_rate
        self._n_decoded = 0
        self._n_skipped = 0
        self._seams: list[float] = []  # on the decoder's clock, in seconds
        self._offsets = [0.0]  # what was skipped before each seam, and in all

    @property
    def n_heard(self) -> int:
        """Samples of the session so far."""
        return self._n_decoded + self._n_skipped

    @property
    def heard_s(self) -> float:
        """Seconds of the session so far."""
        return self.n_heard / self._sample_rate

    def decode(self, n_samples: int) -> None:
        """Some samples are decoded."""
        self._n_decoded += n_samples

    def skip(self, n_samples: int) -> None:
        """Some samples are never decoded."""
        self._n_skipped += n_samples
        at = self._n_decoded / self._sample_rate
        if self._seams[-1:] == [at]:
            self._offsets.pop()
        else:
            self._seams.append(at)
        self._offsets.append(self._n_skipped / self._sample_rate)

    def to_start(self, seconds: float) -> float:
        """Bring the time at which something begins to the session's clock: behind what was skipped."""
        return min(seconds + self._offsets[bisect_right(self._seams, seconds)], self.heard_s)

    def to_end(self, seconds: float) -> float:
        """Bring the time at which something ends to the session's clock: before what was skipped."""
        return min(seconds + self._offsets[bisect_left(self._seams, seconds)], self.heard_s)
