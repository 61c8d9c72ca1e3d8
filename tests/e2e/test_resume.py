"""A batch run that is killed again and again, with a script for a model."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))
faults, runs = (importlib.import_module(name) for name in ("faults", "resumable_run"))


def test_killed_twenty_times_a_run_ends_with_the_same_bytes(tmp_path: Path) -> None:
    names = [f"{letter}.wav" for letter in "abcdef"]
    for i, name in enumerate(names):
        runs.write_talk(tmp_path / name, runs.N_CHUNKS, seed=i)
    expected = tmp_path / "out0"
    expected.mkdir()
    assert faults.kill_session(tmp_path, names, expected, n_kills=0, seed=0).exit_code == 0
    assert len(list(expected.iterdir())) == 2 * len(names)
    killed = faults.kill_session(tmp_path, names, expected, n_kills=20, seed=7)
    assert killed.n_killed > 10
    assert (killed.exit_code, killed.n_decoded) == (0, runs.N_CHUNKS * len(names))
    assert killed.decoded_again == []
    assert killed.changed == []


def test_a_folder_that_is_read_from_a_place_on_ends_with_the_same_tree_and_is_up_to_date_then(tmp_path: Path) -> None:
    for seed, name in enumerate(("talks/a.wav", "talks/sub/b.wav", "talks/sub/c.wav")):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        runs.write_talk(tmp_path / name, runs.N_CHUNKS + 1, seed=seed)
    (tmp_path / "talks/notes.txt").write_text("no recording")
    said = run_often(tmp_path, "-r", "talks", "-o", "expected/", "--no-resume")
    expected = read_tree(tmp_path / "expected")
    assert (said.n_killed, said.code) == (0, 0)
    assert set(expected) == {f"{stem}.from10.{ext}" for stem in ("a", "sub/b", "sub/c") for ext in ("json", "srt")}
    starts = [segment["start"] for segment in json.loads(expected["sub/b.from10.json"])["segments"]]
    assert starts[0] == pytest.approx(10.6, abs=0.2)
    assert starts[-1] > 10 * runs.N_CHUNKS

    command = ("-r", "talks", "-o", "out/", "--journal-dir", "journals")
    killed = run_often(tmp_path, *command, n_kills=5)
    assert (killed.n_killed > 2, killed.code) == (True, 0)
    assert read_tree(tmp_path / "out") == expected
    assert runs.read_log(tmp_path / "log") == (3 * runs.N_CHUNKS, [])
    before = (tmp_path / "log").read_bytes()
    again = run_often(tmp_path, *command)
    assert (again.code, again.stderr.count(": up to date\n")) == (0, 3)
    refused = run_often(tmp_path, *command, "--start", "20")
    assert (refused.code, "--overwrite" in refused.stderr) == (2, True)
    assert read_tree(tmp_path / "out") == expected
    assert (tmp_path / "log").read_bytes() == before


@dataclass(frozen=True, slots=True)
class Ended:
    n_killed: int
    code: int
    stderr: str


def run_often(folder: Path, *arguments: str, n_kills: int = 0) -> Ended:
    """Kill ``murmur batch`` so many times, then let it end; a run without a journal has no log."""
    log = "log" if "--no-resume" not in arguments else "log of a run without a journal"
    program = [sys.executable, runs.__file__, log, "5", str(n_kills), "batch"]
    options = ["--max-chunk-s", "10", "--start", "10", "-f", "json,srt", "--output-template", "{stem}.from10.{ext}"]
    done = subprocess.run([*program, *options, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    n_killed, code = map(int, done.stdout.split())
    return Ended(n_killed, code, done.stderr)


def read_tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
