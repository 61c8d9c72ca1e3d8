"""What goes wrong around a batch run while it is at work; in this process, with real audio and a scripted engine."""

from __future__ import annotations

import json
import os
import pwd
import resource
import shutil
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

import numpy as np
import platformdirs
import pytest
import soundfile
from conftest import ROOT, Finished

from murmur_cli.engine import Answer, Job
from murmur_cli.models.scripted import ScriptedEngine

RATE = 16_000
SPEECH, _ = soundfile.read(ROOT / "examples" / "conversation.flac", dtype="float32", frames=6 * RATE)
HOW = ("--model", "model", "--speakers", "none", "--progress", "none")


class Batch(Protocol):
    def __call__(self, *arguments: str) -> Finished: ...


@pytest.fixture
def batch(call_murmur: Callable[..., Finished], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Batch:
    """``murmur batch`` in an empty folder, but for a model that says a word every half second."""
    monkeypatch.chdir(tmp_path)
    entries = [{"start": i * 0.5, "end": i * 0.5 + 0.25, "text": f"w{i}"} for i in range(200)]
    Path("model").mkdir()
    Path("model/config.json").write_text('{"model_type": "scripted"}')
    Path("model/script.json").write_text(json.dumps({"language": "en", "sample_rate": RATE, "entries": entries}))
    return lambda *arguments: call_murmur("batch", *arguments, *HOW)


def write(*names: str, seconds: float = 2.0) -> None:
    for name in names:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        soundfile.write(name, SPEECH[: round(seconds * RATE)], RATE, subtype="PCM_16")


def read(folder: str) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(Path(folder).iterdir())}


def lines(done: Finished) -> list[str]:
    found = done.stderr.splitlines()
    assert all(line.startswith("murmur: ") for line in found), done.stderr
    return found


@pytest.fixture
def after_first(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], None]:
    """Have something happen when the first recording is written, and the next one not yet opened."""

    def arrange(happen: Callable[[], None]) -> None:
        decode = ScriptedEngine.decode

        def decode_and_then(self: ScriptedEngine, jobs: Iterable[Job]) -> Iterator[Answer]:
            for i, answer in enumerate(decode(self, jobs)):
                yield answer
                if i == 0:
                    happen()

        monkeypatch.setattr(ScriptedEngine, "decode", decode_and_then)

    return arrange


@contextmanager
def limited(what: int, most: int) -> Iterator[None]:
    """Let this process have no more of something."""
    before = resource.getrlimit(what)
    resource.setrlimit(what, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(what, before)


def full_disk(largest: int) -> AbstractContextManager[None]:
    """Let no file grow beyond so many bytes."""
    return limited(resource.RLIMIT_FSIZE, largest)


# --- inputs that change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda: Path("b.wav").unlink(), "no such file"),
        (lambda: os.truncate("b.wav", 20), "b.wav"),
        (lambda: Path("b.wav").write_bytes(b"something else"), "b.wav"),
        (lambda: Path("b.wav").unlink() or Path("b.wav").mkdir(), "folder"),
        (lambda: Path("b.wav").unlink() or os.mkfifo("b.wav"), "pipe"),
    ],
    ids=["gone", "cut", "replaced", "folder", "pipe"],
)
def test_a_file_that_changes_before_it_is_read_fails_alone(
    batch: Batch, after_first: Callable[[Callable[[], None]], None], change: Callable[[], None], said: str
) -> None:
    write("a.wav", "b.wav", "c.wav")
    after_first(change)
    done = batch("a.wav", "b.wav", "c.wav", "-o", "out/")
    assert done.code == 3, done.stderr
    (line,) = lines(done)
    assert line.startswith("murmur: b.wav: ")
    assert said in line
    assert set(read("out")) == {"a.txt", "c.txt"}


def test_a_file_that_still_grows_is_read_to_where_it_is(batch: Batch) -> None:
    """As of a recorder that is still on: its header states no length."""
    stop = threading.Event()
    header = bytearray(make_wav(SPEECH[: 2 * RATE]))
    header[4:8] = header[40:44] = b"\xff" * 4
    Path("on.wav").write_bytes(header)

    def record() -> None:
        with Path("on.wav").open("ab") as file:
            while not stop.wait(0.001):
                file.write(bytes(RATE // 50))
                file.flush()

    recorder = threading.Thread(target=record)
    recorder.start()
    try:
        done = batch("on.wav", "-f", "json")
    finally:
        stop.set()
        recorder.join()
    (line,) = lines(done)
    assert (done.code, "changed while it was read" in line) == (0, True)
    assert json.loads(done.stdout)["audio"]["duration"] > 2.0


def make_wav(samples: np.ndarray) -> bytes:
    soundfile.write("made.wav", samples, RATE, subtype="PCM_16")
    return Path("made.wav").read_bytes()


# --- disks


def test_a_folder_that_is_removed_costs_only_what_goes_there(
    batch: Batch, after_first: Callable[[Callable[[], None]], None]
) -> None:
    for seconds, name in enumerate(("in/a.wav", "in/x/b.wav", "in/y/c.wav"), start=2):
        write(name, seconds=seconds)
    after_first(lambda: shutil.rmtree("out/x"))
    done = batch("-r", "in", "-o", "out")
    assert done.code == 3, done.stderr
    (line,) = lines(done)
    assert line.startswith("murmur: out/x/b.txt: cannot be written: ")
    assert "make it again" in line
    assert [str(path) for path in sorted(Path("out").rglob("*.txt"))] == ["out/a.txt", "out/y/c.txt"]


def test_a_full_disk_costs_only_what_has_no_room_and_leaves_no_half_file(batch: Batch) -> None:
    write("long.wav", seconds=4.0)
    write("short.wav")
    script = json.loads(Path("model/script.json").read_text())
    script["entries"].append({"start": 2.1, "end": 2.2, "text": "word " * 100_000})
    Path("model/script.json").write_text(json.dumps(script))
    with full_disk(300_000):  # decoded audio has room
        done = batch("long.wav", "short.wav", "-o", "out/")
    assert done.code == 3
    journal, line = lines(done)
    assert "the journal cannot be written" in journal
    assert line.startswith("murmur: out/long.txt: cannot be written: ")
    assert set(read("out")) == {"short.txt"}


def test_a_full_temporary_folder_costs_only_what_has_no_room(batch: Batch) -> None:
    for seconds, name in ((2.0, "a.wav"), (6.0, "b.wav"), (2.5, "c.wav")):
        write(name, seconds=seconds)
    with full_disk(200_000):
        done = batch("a.wav", "b.wav", "c.wav", "-o", "out/")
    assert done.code == 3
    (line,) = lines(done)
    assert "temporary folder" in line
    assert "TMPDIR" in line
    assert set(read("out")) == {"a.txt", "c.txt"}


# --- where a process finds itself


def test_the_clock_may_say_anything(batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    write("a.wav", "b.wav")
    expected = batch("a.wav", "b.wav", "-f", "json", "-o", "out/")
    assert expected.code == 0, expected.stderr
    first = read("out")
    times = iter(range(2_000_000_000, 0, -50_000_000))  # it is set back, years at a time
    monkeypatch.setattr(time, "time", lambda: float(next(times)))
    os.utime("a.wav", (4e9, 4e9))
    os.utime("b.wav", (0, 0))
    done = batch("a.wav", "b.wav", "-f", "json", "-o", "out/", "--overwrite")
    assert done.code == 0, done.stderr
    assert read("out") == first


def test_without_a_home_the_variable_to_set_is_named(
    batch: Batch, call_murmur: Callable[..., Finished], monkeypatch: pytest.MonkeyPatch
) -> None:
    def find_nobody(uid: int) -> None:
        raise KeyError(uid)

    for name in ("HOME", "MURMUR_CACHE_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", find_nobody)
    write("a.wav")
    for command in (("models", "list"), ("batch", "a.wav", "--speakers", "none"), ("bias", "cache")):
        done = call_murmur(*command)
        assert (done.code, done.stdout) == (2, b""), done.stderr
        assert "MURMUR_CACHE_DIR" in lines(done)[-1]
    monkeypatch.setattr(platformdirs, "user_cache_dir", lambda name: "~/.cache/murmur")  # as of older versions
    assert call_murmur("models", "list").code == 2
    assert not Path("~").exists()
    monkeypatch.delenv("XDG_STATE_HOME")
    refused = batch("a.wav", "-o", "a.txt")
    assert (refused.code, "--no-resume" in lines(refused)[0]) == (2, True)
    assert batch("a.wav", "-o", "a.txt", "--no-resume").code == 0  # with a model of one's own
    assert call_murmur("batch", "a.wav", "--model", "~nobody/model").code == 2


@pytest.fixture
def deep_folder() -> Iterator[int]:
    """Make folders in a folder, more of them than calls can be nested, in ``in/z``; the names stay short of a limit."""
    n_deep, here = 1050, Path.cwd()
    write("in/a.wav", "in/z/b.wav")
    os.chdir("in/z")
    for _ in range(n_deep):
        Path("d").mkdir()
        os.chdir("d")
    Path("c.wav").write_bytes((here / "in/a.wav").read_bytes())
    os.chdir(here)
    yield n_deep
    os.chdir(here / "in/z" / "/".join("d" * n_deep))
    Path("c.wav").unlink()
    for _ in range(n_deep):  # pytest would go down into them by recursion
        os.chdir("..")
        Path("d").rmdir()
    os.chdir(here)


def test_folders_may_be_as_deep_as_names_can_be_long(batch: Batch, deep_folder: int) -> None:
    done = batch("-r", "in", "-o", "-")
    assert (done.code, lines(done)) == (0, [])
    assert done.stdout == b"w2\nw3\n" * 3


def test_the_first_of_many_files_is_done_soon_and_memory_does_not_grow_with_the_others(
    batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_files, n_first = 120, 60
    for i in range(n_files):
        write(f"in/{i:04}.wav", seconds=1.5 + i / RATE)
    seconds, memory = [], []
    decode = ScriptedEngine.decode

    def decode_watched(self: ScriptedEngine, jobs: Iterable[Job]) -> Iterator[Answer]:
        for i, answer in enumerate(decode(self, jobs)):
            yield answer
            seconds.append(time.process_time() - start)
            if i == n_first:
                tracemalloc.start()
        memory.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()

    monkeypatch.setattr(ScriptedEngine, "decode", decode_watched)
    start = time.process_time()
    done = batch("in", "-o", "out/")
    assert (done.code, len(seconds), len(read("out"))) == (0, n_files, n_files), done.stderr
    assert seconds[0] < 5.0  # most of it to load what a run needs
    assert memory[0] < 400_000  # as much as four such signals


def test_files_in_which_nobody_speaks_do_not_wait_for_one_another(batch: Batch) -> None:
    n_files = 150
    Path("in").mkdir()
    for i in range(n_files):
        soundfile.write(f"in/{i:04}.wav", np.zeros(1000 + i), RATE)
    n_open = max(int(name) for name in os.listdir("/dev/fd"))  # noqa: PTH208 - names are wanted
    with limited(resource.RLIMIT_NOFILE, n_open + 130):
        done = batch("in", "-o", "out/", "-q")
    assert (done.code, lines(done)) == (0, [])
    assert list(read("out").values()) == [""] * n_files


def test_every_json_is_valid_whatever_the_name(batch: Batch, call_murmur: Callable[..., Finished]) -> None:
    bad = os.fsdecode(b"bad_\xff")
    write("good.wav")
    Path("good.wav").rename(f"{bad}.wav")
    for name in ("json", "jsonl", "seglst"):
        done = batch(f"{bad}.wav", "-f", name)
        assert done.code == 0, done.stderr
        assert "bad_\ufffd" in done.stdout.decode("utf-8", errors="strict")
    assert batch(f"{bad}.wav", "-f", "json,stm", "-o", "out/").code == 0
    scored = call_murmur("score", f"out/{bad}.stm", f"out/{bad}.json", "--metric", "wer", "--json")
    assert scored.code == 0, scored.stderr
    assert "bad_\ufffd" in json.loads(scored.stdout)["figures"][0]["by_recording"]
