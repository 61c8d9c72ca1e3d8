"""The benchmark of the slot decoder: that it runs, that its contestants do the same, and what it calls reached."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))  # the programs import their neighbours, as they do when they are run
slots, contestants = (importlib.import_module(name) for name in ("slots", "slots_contestants"))


def test_it_starts_and_describes_itself_without_torch() -> None:
    code = "import sys; sys.path.insert(0, sys.argv[1]); import slots\n"
    code += "try: slots.main(['--help'])\n"
    code += "except SystemExit: sys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, BENCHMARKS], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Examples:" in done.stdout
    assert "--json" in done.stdout


def test_contestants_write_the_same_and_every_run_is_kept(models_dir: Path, data_dir: Path, tmp_path: Path) -> None:
    chunks = ["--chunks", "3", "--shortest", "3", "--longest", "8", "--runs", "1", "--batch-sizes", "2"]
    folders = ["--checkpoint", str(models_dir / "tiny-vibevoice-digits"), "--data", str(data_dir)]
    slots.main([*chunks, *folders, "--json", str(tmp_path / "slots.json")])
    report = json.loads((tmp_path / "slots.json").read_text(encoding="utf-8"))
    assert report["verdicts"][0] == "goal reached: yes (3 of 3 chunks: the same tokens by all)"
    ours, plain, by_length = report["details"]
    assert [one["contestant"] for one in (ours, plain, by_length)] == [slots.SLOTS, slots.GENERATE, slots.SORTED]
    assert ours["n_tokens"] == plain["n_tokens"] == by_length["n_tokens"] > 60
    assert 0 < ours["outside_s"] < ours["cpu_s"]
    assert by_length["n_steps"] <= plain["n_steps"] <= ours["n_steps"] + 3 * 16 + plain["n_tokens"]
    assert all(0 < one["live_share"] <= 1 for one in (ours, plain, by_length))


def make_runs(name: str, size: int, cpu_s: list[float], *, n_live: int = 95, outside_s: float | None = None,
              answers: tuple[tuple[int, ...], ...] = ((1, 2), (3,))) -> list[object]:  # fmt: skip
    runs = [contestants.Run(answers, cpu, cpu, 100 // size, n_live, outside_s) for cpu in cpu_s]
    return [slots.Measurement(name, size, i, run) for i, run in enumerate(runs)]


def reached(measurements: list[object]) -> list[str]:
    return [verdict.split("(")[0].removeprefix("goal reached: ").strip() for verdict in slots.judge(measurements)]


def test_goals_are_ratios_of_neighbours() -> None:
    ours = make_runs(slots.SLOTS, 8, [1.0, 2.0, 1.0], outside_s=0.001)
    rival = make_runs(slots.GENERATE, 8, [1.6, 3.2, 1.4])
    assert reached([*ours, *rival]) == ["yes", "yes", "yes", "yes"]
    assert "disagree" in list(slots.judge([*ours, *rival]))[1]
    assert reached([*ours, *make_runs(slots.GENERATE, 8, [1.4, 2.8, 1.6])]) == ["yes", "no", "yes", "yes"]


def test_the_other_goals() -> None:
    rival = make_runs(slots.GENERATE, 1, [1.1])
    slow = make_runs(slots.SLOTS, 1, [1.0], outside_s=0.11)
    idle = make_runs(slots.SLOTS, 1, [1.0], outside_s=0.09, n_live=89)
    wrong = make_runs(slots.SLOTS, 1, [1.0], outside_s=0.0, answers=((1, 2), (4,)))
    assert reached([*slow, *rival]) == ["yes", "yes", "no", "yes"]
    assert reached([*idle, *rival]) == ["yes", "yes", "yes", "no"]
    assert reached([*wrong, *rival]) == ["no", "yes", "yes", "yes"]
    assert "1 of 2 chunks" in next(iter(slots.judge([*wrong, *rival])))
