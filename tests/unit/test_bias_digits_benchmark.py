"""How keywords are counted and curves compared by the benchmark of keywords in noise."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))  # the programs import their neighbours, as they do when they are run
bias_digits = importlib.import_module("bias_digits")


@pytest.mark.parametrize(
    ("said", "written", "counts"),
    [
        ("one nine two", "one nine two", (1, 1, 1, 3, 0)),
        ("one nine two", "one five two", (1, 0, 0, 3, 1)),
        ("one five two", "one nine two", (0, 1, 0, 3, 1)),
        ("nine one", "nine nine one", (1, 2, 1, 2, 1)),
        ("nine one", "", (1, 0, 0, 2, 2)),
        ("one nine", "nine one", (1, 1, None, 2, 2)),  # one of both is right
    ],
)
def test_keywords_are_counted_where_they_are_said(said: str, written: str, counts: tuple[int | None, ...]) -> None:
    found = bias_digits.count_keyword(tuple(said.split()), tuple(written.split()), "nine")
    expected = [value if value is not None else found.n_right for value in counts]
    assert [found.n_said, found.n_written, found.n_right, found.n_words, found.n_errors] == expected
    both = found + found
    assert (both.recall, both.precision, both.wer) == (found.recall, found.precision, found.wer)


def test_precision_is_read_between_points() -> None:
    points = [bias_digits.Measurement("", "plain", 0.0, *point, 0.0, 0.0) for point in ((80, 90), (90, 70), (84, 86))]
    assert bias_digits.read_precision(points, 80.0) == 90.0
    assert bias_digits.read_precision(points, 82.0) == 88.0
    assert bias_digits.read_precision(points, 87.0) == 78.0
    assert bias_digits.read_precision(points, 91.0) is None
    assert bias_digits.read_precision(points, 79.0) is None


def test_the_program_describes_itself() -> None:
    command = [sys.executable, BENCHMARKS / "bias_digits.py", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "--quick" in done.stdout
