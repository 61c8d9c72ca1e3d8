"""The batch pipeline: recordings -> chunks -> hypotheses -> transcripts.

Chunks of all recordings flow through one ``decode`` call, so an engine never idles at the end of a
file. A recording is opened when the engine asks for its first chunk and closed when it is finished. What its journal
has of an earlier run is not done again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np

from murmur_cli.audio.levels import measure_level
from murmur_cli.audio.source import Recording
from murmur_cli.engine import Answer, Bias, Engine, Job
from murmur_cli.errors import MurmurError
from murmur_cli.finish import finish_recording, needs_diarization
from murmur_cli.journal.part import PartJournal
from murmur_cli.journal.records import KeptAnswer, KeptPlan
from murmur_cli.listen import Listener, SpeakerModels, locate_talks
from murmur_cli.options import BatchOptions
from murmur_cli.speakers.channels import forget_speakers
from murmur_cli.speech.chunking import plan_chunks
from murmur_cli.speech.vad import VAD_RATE, Vad, convert_spans
from murmur_cli.transcript.stitch import Answers, RecordingFacts, shift
from murmur_cli.types import Chunk, DecodeError, Hypothesis, Provenance, RecordingId, Samples, Span, Transcript
from murmur_cli.version import __version__

__all__ = ["Listeners", "Observer", "transcribe_all"]

_PIECE_S = 30.0  # of signal that are looked at together
_MOST_READY = 32  # recordings, each with files that are open
_LANGUAGE_S = 30.0  # the first 30 s of speech decide the language of a recording


class Observer(Protocol):
    """Somebody who watches a run: a progress bar, a log."""

    def planned(self, recording: Recording, chunks: tuple[Chunk, ...]) -> None:
        """A recording is cut into chunks; these are the ones that are still to be decoded."""
        ...

    def answered(self, recording: Recording, chunk: Chunk, answer: Answer) -> None:
        """A chunk is decoded, or has failed."""
        ...

    def noted(self, recording: Recording, text: str) -> None:
        """There is something that the user should know about a recording."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Listeners:
    """What hears a recording beside the engine: where speech is, and who speaks; and what the engine listens for.

    ``speakers`` None leaves speakers as the engine names them. ``bias_of`` gives the keywords of a recording by its
    name.
    """

    vad: Vad
    speakers: SpeakerModels | None
    bias_of: Callable[[str], Bias | None] = lambda _: None


@dataclass(slots=True)
class _Work:
    """A recording on its way: its plan, who listens to it, and the answers so far by chunk index."""

    recording: Recording
    facts: RecordingFacts
    plan: KeptPlan
    journal: PartJournal
    listener: Listener | None
    answers: dict[int, Hypothesis | DecodeError]

    def keep(self, index: int, result: Hypothesis | DecodeError) -> None:
        """Take an answer, and keep it; a failure is not kept.

        Who speaks is found out as soon as it is clear that it will be needed, so that it is there however late a run
        is stopped.
        """
        self.answers[index] = result
        if isinstance(result, DecodeError):
            return
        self.journal.keep(KeptAnswer(self.journal.part, index, result))
        talks = locate_talks(self.facts, [(self.plan.chunks[index], result)])
        is_split = len(self.plan.chunks) > 1 or len({talk.place for talk in talks}) > 1
        if self.listener is not None and talks and (is_split or self.listener.models.enrolled):
            self.listener.hear_chunk(index, talks)
        if self.listener is not None and not self.listener.has_diarized and needs_diarization(self.facts, self.known()):
            self.listener.diarize()

    def known(self) -> Answers:
        """The chunks that are answered, with their answers, in order: sums of floats depend on it."""
        return [(chunk, self.answers[chunk.index]) for chunk in self.plan.chunks if chunk.index in self.answers]


def transcribe_all(
    recordings: Iterable[Recording],
    engine: Engine,
    *,
    listeners: Listeners,
    options: BatchOptions,
    observer: Observer,
    journal_of: Callable[[RecordingId], PartJournal] = lambda _: PartJournal(),
) -> Iterator[Transcript]:
    """Transcribe recordings, each as soon as its last chunk is answered.

    Args:
        recordings: Open recordings at the engine's rate, with distinct ids. They are pulled one by one,
            and closed here.
        engine: Decodes the chunks of all recordings in one call.
        listeners: Find speech, and tell people apart.
        options: What decides the text.
        observer: Is told of every plan and every answer.
        journal_of: Gives the journal of a recording, which is asked first and told of everything that took long.

    Yields:
        One transcript per recording, in the order in which they are finished.

    Raises:
        MurmurError: The engine cannot go on. What was finished before has been yielded.
    """
    run = _Run(engine, listeners=listeners, options=options, observer=observer, journal_of=journal_of)
    try:
        waiting = iter(recordings)
        while not run.is_prepared:
            for answer in engine.decode(run.prepare(waiting)):
                finished = run.take(answer)
                yield from run.finish_ready()
                if finished is not None:
                    yield run.finish(finished)
            yield from run.finish_ready()
    except MurmurError:
        yield from run.finish_ready()
        raise
    finally:
        run.close()


class _Run:
    """The recordings that are open, between the engine that pulls and the caller that waits."""

    def __init__(
        self,
        engine: Engine,
        *,
        listeners: Listeners,
        options: BatchOptions,
        observer: Observer,
        journal_of: Callable[[RecordingId], PartJournal],
    ) -> None:
        self._engine = engine
        self._vad = listeners.vad
        self._speaker_models = listeners.speakers
        self._bias_of = listeners.bias_of
        self._options = options
        self._observer = observer
        self._journal_of = journal_of
        asked = options.decode.language
        self._language = None if asked is None else engine.resolve_language(asked)
        self._open: dict[RecordingId, _Work] = {}
        self._ready: deque[_Work] = deque()  # nothing to decode: finished when the engine next lets go
        self.is_prepared = False

    def prepare(self, recordings: Iterator[Recording]) -> Iterator[Job]:
        """Plan each recording when the engine has room for it, and hand out its chunks.

        It ends early, to go on in another call, where so many recordings are ready that the engine has to let go.
        """
        for recording in recordings:
            try:
                work = self._begin(recording)
            except BaseException:
                recording.close()
                raise
            open_chunks = tuple([chunk for chunk in work.plan.chunks if chunk.index not in work.answers])
            self._observer.planned(recording, open_chunks)
            if not open_chunks:
                self._ready.append(work)
                if len(self._ready) == _MOST_READY:
                    return
                continue
            self._open[recording.recording_id] = work
            for chunk in open_chunks:
                yield self._ask(work, chunk)
        self.is_prepared = True

    def _ask(self, work: _Work, chunk: Chunk) -> Job:
        return Job(
            recording_id=work.recording.recording_id,
            chunk=chunk,
            samples=work.recording.samples(chunk.span),
            level=work.plan.level,
            language=work.plan.language,
            context=self._options.decode.context,
            bias=self._bias_of(work.recording.source),
        )

    def _begin(self, recording: Recording) -> _Work:
        """Take up a recording where its journal leaves it."""
        journal = self._journal_of(recording.recording_id)
        plan = journal.plan
        if plan is None:
            plan = self._plan(recording, part=journal.part)
            journal.keep(plan)
        elif journal.answers:
            about = f"{len(journal.answers)} of {len(plan.chunks)} chunks are there from a run that was stopped"
            self._observer.noted(recording, about)
        bias = self._bias_of(recording.source)
        facts = RecordingFacts(
            recording_id=recording.recording_id,
            source=recording.source,
            duration=recording.duration,
            sample_rate=recording.sample_rate,
            language=plan.language,
            damage=recording.damage,
            provenance=self._describe(),
            bias=None if bias is None else bias.describe(),
        )
        models, speakers = self._speaker_models, self._options.speakers
        listener = None if models is None else Listener(recording, models, speakers, journal)
        return _Work(recording, facts, plan, journal, listener, dict(journal.answers))

    def _plan(self, recording: Recording, *, part: int) -> KeptPlan:
        """Find the speech of a recording, cut it into chunks and settle its language."""
        rate = recording.sample_rate
        spans = self._vad.detect(recording.iter_vad_blocks())
        speech = convert_spans(spans, from_rate=VAD_RATE, to_rate=rate, n_samples=recording.n_samples)
        max_chunk_s = self._options.chunk.max_chunk_s
        chunks = plan_chunks(speech, sample_rate=rate, max_chunk_s=max_chunk_s, read=recording.samples)
        language = self._language
        if language is None and speech:
            language = self._engine.detect_language(_first_speech(recording, speech))
        return KeptPlan(part, tuple(chunks), measure_level(_iter_pieces(recording, chunks)), language)

    def take(self, answer: Answer) -> _Work | None:
        """Note an answer; returns the recording if it was its last one."""
        work = self._open[answer.recording_id]
        is_channel = self._options.audio.channels == "speakers"
        work.keep(answer.index, forget_speakers(answer.result) if is_channel else answer.result)
        self._observer.answered(work.recording, work.plan.chunks[answer.index], answer)
        if len(work.answers) < len(work.plan.chunks):
            return None
        return self._open.pop(answer.recording_id)

    def finish(self, work: _Work) -> Transcript:
        """Put the answers of a recording together, and close it."""
        with work.recording as recording:
            on_note = partial(self._observer.noted, recording)
            transcript = finish_recording(work.facts, work.known(), listener=work.listener, on_note=on_note)
            return shift(transcript, recording.part.starts_at)

    def _describe(self) -> Provenance:
        return Provenance(
            murmur_version=__version__,
            engine=self._engine.info,
            language=self._options.decode.language,
            max_chunk_s=self._options.chunk.max_chunk_s,
            vad_threshold=self._options.vad.vad_threshold,
            enrolled=() if self._speaker_models is None else tuple(self._speaker_models.enrolled),
        )

    def finish_ready(self) -> Iterator[Transcript]:
        """Finish the recordings of which nothing is left to decode: nobody speaks, or an earlier run was that far."""
        while self._ready:
            yield self.finish(self._ready.popleft())

    def close(self) -> None:
        """Let go of what was not finished."""
        for work in (*self._open.values(), *self._ready):
            work.recording.close()


def _iter_pieces(recording: Recording, chunks: Sequence[Chunk]) -> Iterator[Samples]:
    """Yield the signal of all chunks, at most 30 s at a time."""
    n_piece = round(_PIECE_S * recording.sample_rate)
    for chunk in chunks:
        for start in range(chunk.span.start, chunk.span.end, n_piece):
            yield recording.samples(Span(start, min(start + n_piece, chunk.span.end)))


def _first_speech(recording: Recording, speech: list[Span]) -> Samples:
    """The first 30 s of speech, without the silence between, shape (n_samples,)."""
    room = round(_LANGUAGE_S * recording.sample_rate)
    parts: list[Samples] = []
    for span in speech:
        taken = Span(span.start, min(span.end, span.start + room))
        parts.append(recording.samples(taken))
        room -= taken.n_samples
        if room == 0:
            break
    return np.concatenate(parts)
