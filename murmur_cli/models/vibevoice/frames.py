"""How audio is counted: samples at 24 kHz, frames of 3200 of them, 7.5 a second.

Counts are ints throughout: a quotient in float32 is wrong from 2**24 samples on, 11.65 minutes.
"""

from __future__ import annotations

__all__ = ["FRAME_SAMPLES", "PIECE_SAMPLES", "SAMPLE_RATE", "count_frames"]

SAMPLE_RATE = 24_000
"""Samples per second that the encoders hear."""

FRAME_SAMPLES = 3200
"""Samples that become one vector."""

PIECE_SAMPLES = 10 * SAMPLE_RATE
"""Samples that go through the encoders at once; what they remember is handed on from piece to piece."""


def count_frames(n_samples: int) -> int:
    """Count the frames of a signal; the last one may be filled up with silence."""
    return -(-n_samples // FRAME_SAMPLES)
