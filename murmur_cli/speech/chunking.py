"""Speech packed into chunks: spans in, units of decoding out.

Every speech sample is in exactly one chunk, and no chunk is longer than the limit.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from murmur_cli.speech.vad import merge_spans
from murmur_cli.types import Chunk, Samples, Span

__all__ = ["plan_chunks"]

_ZONE_SHARE = 5  # a cut is sought in the last fifth of a chunk
_QUIET_PER_S = 10  # and, inside speech, in the quietest 1/10 s of it
_BLOCK_WINDOWS = 100  # so much signal is read at once, in such windows: 10 s


def plan_chunks(
    speech: Sequence[Span], *, sample_rate: int, max_chunk_s: float = 300.0, read: Callable[[Span], Samples]
) -> list[Chunk]:
    """Pack speech greedily into chunks no longer than ``max_chunk_s`` seconds.

    A chunk runs from its first to its last speech sample; silence between chunks is in none. Where
    speech goes on past the limit, the chunk ends at the longest silence that reaches into the last
    fifth of what it may hold (of equal ones at the last). Where there is none, it ends inside
    speech, in the middle of the quietest 100 ms of that fifth, and is marked ``forced_cut``.

    Args:
        speech: Spans in samples; they may overlap or touch.
        sample_rate: Samples per second of ``speech``.
        max_chunk_s: Longest chunk, in seconds. A longer span is split.
        read: Gives the signal of a span, shape (n_samples,). It is asked only where speech has to
            be cut, for some 10 s at once.

    Returns:
        Chunks in order.

    Raises:
        ValueError: ``max_chunk_s`` is shorter than one sample.

    Source:
        Murmur, arXiv:2606.01483, which merges spans greedily; the cuts inside speech are ours.
    """
    n_max = int(max_chunk_s * sample_rate)
    if n_max < 1:
        raise ValueError(f"a chunk of {max_chunk_s} s is shorter than one sample at {sample_rate} Hz")
    n_quiet = max(1, sample_rate // _QUIET_PER_S)
    chunks: list[Chunk] = []
    rest = deque(merge_spans(speech))
    while rest:
        cut = _find_cut(rest, n_max=n_max, n_quiet=n_quiet, read=read)
        taken = _take_until(cut, rest)
        span = Span(taken[0].start, taken[-1].end)
        # Merged spans do not touch: speech goes on at the cut only where a span was split there.
        is_split = bool(rest) and rest[0].start == cut
        chunks.append(Chunk(index=len(chunks), span=span, speech=tuple(taken), forced_cut=is_split))
    return chunks


def _find_cut(rest: deque[Span], *, n_max: int, n_quiet: int, read: Callable[[Span], Samples]) -> int:
    limit = rest[0].start + n_max
    ahead: list[Span] = []
    for span in rest:
        ahead.append(span)
        if span.end > limit:
            break
    else:
        return rest[-1].end
    zone = Span(limit - max(1, n_max // _ZONE_SHARE), limit)
    silences = [Span(left.end, right.start) for left, right in pairwise(ahead) if right.start > zone.start]
    if silences:
        return max(silences, key=lambda silence: (silence.n_samples, silence.start)).start
    return _find_quietest(zone, n_quiet=min(n_quiet, zone.n_samples), read=read)


def _find_quietest(zone: Span, *, n_quiet: int, read: Callable[[Span], Samples]) -> int:
    """Find the middle of the window with the least energy; of equal ones, of the last."""
    quietest, least = zone.start, np.inf
    last = zone.end - n_quiet  # where the last window starts
    for start in range(zone.start, last + 1, _BLOCK_WINDOWS * n_quiet):
        end = min(start + _BLOCK_WINDOWS * n_quiet, last + 1) + n_quiet - 1
        sums = np.cumsum(np.square(read(Span(start, end)), dtype=np.float64))
        energy = sums[n_quiet - 1 :] - np.concatenate(([0.0], sums[:-n_quiet]))  # of the window from each sample
        index = len(energy) - 1 - int(np.argmin(energy[::-1]))
        if energy[index] <= least:
            quietest, least = start + index, float(energy[index])
    return quietest + (n_quiet + 1) // 2


def _take_until(cut: int, rest: deque[Span]) -> list[Span]:
    """Take the speech before ``cut`` out of ``rest``."""
    taken: list[Span] = []
    while rest and rest[0].end <= cut:
        taken.append(rest.popleft())
    if rest and rest[0].start < cut:
        taken.append(Span(rest[0].start, cut))
        rest[0] = Span(cut, rest[0].end)
    return taken
