"""The batch pipeline: recordings -> chunks -> hypotheses -> transcripts.

Chunks of all recordings flow through one ``decode`` call, so an engine never idles at the end of a
file. A recording is opened when the engine asks for its first chunk and closed when it is finished.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

import numpy as np

from murmur_cli.audio.levels import Level, measure_level
from murmur_cli.audio.source import Recording
from murmur_cli.engine import Answer, Engine, Job
from murmur_cli.errors import MurmurError
from murmur_cli.finish import SpeakerModels, finish_recording
from murmur_cli.options import BatchOptions
from murmur_cli.speakers.channels import forget_speakers
from murmur_cli.speakers.limits import to_limits
from murmur_cli.speech.chunking import plan_chunks
from murmur_cli.speech.vad import VAD_RATE, Vad, convert_spans
from murmur_cli.transcript.stitch import RecordingFacts, shift
from murmur_cli.types import Chunk, DecodeError, Hypothesis, Provenance, RecordingId, Samples, Span, Transcript
from murmur_cli.version import __version__

__all__ = ["Observer", "transcribe_all"]

_PIECE_S = 30.0  # of signal that are looked at together
_LANGUAGE_S = 30.0  # the first 30 s of speech decide the language of a recording


class Observer(Protocol):
    """Somebody who watches a run: a progress bar, a log."""

    def planned(self, recording: Recording, chunks: tuple[Chunk, ...]) -> None:
        """A recording is decoded from its file and cut into chunks."""
        ...

    def answered(self, recording: Recording, chunk: Chunk, answer: Answer) -> None:
        """A chunk is decoded, or has failed."""
        ...

    def noted(self, recording: Recording, text: str) -> None:
        """There is something that the user should know about a recording."""
        ...


@dataclass(slots=True)
class _Work:
    """A recording on its way: its chunks, and the answers so far by chunk index."""

    recording: Recording
    chunks: tuple[Chunk, ...]
    level: Level
    language: str | None
    answers: dict[int, Hypothesis | DecodeError] = field(default_factory=dict)


def transcribe_all(
    recordings: Iterable[Recording],
    engine: Engine,
    *,
    vad: Vad,
    speaker_models: SpeakerModels | None,
    options: BatchOptions,
    observer: Observer,
) -> Iterator[Transcript]:
    """Transcribe recordings, each as soon as its last chunk is answered.

    Args:
        recordings: Open recordings at the engine's rate, with distinct ids. They are pulled one by one,
            and closed here.
        engine: Decodes the chunks of all recordings in one call.
        vad: Finds speech.
        speaker_models: Tell people apart; None leaves speakers as the engine names them.
        options: What decides the text.
        observer: Is told of every plan and every answer.

    Yields:
        One transcript per recording, in the order in which they are finished.

    Raises:
        MurmurError: The engine cannot go on. What was finished before has been yielded.
    """
    run = _Run(engine, vad=vad, speaker_models=speaker_models, options=options, observer=observer)
    try:
        for answer in engine.decode(run.prepare(recordings)):
            finished = run.take(answer)
            yield from run.finish_silent()
            if finished is not None:
                yield run.finish(finished)
        yield from run.finish_silent()
    except MurmurError:
        yield from run.finish_silent()
        raise
    finally:
        run.close()


class _Run:
    """The recordings that are open, between the engine that pulls and the caller that waits."""

    def __init__(
        self,
        engine: Engine,
        *,
        vad: Vad,
        speaker_models: SpeakerModels | None,
        options: BatchOptions,
        observer: Observer,
    ) -> None:
        self._engine = engine
        self._vad = vad
        self._speaker_models = speaker_models
        self._options = options
        self._observer = observer
        asked = options.decode.language
        self._language = None if asked is None else engine.resolve_language(asked)
        self._open: dict[RecordingId, _Work] = {}
        self._silent: deque[_Work] = deque()  # nothing to decode: finished when the engine next lets go

    def prepare(self, recordings: Iterable[Recording]) -> Iterator[Job]:
        """Plan each recording when the engine has room for it, and hand out its chunks."""
        for recording in recordings:
            try:
                work = self._plan(recording)
            except BaseException:
                recording.close()
                raise
            self._observer.planned(recording, work.chunks)
            if not work.chunks:
                self._silent.append(work)
                continue
            self._open[recording.recording_id] = work
            for chunk in work.chunks:
                yield self._ask(work, chunk)

    def _ask(self, work: _Work, chunk: Chunk) -> Job:
        return Job(
            recording_id=work.recording.recording_id,
            chunk=chunk,
            samples=work.recording.samples(chunk.span),
            level=work.level,
            language=work.language,
            context=self._options.decode.context,
        )

    def _plan(self, recording: Recording) -> _Work:
        """Find the speech of a recording, cut it into chunks and settle its language."""
        rate = recording.sample_rate
        spans = self._vad.detect(recording.iter_vad_blocks())
        speech = convert_spans(spans, from_rate=VAD_RATE, to_rate=rate, n_samples=recording.n_samples)
        max_chunk_s = self._options.chunk.max_chunk_s
        chunks = plan_chunks(speech, sample_rate=rate, max_chunk_s=max_chunk_s, read=recording.samples)
        language = self._language
        if language is None and speech:
            language = self._engine.detect_language(_first_speech(recording, speech))
        level = measure_level(_iter_pieces(recording, chunks))
        return _Work(recording, tuple(chunks), level, language)

    def take(self, answer: Answer) -> _Work | None:
        """Note an answer; returns the recording if it was its last one."""
        work = self._open[answer.recording_id]
        is_channel = self._options.audio.channels == "speakers"
        work.answers[answer.index] = forget_speakers(answer.result) if is_channel else answer.result
        self._observer.answered(work.recording, work.chunks[answer.index], answer)
        if len(work.answers) < len(work.chunks):
            return None
        return self._open.pop(answer.recording_id)

    def finish(self, work: _Work) -> Transcript:
        """Put the answers of a recording together, and close it."""
        with work.recording as recording:
            facts = RecordingFacts(
                recording_id=recording.recording_id,
                source=recording.source,
                duration=recording.duration,
                sample_rate=recording.sample_rate,
                language=work.language,
                damage=recording.damage,
                provenance=self._describe(),
            )
            transcript = finish_recording(
                recording,
                facts,
                [(chunk, work.answers[chunk.index]) for chunk in work.chunks],
                models=self._speaker_models,
                limits=to_limits(self._options.speakers),
                on_note=partial(self._observer.noted, recording),
            )
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

    def finish_silent(self) -> Iterator[Transcript]:
        """Finish the recordings in which nobody speaks."""
        while self._silent:
            yield self.finish(self._silent.popleft())

    def close(self) -> None:
        """Let go of what was not finished."""
        for work in (*self._open.values(), *self._silent):
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
