"""The part of a signal that is wanted, cut at the sample."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace

from murmur_cli.audio.decoder import Block

__all__ = ["iter_excerpt"]


def iter_excerpt(blocks: Iterable[Block], *, start_s: float, end_s: float | None) -> Iterator[Block]:
    """Yield what lies in ``[start_s, end_s)``, in seconds; what comes after it is not asked for.

    Args:
        blocks: The signal from its start; their rate may change.
        start_s: The first sample is the one nearest to it.
        end_s: None is the end of the signal.
    """
    begun_s, n_begun, sample_rate = 0.0, 0, 0  # where this rate set in, and how much came since
    for block in blocks:
        if block.sample_rate != sample_rate:
            begun_s += n_begun / sample_rate if sample_rate else 0.0
            n_begun, sample_rate = 0, block.sample_rate
        n_samples = len(block.channels[0])
        first, last = (
            n_samples
            if place_s == math.inf
            else min(max(round((place_s - begun_s) * sample_rate) - n_begun, 0), n_samples)
            for place_s in (start_s, math.inf if end_s is None else end_s)
        )
        n_begun += n_samples
        if first < last:
            yield replace(block, channels=[channel[first:last] for channel in block.channels])
        if last < n_samples:
            return
