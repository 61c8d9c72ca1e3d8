"""A signal in one piece, sample by sample: what of it lies between two places."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def cut(pieces: Sequence[tuple[int, np.ndarray]], start_s: float, end_s: float | None) -> list[np.ndarray]:
    """Give what is left of each piece; ``pieces`` are rates and samples, one after the other in time.

    A sample is left if its time, rounded to whole samples of its piece, is not before the start and before the end.
    """
    left, begun_s = [], 0.0
    for rate, samples in pieces:
        first = round((start_s - begun_s) * rate)
        last = None if end_s is None else round((end_s - begun_s) * rate)
        kept = [sample for i, sample in enumerate(samples) if i >= first and (last is None or i < last)]
        left.append(np.array(kept, np.float32))
        begun_s += len(samples) / rate
    return left
