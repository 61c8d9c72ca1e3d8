"""How loud a signal is as a whole, and the one correction that it may need.

Ordinary recordings need none, and then not a bit of them is changed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from murmur_cli.types import Samples

__all__ = ["Correction", "Level", "Levels", "measure_level"]

# Codecs and filters overshoot a signal at full scale by one or two dB; that is no fault of the file.
_OVERSHOOT = 1.25
# Recordings of speech have means below 0.008 (the worst of 3000 spoken digits, made on an old 8-bit
# card); from 0.01, -40 dB, on an offset comes from the hardware.
_LARGEST_MEAN = 0.01


@dataclass(frozen=True, slots=True)
class Correction:
    """What is done to every sample ``x`` of a file: ``(x - offset) * gain``."""

    offset: float
    gain: float

    @property
    def is_needed(self) -> bool:
        """Whether it changes anything."""
        return self.offset != 0.0 or self.gain != 1.0

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know about it."""
        notes = []
        if self.offset:
            notes.append(f"a constant offset of {self.offset:+.3f} of full scale was removed")
        if self.gain != 1.0:
            notes.append(
                f"{1 / self.gain:.3g} times louder than full scale, scaled by {20 * math.log10(self.gain):.1f} dB"
            )
        return tuple(notes)


class Levels:
    """Running extremes and mean of a signal."""

    def __init__(self) -> None:
        self.n_samples = 0
        self._low = 0.0
        self._high = 0.0
        self._total = 0.0

    def add(self, samples: Samples) -> None:
        """Take the next samples, shape (n_samples,), into account."""
        self.n_samples += len(samples)
        self._low = min(self._low, float(samples.min(initial=0.0)))
        self._high = max(self._high, float(samples.max(initial=0.0)))
        self._total += float(samples.sum(dtype=np.float64))

    def find_correction(self) -> Correction:
        """Say what the whole signal needs."""
        mean = self._total / max(self.n_samples, 1)
        offset = mean if abs(mean) > _LARGEST_MEAN else 0.0
        peak = max(self._high - offset, offset - self._low)
        return Correction(offset=offset, gain=1.0 / peak if peak > _OVERSHOOT else 1.0)


@dataclass(frozen=True, slots=True)
class Level:
    """How loud a signal is: root mean square and highest absolute value, full scale is 1."""

    rms: float
    peak: float


def measure_level(blocks: Iterable[Samples]) -> Level:
    """Measure a signal that comes in blocks, each of shape (n_samples,)."""
    power, peak, n_samples = 0.0, 0.0, 0
    for block in blocks:
        power += float(np.square(block, dtype=np.float64).sum())
        peak = max(peak, float(np.abs(block).max(initial=0.0)))
        n_samples += len(block)
    return Level(math.sqrt(power / max(n_samples, 1)), peak)
