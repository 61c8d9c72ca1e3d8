"""A chunk's speech packed into windows that Whisper hears at once.

A window that begins or ends inside a sentence costs words, one that begins inside a word often its whole
text. So the cuts are chosen for the longest pauses, all of a chunk's at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from murmur_cli.speech.chunking import plan_chunks
from murmur_cli.types import Chunk, Samples, Span

__all__ = ["plan_windows", "split_window"]

_FREE_PAUSE_S = 0.6  # a pause between spans at which a cut costs nothing; spans are padded, so it is longer
_FORCED_COST = 3.0  # of a cut inside speech, in windows
_LONGEST_PAUSE_S = 4.0  # in a window; the model writes texts of its own about longer ones
_QUIET_PER_S = 10  # where there is no pause, a window is split in the quietest 1/10 s


def plan_windows(
    speech: Sequence[Span], *, sample_rate: int, max_window_s: float, read: Callable[[Span], Samples]
) -> list[Chunk]:
    """Pack speech into windows, cutting at long pauses.

    The plan has the least cost: 1 for a window, and for a cut up to 1 more the shorter its pause is.
    Only a span that is longer than a window is cut inside, as ``plan_chunks`` does.

    Args:
        speech: Spans in samples, sorted and disjoint.
        sample_rate: Samples per second.
        max_window_s: Longest window, in seconds.
        read: Gives the signal of a span, shape (n_samples,).

    Returns:
        Windows in order; every speech sample is in exactly one of them.
    """
    pieces = [
        piece
        for span in speech
        for piece in plan_chunks([span], sample_rate=sample_rate, max_chunk_s=max_window_s, read=read)
    ]
    longest = int(max_window_s * sample_rate)
    costs = [0.0]  # of the best plan for the first n pieces
    firsts: list[int] = []  # the piece that its last window begins with
    earliest = 0
    for last, piece in enumerate(pieces):
        if last and piece.span.start - pieces[last - 1].span.end > _LONGEST_PAUSE_S * sample_rate:
            earliest = last
        while piece.span.end - pieces[earliest].span.start > longest:
            earliest += 1
        cost, first = min((costs[first], first) for first in range(earliest, last + 1))
        costs.append(cost + 1.0 + _cost_of_cut(pieces, last, sample_rate))
        firsts.append(first)
    return _follow(pieces, firsts)


def split_window(window: Chunk, *, near: Span, sample_rate: int, read: Callable[[Span], Samples]) -> list[Chunk]:
    """Cut a window in two, at the longest pause in some part of it, or else at a quiet moment there.

    Args:
        window: What ``plan_windows`` made.
        near: Where to cut, inside the window.
        sample_rate: Samples per second.
        read: Gives the signal of a span, shape (n_samples,).

    Returns:
        Two windows with all of its speech.
    """
    pauses = [
        Span(left.end, right.start)
        for left, right in pairwise(window.speech)
        if left.end < near.end and right.start > near.start
    ]
    cut = (
        max(pauses, key=lambda pause: pause.n_samples).start
        if pauses
        else _find_quietest(near, sample_rate // _QUIET_PER_S, read)
    )
    parts = [
        [Span(part.start, min(part.end, cut)) for part in window.speech if part.start < cut],
        [Span(max(part.start, cut), part.end) for part in window.speech if part.end > cut],
    ]
    return [
        Chunk(index, Span(part[0].start, part[-1].end), tuple(part), forced_cut=window.forced_cut and index == 1)
        for index, part in enumerate(parts)
        if part
    ]


def _find_quietest(near: Span, n_quiet: int, read: Callable[[Span], Samples]) -> int:
    sums = np.concatenate(([0.0], np.cumsum(np.square(read(near), dtype=np.float64))))
    n_quiet = min(n_quiet, near.n_samples)
    return near.start + int(np.argmin(sums[n_quiet:] - sums[: len(sums) - n_quiet])) + n_quiet // 2


def _cost_of_cut(pieces: Sequence[Chunk], last: int, sample_rate: int) -> float:
    if last + 1 == len(pieces):
        return 0.0
    if pieces[last].forced_cut:
        return _FORCED_COST
    pause_s = (pieces[last + 1].span.start - pieces[last].span.end) / sample_rate
    return max(0.0, 1.0 - pause_s / _FREE_PAUSE_S)


def _follow(pieces: Sequence[Chunk], firsts: Sequence[int]) -> list[Chunk]:
    """Read the plan from its end."""
    windows: list[Chunk] = []
    last = len(pieces) - 1
    while last >= 0:
        group = pieces[firsts[last] : last + 1]
        span = Span(group[0].span.start, group[-1].span.end)
        spoken = tuple(part for piece in group for part in piece.speech)
        windows.append(Chunk(index=0, span=span, speech=spoken, forced_cut=group[-1].forced_cut))
        last = firsts[last] - 1
    windows.reverse()
    return [Chunk(index, w.span, w.speech, w.forced_cut) for index, w in enumerate(windows)]
