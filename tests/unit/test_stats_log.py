"""What chunks cost, one JSON line each; the run goes on as without it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile

from murmur_cli.audio.source import Recording, open_recording
from murmur_cli.batch import Listeners, transcribe_all
from murmur_cli.cli.stats import StatsLog
from murmur_cli.engine import Answer, ChunkStats, Job
from murmur_cli.errors import MurmurError, OutputError, UsageError
from murmur_cli.models.scripted import ScriptedEngine, ScriptedVad, ScriptEntry
from murmur_cli.options import BatchOptions, ChunkOptions
from murmur_cli.types import Chunk, RecordingId, Span

RATE = 16_000
STATS = ChunkStats(
    n_prompt=70, n_tokens=20, n_retries=1, seconds=0.5, prompt_s=0.25, live_share=0.75, n_kept=80, n_logical=90
)


class CountingEngine(ScriptedEngine):
    """Says what its chunks cost."""

    def decode(self, jobs: Iterable[Job]) -> Iterator[Answer]:
        for answer in super().decode(jobs):
            yield replace(answer, stats=replace(STATS, n_tokens=answer.index))


class Watch:
    """An observer that counts."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def planned(self, recording: Recording, chunks: tuple[Chunk, ...]) -> None:
        self.told.append("planned")

    def answered(self, recording: Recording, chunk: Chunk, answer: Answer) -> None:
        self.told.append("answered")

    def noted(self, recording: Recording, text: str) -> None:
        self.told.append(text)


def refuse(error: MurmurError) -> None:
    raise error


def run(folder: Path, log: StatsLog, engine: ScriptedEngine) -> None:
    path = folder / "a.wav"
    soundfile.write(path, np.random.default_rng(0).normal(0, 0.01, 30 * RATE), RATE)
    spans = [Span(1 * RATE, 9 * RATE), Span(11 * RATE, 19 * RATE)]
    recording = open_recording(str(path), recording_id=RecordingId(0), sample_rate=RATE)
    options = BatchOptions(chunk=ChunkOptions(max_chunk_s=10.0))
    vad = ScriptedVad(spans)
    (transcript,) = transcribe_all([recording], engine, listeners=Listeners(vad, None), options=options, observer=log)
    log.noted(recording, "a note")
    assert [segment.text for segment in transcript.segments] == ["one"]


SCRIPT = (ScriptEntry(2, 4, "one"), ScriptEntry(12, 14, error="a loop"))


def test_every_chunk_has_a_line_and_the_other_observer_hears_all(tmp_path: Path) -> None:
    watch, path = Watch(), tmp_path / "stats.jsonl"
    with StatsLog(str(path), overwrite=False, observer=watch, on_error=refuse) as log:
        run(tmp_path, log, CountingEngine(SCRIPT))
    first, second = (json.loads(line) for line in path.read_text().splitlines())
    place = {"file": str(tmp_path / "a.wav"), "chunk": 0, "start": 1.0, "end": 9.0, "error": None}
    assert first == place | {
        "n_prompt": 70,
        "n_tokens": 0,
        "n_retries": 1,
        "seconds": 0.5,
        "prompt_s": 0.25,
        "live_share": 0.75,
        "n_kept": 80,
        "n_logical": 90,
    }
    assert (second["chunk"], second["start"], second["error"], second["n_tokens"]) == (1, 11.0, "a loop", 1)
    assert watch.told == ["planned", "answered", "answered", "a note"]


def test_without_a_file_or_figures_nothing_is_written(tmp_path: Path) -> None:
    watch = Watch()
    with StatsLog(None, overwrite=False, observer=watch, on_error=refuse) as log:
        run(tmp_path, log, CountingEngine(SCRIPT))
    assert watch.told == ["planned", "answered", "answered", "a note"]
    with StatsLog(str(tmp_path / "stats"), overwrite=False, observer=Watch(), on_error=refuse) as log:
        run(tmp_path, log, ScriptedEngine(SCRIPT))
    assert (tmp_path / "stats").read_bytes() == b""


def test_a_file_that_is_there_is_not_replaced_unasked(tmp_path: Path) -> None:
    path = tmp_path / "stats"
    path.write_text("mine")
    with pytest.raises(UsageError, match="--overwrite"):
        StatsLog(str(path), overwrite=False, observer=Watch(), on_error=refuse)
    assert path.read_text() == "mine"
    with StatsLog(str(path), overwrite=True, observer=Watch(), on_error=refuse):
        pass
    assert path.read_text() == ""
    with pytest.raises(UsageError):
        StatsLog(str(tmp_path / "no folder" / "stats"), overwrite=False, observer=Watch(), on_error=refuse)


def test_a_full_disk_is_said_once_and_the_run_goes_on(tmp_path: Path) -> None:
    watch, errors = Watch(), list[MurmurError]()
    with StatsLog("/dev/full", overwrite=True, observer=watch, on_error=errors.append) as log:
        run(tmp_path, log, CountingEngine(SCRIPT))
    assert [(type(error), error.where) for error in errors] == [(OutputError, "/dev/full")]
    assert watch.told == ["planned", "answered", "answered", "a note"]
