"""Where readings meet: which words are known already, and how many of them can be believed.

An utterance is read with the end of the one before it, and one without a pause is cut between two words, which both are
read with sound on both sides. No word may be lost or doubled between two readings.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace

from murmur_cli.types import HypGap, Hypothesis, HypSegment, Word

__all__ = ["N_COMPARED", "TAIL_S", "Seam", "count_known", "find_seam", "keep_part", "shift_reading"]

TAIL_S = 1.5
"""Words that end so near to where somebody was heard speak on, in seconds, are guesses: they may be half of others."""

N_COMPARED = 3
"""How many words at the end of one reading are looked for in the next one."""

_LEAST_S = 2.0  # a cut that takes less gains too little: the same speech would be read over and over
_MOST_OFF = 2  # words by which the times of two readings may differ


@dataclass(frozen=True, slots=True)
class Seam:
    """Where a reading is cut.

    Attributes:
        n_words: Words before it.
        at: Its time, on the clock of the words.
    """

    n_words: int
    at: float


def find_seam(words: Sequence[Word], *, start: float, end: float) -> Seam | None:
    """Find where to cut speech that goes on.

    Args:
        words: In order of time.
        start: Where the speech begins, in seconds on the clock of the words.
        end: Up to where it was heard.

    Returns:
        The seam behind the last word that is sure, halfway to the next one; None: there is none that gains enough.
    """
    n_words = sum(word.end <= end - TAIL_S for word in words)
    if not n_words:
        return None
    last = words[n_words - 1].end
    at = (last + words[n_words].start) / 2 if n_words < len(words) else last
    return Seam(n_words, at) if at - start >= _LEAST_S else None


def count_known(words: Sequence[Word], told: Sequence[Word], *, at: float) -> int:
    """Count the words of a reading that the reading before a seam has told.

    These are the words before the seam. As times are not exact, they may be up to two more or less, if the last of
    them are those that were told last then.

    Args:
        words: Of the reading, which begins before the seam.
        told: The last words that were told, up to the seam; none: nothing is known.
        at: The seam, in seconds on the clock of the words.
    """
    if not told:
        return 0
    by_time = sum((word.start + word.end) / 2 < at for word in words)
    near = range(max(0, by_time - _MOST_OFF), min(len(words), by_time + _MOST_OFF) + 1)
    return min(near, key=lambda n: (-_count_alike(words[:n], told), abs(n - by_time)))


def keep_part(hypothesis: Hypothesis, words: slice, *, start: float = 0.0, end: float = math.inf) -> Hypothesis:
    """Keep a part of a reading: some of its words, the keywords that begin with one of them, and gaps.

    Args:
        hypothesis: The reading.
        words: Which words of all its segments together stay.
        start: Gaps before it, and what of others lies before it, go. Words of the part that are said to begin before it
            begin there: times are not as exact as that.
        end: Gaps behind it go, and what of others lies behind it.
    """
    starts = [word.start for segment in hypothesis.segments for word in segment.words]
    first, last, _ = words.indices(len(starts))
    found = (hit for hit in hypothesis.hits if first <= max(0, bisect_right(starts, hit.start) - 1) < last)
    hits = tuple(replace(hit, start=max(hit.start, start), end=max(hit.end, start)) for hit in found)
    segments: list[HypSegment] = []
    for segment in hypothesis.segments:
        kept = tuple(_hold(word, start) for word in segment.words[max(first, 0) : max(last, 0)])
        first, last = first - len(segment.words), last - len(segment.words)
        if kept:
            text = "".join(word.text for word in kept).strip()
            segments.append(replace(segment, start=kept[0].start, end=kept[-1].end, text=text, words=kept))
    gaps = (HypGap(max(gap.start, start), min(gap.end, end), gap.reason) for gap in hypothesis.gaps)
    left = tuple(gap for gap in gaps if gap.start < gap.end)
    return replace(hypothesis, segments=tuple(segments), gaps=left, hits=hits)


def _hold(word: Word, start: float) -> Word:
    return replace(word, start=max(word.start, start), end=max(word.end, start))


def shift_reading(hypothesis: Hypothesis, offset: float) -> Hypothesis:
    """Move a reading from the clock of its utterance to that of the session, in which it begins at ``offset``."""
    segments = []
    for segment in hypothesis.segments:
        words = tuple(replace(word, start=offset + word.start, end=offset + word.end) for word in segment.words)
        segments.append(replace(segment, start=offset + segment.start, end=offset + segment.end, words=words))
    gaps = (replace(gap, start=offset + gap.start, end=offset + gap.end) for gap in hypothesis.gaps)
    hits = (replace(hit, start=offset + hit.start, end=offset + hit.end) for hit in hypothesis.hits)
    return replace(hypothesis, segments=tuple(segments), gaps=tuple(gaps), hits=tuple(hits))


def _count_alike(words: Sequence[Word], told: Sequence[Word]) -> int:
    """Count how many of the last words are the same; as many as can be told are as good as all that are compared.

    Else a reading that begins with the second of "no, no, no" would take one that is new for one that is known.
    """
    pairs = list(zip(reversed(words), reversed(told[-N_COMPARED:]), strict=False))
    n_alike = next((n for n, (one, other) in enumerate(pairs) if _spell(one) != _spell(other)), len(pairs))
    return N_COMPARED if pairs and n_alike == len(pairs) else n_alike


def _spell(word: Word) -> str:
    return "".join(letter for letter in word.text.casefold() if letter.isalnum())
