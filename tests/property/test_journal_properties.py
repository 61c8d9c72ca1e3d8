"""Journals: what is kept comes back to the last bit, and however one was cut or damaged, the transcript is the same."""

from __future__ import annotations

import dataclasses
import importlib
import json
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT
from hypothesis import given
from hypothesis import strategies as st

from murmur_cli.audio.levels import Level
from murmur_cli.audio.source import Recording
from murmur_cli.batch import transcribe_all
from murmur_cli.engine import Answer, Job
from murmur_cli.errors import DeviceError
from murmur_cli.journal.lines import LineFile, read_lines
from murmur_cli.journal.records import (
    KeptAnswer,
    KeptDiarization,
    KeptLine,
    KeptPerson,
    KeptPlan,
    LineReader,
    to_line,
)
from murmur_cli.journal.store import Journals
from murmur_cli.models.scripted import ScriptedEngine
from murmur_cli.options import BatchOptions, ChunkOptions
from murmur_cli.types import (
    Chunk,
    HypGap,
    Hypothesis,
    HypSegment,
    LocalSpeaker,
    RecordingId,
    Span,
    Speaker,
    Transcript,
    Turn,
    Word,
)

sys.path.insert(0, str(ROOT / "benchmarks"))
runs = importlib.import_module("resumable_run")

N_CHUNKS = 3
OPTIONS = BatchOptions(chunk=ChunkOptions(max_chunk_s=10.0))

numbers = st.floats() | st.integers(-5, 5)
texts = st.text(st.characters(), max_size=5)  # surrogates too: a name that is no UTF-8 has them
words = st.builds(Word, numbers, numbers, texts, numbers)
segments = st.builds(
    HypSegment,
    numbers,
    numbers,
    texts,
    st.none() | st.integers(0, 9).map(LocalSpeaker),
    st.lists(words, max_size=2).map(tuple),
    st.none() | texts,
    st.integers(0, 3),
)
hypotheses = st.builds(
    Hypothesis,
    st.lists(segments, max_size=3).map(tuple),
    st.lists(st.builds(HypGap, numbers, numbers, texts), max_size=2).map(tuple),
    st.booleans(),
)
spans = st.tuples(st.integers(0, 2**40), st.integers(0, 2**40)).map(lambda ends: Span(min(ends), max(ends)))
chunks = st.builds(Chunk, st.integers(0, 99), spans, st.lists(spans, max_size=3).map(tuple), st.booleans())
plans = st.builds(
    KeptPlan,
    st.integers(0, 3),
    st.lists(chunks, max_size=3).map(tuple),
    st.builds(Level, numbers, numbers),
    st.none() | texts,
)
vectors = st.lists(st.floats(width=32), max_size=4).map(lambda values: np.array(values, np.float32))
diarizations = st.builds(
    KeptDiarization,
    st.integers(0, 3),
    texts,
    st.lists(st.builds(Turn, numbers, numbers, texts.map(Speaker)), max_size=3).map(tuple),
    st.lists(st.builds(KeptPerson, texts.map(Speaker), vectors, numbers), max_size=3).map(tuple),
    st.booleans(),
)
kept_lines = st.builds(KeptAnswer, st.integers(0, 3), st.integers(0, 99), hypotheses) | plans | diarizations


def same(left: object, right: object) -> bool:
    """Compare to the last bit, and tell an int from a float; NaN is NaN."""
    if isinstance(left, np.ndarray):
        return isinstance(right, np.ndarray) and (left.dtype, left.tobytes()) == (right.dtype, right.tobytes())
    if dataclasses.is_dataclass(left):
        names = [field.name for field in dataclasses.fields(left)]
        return type(left) is type(right) and all(same(getattr(left, name), getattr(right, name)) for name in names)
    if isinstance(left, tuple):
        return isinstance(right, tuple) and len(left) == len(right) and all(map(same, left, right))
    return type(left) is type(right) and repr(left) == repr(right)


@given(st.lists(kept_lines, max_size=4))
def test_what_is_kept_comes_back_to_the_last_bit(
    tmp_path_factory: pytest.TempPathFactory, kept: list[KeptLine]
) -> None:
    path = tmp_path_factory.mktemp("lines") / "journal.jsonl"
    file = LineFile(path, n_bytes=0)
    for line in kept:
        file.append(to_line(line), lasting=False)
    file.close()
    found = read_lines(path, LineReader().read)
    assert (found.damaged_line, found.n_bytes) == (None, path.stat().st_size)
    assert same(found.records, tuple(kept))
    shutil.rmtree(path.parent)


@given(hypotheses)
def test_a_record_is_written_as_json_would_write_its_fields(hypothesis: Hypothesis) -> None:
    written = json.dumps(to_line(KeptAnswer(1, 2, hypothesis)), sort_keys=True)
    oracle = {"chunk": {"part": 1, "index": 2, "hypothesis": dataclasses.asdict(hypothesis)}}
    assert written == json.dumps(oracle, sort_keys=True)


class Engine(ScriptedEngine):
    """Counts what it decodes; may stop before a chunk."""

    def __init__(self, *, stops_at: int | None = None) -> None:
        super().__init__(runs.make_script(N_CHUNKS))
        self.decoded: list[int] = []
        self._stops_at = stops_at

    def decode(self, jobs: Iterable[Job]) -> Iterator[Answer]:
        for job in jobs:
            if job.chunk.index == self._stops_at:
                raise DeviceError("out of memory")
            self.decoded.append(job.chunk.index)
            yield from super().decode([job])


class Silent:
    """An observer that says nothing."""

    def planned(self, recording: Recording, chunks: tuple[Chunk, ...]) -> None: ...

    def answered(self, recording: Recording, chunk: Chunk, answer: Answer) -> None: ...

    def noted(self, recording: Recording, text: str) -> None: ...


def transcribe(path: str, folder: Path, engine: Engine) -> tuple[Transcript | None, list[str]]:
    """Transcribe with the journals of a folder; gives what was noted, too."""
    notes: list[str] = []
    with Journals(folder, options=OPTIONS, engine=engine.info, on_note=notes.append) as journals:
        ids = map(RecordingId, count())
        recordings = journals.open(path, ids=ids, sample_rate=runs.RATE, options=OPTIONS.audio)
        with suppress(DeviceError):
            (transcript,) = transcribe_all(
                recordings,
                engine,
                listeners=runs.listeners(N_CHUNKS),
                options=OPTIONS,
                observer=Silent(),
                journal_of=journals.of,
            )
            return transcript, notes
    return None, notes


@dataclasses.dataclass(frozen=True)
class Stopped:
    """A recording, the journal of a run that stopped at its last chunk, and the transcript of one that did not."""

    path: str
    journal: Path  # under its folder
    content: bytes
    transcript: Transcript


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Stopped:
    folder = tmp_path_factory.mktemp("stopped")
    path = runs.write_talk(folder / "a.wav", N_CHUNKS, seed=1)
    transcript, _ = transcribe(path, folder / "whole", Engine())
    assert transcript is not None
    assert {segment.speaker for segment in transcript.segments} == {"S1", "S2"}
    assert transcribe(path, folder / "journals", Engine(stops_at=N_CHUNKS - 1)) == (None, [])
    (journal,) = (folder / "journals").rglob("*.jsonl")
    return Stopped(path, journal.relative_to(folder / "journals"), journal.read_bytes(), transcript)


def resume(stopped: Stopped, folder: Path, content: bytes) -> tuple[list[int], list[str]]:
    """Go on from a journal; gives what was decoded and noted."""
    (folder / stopped.journal).parent.mkdir(parents=True)
    (folder / stopped.journal).write_bytes(content)
    engine = Engine()
    transcript, notes = transcribe(stopped.path, folder, engine)
    assert transcript == stopped.transcript
    assert read_lines(folder / stopped.journal, LineReader().read).damaged_line is None
    again = Engine()
    assert transcribe(stopped.path, folder, again)[0] == stopped.transcript
    assert again.decoded == []
    shutil.rmtree(folder)
    return engine.decoded, notes


@given(share=st.floats(0.0, 1.0))
def test_a_journal_that_was_cut_anywhere_gives_the_same_transcript(
    stopped: Stopped, tmp_path_factory: pytest.TempPathFactory, share: float
) -> None:
    cut = round(share * len(stopped.content))
    left = stopped.content[:cut]
    n_kept = sum(b'"record":{"chunk":' in line for line in left.splitlines(keepends=True) if line.endswith(b"\n"))
    decoded, notes = resume(stopped, tmp_path_factory.mktemp("cut"), left)
    assert decoded == list(range(n_kept, N_CHUNKS))
    assert notes == []


@given(share=st.floats(0.0, 1.0, exclude_max=True), flipped=st.integers(1, 255))
def test_a_journal_with_a_wrong_byte_anywhere_gives_the_same_transcript(
    stopped: Stopped, tmp_path_factory: pytest.TempPathFactory, share: float, flipped: int
) -> None:
    content = bytearray(stopped.content)
    place = int(share * len(content))
    content[place] ^= flipped
    decoded, notes = resume(stopped, tmp_path_factory.mktemp("wrong"), bytes(content))
    n_before = stopped.content[:place].count(b"\n")
    n_kept = sum(b'"record":{"chunk":' in line for line in stopped.content.splitlines()[:n_before])
    assert decoded == list(range(n_kept, N_CHUNKS))
    is_torn = place == len(content) - 1  # then the last line has no end
    assert notes == [] if is_torn else f"damaged from line {n_before + 1} on" in notes[0]
