"""Utterances of a session that is over: all speech is known, so it is grouped first and cut then."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from murmur_cli.options import VadOptions
from murmur_cli.speech.chunking import plan_chunks
from murmur_cli.speech.vad import VAD_RATE, find_spans
from murmur_cli.types import Samples, Span

__all__ = ["cut_plainly"]

PAUSE, LONGEST, BEHIND = VAD_RATE // 2, 10 * VAD_RATE, VAD_RATE // 4


def cut_plainly(
    probabilities: Sequence[float], samples: Samples, options: VadOptions
) -> list[tuple[Span, tuple[Span, ...], bool]]:
    """Give for every utterance where it is, where speech is in it, and whether it was cut inside speech."""
    unpadded = VadOptions(
        vad_threshold=options.vad_threshold,
        min_speech_ms=options.min_speech_ms,
        min_silence_ms=options.min_silence_ms,
        speech_pad_ms=0,
    )
    runs = find_spans(probabilities, len(samples), unpadded)
    before = options.speech_pad_ms * VAD_RATE // 1000

    def read(span: Span) -> Samples:
        return samples[span.start : span.end]

    utterances, taken = [], 0
    for group in _group(runs):
        pieces = _cut(group, read)
        for index, (speech, is_forced) in enumerate(pieces):
            start = max(speech[0].start - before, taken)
            end = min(speech[-1].end + BEHIND, len(samples))
            if index + 1 < len(pieces):
                end = min(end, (speech[-1].end + pieces[index + 1][0][0].start) // 2)
            utterances.append((Span(start, end), _widen(speech, start, end, before), is_forced))
            taken = end
    return utterances


def _cut(group: Sequence[Span], read: Callable[[Span], Samples]) -> list[tuple[tuple[Span, ...], bool]]:
    chunks = plan_chunks(group, sample_rate=VAD_RATE, max_chunk_s=LONGEST / VAD_RATE, read=read)
    return [(chunk.speech, chunk.forced_cut) for chunk in chunks]


def _group(runs: Sequence[Span]) -> list[list[Span]]:
    groups: list[list[Span]] = []
    for run in runs:
        if groups and run.start - groups[-1][-1].end < PAUSE:
            groups[-1].append(run)
        else:
            groups.append([run])
    return groups


def _widen(speech: Sequence[Span], start: int, end: int, n_pad: int) -> tuple[Span, ...]:
    starts = [max(speech[0].start - n_pad, start)]
    ends = []
    for left, right in pairwise(speech):
        share = min(n_pad, (right.start - left.end) * 3 // 8)
        ends.append(left.end + share)
        starts.append(right.start - share)
    ends.append(min(speech[-1].end + n_pad, end))
    return tuple(Span(a, b) for a, b in zip(starts, ends, strict=True))
