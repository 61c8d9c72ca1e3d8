"""The live pipeline: what is heard goes to the decoder as it comes, and what it commits comes out as events.

Committed text is never changed. However the audio is split into blocks, the same is committed.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from heapq import merge
from typing import Protocol, TypeVar

from murmur_cli.audio.backlog import Backlog, Heard, LiveInput
from murmur_cli.audio.session_clock import SessionClock
from murmur_cli.audio.wav_file import GrowingWav
from murmur_cli.engine import Bias, StreamDecoder, StreamDraft, StreamEngine, StreamSegment, StreamUpdate
from murmur_cli.errors import AudioError
from murmur_cli.options import StreamOptions
from murmur_cli.transcript.events import Committed, Draft, Lag, LiveEvent, Missing, Relisted, SessionEnd, SessionStart
from murmur_cli.types import Gap, KeywordHit, Provenance, Word
from murmur_cli.version import __version__

__all__ = ["LAG_S", "LiveObserver", "Wishes", "transcribe_live"]

LAG_S = 2.0
"""A chunk that is being decoded is no lag; what is more, is said."""

_Part = TypeVar("_Part", Word, KeywordHit)

_POLL_S = 0.2  # so soon is a wish to stop seen while nothing comes
_LAG_EVERY_S = 5.0
_SOON_S = 0.2  # after which there may be a draft where there was none
_SKIP_ABOVE_S, _SKIP_TO_S = 10.0, 2.0
_MOST_ARRIVALS = 10_000  # blocks whose coming is remembered: a quarter of an hour of those of 0.1 s
_DRAFT_SHARE = 0.5  # of the time that drafts may take: a slow machine shows fewer, and commits nearly as soon


@dataclass(frozen=True, slots=True)
class Wishes:
    """What is wanted of a session while it runs, asked again and again.

    ``is_stopped`` tells whether to stop listening, ``bias`` what to listen for.
    """

    is_stopped: Callable[[], bool]
    bias: Callable[[], Bias | None] = lambda: None


class LiveObserver(Protocol):
    """Somebody who watches a session: a terminal, a log. What happens in it, in order, are its events."""

    @property
    def shows_drafts(self) -> bool:
        """Whether anybody sees drafts; else none is decoded."""
        ...

    def listening(self, backlog: Backlog) -> None:
        """The session begins; its pulse can be felt from now on, at any time."""
        ...

    def noted(self, text: str) -> None:
        """There is something that the user should know."""
        ...


def transcribe_live(
    source: LiveInput,
    engine: StreamEngine,
    *,
    options: StreamOptions,
    recorder: GrowingWav | None,
    wishes: Wishes,
    observer: LiveObserver,
) -> Generator[LiveEvent, None, None]:
    """Transcribe a source until it ends, or somebody wants it to.

    Args:
        source: What is heard, at the engine's rate.
        engine: Who understands it.
        options: What the engine is told, and what happens where it is too slow.
        recorder: Keeps what is heard.
        wishes: What is wanted while it runs; what was heard before a wish to stop is still transcribed.
        observer: Watches.

    Yields:
        A start as soon as there is audio, what happens, and an end, even where reading broke off.

    Raises:
        AudioError: Nothing can be heard at all.
        OutputError: What is heard cannot be kept.
        DeviceError: The device is out of memory.
    """
    bias, is_stopped = wishes.bias(), wishes.is_stopped
    use = None if bias is None else bias.describe()
    start = SessionStart(source.name, source.sample_rate, _describe(engine, options), use)
    with Backlog(source) as backlog, engine.open(options, bias=bias) as decoder:
        session = _Session(decoder, backlog, sample_rate=source.sample_rate, step_s=options.step)
        observer.listening(backlog)
        for heard in _listen(backlog, is_stopped):
            _pass_notes(source, observer)
            if session.n_heard == 0:
                yield start
            if recorder is not None:
                recorder.append(heard.samples)
            wanted = wishes.bias()
            if wanted is not None and wanted is not bias:
                bias = wanted
                yield session.relist(bias)
            yield from session.hear(heard)
            if options.on_lag == "skip" and not is_stopped():
                yield from session.skip_late(recorder)
            if observer.shows_drafts and not is_stopped():
                yield from session.renew_draft()
        if session.n_heard == 0:
            backlog.settle()
            yield start
        yield from session.finish()
        loss = _find_loss(backlog)
        reason = "lost" if loss is not None else _tell_reason(session, options, is_stopped)
        yield session.make_end(reason=reason, damage="; ".join(filter(None, (source.damage, loss))) or None)
        _pass_notes(source, observer)


class _Session:
    """A decoder, and what became of what it was given."""

    def __init__(self, decoder: StreamDecoder, backlog: Backlog, *, sample_rate: int, step_s: float) -> None:
        self._decoder = decoder
        self._backlog = backlog
        self._sample_rate = sample_rate
        self._clock = SessionClock(sample_rate)
        self._arrivals: deque[tuple[float, float]] = deque(maxlen=_MOST_ARRIVALS)
        self._said_at = -_LAG_EVERY_S
        self._last_start = 0.0
        self._draft: Draft | None = None  # that is shown
        self._n_step = round(step_s * sample_rate)  # samples; the next one too
        self._n_at_next_draft = self._n_step
        self._n_segments = 0
        self._n_gaps = 0

    @property
    def n_heard(self) -> int:
        """Samples of the session so far."""
        return self._clock.n_heard

    @property
    def heard_s(self) -> float:
        """Seconds of the session so far."""
        return self._clock.heard_s

    def hear(self, heard: Heard) -> Iterator[LiveEvent]:
        """Decode a block."""
        self._clock.decode(len(heard.samples))
        self._arrivals.append((self.heard_s, heard.at))
        yield from self._place(self._decoder.push(heard.samples))
        behind_s, now = self._backlog.behind_s, time.monotonic()
        if behind_s > LAG_S and now - self._said_at >= _LAG_EVERY_S:
            self._said_at = now
            yield Lag(self.heard_s, behind_s)

    def relist(self, bias: Bias) -> Relisted:
        """Listen for something else from here on."""
        self._decoder.rebias(bias)
        return Relisted(self.heard_s, bias.describe())

    def skip_late(self, recorder: GrowingWav | None) -> Iterator[LiveEvent]:
        """Leave out the oldest of what waits, where that is too much."""
        if self._backlog.behind_s <= _SKIP_ABOVE_S:
            return
        skipped, start = self._backlog.skip(_SKIP_TO_S), self.heard_s
        for heard in skipped:
            self._clock.skip(len(heard.samples))
            if recorder is not None:
                recorder.append(heard.samples)
        if skipped:
            self._n_gaps += 1
            yield Missing(Gap(start, self.heard_s, "skipped: decoding was too far behind"))

    def renew_draft(self) -> Iterator[LiveEvent]:
        """Decode what is still open, if somebody waits for it, it is time, and nothing else is to be done."""
        if not self._backlog.is_live or self._backlog.waiting_s or self.n_heard < self._n_at_next_draft:
            return
        start = time.monotonic()
        draft = self._decoder.draft()
        n_cost = round((time.monotonic() - start) * self._sample_rate)
        n_wait = self._n_step if draft is not None else min(self._n_step, round(_SOON_S * self._sample_rate))
        self._n_at_next_draft = self.n_heard + max(n_wait, round(n_cost / _DRAFT_SHARE))
        yield from self._show(None if draft is None or not draft.text.strip() else self._to_event(draft))

    def finish(self) -> Iterator[LiveEvent]:
        """Decode what the decoder still holds."""
        yield from self._place(self._decoder.finish())
        yield from self._show(None)

    def make_end(self, *, reason: str, damage: str | None) -> SessionEnd:
        """Sum up."""
        return SessionEnd(self.heard_s, self._n_segments, self._n_gaps, reason, damage)

    def _place(self, update: StreamUpdate) -> Iterator[LiveEvent]:
        """Turn what the decoder says into events on the session's clock."""
        # By time, however much came at once; the order of the segments is the decoder's.
        parts: Iterator[Gap | StreamSegment] = merge(update.gaps, update.committed, key=lambda part: part.start)
        for part in parts:
            if self._draft is not None and self._clock.to_end(part.end) > self._draft.start:
                yield from self._show(None)
            if isinstance(part, Gap):
                self._n_gaps += 1
                yield Missing(Gap(self._clock.to_start(part.start), self._clock.to_end(part.end), part.reason))
            elif part.text.strip():
                self._n_segments += 1
                yield self._commit(part)

    def _commit(self, segment: StreamSegment) -> Committed:
        # What a decoder held back to its end may begin before what it committed.
        self._last_start = start = max(self._last_start, self._clock.to_start(segment.start))
        end = self._clock.to_end(segment.end)
        return Committed(
            start=start,
            end=max(start, end),
            text=segment.text,
            speaker=segment.speaker,
            times=segment.times,
            starts_line=segment.starts_line,
            latency=self._find_latency(end),
            heard_s=self.heard_s,
            words=tuple(self._shift(word) for word in segment.words),
            hits=tuple(self._shift(hit) for hit in segment.hits),
        )

    def _shift(self, part: _Part) -> _Part:
        start = self._clock.to_start(part.start)
        return replace(part, start=start, end=max(start, self._clock.to_end(part.end)))

    def _to_event(self, draft: StreamDraft) -> Draft:
        return Draft(max(self._last_start, self._clock.to_start(draft.start)), draft.text, draft.speaker)

    def _show(self, draft: Draft | None) -> Iterator[Draft]:
        """Let a draft take the place of the one that is shown."""
        shown, self._draft = self._draft, draft
        if draft is not None and draft != shown:
            yield draft
        elif draft is None and shown is not None:
            yield replace(shown, text="")

    def _find_latency(self, end_s: float) -> float | None:
        """Tell how long ago the sound at ``end_s`` came; of what is older than is remembered, the least that it is."""
        if not self._backlog.is_live:
            return None
        while len(self._arrivals) > 1 and self._arrivals[0][0] < end_s:
            self._arrivals.popleft()
        return time.monotonic() - self._arrivals[0][1]


def _listen(backlog: Backlog, is_stopped: Callable[[], bool]) -> Iterator[Heard]:
    while not backlog.is_over():
        if is_stopped():
            backlog.stop()
        heard = backlog.take(_POLL_S)
        if heard is not None:
            yield heard


def _pass_notes(source: LiveInput, observer: LiveObserver) -> None:
    while source.notes:
        observer.noted(source.notes.pop(0))


def _tell_reason(session: _Session, options: StreamOptions, is_stopped: Callable[[], bool]) -> str:
    if options.duration is not None and session.heard_s >= options.duration - 1e-3:
        return "duration"
    return "stopped" if is_stopped() else "input"


def _find_loss(backlog: Backlog) -> str | None:
    """Say why the source broke off, if it did: that ends a session, and leaves what was committed."""
    try:
        backlog.settle()
    except AudioError as error:
        return error.problem
    return None


def _describe(engine: StreamEngine, options: StreamOptions) -> Provenance:
    return Provenance(
        murmur_version=__version__,
        engine=engine.info,
        language=options.language,
        max_chunk_s=None,
        vad_threshold=None,
        enrolled=(),
    )
