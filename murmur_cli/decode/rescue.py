"""One chunk, read until there is nothing left to try: what is decoded of it next, and what is made of all answers.

What has been read is not decoded again, and so neither lost nor said twice. What cannot be read becomes a gap. There
are at most ten attempts at a chunk, whatever the model writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from murmur_cli.bias.hits import HitFinder
from murmur_cli.decode.coverage import clip_speech, count_speech, find_unread, split_at_pause, trim_to_speech
from murmur_cli.decode.heard import MarkedText
from murmur_cli.decode.part_reading import PartReading, to_gap, to_span
from murmur_cli.types import DecodeError, HypGap, Hypothesis, KeywordHit, Span

__all__ = ["Attempt", "ChunkReading"]

_TEMPERATURES = (0.2, 0.3, 0.4)  # Source: murmur's page on long recordings
_MOST_STRETCHES = 4  # that are decoded once more, the longest; a model that passes over more passes over them, too

_MISSED_S = 2.0  # of speech between what has been read that are decoded once more
# Beside an entry less is nothing to read: spans of speech are widened by 0.4 s, and written times are off by a few
# tenths. A model that hears nothing but that makes something up.
_EDGE_S = 0.8
_SHORTEST_SPLIT_S = 4.0  # a shorter stretch is decoded whole

_ENDLESS = "the model's answer did not come to an end"
_MISSED = "the model wrote nothing about what is said here"
_MOST_QUOTED = 80  # characters


@dataclass(frozen=True, slots=True)
class Attempt:
    """What is to be decoded.

    Attributes:
        span: Of the chunk, in samples from its start: the audio.
        prefix: What is put before the answer, as if the model had written it: the list so far, from its bracket to a
            comma. Empty: the answer begins by itself.
        temperature: 0 is greedy.
        seed: Of the draws, where it is not.
        part: Which part of the chunk this reads. Each numbers its speakers apart; the prefix is of the same.
    """

    span: Span
    prefix: str
    temperature: float
    seed: int
    part: int


class ChunkReading:
    """Follows a chunk from attempt to attempt.

    An answer that runs away, does not end or cannot be read is cut behind its last sound entry. It is gone on with from
    there at a higher temperature, up to three times. Then what is left is split at a pause, and both halves are decoded
    by themselves. When all is read, speech that no entry covers is decoded by itself, once; so is what is left of a
    half of which some was read.

    Args:
        n_samples: Length of the chunk.
        speech: Where somebody speaks in it, in samples from its start.
        sample_rate: Of these samples.
        seed: For this chunk, the same in every run.
        finder: Of the keywords that are listened for.
    """

    def __init__(
        self,
        n_samples: int,
        speech: Sequence[Span],
        *,
        sample_rate: int,
        seed: int,
        finder: HitFinder | None = None,
    ) -> None:
        self._speech = clip_speech(speech, Span(0, n_samples))
        self._sample_rate = sample_rate
        self._n_missed, self._n_edge = (round(seconds * sample_rate) for seconds in (_MISSED_S, _EDGE_S))
        self._seed = seed
        self._finder = finder
        self._parts: list[PartReading] = []
        self._given_up: dict[int, Span] = {}  # what is left of a part, by its number
        self._waiting: list[Attempt] = []
        self._n_asked = 0
        self._n_temperatures = 0  # that were tried
        self._is_covered = False  # or it was tried
        self._first = self._ask_apart(Span(0, n_samples))

    def first(self) -> Attempt:
        """Give the attempt that all begins with: the whole chunk."""
        return self._first

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to try."""
        return not self._waiting

    @property
    def n_retries(self) -> int:
        """Attempts that were asked for beside the first."""
        return self._n_asked - 1

    def take(self, attempt: Attempt, written: MarkedText, *, stopped: bool, halted: str | None) -> list[Attempt]:
        """Take in what was written, and say what else is to be decoded, in any order.

        Args:
            attempt: The one that was decoded.
            written: What the model wrote behind the prefix, without control tokens.
            stopped: It came to an end by itself.
            halted: Why it was ended, if it was. Without either, it had all its tokens.

        Raises:
            ValueError: This was not asked for, or is taken in already.
        """
        self._waiting.remove(attempt)
        part = self._parts[attempt.part]
        text = written.text
        detail = f"{len(text)} characters, at the end {text[-_MOST_QUOTED:]!r}"
        part.take(written, None if stopped else DecodeError(halted or _ENDLESS, detail))
        asked: list[Attempt] = []
        if part.failure is not None and (rest := self._find_rest(part)) is not None:
            asked = self._try_again(part, rest) if part.number == 0 else []
            if not asked:
                self._given_up[part.number] = rest
        if not self._waiting and not self._is_covered:
            self._is_covered = True
            asked = [self._ask_apart(span) for span in self._find_stretches()[:_MOST_STRETCHES]]
        return asked

    def finish(self) -> Hypothesis | DecodeError:
        """Put together what was read.

        Returns:
            Segments in order of their starts, and a gap for all that was not read; an error if nothing was.

        Raises:
            ValueError: There is something left to try.
        """
        if not self.is_done:
            raise ValueError(f"{len(self._waiting)} attempts are not taken in yet")
        error = self._parts[0].failure
        if error is not None and not any(part.entries for part in self._parts):
            return error
        answers = [part.to_hypothesis() for part in self._parts]
        segments = dict.fromkeys(segment for answer in answers for segment in answer.segments)
        gaps = [gap for part, answer in zip(self._parts, answers, strict=True) for gap in self._find_gaps(part, answer)]
        missed = self._find_missed([to_span(gap, sample_rate=self._sample_rate) for gap in gaps])
        gaps += [to_gap(span, _MISSED, sample_rate=self._sample_rate) for span in missed]
        return Hypothesis(
            segments=tuple(sorted(segments, key=lambda segment: segment.start)),
            gaps=tuple(sorted(dict.fromkeys(gaps), key=lambda gap: (gap.start, gap.end))),
            hits=self._find_hits(),
        )

    def _find_hits(self) -> tuple[KeywordHit, ...]:
        if self._finder is None:
            return ()
        hits = [hit for part in self._parts for hit in part.iter_hits(self._finder)]
        return tuple(sorted(dict.fromkeys(hits), key=lambda hit: (hit.start, hit.end)))

    # --- what is tried

    def _ask(self, part: PartReading, temperature: float) -> Attempt:
        attempt = Attempt(part.span, part.prefix, temperature, self._seed + self._n_asked, part.number)
        self._waiting.append(attempt)
        self._n_asked += 1
        return attempt

    def _ask_apart(self, span: Span) -> Attempt:
        """Decode a stretch by itself; greedily, unless that has been done."""
        is_known = any(part.span == span for part in self._parts)
        self._parts.append(PartReading(len(self._parts), span, self._sample_rate))
        return self._ask(self._parts[-1], _TEMPERATURES[0] if is_known else 0.0)

    def _try_again(self, part: PartReading, rest: Span) -> list[Attempt]:
        if self._n_temperatures < len(_TEMPERATURES):
            self._n_temperatures += 1
            return [self._ask(part, _TEMPERATURES[self._n_temperatures - 1])]
        if rest.n_samples >= _SHORTEST_SPLIT_S * self._sample_rate:
            return [self._ask_apart(half) for half in split_at_pause(self._speech, rest)]
        return [self._ask_apart(rest)] if rest != part.span else []

    # --- what is left

    def _find_rest(self, part: PartReading) -> Span | None:
        """Find the speech behind the last entry; None if that is too little to be anything."""
        if not part.entries:
            return trim_to_speech(self._speech, part.span) or part.span
        return trim_to_speech(self._speech, Span(part.read_until, part.span.end), n_edge=self._n_edge)

    def _find_stretches(self) -> list[Span]:
        """Find what is to be decoded once more, the longest first."""
        given_up = self._given_up.values()
        tried = {part.span for part in self._parts}
        again = [span for span in given_up if span not in tried and count_speech(self._speech, span) > self._n_missed]
        found = [*self._find_missed(given_up), *again]
        return sorted(found, key=lambda span: (-count_speech(self._speech, span), span))

    def _find_missed(self, reported: Iterable[Span]) -> list[Span]:
        """Find the speech that is neither read nor reported."""
        read = [*reported, *(span for part in self._parts for span in part.iter_read())]
        return find_unread(self._speech, read, n_least=self._n_missed, n_edge=self._n_edge)

    def _find_gaps(self, part: PartReading, answer: Hypothesis) -> Iterator[HypGap]:
        """Yield what a part has lost, but for what a later one has read, or lost itself."""
        later = [other.span for other in self._parts[part.number + 1 :]]
        gaps = list(answer.gaps)
        if part.failure is not None and part.number in self._given_up:
            gaps.append(to_gap(self._given_up[part.number], part.failure.reason, sample_rate=self._sample_rate))
        for gap in gaps:
            span = to_span(gap, sample_rate=self._sample_rate)
            if any(other.start < span.end and span.start < other.end for other in later):
                yield from (
                    to_gap(left, gap.reason, sample_rate=self._sample_rate) for left in self._leave(span, later)
                )
            else:
                yield gap

    def _leave(self, span: Span, taken: Iterable[Span]) -> list[Span]:
        """Find what speech is left of a span when something of it is taken."""
        past = max((speech.end for speech in self._speech), default=0)
        around = (Span(0, span.start), Span(span.end, max(span.end, past)))
        return find_unread(self._speech, [*around, *taken], n_edge=self._n_edge)
