"""The benchmark for GPUs: a tiny model goes through it on a CPU, its arithmetic, and what fails."""

from __future__ import annotations

import importlib
import json
import math
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from murmur_cli.models.vibevoice.memory import Free

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = ROOT / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))  # the programs import their neighbours, as they do when they are run
gpu_contestants, gpu_model, gpu_rounds, gpu_steps, gpu_table = (
    importlib.import_module(name) for name in ("gpu_contestants", "gpu_model", "gpu_rounds", "gpu_steps", "gpu_table")
)

CPU = torch.device("cpu")


# --- the tiny model


@pytest.fixture(scope="module")
def bench() -> gpu_contestants.Bench:
    return gpu_contestants.load_bench(gpu_model.SHAPES["tiny"], CPU)


def test_a_tiny_model_goes_through_the_whole_program(tmp_path: Path) -> None:
    program = [sys.executable, BENCHMARKS / "gpu_steps.py", "--shape", "tiny", "--device", "cpu", "--runs", "1"]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [*program, "--json", tmp_path / "t.json"], capture_output=True, text=True, check=False, env=env
    )
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))
    assert set(report["about"]) >= {"commit", "hardware", "versions", "device", "model", "limit"}
    assert [(row["contestant"], row["B"]) for row in report["table"]] == [
        (name, size)
        for size in ("1", "3")
        for name in ("memory bandwidth", "slots, no graph", "murmur's loop", "generate()")
    ]
    assert all(float(row["ms/step"]) > 0 and float(row["% of limit"]) <= 100 for row in report["table"])
    assert all(row["contestant"] in done.stdout for row in report["table"])
    same = [verdict for verdict in report["verdicts"] if "tokens by all" in verdict]
    assert len(same) == 2
    assert all(verdict.startswith("goal reached: yes") for verdict in same)
    known, *runs = report["details"]
    assert known["bytes_per_s"] > 0
    for run in runs:
        assert len(run["run"]["step_s"]) == 2  # three blocks, of which the first is not timed
        assert [len(tokens) for tokens in run["run"]["tokens"]] == [49] * run["batch_size"]
        assert min(len(set(tokens)) for tokens in run["run"]["tokens"]) > 10  # it is no accident that they agree


def test_a_recorded_step_writes_the_same(bench: gpu_contestants.Bench) -> None:
    recorded = []

    def record(step: Callable[[], None]) -> Callable[[], None]:
        recorded.append(step)
        for _ in range(3):
            step()
        return step

    plain, played = bench.run_steps(2, None), bench.run_steps(2, record)
    assert len(recorded) == 1
    assert played.tokens == plain.tokens
    assert played.tokens[0] != played.tokens[1]


def test_a_step_cannot_be_faster_than_what_it_reads(bench: gpu_contestants.Bench) -> None:
    parts = [bench.network.lm_head, bench.network.model.language_model.layers, bench.network.model.language_model.norm]
    n_bytes = sum(parameter.nbytes for part in parts for parameter in part.parameters())
    n_held = 91 + 24  # tokens of prompt, and half of the steps
    kv_bytes = 2 * 2 * 2 * 16 * 4 * n_held  # keys and values, layers, heads, head size, float32
    assert gpu_table.find_limit_s(bench, 3, bytes_per_s=1e6) == pytest.approx((n_bytes + 3 * kv_bytes) / 1e6)


def test_the_large_shape_is_the_published_one() -> None:
    shape = gpu_model.SHAPES["7b"]
    size = gpu_model.measure_shape(shape)
    assert size.n_parameters == pytest.approx(8.33e9, rel=0.001)
    assert 2 * size.n_step_parameters == pytest.approx(14.1e9, rel=0.01)
    assert size.kv_bytes(1, itemsize=shape.dtype.itemsize) == 57_344
    assert shape.n_prompt == 2250 + 61


# --- what fails


def pretend_bench(work: Callable[[int], gpu_contestants.Run]) -> SimpleNamespace:
    good = gpu_contestants.Run((0.5, 0.25), None, ((1, 2), (1, 2)))
    return SimpleNamespace(
        device=CPU, run_steps=lambda size, recorder: good, run_loop=work, run_generate=lambda size: good
    )


@pytest.mark.parametrize(
    ("error", "reason", "is_failure"),
    [
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate"), "out of memory", False),
        (RuntimeError("\nCUDA error: an illegal access\nCompile with"), "CUDA error: an illegal access", True),
    ],
)
def test_a_run_that_fails_costs_only_itself(error: Exception, reason: str, *, is_failure: bool) -> None:
    asked = []

    def fail(size: int) -> gpu_contestants.Run:
        asked.append(size)
        raise error

    runs = list(gpu_rounds.measure(pretend_bench(fail), [2], n_runs=2, deadline=math.inf))
    assert [(run.contestant, run.round) for run in runs if run.run] == [
        (name, i) for i in range(2) for name in ("slots, no graph", "generate()")
    ]
    (failed,) = (run for run in runs if run.run is None)
    assert asked == [2]  # nobody asks again
    assert (failed.contestant, failed.reason, bool(failed.failure)) == ("murmur's loop", reason, is_failure)


@pytest.mark.parametrize(("deadline", "n_runs"), [(100.0, 9), (29.0, 6), (30.0, 9), (5.0, 3)])
def test_rounds_begin_only_if_they_will_end_in_time(
    monkeypatch: pytest.MonkeyPatch, deadline: float, n_runs: int
) -> None:
    now = [0.0]
    monkeypatch.setattr(gpu_rounds, "time", SimpleNamespace(monotonic=lambda: now[0]))

    def take_long(size: int) -> gpu_contestants.Run:
        now[0] += 10
        return gpu_contestants.Run((0.1,), None, ((1,),))

    runs = list(gpu_rounds.measure(pretend_bench(take_long), [1], n_runs=3, deadline=deadline))
    assert len(runs) == n_runs
    late = [run.contestant for run in runs if run.run is None]
    assert late == (["generate()"] if deadline == 5 else [])


def test_what_does_not_fit_is_left_out_with_its_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    shape = gpu_model.SHAPES["7b"]
    monkeypatch.setattr(gpu_rounds, "measure_free", lambda device: Free("cuda", 22 * 10**9))
    plans = gpu_rounds.plan(shape, [1, 8, 32], CPU)
    assert list(plans.plans) == [1]
    assert [re.search(r"B = (\d+)", line)[1] for line in plans.left_out] == ["8", "32"]
    monkeypatch.setattr(gpu_rounds, "measure_free", lambda device: Free("cuda", 16 * 10**9))
    with pytest.raises(gpu_steps.DeviceError, match=r"weights 16\.7 GB"):
        gpu_rounds.plan(shape, [1, 8, 32], CPU)


@pytest.mark.parametrize(
    ("rows", "n_same"), [([[1, 2, 3], [1, 2, 3]], 3), ([[1, 2, 3], [1, 2, 4], [1, 5, 3]], 1), ([[1], [2]], 0)]
)
def test_tokens_are_the_same_up_to_the_first_other(rows: list[list[int]], n_same: int) -> None:
    assert gpu_table._count_same(rows) == n_same


def test_without_a_gpu_there_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(SystemExit, match=r"\Agpu_steps.py: there is no CUDA device that torch \S+ can use; [^\n]*\Z"):
        gpu_steps.main([])


def test_a_torch_that_is_too_old_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "__version__", "2.1.0+cu118")
    with pytest.raises(SystemExit, match=r"\Agpu_steps.py: torch 2.1.0\+cu118 is too old: .*torch>=2[^\n]*\Z"):
        gpu_steps.main(["--shape", "tiny"])


def test_what_breaks_before_the_first_run_is_one_line_and_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("CUDA error: no kernel image\nfor this device")

    monkeypatch.setattr(gpu_rounds, "examine", fail)
    with pytest.raises(SystemExit, match=r"\Agpu_steps.py: CUDA error: no kernel image \(traceback: [^\n]*\Z"):
        gpu_steps.main(["--shape", "tiny", "--device", "cpu", "--json", str(tmp_path / "t.json")])
    assert "in fail" in (tmp_path / "t.log").read_text(encoding="utf-8")


# --- gpu.sh

# A python that downloads as it is told, and measures nothing; for all else it is the real one.
PYTHON = f"""#!{sys.executable}
import json, os, pathlib, subprocess, sys
arguments = sys.argv[1:]
if arguments[:3] == ["-m", "pip", "download"]:
    pathlib.Path(os.environ["ASKED"]).write_text(json.dumps(arguments))
    dest = pathlib.Path(arguments[arguments.index("--dest") + 1])
    (dest / "one-1.whl").write_bytes(bytes(int(os.environ["N_BYTES"])))
elif arguments[0].endswith("gpu_steps.py"):
    site = pathlib.Path(os.environ["PYTHONPATH"].split(":")[0])
    print(json.dumps([arguments[1:], sorted(path.name for path in site.iterdir())]))
    if "--fail" in arguments:
        sys.exit("gpu_steps.py: it failed")
    out = pathlib.Path(arguments[arguments.index("--json") + 1])
    out.write_text("")
elif arguments == ["-c", "import numpy"]:
    sys.exit(int(os.environ.get("NO_NUMPY", "0")))
else:
    sys.exit(subprocess.run([{sys.executable!r}, *arguments]).returncode)
"""


@pytest.fixture
def script(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    python = tmp_path / "python"
    python.write_text(PYTHON, encoding="utf-8")
    python.chmod(0o755)

    def run(*arguments: str | Path, **env: str) -> subprocess.CompletedProcess[str]:
        more = {"PYTHON": str(python), "ASKED": str(tmp_path / "asked"), "N_BYTES": "1000", **env}
        command = ["bash", BENCHMARKS / "gpu.sh", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **more})

    return run


def write_wheel(folder: Path, name: str) -> None:
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as archive:
        archive.writestr(f"{name}/__init__.py", "")


@pytest.fixture
def prepared(tmp_path: Path) -> Path:
    folder = tmp_path / "prepared"
    folder.mkdir()
    (folder / "python").write_text(f"{sys.version_info.major}.{sys.version_info.minor}\n", encoding="utf-8")
    (folder / "commit").write_text("abc\n", encoding="utf-8")
    for name in ("transformers", "numpy"):
        write_wheel(folder, name)
    return folder


def test_what_is_fetched_is_what_murmur_needs(
    tmp_path: Path, script: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    done = script("prepare", tmp_path / "new", "3.12")
    assert done.returncode == 0, done.stderr
    asked = json.loads((tmp_path / "asked").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert asked[-1] in project["dependencies"]
    assert asked[-1].startswith("transformers")
    assert asked[asked.index("--python-version") + 1] == "3.12"
    assert (tmp_path / "new" / "python").read_text(encoding="utf-8") == "3.12\n"
    assert (tmp_path / "new" / "commit").read_text(encoding="utf-8").strip()


def test_a_folder_that_is_too_large_is_refused(
    tmp_path: Path, script: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    done = script("prepare", tmp_path / "new", N_BYTES=str(65 * 2**20))
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "65 MiB, more than 64" in done.stderr


@pytest.mark.parametrize(("no_numpy", "unpacked"), [("0", ["transformers"]), ("1", ["numpy", "transformers"])])
def test_both_models_are_measured_with_what_was_brought(
    tmp_path: Path,
    prepared: Path,
    script: Callable[..., subprocess.CompletedProcess[str]],
    no_numpy: str,
    unpacked: list[str],
) -> None:
    done = script("run", prepared, tmp_path / "out", NO_NUMPY=no_numpy)
    assert done.returncode == 0, done.stderr
    tiny, large = (json.loads(line) for line in done.stdout.splitlines())
    assert tiny[1] == large[1] == unpacked
    assert tiny[0][tiny[0].index("--shape") + 1] == "tiny"
    assert "--shape" not in large[0]
    assert large[0][large[0].index("--commit") + 1].startswith("abc")
    seconds = [int(options[options.index("--seconds") + 1]) for options, _ in (tiny, large)]
    assert 30 <= seconds[0] < seconds[1] < 480
    assert (tmp_path / "out" / "gpu_7b.txt").read_text(encoding="utf-8") == done.stdout.splitlines()[1] + "\n"


def test_options_make_one_report(
    tmp_path: Path, prepared: Path, script: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    done = script("run", prepared, tmp_path / "out", "--shape", "tiny")
    (report,) = map(json.loads, done.stdout.splitlines())
    assert report[0][-2:] == ["--shape", "tiny"]
    failed = script("run", prepared, tmp_path / "out", "--fail")
    assert (failed.returncode, failed.stderr) == (1, "gpu_steps.py: it failed\n")
    assert not list((tmp_path / "out").glob("*.json"))  # none of the run before


def test_what_cannot_work_is_said_in_a_line(
    tmp_path: Path, prepared: Path, script: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    (prepared / "python").write_text("3.7\n", encoding="utf-8")
    for arguments, said in (
        (("run", prepared, tmp_path / "out"), "was prepared for Python 3.7, but "),
        (("run", tmp_path / "none", tmp_path / "out"), "was not prepared"),
    ):
        done = script(*arguments)
        assert (done.returncode, done.stderr.count("\n")) == (1, 1)
        assert said in done.stderr
    assert script().returncode == script("run", prepared).returncode == script("prepare").returncode == 2
