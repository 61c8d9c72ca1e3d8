"""What every test run has in common: where the data is, how the command is run, and what counts as green.

A test that needs data or a program is deselected, with a count, where that is absent. Under
``MURMUR_CI=1`` whatever did not run and pass (skipped, deselected, expected to fail) fails the run.

The tests may be run by several processes (``pytest -n 2``). Each of these workers collects them all, so what a
worker left out it tells the process that reports; what is costly to make is made by one of them.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from ctypes.util import find_library
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest
from filelock import FileLock
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent
DATA_DIR = Path(os.environ.get("MURMUR_TEST_DATA") or ROOT.parent / "shared" / "data").resolve()
MODELS_DIR = Path(os.environ.get("MURMUR_TEST_MODELS") or ROOT.parent / "shared" / "models").resolve()
MURMUR = Path(sys.executable).parent / "murmur"

# Before anything imports torch or huggingface_hub: both read their settings once, at import.
for _name in [name for name in os.environ if name.startswith("MURMUR_") and not name.startswith("MURMUR_TEST_")]:
    if _name not in ("MURMUR_CI", "MURMUR_UPDATE_GOLDEN"):
        del os.environ[_name]
for _name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "PY_COLORS", "HF_HUB_OFFLINE", "HF_TOKEN"):
    os.environ.pop(_name, None)
os.environ.update(
    {
        "OMP_WAIT_POLICY": "PASSIVE",  # idle worker threads sleep instead of spinning on a shared machine
        "TOKENIZERS_PARALLELISM": "false",  # or tokenizers warns when a test forks
        "TQDM_DISABLE": "1",
        "TERM": "dumb",
        "COLUMNS": "100",
        "LC_ALL": "C.UTF-8",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "PYANNOTE_METRICS_ENABLED": "0",
        # The hub is tried and refuses at once: nothing listens on this port, and nothing waits for a time-out.
        "HF_ENDPOINT": "http://127.0.0.1:9",
        "NO_PROXY": "127.0.0.1,localhost",
    }
)

# Workers share the processor: each, and each command that its tests start, has the threads that are left for it.
_n_workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
if _n_workers > 1:
    os.environ["OMP_NUM_THREADS"] = str(max(1, len(os.sched_getaffinity(0)) // _n_workers))

# Under nohup the first is ignored, in a script's background the second, and so they would be by what a test starts.
for _number, _handler in ((signal.SIGHUP, signal.SIG_DFL), (signal.SIGINT, signal.default_int_handler)):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _handler)

# Time is not an example: a slow, shared machine must not turn a property red.
_COMMON = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.register_profile("ci", _COMMON, derandomize=True, max_examples=60)
settings.register_profile("explore", _COMMON, derandomize=False, max_examples=2000)
settings.load_profile("ci")


@dataclass(frozen=True, slots=True)
class Finished:
    """A command that has ended."""

    stdout: bytes
    stderr: str
    code: int


@pytest.fixture(scope="session", autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep journals and settings apart from those of the user, and start in a folder without a murmur.toml."""
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))
    os.environ["XDG_CONFIG_HOME"] = str(tmp_path_factory.mktemp("config"))
    os.chdir(tmp_path_factory.mktemp("started"))


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The recordings and references that tests read."""
    return DATA_DIR


@pytest.fixture(scope="session")
def models_dir() -> Path:
    """The small checkpoints that tests load."""
    return MODELS_DIR


@pytest.fixture(scope="session")
def whisper_base() -> Path:
    """The default weights in HF layout, pulled once into the user's cache."""
    from murmur_cli.models.weights import pull_weights

    return pull_weights("whisper-base", offline=False, on_progress=None).folder


@pytest.fixture(scope="session")
def awkward_inputs(data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of awkward recordings and, in ``names/``, of awkward file names; read only."""
    if _n_workers == 1:
        return _make_awkward_inputs(tmp_path_factory.mktemp("awkward"), data_dir)
    folder = tmp_path_factory.getbasetemp().parent / "awkward"  # where the folders of all workers are
    with FileLock(f"{folder}.lock"):
        if not folder.exists():
            making = _make_awkward_inputs(tmp_path_factory.mktemp("awkward"), data_dir)
            making.rename(folder)
    return folder


def _make_awkward_inputs(folder: Path, data_dir: Path) -> Path:
    script = data_dir.parent / "tools" / "make_inputs.sh"
    made = subprocess.run(
        ["bash", script, data_dir, folder], stdin=subprocess.DEVNULL, capture_output=True, timeout=600, check=False
    )
    said = made.stdout.decode(errors="replace") + made.stderr.decode(errors="replace")
    assert made.returncode == 0, said[-2000:]
    assert "FAILED" not in said, said[-2000:]
    return folder


@pytest.fixture
def run_murmur(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Finished]:
    """Run the installed command in an empty folder, without the user's settings, and say how it ended."""
    own = tmp_path_factory.mktemp("home")
    base = os.environ | {"XDG_CONFIG_HOME": str(own / "config"), "XDG_STATE_HOME": str(own / "state")}

    def run(
        *args: str | bytes | Path,
        stdin: bytes | None = None,
        env: Mapping[str, str] | None = None,
        cwd: Path = tmp_path,
        timeout: float = 60.0,
    ) -> Finished:
        done = subprocess.run(
            [MURMUR, *args],
            input=b"" if stdin is None else stdin,
            capture_output=True,
            env=base | dict(env or {}),
            cwd=cwd,
            timeout=timeout,
            check=False,
        )
        return Finished(done.stdout, done.stderr.decode("utf-8", errors="surrogateescape"), done.returncode)

    return run


@pytest.fixture
def call_murmur(
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> Callable[..., Finished]:
    """Run the command in this process, in an empty folder and without the user's settings.

    It loads torch and transformers only once: for tests of what it writes, not of how a process starts and ends.
    """
    from murmur_cli.cli.app import run

    own = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(own / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(own / "state"))
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)  # which the command replaces

    def call(*args: str | Path, cwd: Path = tmp_path) -> Finished:
        monkeypatch.chdir(cwd)
        capfdbinary.readouterr()
        code = run([str(arg) for arg in args])
        said = capfdbinary.readouterr()
        return Finished(said.out, said.err.decode("utf-8", errors="surrogateescape"), code)

    return call


_LEFT_OUT: Counter[str] = Counter()  # by reason: some of those below
_DESELECTED: Counter[str] = Counter()  # all tests that were collected and then left out for whatever reason


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what needs a folder or a program that is not there."""
    reasons = {item: _find_missing(item) for item in items}
    _LEFT_OUT.update(reason for reason in reasons.values() if reason)
    config.hook.pytest_deselected(items=[item for item in items if reasons[item]])
    items[:] = [item for item in items if not reasons[item]]


def _find_missing(item: pytest.Item) -> str | None:
    fixtures = set(getattr(item, "fixturenames", ()))
    programs = [name for marker in item.iter_markers("program") for name in marker.args]
    libraries = [name for marker in item.iter_markers("library") for name in marker.args]
    if "awkward_inputs" in fixtures:
        programs += ["ffmpeg", "sox"]
    if (item.get_closest_marker("data") or fixtures & {"data_dir", "awkward_inputs"}) and not DATA_DIR.is_dir():
        return f"no folder {DATA_DIR}; set MURMUR_TEST_DATA"
    if (item.get_closest_marker("models") or "models_dir" in fixtures) and not MODELS_DIR.is_dir():
        return f"no folder {MODELS_DIR}; set MURMUR_TEST_MODELS"
    absent = [f"no program {name}; install it" for name in programs if shutil.which(name) is None]
    absent += [f"no library {name}; install it" for name in libraries if find_library(name) is None]
    return next(iter(absent), None)


class Worker(Protocol):
    """What pytest-xdist knows of a worker; one that died has no ``workeroutput``."""

    workeroutput: dict[str, dict[str, int]]


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    """Count what is left out, by this file or by an option such as ``-k``."""
    _DESELECTED["deselected"] += len(items)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Worker) -> None:
    """Hear from a worker what it left out: the same as every other one."""
    output = getattr(node, "workeroutput", {})
    _LEFT_OUT.update(Counter(output.get("left_out", {})) - _LEFT_OUT)
    _DESELECTED.update(Counter(output.get("deselected", {})) - _DESELECTED)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI, everything that did not run and pass fails the run."""
    if hasattr(session.config, "workeroutput"):  # a worker, which reports to the process that started it
        session.config.workeroutput |= {"left_out": dict(_LEFT_OUT), "deselected": dict(_DESELECTED)}
        return
    if os.environ.get("MURMUR_CI") == "1" and _not_passed(session.config) and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say what was left out and why."""
    for reason, count in _LEFT_OUT.items():
        terminalreporter.write_line(f"{count} tests left out: {reason}", yellow=True)
    left = _not_passed(config)
    if os.environ.get("MURMUR_CI") == "1" and left:
        counts = ", ".join(f"{n} {kind}" for kind, n in left.items())
        terminalreporter.write_line(f"not everything ran and passed: {counts}; in CI this fails the run", red=True)


def _not_passed(config: pytest.Config) -> dict[str, int]:
    stats = config.pluginmanager.get_plugin("terminalreporter").stats
    counts = {kind: len(stats.get(kind, ())) for kind in ("skipped", "xfailed", "xpassed")} | _DESELECTED
    return {kind: count for kind, count in counts.items() if count}
