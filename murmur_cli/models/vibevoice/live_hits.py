"""Keywords in the text of a session while it is written; one that goes over two chunks is found, too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from murmur_cli.bias.hits import Hit, HitFinder
from murmur_cli.decode.follow import Decode, TextFollower
from murmur_cli.decode.heard import Changes, to_keyword_hit
from murmur_cli.engine import StreamSegment
from murmur_cli.types import KeywordHit

__all__ = ["LiveHits"]

_MOST_KEPT = 400  # characters: no keyword is longer than half of that


class LiveHits:
    """Finds the keywords of one session.

    Args:
        decode: Of the tokenizer; it leaves out the tokens that steer the model.
    """

    def __init__(self, decode: Decode) -> None:
        self._follower = TextFollower(decode)
        self._finder: HitFinder | None = None
        self._changes = Changes()
        self._written = _GrowingText()  # as the model wrote it
        self._marks: list[range] = []  # what a list changed of that
        self._line = _GrowingText()  # as users see it

    def listen(self, finder: HitFinder | None) -> None:
        """Find others from here on."""
        self._finder = finder
        self._changes = Changes()

    def read(self, tokens: Sequence[int], changed: Sequence[bool]) -> None:
        """Take in what was written, and in which of it a list had a hand.

        Args:
            tokens: Of a chunk.
            changed: One for each; empty: none.
        """
        text = ""
        for token, is_changed in zip(tokens, changed or [False] * len(tokens), strict=True):
            begin = len(text)
            text += self._follower.read([token])
            if is_changed:
                first = self._written.end + begin
                self._marks.append(range(first, max(self._written.end + len(text), first + 1)))
        for hit, n_cut in self._written.add(text, self._finder):
            marks = [range(mark.start - n_cut, mark.stop - n_cut) for mark in self._marks]
            self._changes.add(hit, marks)
        self._marks = [mark for mark in self._marks if mark.stop > self._written.end - _MOST_KEPT]

    def place(self, segments: Sequence[StreamSegment]) -> list[StreamSegment]:
        """Say which keywords end in each of the next segments."""
        return [replace(segment, hits=tuple(self._iter_hits(segment))) for segment in segments]

    def _iter_hits(self, segment: StreamSegment) -> Iterator[KeywordHit]:
        if segment.starts_line:
            self._line = _GrowingText()
        n_before = self._line.end
        for hit, n_cut in self._line.add(segment.text, self._finder):
            is_changed = self._changes.take(hit)
            yield to_keyword_hit(hit, segment, changed=is_changed, n_before=n_before - n_cut)


class _GrowingText:
    """The end of a text to which is added, and what was found in it."""

    def __init__(self) -> None:
        self._kept = ""
        self._n_cut = 0  # characters before that
        self._found = 0  # up to here, in characters from the beginning

    @property
    def end(self) -> int:
        """How many characters there were."""
        return self._n_cut + len(self._kept)

    def add(self, text: str, finder: HitFinder | None) -> list[tuple[Hit, int]]:
        """Add to it; returns the keywords that end in that, each with the number of characters before their text."""
        before = len(self._kept)
        self._kept += text
        hits = () if finder is None else finder.find(self._kept)
        new = [hit for hit in hits if hit.end > before and hit.start >= self._found - self._n_cut]
        found, n_cut = [(hit, self._n_cut) for hit in new], max(len(self._kept) - _MOST_KEPT, 0)
        self._found = self._n_cut + new[-1].end if new else self._found
        self._kept, self._n_cut = self._kept[n_cut:], self._n_cut + n_cut
        return found
