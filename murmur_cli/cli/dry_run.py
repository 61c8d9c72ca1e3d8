"""What ``murmur batch --dry-run`` does: all that comes before the recogniser, and nothing that is written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, nullcontext
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

import typer

from murmur_cli.audio.source import Recording, open_recordings
from murmur_cli.audio.stdin import STDIN, spool_stdin
from murmur_cli.cli.outcome import Outcome
from murmur_cli.cli.plan_run import Reading, Writing, plan_run
from murmur_cli.cli.render import Talk, make_console, printable, to_clock
from murmur_cli.errors import AudioError
from murmur_cli.options import AudioOptions, BatchOptions, JournalOptions, ModelOptions, RunOptions
from murmur_cli.speech.chunking import plan_chunks
from murmur_cli.speech.vad import VAD_RATE, Vad, convert_spans
from murmur_cli.transcript.outputs import OutputPlan
from murmur_cli.types import Chunk, RecordingId

if TYPE_CHECKING:
    from murmur_cli.models.forecast import Forecast

__all__ = ["show_plan"]


@dataclass(slots=True)
class _Sum:
    """What there is to do, in seconds and chunks."""

    n_files: int = 0
    duration: float = 0.0
    speech: float = 0.0
    n_chunks: int = 0

    def add(self, other: _Sum) -> None:
        self.n_files += other.n_files
        self.duration += other.duration
        self.speech += other.speech
        self.n_chunks += other.n_chunks

    def __str__(self) -> str:
        chunks = "1 chunk" if self.n_chunks == 1 else f"{self.n_chunks} chunks"
        return f"{to_clock(self.duration)} ({self.duration:.1f} s), {self.speech:.1f} s of speech, {chunks}"


@dataclass(frozen=True, slots=True, eq=False)
class _Ear:
    """What hears recordings, as far as the plan goes."""

    vad: Vad
    sample_rate: int
    options: BatchOptions
    outcome: Outcome
    talk: Talk
    ids: Iterator[int] = field(default_factory=count)


def show_plan(
    reading: Reading,
    model: ModelOptions,
    options: BatchOptions,
    *,
    writing: Writing,
    journal: JournalOptions,
    run: RunOptions,
) -> int:
    """Say what ``transcribe``, with the same arguments, would do; gives the exit code.

    Raises:
        MurmurError: What was asked for cannot be.
    """
    from murmur_cli.models.forecast import forecast_model
    from murmur_cli.models.silero import load_silero

    talk = Talk(make_console(run), run)
    plan = plan_run(reading, writing, options, journal=journal, run=run, talk=talk)
    if plan.is_over:
        return plan.outcome.exit_code
    known = forecast_model(model, options, on_note=talk.note)
    typer.echo(printable(_describe_model(known)))
    ear = _Ear(load_silero(options.vad), known.sample_rate, options, plan.outcome, talk)
    total = _Sum()
    for recording_id, part in _iter_heard(plan.present, ear):
        total.add(part)
        typer.echo(
            printable(f"{plan.outputs[recording_id].source}: {part}{_describe_outputs(plan.outputs[recording_id])}")
        )
    files = "1 file" if total.n_files == 1 else f"{total.n_files} files"
    typer.echo(f"{files}: {total}")
    return plan.outcome.exit_code


def _iter_heard(present: Sequence[tuple[RecordingId, str]], ear: _Ear) -> Iterator[tuple[RecordingId, _Sum]]:
    """Decode the files one by one and find the speech in them; one that cannot be read is said and passed over."""
    for recording_id, path in present:
        if ear.outcome.is_over():
            return
        try:
            recordings = _open(path, ear.options.audio, ear)
        except AudioError as error:
            ear.outcome.failed(error)
            continue
        found = _Sum(n_files=1)
        with ExitStack() as stack:
            for recording in recordings:
                stack.enter_context(closing(recording))
            for recording in recordings:
                for note in recording.notes:
                    ear.talk.note(f"{path}: {note}")
                chunks = _plan(recording, ear)
                n_speech = sum(span.n_samples for chunk in chunks for span in chunk.speech)
                found.add(_Sum(0, recording.duration, n_speech / recording.sample_rate, len(chunks)))
        ear.outcome.planned(path, recordings[0].damage)
        yield recording_id, found


def _open(path: str, options: AudioOptions, ear: _Ear) -> Sequence[Recording]:
    ids = map(RecordingId, ear.ids)
    with spool_stdin() if path == STDIN else nullcontext() as content:
        return open_recordings(path, ids=ids, sample_rate=ear.sample_rate, options=options, content=content)


def _plan(recording: Recording, ear: _Ear) -> list[Chunk]:
    """Cut a recording as the run would."""
    rate = recording.sample_rate
    spans = ear.vad.detect(recording.iter_vad_blocks())
    speech = convert_spans(spans, from_rate=VAD_RATE, to_rate=rate, n_samples=recording.n_samples)
    return plan_chunks(speech, sample_rate=rate, max_chunk_s=ear.options.chunk.max_chunk_s, read=recording.samples)


def _describe_outputs(plan: OutputPlan) -> str:
    paths = [target.path for target in plan.targets]
    names = ["stdout" if path is None else str(path) for path in paths]
    old = "; some are there from an earlier run, and stay if this run asks for the same"
    return f"; to {', '.join(names)}{old if any(path and path.exists() for path in paths) else ''}"


def _describe_model(known: Forecast) -> str:
    size = "of an unknown size" if known.n_bytes is None else f"{known.n_bytes / 1e9:.2f} GB"
    weights = f"weights here, {size}" if known.is_here else f"weights not here, {size} would be fetched"
    memory = "what memory it takes beside them is known when it runs"
    if known.memory is not None:
        memory = f"{known.memory.total / 1e9:.2f} GB of memory, {known.memory.batch_size} chunks side by side at most"
    return f"model {known.model} on {known.device}: {weights}; {memory}"
