"""The benchmark of many files: what it measures, and its goals."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))  # the programs import their neighbours, as they do when they are run
many_files = importlib.import_module("many_files")

# A stand-in for the command: it copies the names of what it finds.
COMMAND = """
import pathlib, sys
folder, output = pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[4])
found = sorted(folder.glob("*.wav"))
output.mkdir()
for path in found[: int(sys.argv[1])]:
    (output / path.name).touch()
"""


def measure(folder: Path, n_files: int, n_written: int) -> object:
    program = folder / "command.py"
    program.write_text(COMMAND)
    recordings = many_files.write_recordings(folder / "d", n_files)
    return many_files.measure_folder([sys.executable, program, str(n_written)], recordings, n_files)


def test_a_folder_is_measured(tmp_path: Path) -> None:
    run = measure(tmp_path, 3, 3)
    assert run.n_files == 3  # type: ignore[attr-defined]
    assert run.cpu_s > 0  # type: ignore[attr-defined]
    assert -0.1 < run.first_s <= run.wall_s + 0.1  # type: ignore[attr-defined]


def test_a_folder_that_is_not_done_ends_the_benchmark(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="2 of 3"):
        measure(tmp_path, 3, 2)


def test_goals_are_judged_by_the_biggest_folder() -> None:
    runs = [many_files.ManyRun(1, 2.0, 4.0, 3.0, 100), many_files.ManyRun(201, 10.0, 9.0, 4.0, 110)]
    assert [verdict.partition(":")[2][:4] for verdict in many_files._judge(runs)] == [" yes"] * 3
    assert "40.0 CPU-ms" in many_files._judge(runs)[0]
    slow = many_files.ManyRun(201, 14.0, 20.0, 11.0, 130)
    assert [verdict.partition(":")[2][:4] for verdict in many_files._judge([runs[0], slow])] == [" no "] * 3
    assert many_files._judge(runs[:1]) == []
