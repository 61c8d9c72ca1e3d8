"""Words into segments: sentences, as far as punctuation and pauses show them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from murmur_cli.types import HypSegment, Word

__all__ = ["make_segments"]

_SENTENCE_END = ".?!…。？！"  # noqa: RUF001 - full-width punctuation is meant
# "Mr. Hale", "J. Smith": what looks like it but is one ("Yes.") only joins two short sentences.
_ABBREVIATION = re.compile(r"(?:^|\W)[A-Z][a-z]{0,2}\.$")
_SENTENCE_S = 2.0  # a shorter sentence is joined with the next, unless a pause is between
_PAUSE_S = 1.0  # a pause that ends a segment wherever it is
_LONGEST_S = 30.0


def make_segments(words: Sequence[Word], *, language: str | None) -> list[HypSegment]:
    """Group words into segments.

    A segment ends behind a sentence of 2 s or more, at a pause of 1 s, and before it gets longer than
    30 s.

    Args:
        words: In order of time.
        language: What the segments are in.
    """
    return [
        HypSegment(
            start=group[0].start,
            end=group[-1].end,
            text="".join(word.text for word in group).strip(),
            speaker=None,
            words=tuple(group),
            language=language,
        )
        for group in _iter_groups(words)
    ]


def _iter_groups(words: Sequence[Word]) -> Iterator[list[Word]]:
    group: list[Word] = []
    for word in words:
        if group and _is_over(group, word):
            yield group
            group = []
        group.append(word)
    if group:
        yield group


def _is_over(group: Sequence[Word], following: Word) -> bool:
    last = group[-1]
    if following.start - last.end >= _PAUSE_S or following.end - group[0].start > _LONGEST_S:
        return True
    return _ends_sentence(last.text) and last.end - group[0].start >= _SENTENCE_S


def _ends_sentence(word: str) -> bool:
    text = word.rstrip("\"'”’)»」』")  # noqa: RUF001 - typographic quotation marks are meant
    return text.endswith(tuple(_SENTENCE_END)) and not _ABBREVIATION.search(text)
