"""Live speech cut into utterances: what is decoded at once, as soon as it is over.

Where the cuts are depends on the speech and on the answers of ``UtteranceCutter.cut_at`` alone, however it comes in.
Every sample of speech is new in exactly one utterance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from murmur_cli.options import VadOptions
from murmur_cli.speech.chunking import plan_chunks
from murmur_cli.speech.vad import (
    FRAME_SAMPLES,
    SAMPLES_PER_MS,
    VAD_RATE,
    RunFinder,
    SpeechScorer,
    merge_spans,
    pad_spans,
)
from murmur_cli.types import Chunk, Samples, Span

__all__ = ["CLOSE_S", "LEFT_S", "LONGEST_S", "PAUSE_S", "Utterance", "UtteranceCutter"]

PAUSE_S = 0.5
"""A pause that ends an utterance, in seconds."""

# Words that are wrong in a podcast, and in read sentences each by itself: 11.2 and 14.2 % (with 5 s 11.8 and 13.6 %,
# with 7 s 11.2 and 14.1 %, but words come later); without anything that is heard again 11.9 and 17 %.
LONGEST_S = 6.0
"""No utterance has more that is new, in seconds: it is cut at a pause in the last fifth of that, or inside speech."""

LEFT_S = 3.0
"""So much of an utterance is heard again before the next one, in seconds: half a sentence helps with the rest."""

CLOSE_S = 1.5
"""Only if no more than this is between their speech, in seconds."""

_LONGEST_SAMPLES = int(LONGEST_S * VAD_RATE)
_LEFT_SAMPLES = int(LEFT_S * VAD_RATE)
_CLOSE_SAMPLES = int(CLOSE_S * VAD_RATE)
_AFTER_SAMPLES = int(PAUSE_S / 2 * VAD_RATE)  # behind the last speech; the other half is the next one's


@dataclass(frozen=True, slots=True, eq=False)
class Utterance:
    """Speech to decode at once.

    Attributes:
        chunk: Where it is in the session, in samples at ``VAD_RATE``, with what is heard once more before it.
        samples: Its signal, shape (n_samples,).
        runs: Its speech as it was found, without what is heard once more; that of the chunk is widened.
        fresh: Where what is new in it begins, in samples of the session.
        is_open: It goes on behind its end.
    """

    chunk: Chunk
    samples: Samples
    runs: tuple[Span, ...]
    fresh: int
    is_open: bool


class UtteranceCutter:
    """Cuts one session.

    An utterance that it gives open has got too long, without a pause where it could be cut. Before the next one is
    asked for, ``cut_at`` may end it between two words; if nobody does, it comes once more, cut at a quiet moment.

    Args:
        scorer: Tells where speech is; new.
        options: When speech begins and ends.
    """

    def __init__(self, scorer: SpeechScorer, options: VadOptions) -> None:
        self._scorer = scorer
        self._finder = RunFinder(options)
        self._n_min_speech = options.min_speech_ms * SAMPLES_PER_MS
        self._n_before = options.speech_pad_ms * SAMPLES_PER_MS
        self._n_pad = options.speech_pad_ms * SAMPLES_PER_MS
        self._buffer = np.zeros(0, dtype=np.float32)
        self._origin = 0  # of the buffer in the session
        self._runs: list[Span] = []  # of the open utterance, that are over
        self._n_known = 0  # samples that the scorer has scored
        self._cut = 0  # where the speech of the last utterance ended
        self._first = 0  # where the next one can begin with nothing that was heard before
        self._again = 0  # where it can begin otherwise
        self._known: list[Span] = []  # speech from there on that was heard before
        self._offered: list[Span] = []  # the speech that somebody may cut now
        self._n_utterances = 0

    def push(self, samples: Samples) -> Iterator[Utterance]:
        """Take the next block, shape (n_samples,), at ``VAD_RATE``, and give the utterances that are over with it."""
        self._buffer = np.concatenate((self._buffer, samples))
        for probability in self._scorer.push(samples):
            yield from self._hear(probability)
        self._forget()

    def finish(self) -> Iterator[Utterance]:
        """Give what is left when the session is over."""
        for probability in self._scorer.finish():
            yield from self._hear(probability)
        self._add(self._finder.finish(self._n_known))
        yield from self._cut_long()
        if speech := self._speech():
            yield self._take(speech, following=None, is_forced=False)

    def cut_at(self, at: int) -> Utterance:
        """End the utterance that was given last, and is open.

        Args:
            at: Where to end it, in samples of the session: behind the start of its speech, before its end.

        Returns:
            The utterance up to there.

        Raises:
            ValueError: No utterance is open there.
        """
        speech = self._offered
        if not speech or not speech[0].start < at < speech[-1].end:
            raise ValueError(f"no utterance is open at sample {at}")
        self._offered = []
        before = _clip(speech, 0, at)
        utterance = self._make(before, end=at, is_forced=True, is_open=False)
        self._go_on(before, utterance, cut=at)
        return utterance

    def peek(self) -> Utterance | None:
        """Give the utterance that is open, as far as it is heard; None: nobody speaks."""
        speech = self._speech()
        return self._make(speech, end=self._find_end(speech, None), is_forced=False, is_open=True) if speech else None

    def _hear(self, probability: float) -> Iterator[Utterance]:
        n_heard = self._origin + len(self._buffer)
        self._n_known = min(self._n_known + FRAME_SAMPLES, n_heard)  # the last frame may be filled up
        self._add(self._finder.push(probability))
        yield from self._cut_long()
        is_quiet = bool(self._runs) and self._finder.start is None
        if is_quiet and self._n_known - self._runs[-1].end >= PAUSE_S * VAD_RATE:
            yield self._take(self._runs, following=None, is_forced=False)

    def _add(self, run: Span | None) -> None:
        if run is not None and run.n_samples >= self._n_min_speech and run.end > self._cut:
            self._runs.append(Span(max(run.start, self._cut), run.end))

    def _cut_long(self) -> Iterator[Utterance]:
        while (speech := self._speech()) and speech[-1].end - speech[0].start > _LONGEST_SAMPLES:
            first, rest, *_ = plan_chunks(speech, sample_rate=VAD_RATE, max_chunk_s=LONGEST_S, read=self._read)
            if first.forced_cut:
                limit = speech[0].start + _LONGEST_SAMPLES
                self._offered = _clip(speech, 0, limit)
                yield self._make(self._offered, end=limit, is_forced=True, is_open=True)
                if not self._offered:
                    continue
                self._offered = []
            yield self._take(first.speech, following=rest.span.start, is_forced=first.forced_cut)

    def _speech(self) -> list[Span]:
        """Tell where speech is that is in no utterance yet; a run that is open may be too short to count."""
        run = self._finder.open
        if run is None or run.n_samples < self._n_min_speech or run.end <= self._cut:
            return list(self._runs)
        return [*self._runs, Span(max(run.start, self._cut), min(run.end, self._n_known))]

    def _take(self, speech: Sequence[Span], *, following: int | None, is_forced: bool) -> Utterance:
        end = self._find_end(speech, following)
        utterance = self._make(speech, end=end, is_forced=is_forced, is_open=False)
        self._go_on(speech, utterance, cut=speech[-1].end)
        return utterance

    def _go_on(self, speech: Sequence[Span], utterance: Utterance, *, cut: int) -> None:
        """Begin the next utterance behind one that is over, and the end of its speech."""
        self._cut, self._first = cut, utterance.chunk.span.end
        self._again = max(cut - _LEFT_SAMPLES, utterance.chunk.span.start)
        self._known = _clip([*self._known, *speech], self._again, cut)
        self._runs = [Span(max(run.start, cut), run.end) for run in self._runs if run.end > cut]
        self._n_utterances += 1

    def _find_end(self, speech: Sequence[Span], following: int | None) -> int:
        last = speech[-1].end
        end = min(last + _AFTER_SAMPLES, self._n_known)
        return end if following is None else min(end, (last + following) // 2)

    def _make(self, speech: Sequence[Span], *, end: int, is_forced: bool, is_open: bool) -> Utterance:
        is_close = bool(self._known) and speech[0].start - self._cut <= _CLOSE_SAMPLES
        heard = merge_spans([*self._known, *speech] if is_close else speech)
        span = Span(max(heard[0].start - self._n_before, self._again if is_close else self._first), end)
        local = [Span(part.start - span.start, part.end - span.start) for part in heard]
        padded = pad_spans(local, n_samples=span.n_samples, n_pad=self._n_pad)
        spoken = tuple(Span(part.start + span.start, part.end + span.start) for part in padded)
        chunk = Chunk(self._n_utterances, span, spoken, forced_cut=is_forced)
        fresh = max(span.start, self._cut)
        return Utterance(chunk, self._read(span).copy(), tuple(speech), fresh=fresh, is_open=is_open)

    def _read(self, span: Span) -> Samples:
        return self._buffer[span.start - self._origin : span.end - self._origin]

    def _forget(self) -> None:
        """Keep what an utterance can still begin with."""
        begun = self._n_known if self._finder.start is None else self._finder.start
        start = max(min([begun, *(run.start for run in self._runs)]), self._cut)
        if start - self._cut > _CLOSE_SAMPLES:
            self._known = []
        earliest = self._again if self._known else self._first
        start = min([start, *(run.start for run in self._known)])
        first = max(start - self._n_before, earliest, self._origin)
        self._buffer = self._buffer[first - self._origin :]
        self._origin = first


def _clip(spans: Sequence[Span], start: int, end: int) -> list[Span]:
    return [Span(max(s.start, start), min(s.end, end)) for s in spans if s.start < end and s.end > start]
