"""What is read of one part of a chunk: the chunk itself, or a stretch of it that is decoded apart.

What is kept of an answer stays: a later answer only adds to it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from murmur_cli.bias.hits import HitFinder
from murmur_cli.decode.entries import Entry, OpenEntry
from murmur_cli.decode.follow import Piece
from murmur_cli.decode.heard import MarkedText, find_hits
from murmur_cli.decode.parse import find_pieces, parse_answer, to_hypothesis
from murmur_cli.decode.runaway import find_standstill
from murmur_cli.types import DecodeError, HypGap, Hypothesis, KeywordHit, Span

__all__ = ["PartReading", "to_gap", "to_span"]

_CONTENT = '"Content"'


@dataclass(slots=True, eq=False)
class PartReading:
    """One part of a chunk.

    Attributes:
        number: Which part of the chunk it is; each numbers its speakers apart.
        span: Where it lies in the chunk, in samples.
        sample_rate: Of these samples.
        pieces: What is kept of its answers.
        written: What the model wrote for each of these.
        prefix: The list of entries that goes on with the next answer, from its bracket to a comma; empty if none does.
        failure: Why the last answer cannot be the end of it, if it cannot.
    """

    number: int
    span: Span
    sample_rate: int
    pieces: list[Piece] = field(default_factory=list)
    written: list[MarkedText] = field(default_factory=list)
    prefix: str = ""
    failure: DecodeError | None = None

    @property
    def entries(self) -> list[Entry]:
        """The entries that are kept, in the order in which they were written."""
        return [piece for piece in self.pieces if isinstance(piece, Entry)]

    @property
    def read_until(self) -> int:
        """Where no later entry ends, in samples of the chunk."""
        return max((span.end for span in self.iter_read()), default=self.span.start)

    def take(self, written: MarkedText, failure: DecodeError | None) -> None:
        """Keep an answer, or what is sound of it if it is one that failed or cannot be read.

        Args:
            written: What was written behind the prefix.
            failure: Why the answer is not to be trusted to its end.
        """
        text = written.text
        pieces = find_pieces(text, duration=self._seconds)
        if failure is None and not self.prefix:
            found = parse_answer(text, duration=self._seconds)
            failure = found if isinstance(found, DecodeError) else None
        self.failure = failure
        if failure is None:
            self._keep(pieces, written)
            return
        sound = self._find_sound([piece for piece in pieces if isinstance(piece, Entry)])
        if sound:
            self._keep(pieces[: pieces.index(sound[-1]) + 1], written)
            self.prefix = f"{self.prefix or '['}{text[sound[0].first : sound[-1].past]},"

    def _keep(self, pieces: list[Piece], written: MarkedText) -> None:
        self.pieces += pieces
        self.written += [
            written.cut(piece.first, None if isinstance(piece, OpenEntry) else piece.past) for piece in pieces
        ]

    def _find_sound(self, entries: list[Entry]) -> list[Entry]:
        """Leave out the entries that only repeat what is there."""
        kept = self.entries
        standstill = find_standstill([*kept, *entries])
        return entries if standstill is None else entries[: max(standstill - len(kept), 0)]

    def iter_read(self) -> Iterator[Span]:
        """Yield what the entries cover, of speech or of other sounds, in samples of the chunk."""
        for entry in self.entries:
            start, end = (min(max(time, 0.0), self._seconds) for time in (entry.start, entry.end))
            first = self.span.start + math.floor(start * self.sample_rate)
            past = self.span.start + math.ceil(end * self.sample_rate)
            yield Span(first, min(max(first, past), self.span.end))

    def to_hypothesis(self) -> Hypothesis:
        """Make segments and gaps of what is kept, in the time of the chunk."""
        answer = to_hypothesis(self.pieces, duration=self._seconds)
        return Hypothesis(
            segments=tuple(
                replace(told, start=self._shift(told.start), end=self._shift(told.end), part=self.number)
                for told in answer.segments
            ),
            gaps=tuple(replace(told, start=self._shift(told.start), end=self._shift(told.end)) for told in answer.gaps),
        )

    def iter_hits(self, finder: HitFinder) -> Iterator[KeywordHit]:
        """Yield the keywords of the segments, in the time of the chunk."""
        for piece, written in zip(self.pieces, self.written, strict=True):
            segments = to_hypothesis([piece], duration=self._seconds).segments
            content = written.cut(max(written.text.find(_CONTENT), 0))
            for hit in find_hits(finder, segments, content):
                yield replace(hit, start=self._shift(hit.start), end=self._shift(hit.end))

    @property
    def _seconds(self) -> float:
        return self.span.n_samples / self.sample_rate

    def _shift(self, seconds: float) -> float:
        return min(self.span.start / self.sample_rate + seconds, self.span.end / self.sample_rate)


def to_span(gap: HypGap, *, sample_rate: int) -> Span:
    """Return the samples that a gap touches."""
    return Span(math.floor(gap.start * sample_rate), math.ceil(gap.end * sample_rate))


def to_gap(span: Span, reason: str, *, sample_rate: int) -> HypGap:
    """Report samples of a chunk as a gap."""
    return HypGap(span.start / sample_rate, span.end / sample_rate, reason)
