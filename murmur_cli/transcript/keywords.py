"""Keywords in a finished text, written as their list spells them.

Times stay as they are. Where a keyword has other words than its list writes, it becomes one word.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from murmur_cli.bias.hits import Hit, HitFinder, spell_as_list
from murmur_cli.types import Transcript, Word

__all__ = ["respell_text", "respell_transcript", "respell_words"]


def respell_transcript(transcript: Transcript, finder: HitFinder) -> Transcript:
    """Write the keywords in every segment of a transcript as their list does."""
    segments = (
        replace(segment, text=respell_text(segment.text, finder), words=respell_words(segment.words, finder))
        for segment in transcript.segments
    )
    return replace(transcript, segments=tuple(segments))


def respell_text(text: str, finder: HitFinder) -> str:
    """Write the keywords in a text as their list does."""
    return spell_as_list(text, finder.find(text))


def respell_words(words: Sequence[Word], finder: HitFinder) -> tuple[Word, ...]:
    """Write the keywords in words as their list does; those of one keyword become one where it has fewer or more.

    Args:
        words: In order, each with the blank before it.
        finder: Of the list.
    """
    text = "".join(word.text for word in words)
    ends = list(accumulate(len(word.text) for word in words))
    spelled: list[Word] = []
    done = 0  # words
    for hit in finder.find(text):
        first, last = bisect_right(ends, hit.start), bisect_left(ends, hit.end)
        if first < done:  # begins in the word in which the one before it ends
            continue
        begin = ends[first] - len(words[first].text)
        moved = replace(hit, start=hit.start - begin, end=hit.end - begin)
        spelled += [*words[done:first], *_respell(words[first : last + 1], moved)]
        done = last + 1
    return (*spelled, *words[done:])


def _respell(words: Sequence[Word], hit: Hit) -> list[Word]:
    """Write a keyword, which is all there is in some words but for what is before and behind it."""
    text = "".join(word.text for word in words)
    spelled = spell_as_list(text, [hit])
    if spelled == text:
        return list(words)
    parts = spelled.split()
    if len(parts) == len(words):
        lead = spelled[: len(spelled) - len(spelled.lstrip())]
        blanks = [lead, *[" "] * (len(parts) - 1)]
        return [replace(word, text=blank + part) for word, blank, part in zip(words, blanks, parts, strict=True)]
    probability = sum(word.probability for word in words) / len(words)
    return [Word(words[0].start, words[-1].end, spelled, probability)]
