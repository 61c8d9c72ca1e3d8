"""Chunks planned sample by sample: slow, and plain enough to be believed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class PlainChunk:
    samples: tuple[int, ...]  # the numbers of the speech samples in it
    forced_cut: bool


def plan_chunks_plainly(
    speech: Sequence[tuple[int, int]], signal: Sequence[int], *, n_max: int, n_quiet: int
) -> list[PlainChunk]:
    """Plan chunks of at most ``n_max`` samples; a cut inside speech is in the quietest ``n_quiet`` samples."""
    is_speech = [any(start <= i < end for start, end in speech) for i in range(len(signal))]
    chunks = []
    position = 0
    while any(is_speech[position:]):
        start = is_speech.index(True, position)
        end, forced = _find_end(is_speech, signal, start=start, n_max=n_max, n_quiet=n_quiet)
        samples = tuple(i for i in range(start, end) if is_speech[i])
        chunks.append(PlainChunk(samples, forced))
        position = end
    return chunks


def _find_end(
    is_speech: Sequence[bool], signal: Sequence[int], *, start: int, n_max: int, n_quiet: int
) -> tuple[int, bool]:
    limit = start + n_max
    if not any(is_speech[limit:]):
        return len(is_speech), False
    zone_start = limit - max(1, n_max // 5)
    best_length, best_end = 0, 0
    for end in range(start + 1, limit + 1):
        if is_speech[end - 1] and not is_speech[end]:
            length = is_speech.index(True, end) - end
            reaches_zone = end + length > zone_start
            if reaches_zone and length >= best_length:
                best_length, best_end = length, end
    if best_length:
        return best_end, False
    n_window = min(n_quiet, limit - zone_start)
    energy, cut = None, 0
    for window in range(zone_start, limit - n_window + 1):
        here = sum(value * value for value in signal[window : window + n_window])
        if energy is None or here <= energy:
            energy, cut = here, window + (n_window + 1) // 2
    return cut, True
