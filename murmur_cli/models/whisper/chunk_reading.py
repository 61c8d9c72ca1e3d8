"""A stretch of speech read: packed into windows, those read, words made into segments.

What is read depends on the stretch alone: its windows are decoded with each other, never with another's, and what is
drawn at random is seeded by its place in the recording.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, chain

from murmur_cli.bias.hits import HitFinder
from murmur_cli.models.whisper.checkpoint import Checkpoint
from murmur_cli.models.whisper.ear import Ear
from murmur_cli.models.whisper.features import HOP_SAMPLES, SAMPLE_RATE
from murmur_cli.models.whisper.passage import Passage
from murmur_cli.models.whisper.reader import Reader
from murmur_cli.models.whisper.rescue import read_speech
from murmur_cli.models.whisper.segments import make_segments
from murmur_cli.models.whisper.windows import plan_windows, split_window
from murmur_cli.types import Chunk, HypGap, Hypothesis, KeywordHit, Samples, Span, Word

__all__ = ["read_chunk"]

_WINDOW_SHARE = 28 / 30  # of what the encoder hears: what follows is silence, which ends a text


def read_chunk(
    checkpoint: Checkpoint,
    chunk: Chunk,
    samples: Samples,
    *,
    language: str,
    silence_s: float | None = None,
    ear: Ear | None = None,
) -> Hypothesis:
    """Read a chunk.

    Args:
        checkpoint: The model.
        chunk: Where speech is, in samples at ``SAMPLE_RATE``.
        samples: The signal of ``chunk.span``, shape (n_samples,).
        language: Its code.
        silence_s: Silence that the encoder hears behind a window, in seconds; None: as much as it can hear.
        ear: What is listened for, in all windows alike.
    """
    start = chunk.span.start

    def read(span: Span) -> Samples:
        return samples[span.start - start : span.end - start]

    def split(window: Chunk, near: Span) -> Sequence[Chunk]:
        return split_window(window, near=near, sample_rate=SAMPLE_RATE, read=read)

    longest_s = _WINDOW_SHARE * 2 * checkpoint.n_audio * HOP_SAMPLES / SAMPLE_RATE
    windows = plan_windows(chunk.speech, sample_rate=SAMPLE_RATE, max_window_s=longest_s, read=read)
    reader = Reader(checkpoint, language=language, read=read, silence_s=silence_s, ear=ear)
    passages = list(chain.from_iterable(read_speech(reader, windows, split=split, sample_rate=SAMPLE_RATE)))
    words = [word for passage in passages for word in _shift_words(passage, start)]
    gaps = tuple(_make_gap(passage, start) for passage in passages if passage.broken_s is not None)
    hits: tuple[KeywordHit, ...] = ()
    if ear is not None:
        changed = [is_changed for passage in passages for is_changed in passage.changed]
        hits = tuple(_iter_hits(words, changed, ear.finder))
    return Hypothesis(segments=tuple(make_segments(words, language=language)), gaps=gaps, hits=hits)


def _shift_words(passage: Passage, origin: int) -> Iterator[Word]:
    """Give a passage's words in seconds from ``origin``, in samples."""
    offset = (passage.window.span.start - origin) / SAMPLE_RATE
    for word in passage.words:
        yield replace(word, start=offset + word.start, end=offset + word.end)


def _iter_hits(words: Sequence[Word], changed: Sequence[bool], finder: HitFinder) -> Iterator[KeywordHit]:
    """Find keywords in what was said; their times are those of the words that they are in, or share some of."""
    ends = list(accumulate(len(word.text) for word in words))
    for hit in finder.find("".join(word.text for word in words)):
        first, last = bisect_right(ends, hit.start), bisect_left(ends, hit.end)
        chosen = any(changed[first : last + 1])
        yield KeywordHit(words[first].start, words[last].end, hit.keyword.display, chosen)


def _make_gap(passage: Passage, origin: int) -> HypGap:
    assert passage.broken_s is not None, "the passage breaks off"
    start = (passage.window.span.start - origin) / SAMPLE_RATE
    return HypGap(start + passage.broken_s, (passage.window.span.end - origin) / SAMPLE_RATE, passage.verdict.value)
