"""Which keywords stand in what was heard, when, and whether the list had a hand in them.

Hits are found in the text that users see. What the list changed is known of the model's own text, with its frames and
escapes; the keywords of both come in the same order.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from murmur_cli.bias.hits import Hit, HitFinder
from murmur_cli.decode.follow import Decode, TextFollower
from murmur_cli.types import KeywordHit

__all__ = ["Changes", "MarkedText", "Timed", "find_hits", "mark_text", "to_keyword_hit"]

_MOST_WAITING = 1000  # of one keyword, in texts that are no text to users


class Timed(Protocol):
    """A text and its time in seconds."""

    @property
    def start(self) -> float:
        """Where it begins."""
        ...

    @property
    def end(self) -> float:
        """Where it ends."""
        ...

    @property
    def text(self) -> str:
        """What is said."""
        ...


@dataclass(frozen=True, slots=True)
class MarkedText:
    """A text as a model wrote it; without its list it would have written the characters ``changed`` otherwise."""

    text: str
    changed: tuple[range, ...] = ()

    def cut(self, first: int, past: int | None = None) -> MarkedText:
        """Give the part from one character to another."""
        n_cut = len(self.text[:first])
        moved = (range(max(marks.start - n_cut, 0), marks.stop - n_cut) for marks in self.changed)
        text = self.text[first:past]
        return MarkedText(text, tuple(marks for marks in moved if marks and marks.start < len(text)))

    def put_behind(self, text: str) -> MarkedText:
        """Put another text before it."""
        moved = (range(marks.start + len(text), marks.stop + len(text)) for marks in self.changed)
        return MarkedText(text + self.text, tuple(moved))


class Changes:
    """Tells of one keyword after the other whether the list changed it."""

    def __init__(self) -> None:
        self._waiting: defaultdict[str, deque[bool]] = defaultdict(lambda: deque(maxlen=_MOST_WAITING))

    def add(self, hit: Hit, changed: Sequence[range]) -> None:
        """Take in a keyword of the model's text, and which of that text the list changed."""
        is_changed = any(marks.start < hit.end and hit.start < marks.stop for marks in changed)
        self._waiting[hit.keyword.display].append(is_changed)

    def take(self, hit: Hit) -> bool:
        """Tell of the next one that is found in the text that users see."""
        waiting = self._waiting[hit.keyword.display]
        return waiting.popleft() if waiting else False


def mark_text(decode: Decode, tokens: Sequence[int], changed: Sequence[bool]) -> MarkedText:
    """Turn tokens into text, and mark what comes of those that a list changed.

    Args:
        decode: Of the tokenizer.
        tokens: What was written.
        changed: Whether a list changed each; empty: none.
    """
    text = decode(tokens)
    if not any(changed):
        return MarkedText(text)
    follower, end = TextFollower(decode), 0
    marks: list[range] = []
    for token, is_changed in zip(tokens, changed, strict=True):
        begin, end = end, end + len(follower.read([token]))
        if is_changed:
            marks.append(range(begin, max(end, begin + 1)))  # at least the character that it is a part of
    return MarkedText(text, tuple(marks))


def find_hits(finder: HitFinder, segments: Iterable[Timed], written: MarkedText) -> Iterator[KeywordHit]:
    """Find keywords in the segments that were made of a text, in order.

    Args:
        finder: Of the list.
        segments: Their times are shared out by the lengths of texts.
        written: What the model wrote for them.
    """
    changes = Changes()
    for hit in finder.find(written.text):
        changes.add(hit, written.changed)
    for segment in segments:
        for hit in finder.find(segment.text):
            yield to_keyword_hit(hit, segment, changed=changes.take(hit))


def to_keyword_hit(hit: Hit, segment: Timed, *, changed: bool, n_before: int = 0) -> KeywordHit:
    """Place a hit in time.

    Args:
        hit: In the text of a segment, or in that and some characters before it.
        segment: Its time is shared out by the length of its text.
        changed: Whether the list had a hand in it.
        n_before: How many characters there are before it.
    """
    per_character = (segment.end - segment.start) / max(len(segment.text), 1)
    start, end = (segment.start + max(place - n_before, 0) * per_character for place in (hit.start, hit.end))
    return KeywordHit(start, min(end, segment.end), hit.keyword.display, changed)
