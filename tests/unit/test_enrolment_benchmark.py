"""The benchmark on enrolled voices: who counts as what."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from murmur_cli.speakers.diarize import Diarization, Voice
from murmur_cli.types import Speaker, Turn

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
enrolment, sessions = importlib.import_module("enrolment"), importlib.import_module("sessions")

AXES = np.eye(5, dtype=np.float32)
READERS = {name: AXES[i] for i, name in enumerate("abcd")}


def meet(**speakers: tuple[str, str]) -> object:
    """A session in which each speaker is a reader, and sounds like one, perhaps another."""
    voices = tuple(Voice(Speaker(name), READERS[sound], 20.0) for name, (_, sound) in speakers.items())
    reader_of = {Speaker(name): Speaker(reader) for name, (reader, _) in speakers.items()}
    return enrolment.Meeting("x", Diarization((), voices, forced=False), reader_of, frozenset(reader_of.values()))


@pytest.mark.parametrize(
    ("speakers", "counts"),
    [
        ({"S1": ("a", "a"), "S2": ("b", "b")}, (2, 2, 0, 1, 0, 0, 0)),
        ({"S1": ("a", "b"), "S2": ("d", "d")}, (1, 0, 1, 2, 1, 1, 0)),
        ({"S1": ("a", "d"), "S2": ("d", "c")}, (1, 0, 0, 2, 1, 1, 1)),
        ({"S1": ("a", "a"), "S2": ("a", "b")}, (1, 0, 1, 2, 1, 0, 0)),
        ({"S1": ("a", "a"), "S2": ("a", "a")}, (1, 1, 0, 2, 0, 0, 0)),
    ],
)
def test_each_person_counts_once(speakers: dict[str, tuple[str, str]], counts: tuple[int, ...]) -> None:
    enrolled = {Speaker(name): READERS[name] for name in "abc"}
    outcome = enrolment.count_names(meet(**speakers), enrolled, alone=False)
    assert outcome == enrolment.Outcome(*counts)
    assert outcome + outcome == enrolment.Outcome(*(2 * count for count in counts))
    assert outcome.n_unnamed == counts[0] - counts[1] - counts[2]


def test_enrolled_alone_nobody_is_in_the_way_of_anybody() -> None:
    between = (AXES[0] + AXES[1]) / np.float32(2**0.5)
    voices = (Voice(Speaker("S1"), between, 20.0),)
    meeting = enrolment.Meeting("x", Diarization((), voices, forced=False), {"S1": "a"}, frozenset("a"))
    enrolled = {Speaker(name): READERS[name] for name in "abc"}
    assert enrolment.count_names(meeting, enrolled, alone=False) == enrolment.Outcome(n_present=1, n_absent=2)
    alone = enrolment.count_names(meeting, enrolled, alone=True)
    assert alone == enrolment.Outcome(n_present=1, n_right=1, n_absent=2, n_taken=1, n_strangers=2, n_called=1)


def test_a_speaker_is_the_reader_with_most_common_time() -> None:
    spoken = [Turn(0, 5, Speaker("a")), Turn(5, 9, Speaker("b")), Turn(9, 14, Speaker("a"))]
    turns = [Turn(0.2, 4.5, Speaker("S1")), Turn(4.5, 9.5, Speaker("S2")), Turn(10, 13, Speaker("S1"))]
    assert enrolment.find_readers(turns, spoken) == {"S1": "a", "S2": "b"}


def test_no_utterance_is_in_a_session_and_in_a_file(tmp_path: Path) -> None:
    data = tmp_path / "data"
    (data / "librispeech").mkdir(parents=True)
    refs = [
        {"utt": f"{name}-{i}", "speaker": name, "audio": f"audio/{name}-{i}.flac"} for i in range(8) for name in "ba"
    ]
    lines = "".join(f"{json.dumps(ref)}\n" for ref in refs)
    (data / "librispeech" / "refs.jsonl").write_text(lines, encoding="utf-8")
    (tmp_path / "made").mkdir()
    (data.parent / "tools").mkdir(exist_ok=True)
    readers = enrolment.share_out(data, tmp_path / "made")
    assert (tmp_path / "made" / "tools" / ".." / "data").resolve() == tmp_path / "made" / "data"
    kept = {path.stem for reader in readers for path in reader.utterances}
    written = (tmp_path / "made" / "data" / "librispeech" / "refs.jsonl").read_text(encoding="utf-8")
    spoken = {json.loads(line)["utt"] for line in written.splitlines()}
    assert [reader.name for reader in readers] == ["a", "b"]
    assert (len(kept), len(spoken), kept & spoken) == (4, 12, set())
    first, second = enrolment.split_readers(readers).values()
    assert [*first, *second] == readers


def test_sessions_overlap_only_where_that_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[list[object]] = []
    monkeypatch.setattr(sessions.subprocess, "run", lambda command, **_: calls.append(command))
    monkeypatch.setattr(sessions, "load_stm", lambda path: [])
    monkeypatch.setattr(sessions.soundfile, "info", lambda path: type("Info", (), {"duration": 1.0}))
    made = [
        sessions.make_session(tmp_path, data=tmp_path, minutes=1, n_speakers=2, seed=0, **more)
        for more in ({}, {"overlap": 0.1})
    ]
    assert made[0].audio != made[1].audio
    assert [call[-2:] for call in calls] == [["--seed", "0"], ["--overlap", "0.1"]]


def test_the_program_starts_and_describes_itself() -> None:
    program = [sys.executable, BENCHMARKS / "enrolment.py", "--help"]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert (done.returncode, "Examples:" in done.stdout) == (0, True)
