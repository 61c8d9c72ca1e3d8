"""Diarization one frame, one pair, one merge at a time: slow, and plain enough to be believed."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class PlainMerge:
    left: frozenset[int]
    right: frozenset[int]
    similarity: float


def mean_cosine(vectors: Floats, weights: Floats, left: frozenset[int], right: frozenset[int]) -> float:
    """Average the cosines of all pairs between two groups, weighted by both members' weights."""
    pairs = [(i, j) for i in left for j in right]
    total = sum(weights[i] * weights[j] * float(vectors[i] @ vectors[j]) for i, j in pairs)
    return total / sum(weights[i] * weights[j] for i, j in pairs)


def agglomerate_plainly(
    vectors: Floats, weights: Floats, *, least: float, apart: frozenset[frozenset[int]] = frozenset()
) -> list[PlainMerge]:
    """Merge the two groups most alike, computing every likeness anew from the members each time."""
    groups = [frozenset([i]) for i in range(len(vectors))]
    merges = []
    while True:
        pairs = [
            PlainMerge(a, b, mean_cosine(vectors, weights, a, b))
            for a, b in itertools.combinations(groups, 2)
            if not any(frozenset([i, j]) in apart for i in a for j in b)
        ]
        best = max(pairs, key=lambda pair: pair.similarity, default=None)
        if best is None or best.similarity < least:
            return merges
        groups = [group for group in groups if group not in (best.left, best.right)] + [best.left | best.right]
        merges.append(best)


def count_people_plainly(merges: Sequence[tuple[int, int]], talk_s: Sequence[float], least_s: float) -> int:
    """Count the groups with enough talk that these merges leave."""
    groups = {i: {i} for i in range(len(talk_s))}
    for kept, absorbed in merges:
        groups[kept] |= groups.pop(absorbed)
    return sum(math.fsum(talk_s[i] for i in group) >= least_s for group in groups.values())


def vote_plainly(
    activity: Sequence[npt.NDArray[np.bool_]],
    slots: Sequence[tuple[int, int, int, int]],
    labels: Sequence[int],
    *,
    n_frames: int,
) -> list[set[int]]:
    """Say who speaks in each frame of the recording; a slot is (window, local speaker, first frame, end frame)."""
    speaking: list[set[int]] = []
    for frame in range(n_frames):
        counts, votes = [], dict.fromkeys(range(max(labels, default=-1) + 1), 0)
        for window, active in enumerate(activity):
            here = frame - round(window * 80_000 / 270)
            if not 0 <= here < 589:
                continue
            counts.append(int(active[here].sum()))
            for (where, local, first, end), label in zip(slots, labels, strict=True):
                if where == window and first <= here < end and active[here, local]:
                    votes[label] += 1
        n = math.floor(sum(counts) / len(counts) + 0.5) if counts else 0
        ranked = sorted(votes, key=lambda label: (-votes[label], label))
        speaking.append({label for label in ranked[:n] if votes[label] > 0})
    return speaking


def fbank_plainly(samples: Floats) -> Floats:
    """Kaldi's filter bank, frame by frame and band by band, by the Fourier sum itself."""
    n = np.arange(400)
    window = (0.5 - 0.5 * np.cos(2 * np.pi * n / 399)) ** 0.85
    waves = np.exp(-2j * np.pi * np.outer(np.arange(257), n) / 512)

    def mel(hertz: float) -> float:
        return 1127.0 * math.log(1.0 + hertz / 700.0)

    step = (mel(8000.0) - mel(20.0)) / 81
    rows = []
    for start in range(0, len(samples) - 399, 160):
        frame = samples[start : start + 400] - samples[start : start + 400].mean()
        emphasised = [frame[0] * 0.03, *(frame[i] - 0.97 * frame[i - 1] for i in range(1, 400))]
        power = np.abs(waves @ (np.array(emphasised) * window)) ** 2
        row = []
        for band in range(80):
            left = mel(20.0) + band * step
            energy = 0.0
            for k in range(256):
                distance = (mel(k * 16_000 / 512) - left) / step
                energy += max(0.0, min(distance, 2 - distance)) * power[k]
            row.append(math.log(max(energy, np.finfo(np.float32).eps)))
        rows.append(row)
    return np.array(rows).reshape(-1, 80)
