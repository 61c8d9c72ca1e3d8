"""Run murmur in this process over some recordings, as ``murmur batch`` does, and time it.

What is timed begins with the closed file and ends with the finished transcript: decoding the file,
finding speech, recognising, word times, stitching, and who says what where that is asked for. Loading
the models is not in it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from murmur_cli.audio.source import Recording, open_recording
from murmur_cli.batch import Listeners, transcribe_all
from murmur_cli.engine import Answer, Engine
from murmur_cli.listen import SpeakerModels
from murmur_cli.options import BatchOptions, ChunkOptions, DecodeOptions
from murmur_cli.speech.vad import Vad
from murmur_cli.types import Chunk, RecordingId, Transcript

__all__ = ["Recognition", "iter_recordings", "join_text", "recognise"]


@dataclass(frozen=True, slots=True)
class Recognition:
    """Transcripts in the order of the files, and what they took in this process, all threads together.

    ``n_retries`` counts what was decoded once more of ``n_chunks``; engines without statistics do not say.
    """

    transcripts: tuple[Transcript, ...]
    cpu_s: float
    wall_s: float
    n_chunks: int
    n_retries: int

    @property
    def audio_s(self) -> float:
        """Decoded length of all recordings."""
        return sum(transcript.duration for transcript in self.transcripts)

    @property
    def gap_s(self) -> float:
        """How much speech was reported as not transcribed."""
        return sum(gap.end - gap.start for transcript in self.transcripts for gap in transcript.gaps)


def recognise(
    paths: Sequence[Path],
    engine: Engine,
    *,
    vad: Vad,
    language: str | None,
    max_chunk_s: float = 300.0,
    speaker_models: SpeakerModels | None = None,
) -> Recognition:
    """Transcribe recordings, each on its own, in one run.

    Args:
        paths: The recordings.
        engine: Recognises them.
        vad: Finds speech.
        language: What is spoken; None: it is detected, recording by recording.
        max_chunk_s: The longest chunk.
        speaker_models: Tell people apart, as in ``murmur batch``; None leaves speakers as the engine names them.

    Raises:
        MurmurError: A file cannot be read, or the engine cannot go on: no figure is better than a false one.
    """
    options = BatchOptions(chunk=ChunkOptions(max_chunk_s=max_chunk_s), decode=DecodeOptions(language=language))
    cpu, wall = time.process_time(), time.perf_counter()
    recordings, counter = iter_recordings(paths, sample_rate=engine.sample_rate), _Counter()
    transcripts = list(
        transcribe_all(recordings, engine, listeners=Listeners(vad, speaker_models), options=options, observer=counter)
    )
    cpu_s, wall_s = time.process_time() - cpu, time.perf_counter() - wall
    ordered = tuple(sorted(transcripts, key=lambda t: t.recording_id))
    return Recognition(ordered, cpu_s, wall_s, counter.n_chunks, counter.n_retries)


def join_text(transcript: Transcript) -> str:
    """Everything that is said in a transcript."""
    return " ".join(segment.text for segment in transcript.segments)


def iter_recordings(paths: Sequence[Path], *, sample_rate: int) -> Iterator[Recording]:
    """Open recordings one by one, numbered in their order."""
    for index, path in enumerate(paths):
        yield open_recording(str(path), recording_id=RecordingId(index), sample_rate=sample_rate)


class _Counter:
    """An observer that shows nothing."""

    n_chunks = 0
    n_retries = 0

    def planned(self, recording: Recording, chunks: tuple[Chunk, ...]) -> None:
        """A recording is cut into chunks."""

    def answered(self, recording: Recording, chunk: Chunk, answer: Answer) -> None:  # noqa: ARG002 - the protocol's
        """A chunk is decoded, or has failed."""
        self.n_chunks += 1
        self.n_retries += answer.stats.n_retries if answer.stats else 0

    def noted(self, recording: Recording, text: str) -> None:
        """There is something to know about a recording."""
