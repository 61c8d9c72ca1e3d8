"""The benchmark of chunk sizes: its talks, that it runs, what it counts, and its plot."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile

from murmur_cli.engine import Answer, ChunkStats, Job
from murmur_cli.models.scripted import ScriptedEngine, ScriptedVad, ScriptEntry
from murmur_cli.score.counts import WordErrors
from murmur_cli.types import Span

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))  # the programs import their neighbours, as they do when they are run
chunk_size, conversations, recognise, report = (
    importlib.import_module(name) for name in ("chunk_size", "conversations", "recognise", "report")
)


def test_it_starts_and_describes_itself_without_torch() -> None:
    code = "import sys; sys.path.insert(0, sys.argv[1]); import chunk_size\n"
    code += "try: chunk_size.main(['--help'])\n"
    code += "except SystemExit: sys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, BENCHMARKS], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Examples:" in done.stdout
    assert "--json" in done.stdout


def test_every_size_is_reported_clean_and_with_noise(models_dir: Path, data_dir: Path, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    folders = ["--model", str(models_dir / "tiny-vibevoice-digits"), "--data", str(data_dir), "--device", "cpu"]
    chunk_size.main(["--talks", "1", "--seconds", "15", "--sizes", "10", "20", *folders, "--json", str(path)])
    content = json.loads(path.read_text(encoding="utf-8"))
    rows = content["details"]
    sizes = [(row["row"], row["max_chunk_s"]) for row in rows]
    assert sizes == [(name, size) for name in (chunk_size.CLEAN, chunk_size.NOISY) for size in (10.0, 20.0)]
    assert [row["talks"] for row in content["table"]] == [row["row"] for row in rows]
    for short, whole in (rows[:2], rows[2:]):
        assert short["cpu_s"] > short["speakers_s"] > 0.0
        assert (short["n_chunks"], whole["n_chunks"]) == (2, 1)
    assert rows[1]["speakers_s"] == 0.0  # in one chunk there is nobody to be found again
    assert len({row["words"]["length"] for row in rows}) == 1
    for clean in (row["words"] for row in rows[:2]):
        assert clean["substitutions"] + clean["deletions"] + clean["insertions"] <= 2
    assert sum(line.startswith((chunk_size.CLEAN, chunk_size.NOISY)) for line in content["verdicts"]) == 8


def test_noise_changes_the_sound_and_not_what_is_said(data_dir: Path, tmp_path: Path) -> None:
    clean, noisy = (
        chunk_size.make_talks(tmp_path, data=data_dir, n_talks=2, seconds=8.0, noise_db=noise_db)
        for noise_db in (None, -12.0)
    )
    for quiet, loud in zip(clean, noisy, strict=True):
        assert quiet.reference.turns == loud.reference.turns
        lowest = [np.quantile(np.abs(soundfile.read(talk.audio)[0]), 0.2) for talk in (quiet, loud)]
        assert lowest[1] > 2 * lowest[0]


class Hesitant(ScriptedEngine):
    """Decodes everything three times."""

    def decode(self, jobs: Iterable[Job]) -> Iterator[Answer]:
        stats = ChunkStats(
            n_prompt=1, n_tokens=1, n_retries=2, seconds=0.0, prompt_s=0.0, live_share=1.0, n_kept=1, n_logical=1
        )
        for answer in super().decode(jobs):
            yield replace(answer, stats=stats)


@pytest.mark.parametrize(("engine", "n_retries"), [(ScriptedEngine, 0), (Hesitant, 4)])
def test_chunks_and_retries_are_counted(engine: type[ScriptedEngine], n_retries: int, tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", np.full(20 * 16_000, 0.1), 16_000)
    found = recognise.recognise(
        [tmp_path / "a.wav"],
        engine([ScriptEntry(1.0, 2.0, "one")]),
        vad=ScriptedVad([Span(16_000, 32_000), Span(256_000, 288_000)]),
        language=None,
        max_chunk_s=10.0,
    )
    assert (found.n_chunks, found.n_retries) == (2, n_retries)


def make_measured(name: str, *, n_errors: int, cpu_s: float, speakers_s: float = 0.0) -> object:
    class Heard:
        """As much as the plot asks for."""

        audio_s = 100.0

        def __init__(self) -> None:
            self.cpu_s = cpu_s

    errors = WordErrors(100, 0, 0, n_errors)
    return chunk_size.Measured(conversations.Row(name, 30.0, errors, errors, 1, 1, Heard()), speakers_s)


def test_errors_and_time_are_drawn_one_below_the_other() -> None:
    rows = [
        make_measured("clean", n_errors=5, cpu_s=8.0, speakers_s=4.0),
        make_measured("noise", n_errors=20, cpu_s=12.0, speakers_s=4.0),
    ]
    lines = chunk_size.draw(rows)
    assert [line.count("#") for line in lines] == [0, 10, 40, 0, 0, 20, 40, 0]
    assert "5.00" in lines[1]
    assert "0.0400" in lines[5]


def test_no_errors_are_no_bars() -> None:
    assert [line.count("#") for line in chunk_size.draw([make_measured("clean", n_errors=0, cpu_s=1.0)])][1] == 0


def test_bars_are_aligned() -> None:
    title, *bars, last = report.draw_bars("what", {"a": 0.0, "long": 2.0, "b": 1.0}, full=2.0, spec=".1f")
    assert (title, last) == ("what", "")
    assert {bar.index("|") for bar in bars} == {6}
    assert len({len(bar) for bar in bars}) == 1
