"""Clean word times: inside speech, in order, and no longer than a word.

The alignment gives every moment of a window to some word, so that the last word before a pause holds the
pause too, and the first of a window all that comes before it. Who spoke a word is decided by its time, so
the pauses have to come off.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from murmur_cli.types import Word

__all__ = ["Stretch", "clean_times", "find_unread"]

_LONGEST_MEDIAN_S = 0.7  # openai/whisper@v20240930, timing.py, add_word_timestamps; so is the factor 2
_LONGEST_IN_SPEECH_S = 2.0  # of a word with speech on both sides: what is longer holds words that are missing
_TOUCH_S = 0.05  # a word this near to the edge of speech touches it
_LEAST_S = 0.02  # one frame of the alignment


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of a window, in seconds from its start."""

    start: float
    end: float

    def overlap(self, start: float, end: float) -> float:
        """Tell how many seconds it shares with another stretch; less than 0 is how far away that is."""
        return min(self.end, end) - max(self.start, start)


def clean_times(words: Sequence[Word], speech: Sequence[Stretch]) -> list[Word]:
    """Clip words to the speech that they share most with, and cap those that touch a pause.

    A word that touches a pause is cut there to twice the median length.

    Args:
        words: In order; each begins where the one before it ends. Seconds of the window.
        speech: Where there is speech, sorted and disjoint; at least one stretch.

    Returns:
        The same words; starts and ends ascend, and none is outside the first and last speech.
    """
    lengths = [word.end - word.start for word in words if word.end > word.start]
    longest = 2 * min(_LONGEST_MEDIAN_S, statistics.median(lengths)) if lengths else _LEAST_S
    cleaned: list[Word] = []
    earliest, latest = speech[0].start, speech[-1].end
    for word in words:
        clipped = _clip(word, speech, longest)
        start = min(max(clipped.start, earliest), latest)
        earliest = min(max(clipped.end, start + _LEAST_S), latest)
        cleaned.append(replace(word, start=start, end=earliest))
    return cleaned


def find_unread(words: Sequence[Word], speech: Sequence[Stretch], *, least_s: float) -> list[Stretch]:
    """Find where there is much speech between two words, before the first or behind the last.

    Args:
        words: With clean times.
        speech: Where there is speech, sorted and disjoint; at least one stretch.
        least_s: Seconds of speech that are much.

    Returns:
        In order, from the first moment of such speech to the last.
    """
    ends = [speech[0].start, *(word.end for word in words)]
    starts = [*(word.start for word in words), speech[-1].end]
    unread = []
    for end, start in zip(ends, starts, strict=True):
        parts = [Stretch(max(part.start, end), min(part.end, start)) for part in speech if part.overlap(end, start) > 0]
        if sum(part.end - part.start for part in parts) >= least_s:
            unread.append(Stretch(parts[0].start, parts[-1].end))
    return unread


def _clip(word: Word, speech: Sequence[Stretch], longest: float) -> Stretch:
    home = max(speech, key=lambda part: part.overlap(word.start, word.end))
    start, end = (min(max(moment, home.start), home.end) for moment in (word.start, word.end))
    if end - start <= longest:
        return Stretch(start, end)
    if home.end - end < _TOUCH_S:
        return Stretch(start, start + longest)
    if start - home.start < _TOUCH_S:
        return Stretch(end - longest, end)
    return Stretch(start, min(end, start + max(longest, _LONGEST_IN_SPEECH_S)))
