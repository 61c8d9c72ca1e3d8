"""The batch pipeline with a scripted engine and VAD: what comes out, whatever the order of the answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
import soundfile

from murmur_cli.audio.source import Recording, open_recording
from murmur_cli.batch import Listeners, transcribe_all
from murmur_cli.engine import Answer, Job
from murmur_cli.errors import DeviceError, UsageError
from murmur_cli.models.scripted import ScriptedEngine, ScriptedVad, ScriptEntry
from murmur_cli.options import BatchOptions, ChunkOptions, DecodeOptions
from murmur_cli.types import Chunk, RecordingId, Samples, Span, Transcript

RATE = 16_000
OPTIONS = BatchOptions(chunk=ChunkOptions(max_chunk_s=10.0))


class Watch:
    """An observer that remembers."""

    def __init__(self) -> None:
        self.chunks: dict[str, tuple[Chunk, ...]] = {}
        self.answers: list[tuple[str, int]] = []
        self.notes: list[str] = []

    def planned(self, recording: Recording, chunks: tuple[Chunk, ...]) -> None:
        self.chunks[recording.source] = chunks

    def noted(self, recording: Recording, text: str) -> None:
        self.notes.append(f"{recording.source}: {text}")

    def answered(self, recording: Recording, chunk: Chunk, answer: Answer) -> None:
        self.answers.append((recording.source, chunk.index))


class BackwardsEngine(ScriptedEngine):
    """Answers only when it has all jobs, last one first."""

    def decode(self, jobs: Iterable[Job]) -> Iterator[Answer]:
        yield from reversed(list(super().decode(jobs)))


class FailingEngine(ScriptedEngine):
    """Runs out of memory at the second job."""

    def decode(self, jobs: Iterable[Job]) -> Iterator[Answer]:
        for index, answer in enumerate(super().decode(jobs)):
            if index == 1:
                raise DeviceError("out of memory")
            yield answer


def write_noise(folder: Path, name: str, seconds: float) -> str:
    path = folder / name
    noise = np.random.default_rng(0).normal(0, 0.01, round(seconds * RATE))
    soundfile.write(path, noise, RATE)
    return str(path)


def open_all(paths: Sequence[str]) -> Iterator[Recording]:
    for index, path in enumerate(paths):
        yield open_recording(path, recording_id=RecordingId(index), sample_rate=RATE)


def seconds(start: float, end: float) -> Span:
    return Span(round(start * RATE), round(end * RATE))


SPEECH = (seconds(1, 8.5), seconds(10, 17.5), seconds(19, 26.5))  # one chunk each, at 10 s
SCRIPT = (ScriptEntry(1.5, 4, "one"), ScriptEntry(10.5, 12, "two"), ScriptEntry(20, 22, "three"))


def transcribe(paths: Sequence[str], engine: ScriptedEngine, watch: Watch | None = None) -> list[Transcript]:
    vad = ScriptedVad(SPEECH)
    return list(
        transcribe_all(
            open_all(paths), engine, listeners=Listeners(vad, None), options=OPTIONS, observer=watch or Watch()
        )
    )


def test_segments_stand_in_recording_time(tmp_path: Path) -> None:
    path = write_noise(tmp_path, "a.wav", 30)
    watch = Watch()
    (transcript,) = transcribe([path], ScriptedEngine(SCRIPT), watch)
    assert [(s.start, s.text) for s in transcript.segments] == [(1.5, "one"), (10.5, "two"), (20.0, "three")]
    assert transcript.source == path
    assert transcript.duration == pytest.approx(30.0)
    assert [chunk.span for chunk in watch.chunks[path]] == list(SPEECH)
    assert watch.answers == [(path, 0), (path, 1), (path, 2)]


@pytest.mark.parametrize("engine_type", [ScriptedEngine, BackwardsEngine])
def test_the_order_of_the_answers_changes_nothing(tmp_path: Path, engine_type: type[ScriptedEngine]) -> None:
    paths = [write_noise(tmp_path, f"{name}.wav", 30) for name in "abc"]
    transcripts = {t.source: t for t in transcribe(paths, engine_type(SCRIPT))}
    assert sorted(transcripts) == paths
    for transcript in transcripts.values():
        assert [s.text for s in transcript.segments] == ["one", "two", "three"]


def test_a_failed_chunk_is_a_gap_and_its_neighbours_survive(tmp_path: Path) -> None:
    script = (SCRIPT[0], ScriptEntry(10.5, 12, error="loop"), SCRIPT[2])
    (transcript,) = transcribe([write_noise(tmp_path, "a.wav", 30)], ScriptedEngine(script))
    assert [s.text for s in transcript.segments] == ["one", "three"]
    (gap,) = transcript.gaps
    assert (gap.start, gap.end) == (10.0, 17.5)
    assert "loop" in gap.reason


def test_silent_recordings_are_finished_too(tmp_path: Path) -> None:
    paths = [write_noise(tmp_path, "short.wav", 0.5), write_noise(tmp_path, "a.wav", 30)]
    paths.append(write_noise(tmp_path, "short2.wav", 0.5))
    transcripts = {t.source: t for t in transcribe(paths, ScriptedEngine(SCRIPT))}
    assert len(transcripts) == 3
    assert transcripts[paths[0]].segments == ()
    assert transcripts[paths[0]].language is None
    assert transcripts[paths[1]].language == "en"


def test_what_is_done_survives_a_failing_device(tmp_path: Path) -> None:
    paths = [
        write_noise(tmp_path, "short.wav", 0.5),
        write_noise(tmp_path, "a.wav", 8),
        write_noise(tmp_path, "b.wav", 8),
    ]
    run = transcribe_all(
        open_all(paths),
        FailingEngine(SCRIPT),
        listeners=Listeners(ScriptedVad(SPEECH), None),
        options=OPTIONS,
        observer=Watch(),
    )
    done = []
    with pytest.raises(DeviceError):
        done.extend(run)
    # `extend` keeps what came before the error
    assert {t.source for t in done} == set(paths[:2])


def test_recordings_are_opened_only_when_the_engine_asks(tmp_path: Path) -> None:
    paths = [write_noise(tmp_path, f"{name}.wav", 8) for name in "ab"]
    opened: list[str] = []

    def recordings() -> Iterator[Recording]:
        for recording in open_all(paths):
            opened.append(recording.source)
            yield recording

    run = transcribe_all(
        recordings(),
        ScriptedEngine(SCRIPT),
        listeners=Listeners(ScriptedVad(SPEECH), None),
        options=OPTIONS,
        observer=Watch(),
    )
    next(run)
    assert opened == paths[:1]
    run.close()


class LanguageEngine(ScriptedEngine):
    """Notes what it is asked to name a language of, and knows only German."""

    def __init__(self) -> None:
        super().__init__(SCRIPT)
        self.heard: list[int] = []

    def resolve_language(self, language: str) -> str:
        if language != "german":
            raise UsageError("no such language")
        return "de"

    def detect_language(self, samples: Samples) -> str | None:
        self.heard.append(samples.shape[0])
        return "fr"


def test_the_language_is_detected_once_on_speech_alone(tmp_path: Path) -> None:
    engine = LanguageEngine()
    (transcript,) = transcribe([write_noise(tmp_path, "a.wav", 30)], engine)
    assert engine.heard == [round(22.5 * RATE)]  # three spans of 7.5 s
    assert transcript.language == "fr"
    assert {s.language for s in transcript.segments} == {"fr"}


def test_a_given_language_is_not_detected(tmp_path: Path) -> None:
    engine = LanguageEngine()
    path = write_noise(tmp_path, "a.wav", 30)
    options = BatchOptions(chunk=OPTIONS.chunk, decode=DecodeOptions(language="german"))
    vad = ScriptedVad(SPEECH)
    (transcript,) = transcribe_all(
        open_all([path]), engine, listeners=Listeners(vad, None), options=options, observer=Watch()
    )
    assert engine.heard == []
    assert transcript.language == "de"
    assert transcript.provenance.language == "german"


class NosyEngine(ScriptedEngine):
    """Remembers what it is asked."""

    def __init__(self) -> None:
        super().__init__(SCRIPT)
        self.jobs: list[Job] = []

    def decode(self, jobs: Iterable[Job]) -> Iterator[Answer]:
        for job in jobs:
            self.jobs.append(job)
            yield from super().decode([job])


def test_every_chunk_of_a_recording_comes_with_the_level_of_all_and_the_context(tmp_path: Path) -> None:
    engine = NosyEngine()
    options = BatchOptions(chunk=OPTIONS.chunk, decode=DecodeOptions(context="names: Ann"))
    path = write_noise(tmp_path, "a.wav", 30)
    vad = ScriptedVad(SPEECH)
    list(transcribe_all(open_all([path]), engine, listeners=Listeners(vad, None), options=options, observer=Watch()))
    heard = np.concatenate([job.samples for job in engine.jobs])
    assert len(engine.jobs) == 3
    for job in engine.jobs:
        assert job.context == "names: Ann"
        assert job.level.rms == pytest.approx(float(np.sqrt(np.mean(heard.astype(float) ** 2))))
        assert job.level.peak == np.abs(heard).max()
