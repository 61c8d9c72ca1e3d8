"""What the trained tiny model makes of conversations: words, speakers and times, in one chunk and in several."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile
from transcript_samples import make_segment, make_transcript

from murmur_cli.engine import Engine
from murmur_cli.models.diarizers import load_speaker_models
from murmur_cli.models.load import load_engine
from murmur_cli.models.scripted import ScriptedEngine, ScriptedVad, ScriptEntry
from murmur_cli.models.silero import load_silero
from murmur_cli.options import BatchOptions, ChunkOptions, ModelOptions, VadOptions
from murmur_cli.score.annotations import Session, Utterance
from murmur_cli.score.counts import WordErrors
from murmur_cli.types import Span, Speaker

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))  # the programs import their neighbours, as they do when they are run
conversations = importlib.import_module("conversations")

SECONDS = 60.0


@pytest.fixture(scope="session")
def talks(data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    """Twenty conversations of a minute, with one to four people."""
    made: list[object] = conversations.make_talks(
        tmp_path_factory.mktemp("talks"), data=data_dir, n_talks=20, seconds=SECONDS
    )
    return made


@pytest.fixture(scope="module")
def engine(models_dir: Path) -> Engine:
    model = ModelOptions(model=str(models_dir / "tiny-vibevoice-digits"), device="cpu", batch_size="4")
    return load_engine(model, options=BatchOptions(chunk=ChunkOptions(max_chunk_s=SECONDS)), on_note=lambda _: None)


@pytest.mark.timeout(600)  # half a minute of CPU, on a machine that others may use
def test_in_one_chunk_words_speakers_and_starts_are_right(talks: list[object], engine: Engine) -> None:
    row = conversations.measure_row(
        "one", talks, engine, vad=load_silero(VadOptions()), max_chunk_s=SECONDS, speaker_models=None
    )
    assert row.words.length > 1500
    assert row.words.rate <= 0.05
    assert row.speakers.rate <= 0.16
    assert row.starts >= 97.0
    assert row.recognition.gap_s == 0.0


@pytest.mark.timeout(600)
def test_in_several_chunks_people_keep_their_names(talks: list[object], engine: Engine) -> None:
    """The diarizer hears 8-kHz voices badly: names are not always right, but one name a chunk would be 90 % wrong."""
    row = conversations.measure_row(
        "several",
        talks[:4],
        engine,
        vad=load_silero(VadOptions()),
        max_chunk_s=SECONDS / 2,
        speaker_models=load_speaker_models("slots", offline=True),
    )
    assert row.words.rate <= 0.06
    assert row.speakers.rate <= 0.25
    assert row.starts >= 97.0
    for talk, transcript in zip(talks[:4], row.recognition.transcripts, strict=True):
        found = {segment.speaker for segment in transcript.segments}
        assert found <= {f"S{i}" for i in range(1, 7)}
        assert abs(len(found) - len({turn.speaker for turn in talk.reference.turns})) <= 1  # type: ignore[attr-defined]


def test_it_starts_and_describes_itself_without_torch() -> None:
    code = "import sys; sys.path.insert(0, sys.argv[1]); import conversations\n"
    code += "try: conversations.main(['--help'])\n"
    code += "except SystemExit: sys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, BENCHMARKS], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Examples:" in done.stdout
    assert "--json" in done.stdout


def test_errors_and_starts_are_counted(tmp_path: Path) -> None:
    """Three turns: the first in time, the second late by 0.5 s and in a word wrong, the third not there."""
    soundfile.write(tmp_path / "a.wav", np.full(80_000, 0.1), 16_000)
    turns = (say(0.1, 1.0, "ann", "one two"), say(1.5, 2.5, "bob", "three"), say(3.0, 3.5, "ann", "four"))
    talk = conversations.Talk(tmp_path / "a.wav", Session("a", turns, turns, "a"))
    script = [ScriptEntry(0.2, 1.0, "one two", speaker=4), ScriptEntry(2.0, 2.5, "tree", speaker=2)]
    vad = ScriptedVad([Span(0, 80_000)])
    row = conversations.measure_row("x", [talk], ScriptedEngine(script), vad=vad, max_chunk_s=30.0, speaker_models=None)
    assert row.words == WordErrors(length=4, substitutions=1, deletions=1)
    assert row.speakers == WordErrors(length=4, substitutions=1, deletions=1)
    assert (row.n_turns, row.n_starts) == (3, 1)


def test_the_reference_joins_chunks_one_to_one() -> None:
    """The third speaker of the first chunk, who is Bob as well, stays a stranger."""
    turns = (say(0, 1, "ann", "a"), say(1, 3.5, "bob", "b"), say(10, 12, "ann", "c"), say(12, 14, "bob", "d"))
    found = make_transcript(
        [
            make_segment(0, 1, "a", speaker="c0-S0"),
            make_segment(1, 3, "b", speaker="c0-S1"),
            make_segment(3, 3.5, "b", speaker="c0-S2"),
            make_segment(10, 12, "c", speaker="c10-S1"),
            make_segment(12, 14, "d", speaker="c10-S0"),
        ]
    )
    joined = conversations.join_by_reference(found, Session("a", turns, turns, "a"))
    assert [segment.speaker for segment in joined] == ["ann", "bob", "c0-S2", "ann", "bob"]


def say(start: float, end: float, speaker: str, text: str) -> Utterance:
    return Utterance(start, end, Speaker(speaker), text)
