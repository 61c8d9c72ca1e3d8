"""Utterances of a session that is over: all speech is known, so it is grouped first and cut then."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

import numpy as np
import numpy.typing as npt

from murmur_cli.options import VadOptions
from murmur_cli.speech.chunking import plan_chunks
from murmur_cli.speech.vad import VAD_RATE, find_spans
from murmur_cli.types import Chunk, Samples, Span

__all__ = ["Cut", "PlainUtterance", "Tell", "cut_plainly"]

PAUSE, LONGEST, BEHIND, LEFT, CLOSE = VAD_RATE // 2, 6 * VAD_RATE, VAD_RATE // 4, 3 * VAD_RATE, 3 * VAD_RATE // 2


@dataclass(frozen=True, slots=True)
class PlainUtterance:
    """An utterance: where it is, what of its speech is new, from where on it is, and whether it goes on."""

    chunk: Chunk
    runs: tuple[Span, ...]
    fresh: int
    is_open: bool


Tell = Callable[[PlainUtterance], None]
"""Hears of an utterance that is over."""

Cut = Callable[[PlainUtterance], int | None]
"""Tells where to cut an utterance that goes on; None: at a quiet moment."""


@dataclass(frozen=True, slots=True)
class Session:
    """For every sample of a session, whether somebody speaks."""

    spoken: npt.NDArray[np.bool_]
    n_before: int

    def make(self, index: int, hear: Span, new: int, end: int, *, forced: bool, is_open: bool) -> PlainUtterance:
        """Make the utterance that is heard in ``hear``, whose speech is new from ``new`` to ``end``."""
        heard = find_runs(self.spoken, hear.start, end)
        start = max(heard[0].start - self.n_before, hear.start)
        chunk = Chunk(index, Span(start, hear.end), widen(heard, start, hear.end, self.n_before), forced)
        return PlainUtterance(chunk, find_runs(self.spoken, new, end), max(start, new), is_open)


def cut_plainly(
    probabilities: Sequence[float], samples: Samples, options: VadOptions, *, cut: Cut, tell: Tell = lambda _: None
) -> list[PlainUtterance]:
    """Give the utterances of a session in order, each that goes on before what became of it, which is told."""
    unpadded = VadOptions(
        vad_threshold=options.vad_threshold,
        min_speech_ms=options.min_speech_ms,
        min_silence_ms=options.min_silence_ms,
        speech_pad_ms=0,
    )
    groups = group_runs(find_spans(probabilities, len(samples), unpadded))
    spoken = np.zeros(len(samples), dtype=bool)
    for run in chain.from_iterable(groups):
        spoken[run.start : run.end] = True
    session = Session(spoken, options.speech_pad_ms * VAD_RATE // 1000)
    utterances: list[PlainUtterance] = []
    new = index = 0  # from where on nothing was heard
    for runs in groups:
        while rest := find_runs(spoken, new, runs[-1].end):
            piece, *others = plan_chunks(
                rest, sample_rate=VAD_RATE, max_chunk_s=LONGEST / VAD_RATE, read=lambda s: samples[s.start : s.end]
            )
            first, end = find_first(utterances, rest[0].start, new), piece.span.end
            if piece.forced_cut:
                limit = rest[0].start + LONGEST
                offer = session.make(index, Span(first, limit), new, limit, forced=True, is_open=True)
                utterances.append(offer)
                at = cut(offer)
                if at is not None:
                    utterances.append(session.make(index, Span(first, at), new, at, forced=True, is_open=False))
                    tell(utterances[-1])
                    new, index = at, index + 1
                    continue
            behind = min(end + BEHIND, len(samples), (end + others[0].span.start) // 2 if others else len(samples))
            hear = Span(first, behind)
            utterances.append(session.make(index, hear, new, end, forced=piece.forced_cut, is_open=False))
            tell(utterances[-1])
            new, index = end, index + 1
    return utterances


def find_first(utterances: Sequence[PlainUtterance], start: int, new: int) -> int:
    """Find from where on an utterance is heard whose new speech begins at ``start``: with or without the last one."""
    over = [utterance.chunk.span for utterance in utterances if not utterance.is_open]
    if not over:
        return 0
    return max(over[-1].start, new - LEFT) if start - new <= CLOSE else over[-1].end


def find_runs(spoken: npt.NDArray[np.bool_], start: int, end: int) -> tuple[Span, ...]:
    """Find the runs of speech between two samples."""
    edges = np.flatnonzero(np.diff(spoken[start:end].astype(int), prepend=0, append=0)) + start
    return tuple(Span(int(a), int(b)) for a, b in edges.reshape(-1, 2))


def group_runs(runs: Sequence[Span]) -> list[list[Span]]:
    groups: list[list[Span]] = []
    for run in runs:
        if groups and run.start - groups[-1][-1].end < PAUSE:
            groups[-1].append(run)
        else:
            groups.append([run])
    return groups


def widen(speech: Sequence[Span], start: int, end: int, n_pad: int) -> tuple[Span, ...]:
    starts = [max(speech[0].start - n_pad, start)]
    ends = []
    for left, right in pairwise(speech):
        share = min(n_pad, (right.start - left.end) * 3 // 8)
        ends.append(left.end + share)
        starts.append(right.start - share)
    ends.append(min(speech[-1].end + n_pad, end))
    return tuple(Span(a, b) for a, b in zip(starts, ends, strict=True))
