"""One mono signal of a file on its way to disk, at every rate that it is needed at.

Written once from front to back, then read; on disk it takes four bytes for each sample at each rate.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from murmur_cli.audio.levels import Correction, Levels
from murmur_cli.audio.resample import Resampler
from murmur_cli.audio.spool import Spool
from murmur_cli.types import SPEECH_RATE, Samples

__all__ = ["DeferredTrack", "Track"]


class Track:
    """A signal at the engine's rate and at that of speech detection, kept once where the two are the same.

    ``push`` all of it, ``seal``, then read the spools ``for_engine`` and ``for_speech``.

    Args:
        sample_rate: The engine's rate.

    Raises:
        OutputError: The temporary folder has no room (from ``push`` and ``seal`` too).
    """

    def __init__(self, sample_rate: int) -> None:
        self.sample_rate = sample_rate
        with ExitStack() as on_failure:
            self._spools = {rate: on_failure.enter_context(Spool()) for rate in {sample_rate, SPEECH_RATE}}
            on_failure.pop_all()
        self._resamplers = {rate: Resampler(rate) for rate in self._spools}
        self._levels = Levels()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def n_samples(self) -> int:
        """Its length at the engine's rate."""
        return self.for_engine.n_samples

    @property
    def for_engine(self) -> Spool:
        """The signal at the engine's rate."""
        return self._spools[self.sample_rate]

    @property
    def for_speech(self) -> Spool:
        """The signal at 16 kHz."""
        return self._spools[SPEECH_RATE]

    def push(self, samples: Samples, sample_rate: int) -> None:
        """Write the next samples, shape (n_samples,), which come at ``sample_rate``."""
        self._levels.add(samples)
        for rate, spool in self._spools.items():
            for ready in self._resamplers[rate].push(samples, sample_rate):
                spool.append(ready)

    def seal(self) -> Correction:
        """End the signal and make it readable; say how its level was corrected, if it had to be."""
        correction = self._levels.find_correction()
        for rate, spool in self._spools.items():
            for ready in self._resamplers[rate].finish():
                spool.append(ready)
            spool.seal()
            if correction.is_needed:
                spool.rescale(offset=correction.offset, gain=correction.gain)
        return correction

    def close(self) -> None:
        """Give the disk space back; views that were handed out stay valid."""
        for spool in self._spools.values():
            spool.close()


class DeferredTrack:
    """A sealed signal of which the length is known, and that is decoded when it is first read.

    Args:
        sample_rate: The engine's rate.
        n_samples: Its length at that rate.
        decode: Gives the track, sealed; it is closed here.
    """

    def __init__(self, sample_rate: int, *, n_samples: int, decode: Callable[[], Track]) -> None:
        self.sample_rate = sample_rate
        self.n_samples = n_samples
        self._decode = decode
        self._track: Track | None = None

    @property
    def for_engine(self) -> Spool:
        """The signal at the engine's rate."""
        return self._open().for_engine

    @property
    def for_speech(self) -> Spool:
        """The signal at 16 kHz."""
        return self._open().for_speech

    def _open(self) -> Track:
        if self._track is None:
            self._track = self._decode()
        return self._track

    def close(self) -> None:
        """Give the disk space back, if it takes any."""
        if self._track is not None:
            self._track.close()
