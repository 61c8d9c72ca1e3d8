"""What a batch run takes from those before it: with a script for a model, in this process."""

from __future__ import annotations

import errno
import importlib
import io
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import filelock
import numpy as np
import pytest
import soundfile
from conftest import ROOT

from murmur_cli.audio import source
from murmur_cli.cli import app
from murmur_cli.cli import transcribe as command
from murmur_cli.engine import Answer, Job
from murmur_cli.errors import DeviceError
from murmur_cli.journal import finished, lines, store
from murmur_cli.journal.folder import hash_file, lock_of, prune_folder
from murmur_cli.models import load
from murmur_cli.models.scripted import ScriptedEngine
from murmur_cli.types import DecodeError, EngineInfo

sys.path.insert(0, str(ROOT / "benchmarks"))
runs = importlib.import_module("resumable_run")

OPTIONS = ("--max-chunk-s", "10", "-f", "json,srt", "-o", "out/", "--journal-dir", "journals")
N_CHUNKS = 4


class Engine(ScriptedEngine):
    """Remembers what it decodes; may stop at a chunk, or fail at one."""

    def __init__(self, *, stops_at: int | None = None, fails_at: int | None = None) -> None:
        super().__init__(runs.make_script(N_CHUNKS))
        self.decoded: list[int] = []
        self._stops_at = stops_at
        self._fails_at = fails_at

    @property
    def info(self) -> EngineInfo:
        return replace(super().info, model="remembering")

    def decode(self, jobs: Iterable[Job]) -> Iterator[Answer]:
        for job in jobs:
            if job.chunk.index == self._stops_at:
                raise DeviceError("out of memory")
            self.decoded.append(job.chunk.index)
            if job.chunk.index == self._fails_at:
                yield Answer(job.recording_id, job.chunk.index, DecodeError("loop", "as asked"))
            else:
                yield from super().decode([job])


@dataclass(frozen=True, slots=True)
class Ended:
    code: int
    decoded: list[int]
    said: list[str]
    stdout: str


Batch = Callable[..., Ended]


@pytest.fixture
def batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Batch:
    """Run ``murmur batch`` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command, "load_listeners", lambda *_, **__: runs.listeners(N_CHUNKS))

    def run(*arguments: str, engine: Engine | None = None, options: tuple[str, ...] = OPTIONS) -> Ended:
        used = engine or Engine()
        monkeypatch.setattr(load, "load_engine", lambda *_, **__: used)
        code = app.run(["batch", *arguments, *options])
        said = capsys.readouterr()
        return Ended(code, used.decoded, said.err.splitlines(), said.out)

    return run


@pytest.fixture
def talk(tmp_path: Path) -> str:
    runs.write_talk(tmp_path / "a.wav", N_CHUNKS, seed=1)
    return "a.wav"


def read(folder: str = "out") -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}


def find_journal() -> Path:
    (journal,) = Path("journals").rglob("*.jsonl")
    return journal


def name_kinds(journal: Path) -> list[str]:
    return [kind for line in journal.read_text().splitlines() for kind in json.loads(line)["record"]]


def undisturbed(batch: Batch, *paths: str) -> dict[str, bytes]:
    options = ("--max-chunk-s", "10", "-f", "json,srt", "-o", "expected/", "--no-resume")
    assert batch(*paths, options=options).code == 0
    return read("expected")


# --- a run that was stopped


def test_the_same_command_goes_on_where_it_was_stopped(batch: Batch, talk: str) -> None:
    stopped = batch(talk, engine=Engine(stops_at=2))
    assert (stopped.code, stopped.decoded) == (5, [0, 1])
    assert not list(Path("out").iterdir())
    ended = batch(talk)
    assert (ended.code, ended.decoded) == (0, [2, 3])
    assert ended.said == ["murmur: a.wav: 2 of 4 chunks are there from a run that was stopped"]
    assert read() == undisturbed(batch, talk)


def test_a_recording_that_has_another_name_since_is_known_by_its_bytes(batch: Batch, talk: str) -> None:
    batch(talk, engine=Engine(stops_at=2))
    Path(talk).rename("b.wav")
    assert batch("b.wav").decoded == [2, 3]


def test_another_recording_of_that_name_is_another_one(batch: Batch, talk: str, tmp_path: Path) -> None:
    batch(talk, engine=Engine(stops_at=2))
    runs.write_talk(tmp_path / talk, N_CHUNKS, seed=2)
    assert batch(talk).decoded == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("option", "decoded"),
    [
        (("--language", "en"), [0, 1, 2, 3]),
        (("--vad-threshold", "0.6"), [0, 1, 2, 3]),
        (("--channels", "1"), [0, 1, 2, 3]),
        (("--audio-stream", "1"), [0, 1, 2, 3]),
        (("--end", "0:40"), [0, 1, 2, 3]),
        (("--speakers", "3"), [2, 3]),
        (("--max-line-width", "20"), [2, 3]),
        (("--no-speakers",), [2, 3]),
        (("-f", "txt"), [2, 3]),
        (("--overwrite",), [2, 3]),
    ],
)
def test_an_option_loses_what_it_changes_alone(
    batch: Batch, talk: str, option: tuple[str, ...], decoded: list[int]
) -> None:
    batch(talk, engine=Engine(stops_at=2))
    ended = batch(talk, *option)
    assert (ended.code, ended.decoded) == (0, decoded)
    made = read()
    Path("expected").mkdir()
    fresh = ("--max-chunk-s", "10", "-f", "json,srt", "-o", "expected/", "--no-resume")
    assert batch(talk, *option, options=fresh).code == 0
    assert made == read("expected")


def test_no_resume_uses_nothing_and_keeps_nothing(batch: Batch, talk: str) -> None:
    batch(talk, engine=Engine(stops_at=2))
    before = find_journal().read_bytes()
    fresh = ("--max-chunk-s", "10", "-o", "a.txt", "--no-resume")
    assert batch(talk, options=fresh).decoded == [0, 1, 2, 3]
    assert find_journal().read_bytes() == before
    assert batch(talk, options=fresh).code == 2
    assert batch(talk, "--no-resume").code == 2  # and yet a folder for journals


def test_a_chunk_that_failed_is_tried_again(batch: Batch, talk: str) -> None:
    failed = batch(talk, engine=Engine(fails_at=1))
    assert (failed.code, failed.decoded) == (3, [0, 1, 2, 3])
    again = batch(talk)
    assert (again.code, again.decoded) == (0, [1])
    assert read() == undisturbed(batch, talk)
    assert batch(talk).decoded == []


class Removing(Engine):
    """Removes the folder of the outputs while it is at the last chunk."""

    def decode(self, jobs: Iterable[Job]) -> Iterator[Answer]:
        for answer in super().decode(jobs):
            if answer.index == N_CHUNKS - 1:
                Path("out").rmdir()
            yield answer


def test_the_audio_is_not_read_where_no_chunk_is_open(batch: Batch, talk: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lost = batch(talk, engine=Removing())
    assert (lost.code, lost.decoded) == (1, [0, 1, 2, 3])
    with monkeypatch.context() as patch:
        patch.setattr(source, "open_container", None)
        ended = batch(talk)
    assert (ended.code, ended.decoded) == (0, [])
    assert read() == undisturbed(batch, talk)


def test_what_is_not_read_again_keeps_its_place_in_the_file(
    batch: Batch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = Path(runs.write_talk(tmp_path / "a.wav", N_CHUNKS + 1, seed=1)).name
    fresh = ("--start", "10", "--max-chunk-s", "10", "-f", "json,srt", "-o", "expected/", "--no-resume")
    assert batch(name, options=fresh).code == 0
    assert batch(name, "--start", "10", engine=Removing()).code == 1
    monkeypatch.setattr(source, "open_container", None)
    assert batch(name, "--start", "10").decoded == []
    assert read() == read("expected")


def test_samples_without_a_header_are_resumed_as_what_they_were_said_to_be(batch: Batch, talk: str) -> None:
    Path("a.raw").write_bytes(Path(talk).read_bytes()[44:])
    pcm = ("--input-format", "s16le", "--input-rate", "16000")
    batch("a.raw", *pcm, engine=Engine(stops_at=2))
    assert batch("a.raw", *pcm).decoded == [2, 3]
    assert batch("a.raw", *pcm).said == ["murmur: a.raw: up to date"]
    other = batch("a.raw", *pcm, "--input-channels", "2")
    assert (other.code, other.decoded) == (2, [])


def test_where_it_turns_out_to_be_needed_the_audio_is_read(batch: Batch, talk: str) -> None:
    assert batch(talk, "--speakers", "none", engine=Removing()).code == 1
    ended = batch(talk)
    assert (ended.code, ended.decoded) == (0, [])
    assert read() == undisturbed(batch, talk)


def test_channels_are_resumed_apart(batch: Batch, tmp_path: Path) -> None:
    left, right = (soundfile.read(runs.write_talk(tmp_path / f"{seed}.wav", N_CHUNKS, seed=seed))[0] for seed in (3, 4))
    soundfile.write(tmp_path / "call.wav", np.stack([left, right], axis=1), runs.RATE)
    fresh = ("--channels", "speakers", "--max-chunk-s", "10", "-f", "json,srt", "-o", "expected/", "--no-resume")
    assert batch("call.wav", options=fresh).code == 0

    class Stopping(Engine):
        def decode(self, jobs: Iterable[Job]) -> Iterator[Answer]:
            for count, answer in enumerate(super().decode(jobs)):
                yield answer
                if count == N_CHUNKS:
                    raise DeviceError("out of memory")

    batch("call.wav", "--channels", "speakers", engine=Stopping())
    assert batch("call.wav", "--channels", "speakers").decoded == [1, 2, 3]
    assert read() == read("expected")


# --- a run that is done


def test_what_is_up_to_date_is_not_done_again(batch: Batch, talk: str) -> None:
    assert batch(talk).code == 0
    assert name_kinds(find_journal()) == ["journal", "output", "output"]
    before = read()
    again = batch(talk)
    assert (again.code, again.decoded, again.said) == (0, [], ["murmur: a.wav: up to date"])
    assert read() == before


@pytest.mark.parametrize(
    "change", ["edited", "other options", "other cues", "other engine", "other recording", "other journals"]
)
def test_an_output_that_this_command_did_not_make_is_refused(
    batch: Batch, talk: str, tmp_path: Path, change: str
) -> None:
    batch(talk)
    options, engine = OPTIONS, Engine()
    if change == "edited":
        Path("out/a.srt").write_text("mine")
    elif change == "other options":
        options = (*OPTIONS, "--no-speakers")
    elif change == "other cues":
        options = (*OPTIONS, "--max-line-width", "20")
    elif change == "other engine":
        engine = type("Other", (Engine,), {"info": EngineInfo("other", "0", "cpu", "none")})()
    elif change == "other recording":
        runs.write_talk(tmp_path / talk, N_CHUNKS, seed=2)
    else:
        options = (*OPTIONS[:-1], "elsewhere")
    before = read()
    refused = batch(talk, options=options, engine=engine)
    assert (refused.code, refused.decoded, len(refused.said)) == (2, [], 1)
    assert "--overwrite" in refused.said[0]
    assert read() == before
    assert batch(talk, "--overwrite", options=options, engine=engine).decoded == [0, 1, 2, 3]


def test_an_output_that_is_gone_is_made_again(batch: Batch, talk: str) -> None:
    batch(talk)
    before = read()
    Path("out/a.srt").unlink()
    assert (batch(talk).code, read()) == (0, before)
    assert batch(talk).decoded == []


def test_several_files_are_done_one_by_one(batch: Batch, talk: str, tmp_path: Path) -> None:
    runs.write_talk(tmp_path / "b.wav", N_CHUNKS, seed=2)
    batch(talk)
    ended = batch(talk, "b.wav")
    assert (ended.code, ended.decoded, ended.said) == (0, [0, 1, 2, 3], ["murmur: a.wav: up to date"])


def test_how_an_input_was_named_makes_no_difference(batch: Batch, talk: str) -> None:
    Path("talks").mkdir()
    Path(talk).rename("talks/a.wav")
    Path("list").write_text("talks/a.wav\n")
    assert batch("talks").code == 0
    for named in (("--files-from", "list"), ("talks/a.wav",), ("-r", "talks", "--exclude", "b*")):
        assert batch(*named).said == ["murmur: talks/a.wav: up to date"]


def test_recordings_of_the_same_bytes_do_not_hinder_one_another(batch: Batch, talk: str) -> None:
    Path("b.wav").write_bytes(Path(talk).read_bytes())
    assert batch(talk, "b.wav").code == 0
    assert sorted(read()) == ["a.json", "a.srt", "b.json", "b.srt"]
    assert batch(talk, "b.wav").decoded == []


def test_a_journal_is_held_until_the_last_of_its_recordings_is_done(batch: Batch, talk: str) -> None:
    Path("b.wav").write_bytes(Path(talk).read_bytes())
    still_held: list[bool] = []

    class Greedy(Engine):
        def decode(self, jobs: Iterable[Job]) -> Iterator[Answer]:
            for count, answer in enumerate(super().decode(list(jobs))):
                if count == N_CHUNKS + 1:  # the first recording is finished
                    with pytest.raises(filelock.Timeout):
                        lock_of(find_journal()).acquire()
                    still_held.append(True)
                yield answer

    assert batch(talk, "b.wav", engine=Greedy()).code == 0
    assert still_held == [True]
    with lock_of(find_journal()):
        pass


def test_what_goes_to_stdout_leaves_nothing(batch: Batch, talk: str) -> None:
    options = ("--max-chunk-s", "10", "--journal-dir", "journals")
    batch(talk, engine=Engine(stops_at=2), options=options)
    first = batch(talk, options=options)
    assert (first.code, first.decoded) == (0, [2, 3])
    assert not list(Path("journals").rglob("*.jsonl"))
    assert batch(talk, options=options).stdout == first.stdout


def test_stdin_leaves_nothing_and_is_not_taken_for_a_file_of_its_name(
    batch: Batch, talk: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = Path(talk).rename("-").read_bytes()
    Path("list").write_text("-\n")
    options = ("--max-chunk-s", "10", "--output-template", "out.json", "-f", "json", "--journal-dir", "journals")
    assert batch("--files-from", "list", options=options).code == 0
    assert batch("--files-from", "list", options=options).said == ["murmur: ./-: up to date"]
    before = find_journal().read_bytes()

    def pipe() -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))

    with monkeypatch.context() as patch:
        patch.setattr(store, "hash_file", None)
        patch.setattr(finished, "hash_file", None)
        pipe()
        assert batch("-", options=options).code == 2
        pipe()
        assert batch("-", "--overwrite", options=options).decoded == [0, 1, 2, 3]
    assert find_journal().read_bytes() == before


# --- trouble


def test_a_file_that_another_run_is_at_is_left_to_it(batch: Batch, talk: str, tmp_path: Path) -> None:
    runs.write_talk(tmp_path / "b.wav", N_CHUNKS, seed=2)
    batch(talk, engine=Engine(stops_at=2))
    with lock_of(find_journal()):
        busy = batch(talk)
        both = batch(talk, "b.wav")
    assert (busy.code, busy.decoded, len(busy.said)) == (1, [], 1)
    assert busy.said[0].startswith("murmur: a.wav: another run is at it; ")
    assert (both.code, both.decoded) == (3, [0, 1, 2, 3])
    assert batch(talk).decoded == [2, 3]


def test_without_a_place_for_journals_a_run_goes_on(batch: Batch, talk: str, tmp_path: Path) -> None:
    Path("taken").write_text("a file")
    runs.write_talk(tmp_path / "b.wav", N_CHUNKS, seed=2)
    ended = batch(talk, "b.wav", "--journal-dir", "taken/journals", options=OPTIONS[:-2])
    assert (ended.code, len(ended.said)) == (0, 1)
    assert "cannot be resumed" in ended.said[0]
    assert sorted(read()) == ["a.json", "a.srt", "b.json", "b.srt"]


def test_a_journal_that_fills_its_disk_costs_no_transcript(
    batch: Batch, talk: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, n_written = os.write, 0

    def fill(descriptor: int, data: bytes) -> int:
        nonlocal n_written
        n_written += 1
        if n_written == 6:
            return write(descriptor, data[:10])
        if n_written > 6:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, data)

    expected = undisturbed(batch, talk)
    with monkeypatch.context() as patch:
        patch.setattr(lines.os, "write", fill)
        ended = batch(talk, engine=Engine())
    assert (ended.code, len(ended.said)) == (0, 1)
    assert "No space left on device" in ended.said[0]
    assert read() == expected


def test_damage_is_said_and_what_follows_is_decoded_again(batch: Batch, talk: str) -> None:
    expected = undisturbed(batch, talk)
    batch(talk, engine=Engine(stops_at=3))
    journal = find_journal()
    written = journal.read_bytes().splitlines(keepends=True)
    damaged = next(i for i, line in enumerate(written) if b'"index":1' in line and b'"chunk"' in line)
    written[damaged] = written[damaged].replace(b"goes on", b"GOES ON", 1)
    journal.write_bytes(b"".join(written))
    ended = batch(talk)
    assert ended.said[0] == (
        f"murmur: a.wav: its journal is damaged from line {damaged + 1} on: what follows is decoded again"
    )
    assert (ended.code, ended.decoded) == (0, [1, 2, 3])
    assert read() == expected


def test_a_recording_that_changes_while_it_is_read_is_not_kept(
    batch: Batch, talk: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = source.open_container

    def change(path: str, **options: object) -> object:
        os.utime(path, (1, 1))
        return opened(path, **options)

    with monkeypatch.context() as patch:
        patch.setattr(source, "open_container", change)
        ended = batch(talk)
    assert (ended.code, len(ended.said)) == (0, 1)
    assert not list(Path("journals").rglob("*.jsonl"))


def test_nobody_else_may_read_what_was_said(batch: Batch, talk: str) -> None:
    for stops_at in (2, None):
        batch(talk, engine=Engine(stops_at=stops_at))
        assert find_journal().stat().st_mode & 0o777 == 0o600
        assert Path("journals").stat().st_mode & 0o777 == 0o700


def test_a_pipe_is_not_read_to_know_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert hash_file(tmp_path / "pipe") is None


def test_old_journals_go_and_those_in_use_stay(tmp_path: Path) -> None:
    (tmp_path / "ab").mkdir()
    long_ago = time.time() - 100 * 24 * 3600
    journals = {name: tmp_path / "ab" / f"{name}.jsonl" for name in ("old", "busy", "new")}
    for name, path in journals.items():
        path.touch()
        if name != "new":
            os.utime(path, (long_ago, long_ago))
    with lock_of(journals["busy"]):
        prune_folder(tmp_path)
    assert {name for name, path in journals.items() if path.exists()} == {"busy", "new"}
    prune_folder(tmp_path)  # it has looked today
    assert journals["busy"].exists()
