"""The benchmark of eviction: what is held of a script, that it runs, and what it calls reached."""

from __future__ import annotations

import importlib
import json
import statistics
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from murmur_cli.decode.eviction import RowLayout
from murmur_cli.score.counts import WordErrors

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))  # the programs import their neighbours, as they do when they are run
eviction, rules, talks = (importlib.import_module(name) for name in ("eviction", "eviction_rules", "eviction_talks"))


def test_it_starts_and_describes_itself_without_torch() -> None:
    code = "import sys; sys.path.insert(0, sys.argv[1]); import eviction\n"
    code += "try: eviction.main(['--help'])\n"
    code += "except SystemExit: sys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, BENCHMARKS], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Examples:" in done.stdout
    assert "--json" in done.stdout


# --- scripts


def test_a_script_has_its_rate_and_covers_its_audio() -> None:
    for slowest, fastest in ((6.0, 6.0), (9.0, 9.0), (14.0, 16.0)):
        tokens = rules.write_script(300, slowest=slowest, fastest=fastest, seed=1)
        assert slowest * 300 <= len(tokens) <= fastest * 301 + 30
        text = "".join(tokens)
        entries = json.loads(text.removeprefix("assistant\n"))
        assert max(entry["End"] for entry in entries) == 300
        assert all(late["Start"] >= early["End"] for early, late in pairwise(entries))


def test_of_300_s_four_fifths_are_held_under_speech_and_three_fifths_under_both() -> None:
    scripts = eviction.measure_scripts()
    assert max(meter.mean for meter in scripts[rules.SPEECH]) <= 0.80
    assert max(meter.mean for meter in scripts[rules.BOTH]) <= 0.62
    assert [meter.mean for meter in scripts[rules.NONE]] == [1.0] * len(scripts[rules.NONE])
    assert statistics.fmean(meter.gone for meter in scripts[rules.SPEECH]) > 0.8


@pytest.mark.parametrize("rate", [6.0, 9.0])
def test_it_is_much_the_same_however_fast_people_speak(rate: float) -> None:
    by_name = {rule.name: rule for rule in rules.list_rules(margin=64, output_window=512, step_window=512)}
    script = rules.write_script(300, slowest=rate, fastest=rate)
    kept = {name: rules.measure_script(by_name[name], script, seconds=300).mean for name in by_name}
    assert kept[rules.SPEECH] <= 0.80
    assert kept[rules.BOTH] <= 0.63
    assert kept[rules.BOTH] < min(kept[rules.SPEECH], kept[rules.OUTPUT])
    assert kept[rules.BARE] < kept[rules.SPEECH]


def test_the_rule_that_counts_steps_runs_ahead_of_the_text() -> None:
    """After 27 s of text all but the first 4 s and the last 68 s are gone."""
    row = RowLayout(n_prompt=2311, audio_start=30, n_frames=2250, frames_per_s=7.5, max_tokens=3600)
    rule = rules.StepRule(row, window=512)
    gone = [position for _ in range(16) for position in rule.look(range(16)).forget]
    assert len(gone) == len(set(gone))
    assert set(gone) == set(range(30 + 32, 30 + 2250 - 512))
    assert 16 * 16 / 9 < 29


# --- the trained model


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(talks, "SECONDS", (14.0, 16.0))


@pytest.mark.usefixtures("short")
def test_every_rule_and_every_talk_is_reported(models_dir: Path, data_dir: Path, tmp_path: Path) -> None:
    folders = ["--checkpoint", str(models_dir / "tiny-vibevoice-digits"), "--data", str(data_dir)]
    eviction.main(["--talks", "2", "--runs", "1", "--margin", "8", *folders, "--json", str(tmp_path / "report.json")])
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    *rows, attention, batches = report["details"]
    assert [row["rule"] for row in rows] == [row["rule"] for row in report["table"]]
    assert [row["rule"] for row in rows] == ["none", "output", "speech", "both", "speech, no pins", "by steps"]
    assert all(len(row["words"]) == len(row["speakers"]) == len(row["kept"]) == 2 for row in rows)
    assert all(len(row["step_s"]) == 1 for row in rows)
    none, _, speech, _, bare, _ = rows
    assert none["kept"] == [1.0, 1.0]
    assert none["gone"] == [0.0, 0.0]
    assert sum(errors["substitutions"] + errors["deletions"] for errors in none["words"]) <= 2
    assert 0 < sum(speech["gone"]) < sum(bare["gone"])
    assert len(attention["attention"]) == 5
    assert all(0 < share <= 1 for share in attention["attention"])
    small = batches["batches"]["24"]
    assert 0 < small["none"] < small["speech"] <= small["both"]


def test_half_of_the_audio_of_a_minute_is_forgotten(models_dir: Path, data_dir: Path, tmp_path: Path) -> None:
    chunks = talks.make_talks(tmp_path, data=data_dir, n_talks=2)
    bench = talks.load_bench(models_dir / "tiny-vibevoice-digits", chunks, n_threads=1)
    by_name = {rule.name: rule for rule in rules.list_rules(margin=32, output_window=128, step_window=128)}
    assert all(58 < chunk.seconds < 60 for chunk in bench.chunks)
    assert bench.run(by_name[rules.SPEECH], n_slots=2).gone >= 0.45


# --- verdicts


def make_errors(*errors: int) -> tuple[WordErrors, ...]:
    return tuple(WordErrors(100, 0, 0, n) for n in errors)


def test_errors_are_compared_talk_by_talk() -> None:
    same = eviction.compare(make_errors(0, 50, 3), make_errors(0, 50, 3))
    assert (same.point, same.low, same.high) == (0.0, 0.0, 0.0)
    worse = eviction.compare(make_errors(3, 50, 6), make_errors(0, 50, 3))
    assert worse.point == pytest.approx(2.0)
    assert 0.0 <= worse.low < 2.0 < worse.high <= 3.0
    assert eviction.compare(make_errors(0, 0), make_errors(1, 3)).point == pytest.approx(-2.0)


class Held:
    """As much as a meter tells."""

    def __init__(self, mean: float, gone: float) -> None:
        self.mean, self.gone = mean, gone


def make_row(name: str, *, kept: float = 0.5, gone: float = 0.6, slower: float = 1.0, more: float = 0.0) -> object:
    run = talks.Run(name, (), (), (), (Held(0.5, gone),), 1.0)
    difference = eviction.Difference(more, more, more)
    return eviction.Row(name, (Held(kept, 0.0), Held(0.1, 0.0)), run, difference, difference, (1.0,), slower)


def test_goals() -> None:
    speech, both = make_row("speech"), make_row("both")
    assert count_missed(speech, both) == 0
    assert count_missed(make_row("speech", kept=0.81), both) == 1
    assert count_missed(speech, make_row("both", kept=0.63)) == 1
    assert count_missed(make_row("speech", gone=0.44), both) == 1
    assert count_missed(make_row("speech", more=0.6), both) == 1
    assert count_missed(make_row("speech", more=1.1), both) == 2
    assert count_missed(make_row("speech", slower=1.03), make_row("both", slower=1.03)) == 2
    assert count_missed(speech, replace(both, words=eviction.Difference(9, 9, 9))) == 0  # it is not what auto chooses


def count_missed(*rows: object) -> int:
    verdicts = list(eviction.judge([make_row("none"), *rows]))
    assert len(verdicts) == 7
    return sum("goal reached: no" in verdict for verdict in verdicts)
