"""Which speech of a chunk has been read, and which not. In samples from the chunk's start; ints only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from murmur_cli.speech.vad import merge_spans
from murmur_cli.types import Span

__all__ = ["clip_speech", "count_speech", "find_unread", "split_at_pause", "trim_to_speech"]


def clip_speech(speech: Sequence[Span], within: Span) -> list[Span]:
    """Return what of the speech lies in ``within``, sorted and disjoint."""
    clipped = [(max(span.start, within.start), min(span.end, within.end)) for span in speech]
    return merge_spans([Span(start, end) for start, end in clipped if start < end])


def count_speech(speech: Sequence[Span], within: Span) -> int:
    """Count the samples of speech in ``within``."""
    return sum(span.n_samples for span in clip_speech(speech, within))


def trim_to_speech(speech: Sequence[Span], within: Span, *, n_edge: int = 0) -> Span | None:
    """Return ``within`` from its first to its last sample of speech; None if it has none.

    Args:
        speech: In any order.
        within: What to trim.
        n_edge: Speech that goes on beyond an edge and has at most as many samples on this side of it does not
            count: it is the end of what was said on the other side.
    """
    inside = clip_speech(speech, within)
    if inside and inside[0].n_samples <= n_edge and _goes_on(speech, within.start):
        inside = inside[1:]
    if inside and inside[-1].n_samples <= n_edge and _goes_on(speech, within.end):
        inside = inside[:-1]
    return Span(inside[0].start, inside[-1].end) if inside else None


def _goes_on(speech: Sequence[Span], sample: int) -> bool:
    """Tell whether there is speech on both sides of a sample's start."""
    return any(span.start < sample < span.end for span in merge_spans(speech))


def find_unread(speech: Sequence[Span], read: Iterable[Span], *, n_least: int = 0, n_edge: int = 0) -> list[Span]:
    """Find the speech that lies between what has been read.

    Args:
        speech: In any order.
        read: In any order; they may overlap.
        n_least: What lies between two that have been read counts if it has more samples of speech than this.
        n_edge: As in ``trim_to_speech``.

    Returns:
        One stretch for all that lies between two that have been read, from its first to its last sample of
        speech. There may be pauses in it.
    """
    end = max((span.end for span in speech), default=0)
    done = [span for span in merge_spans(read) if span.start < end]
    edges = [0, *(edge for span in done for edge in (span.start, span.end))]
    edges.append(max(end, edges[-1]))
    between = [Span(first, past) for first, past in zip(edges[::2], edges[1::2], strict=True)]
    trimmed = [trim_to_speech(speech, each, n_edge=n_edge) for each in between if count_speech(speech, each) > n_least]
    return [unread for unread in trimmed if unread is not None]


def split_at_pause(speech: Sequence[Span], within: Span) -> list[Span]:
    """Split a stretch into two, each from its first to its last sample of speech.

    It is cut in the longest pause that reaches into its middle half; if there is none, in the one that is
    nearest to its middle; without a pause, in its middle.

    Args:
        speech: In any order.
        within: What to split, from its first to its last sample of speech.
    """
    middle, quarter = (within.start + within.end) // 2, within.n_samples // 4
    pauses = [Span(left.end, right.start) for left, right in pairwise(clip_speech(speech, within))]
    central = [pause for pause in pauses if pause.end > middle - quarter and pause.start < middle + quarter]
    cut = Span(middle, middle)
    if central:
        cut = max(central, key=lambda pause: (pause.n_samples, -_measure_distance(pause, middle)))
    elif pauses:
        cut = min(pauses, key=lambda pause: _measure_distance(pause, middle))
    sides = (Span(within.start, cut.start), Span(cut.end, within.end))
    return [half for side in sides if (half := trim_to_speech(speech, side))]


def _measure_distance(pause: Span, sample: int) -> int:
    return max(pause.start - sample, sample - pause.end, 0)
