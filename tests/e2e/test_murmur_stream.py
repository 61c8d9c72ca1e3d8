"""The installed command hears pipes and files, with a script for a model."""

from __future__ import annotations

import io
import json
import os
import pty
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Protocol

import numpy as np
import pysubs2
import pytest
import soundfile
from conftest import MURMUR, Finished
from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from scripted_stream import RATE, SCRIPT, make_tone, write_model

from murmur_cli.models.scripted import ScriptEntry

FOLDER = files("murmur_cli.transcript")
SCHEMAS = {name: json.loads((FOLDER / f"{name}.schema.json").read_text("utf-8")) for name in ("transcript", "session")}
REGISTRY = Registry().with_resources((schema["$id"], Resource.from_contents(schema)) for schema in SCHEMAS.values())
LINES = "S1: Hello there\neverybody.\nS2: Hi <you> & 東京.\nS1: The long end\n"
TONE = make_tone(5.0)


class Run(Protocol):
    def __call__(
        self, *args: str | bytes | Path, stdin: bytes | None = None, cwd: Path | None = None, timeout: float = 60.0
    ) -> Finished: ...


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_model(tmp_path / "model")


def violations(instance: object, schema_name: str) -> list[str]:
    validator = Draft202012Validator(SCHEMAS[schema_name], registry=REGISTRY)
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(instance)]


def to_wav(pcm: bytes, rate: int = RATE, name: str = "WAV") -> bytes:
    file = io.BytesIO()
    soundfile.write(file, np.frombuffer(pcm, "<i2"), rate, format=name)
    return file.getvalue()


# --- what is heard


def test_raw_samples_from_a_pipe(run_murmur: Run, model: Path) -> None:
    done = run_murmur("stream", "-", "--model", model, stdin=TONE)
    assert (done.stdout.decode(), done.stderr, done.code) == (LINES, "", 0)


@pytest.mark.parametrize("name", ["WAV", "FLAC", "OGG"])
def test_a_container_from_a_pipe(run_murmur: Run, model: Path, name: str) -> None:
    done = run_murmur("stream", "-", "--model", model, stdin=to_wav(TONE, name=name))
    assert (done.stdout.decode(), done.stderr, done.code) == (LINES, "", 0)


def test_a_file_as_fast_as_possible_and_at_its_own_pace(run_murmur: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.wav").write_bytes(to_wav(make_tone(2.6)))
    fast = run_murmur("stream", "a.wav", "--model", model, "-f", "jsonl")
    start = time.monotonic()
    paced = run_murmur("stream", "a.wav", "--model", model, "-f", "jsonl", "--realtime")
    assert time.monotonic() - start > 2.6
    events = [[json.loads(line) for line in done.stdout.splitlines()] for done in (fast, paced)]
    assert all(event["latency"] is None for event in events[0] if event["type"] == "committed")
    assert all(0 <= event["latency"] < 2 for event in events[1] if event["type"] == "committed")
    for event in [*events[0], *events[1]]:
        event.pop("latency", None)
    assert events[0] == events[1]
    assert (fast.code, paced.code, fast.stderr) == (0, 0, "")


@pytest.mark.parametrize(
    ("options", "data"),
    [
        (("--input-format", "s16le", "--input-rate", "8000"), np.frombuffer(TONE, "<i2")[::2].tobytes()),
        (("--input-channels", "2"), np.frombuffer(TONE, "<i2").repeat(2).tobytes()),
        (("--input-format", "f32le"), (np.frombuffer(TONE, "<i2") / np.float32(32768)).astype("<f4").tobytes()),
        (("--input-format", "mulaw", "--input-rate", "8000"), b"\xff\x7e\x80\x00" * 10_000),
        (("--input-format", "alaw", "--input-rate", "8000"), b"\xd5\x55\xd4\x54" * 10_000),
    ],
)
def test_samples_without_a_header(run_murmur: Run, model: Path, options: tuple[str, ...], data: bytes) -> None:
    done = run_murmur("stream", "-", "--model", model, "-f", "jsonl", *options, stdin=data)
    assert done.code == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["duration"] == 5.0


def test_duration_ends_early_to_the_sample(run_murmur: Run, model: Path, tmp_path: Path) -> None:
    options = ("--duration", "2.4", "--save-audio", "heard.wav", "-f", "jsonl")
    done = run_murmur("stream", "-", "--model", model, *options, stdin=TONE)
    end = json.loads(done.stdout.splitlines()[-1])
    assert (end["duration"], end["reason"], end["n_segments"], done.code) == (2.4, "duration", 2, 0)
    heard, rate = soundfile.read(tmp_path / "heard.wav", dtype="int16")
    assert (rate, heard.astype("<i2").tobytes()) == (RATE, TONE[: round(2.4 * RATE) * 2])


# --- what is said about it


def test_stdin_must_not_be_a_terminal(model: Path) -> None:
    ours, theirs = pty.openpty()
    done = subprocess.run([MURMUR, "stream", "-", "--model", model], stdin=theirs, capture_output=True, check=False)
    os.close(ours)
    os.close(theirs)
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1)


# --- what is written


def test_every_event_keeps_to_its_schema(run_murmur: Run, tmp_path: Path) -> None:
    folder = write_model(tmp_path / "faulty", (*SCRIPT[:3], ScriptEntry(3.5, 4.0, error="loop"), *SCRIPT[3:]))
    done = run_murmur("stream", "-", "--model", folder, "-f", "jsonl", stdin=TONE)
    Draft202012Validator.check_schema(SCHEMAS["session"])
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [violations(event, "session") for event in events] == [[]] * len(events)
    kinds = ["session", *["committed"] * 3, "gap", "committed", "end"]
    assert [event["type"] for event in events] == kinds
    assert "".join(event["text"] for event in events[1:3]) == "Hello there everybody."
    assert (events[-1]["n_segments"], events[-1]["n_gaps"], done.code) == (4, 1, 3)
    assert violations({"type": "committed", "v": 1}, "session")
    assert violations({"type": "end", "v": 2}, "session")


def test_drafts_are_events_of_a_pipe_and_change_nothing_else(model: Path, tmp_path: Path) -> None:
    first, *rest = SCRIPT
    write_model(model, (replace(first, start=0.2, drafts=("Hell", "Hello the")), *rest))
    with start(model, "-f", "jsonl", "--step", "0.2", "--speaker-names", "S1=Ann") as murmur:
        assert murmur.stdin is not None
        assert murmur.stdout is not None
        murmur.stdin.write(TONE[:4800])
        lines = [murmur.stdout.readline()]  # it listens
        murmur.stdin.write(TONE[4800:32_000])
        lines.append(murmur.stdout.readline())
        murmur.stdin.write(TONE[32_000:])
        murmur.stdin.close()
        murmur.stdin = None
        events = [json.loads(line) for line in [*lines, *murmur.stdout]]
        assert murmur.wait(30) == 0
    assert [violations(event, "session") for event in events] == [[]] * len(events)
    drafts = [event for event in events if event["type"] == "draft"]
    assert drafts[-1]["text"] == ""
    assert {draft["text"] for draft in drafts[:-1]} | {"Hell"} == {"Hell", "Hello the"}
    assert {(draft["start"], draft["speaker"]) for draft in drafts} == {(0.2, "Ann")}
    assert events.index(drafts[-1]) < next(i for i, event in enumerate(events) if event["type"] == "committed")
    assert [event["text"] for event in events if event["type"] == "committed"] == [entry.text for entry in SCRIPT]
    assert violations({"type": "draft", "v": 1, "start": 0.0, "text": "x"}, "session")


def test_files_in_every_format(run_murmur: Run, model: Path, tmp_path: Path) -> None:
    options = ("-f", "txt,srt,vtt,json,jsonl", "-o", "out/", "--speaker-names", "S1=Ann")
    done = run_murmur("stream", "-", "--model", model, *options, stdin=TONE)
    assert (done.stdout, done.stderr, done.code) == (b"", "", 0)
    out = tmp_path / "out"
    assert (out / "stdin.txt").read_text() == LINES.replace("S1", "Ann")
    cues = [(cue.start, cue.end, cue.plaintext) for cue in pysubs2.load(str(out / "stdin.srt"))]
    assert cues[0] == (500, 2200, "Ann: Hello there everybody.")
    assert "\nS2: Hi <you> & 東京.\n" in (out / "stdin.srt").read_text(encoding="utf-8")
    assert [cue.start for cue in pysubs2.load(str(out / "stdin.vtt"))] == [500, 2500, 4200]
    whole = json.loads((out / "stdin.json").read_text())
    assert violations(whole, "transcript") == []
    assert {segment["times"] for segment in whole["segments"]} == {"model"}
    assert [segment["text"] for segment in whole["segments"]] == [entry.text.strip() for entry in SCRIPT]
    again = run_murmur("convert", out / "stdin.json", "-f", "txt")
    assert again.stdout.decode().count("Ann: ") == 3
    assert run_murmur("stream", "-", "--model", model, *options, stdin=TONE).code == 2  # they exist


def test_a_reader_that_goes_away_ends_it_well(model: Path, tmp_path: Path) -> None:
    with start(model, "-f", "jsonl", "--save-audio", tmp_path / "a.wav", stdout=subprocess.PIPE) as murmur:
        assert murmur.stdin is not None
        assert murmur.stdout is not None
        murmur.stdin.write(TONE[:32_000])
        murmur.stdin.flush()
        murmur.stdout.readline()
        murmur.stdout.close()
        murmur.stdin.write(TONE)
        murmur.stdin.flush()
        assert murmur.wait(30) == 0
    assert soundfile.info(tmp_path / "a.wav").frames > 0


def test_a_disk_that_fills_up_keeps_what_was_committed(model: Path, tmp_path: Path) -> None:
    write_model(model, tuple(ScriptEntry(i, i + 0.5, f"This is sentence {i}.") for i in range(100)))
    for name in ("a.json", "a.srt"):
        command = f'ulimit -f 4; exec "{MURMUR}" stream - --model "{model}" -o {name}'
        done = subprocess.run(
            ["bash", "-c", command], input=make_tone(100.0), cwd=tmp_path, capture_output=True, check=False
        )
        assert (done.returncode, done.stderr.count(b"\n")) == (3, 1), done.stderr
    segments = json.loads((tmp_path / "a.json").read_text())["segments"]
    cues = pysubs2.load(str(tmp_path / "a.srt"))
    assert [segment["text"] for segment in segments] == [f"This is sentence {i}." for i in range(len(segments))]
    assert [cue.plaintext for cue in cues] == [f"This is sentence {i}." for i in range(len(cues))]
    assert min(len(segments), len(cues)) > 10


# --- how it ends


class Started(subprocess.Popen[bytes]):
    """A session that runs; whatever happens, it does not outlive its test."""

    def __exit__(self, *args: object) -> None:
        self.kill()
        self.wait()
        for pipe in (self.stdin, self.stdout, self.stderr):
            if pipe is not None:
                pipe.close()


def start(model: Path, *args: str | Path, stdout: int | None = subprocess.PIPE) -> Started:
    pipe = subprocess.PIPE
    return Started([MURMUR, "stream", "-", "--model", model, *args], stdin=pipe, stdout=stdout, stderr=pipe, bufsize=0)


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 143)], ids=str
)
def test_a_signal_flushes_a_stalled_pipe(model: Path, tmp_path: Path, number: signal.Signals, code: int) -> None:
    (tmp_path / "x").mkdir()
    with start(model, "-f", "jsonl", "--save-audio", tmp_path / "x" / "a.wav") as murmur:
        assert murmur.stdin is not None
        assert murmur.stdout is not None
        assert murmur.stderr is not None
        murmur.stdin.write(TONE)  # and then nothing
        seen = [murmur.stdout.readline() for _ in range(4)]
        murmur.send_signal(number)
        rest = [json.loads(line) for line in murmur.stdout.read().splitlines()]
        assert murmur.wait(30) == code
        assert murmur.stderr.read().count(b"\n") == 1
    assert json.loads(seen[-1])["text"] == SCRIPT[2].text
    assert [event["type"] for event in rest] == ["committed", "end"]
    assert (rest[0]["text"], rest[1]["reason"]) == ("The long end", "stopped")
    assert soundfile.info(tmp_path / "x" / "a.wav").frames == 5 * RATE


def test_a_signal_ends_a_file_where_it_is(model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.wav").write_bytes(to_wav(make_tone(60.0)))
    command = [MURMUR, "stream", "a.wav", "--model", model, "--realtime", "-o", "a.json"]
    with Started(command, cwd=tmp_path, stderr=subprocess.PIPE) as murmur:
        wait_for(tmp_path / "a.json", "everybody")
        murmur.send_signal(signal.SIGTERM)
        assert murmur.wait(30) == 143
    whole = json.loads((tmp_path / "a.json").read_text())
    assert whole["audio"]["duration"] < 30


def wait_for(path: Path, text: str) -> None:
    deadline = time.monotonic() + 30
    while not (path.exists() and text in path.read_text(errors="replace")):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def iter_names() -> Iterator[tuple[str, float]]:
    moments = np.random.default_rng(5).uniform(0.0, 0.5, 4)
    for i, moment in enumerate(moments):
        yield ("a.json", "a.srt", "a.vtt", "a.jsonl")[i % 4], float(moment)


@pytest.mark.parametrize(("name", "after"), list(iter_names()))
def test_a_kill_at_any_moment_leaves_a_file_that_can_be_read(
    model: Path, tmp_path: Path, name: str, after: float
) -> None:
    script = tuple(ScriptEntry(i / 100, (i + 1) / 100, f"Sentence {i}.", i % 3) for i in range(60_000))
    write_model(model, script)
    (tmp_path / "a.raw").write_bytes(make_tone(600.0))
    path = tmp_path / name
    with (
        (tmp_path / "a.raw").open("rb") as audio,
        Started([MURMUR, "stream", "-", "--model", model, "-o", path], stdin=audio) as murmur,
    ):
        wait_for(path, "Sentence 9.")
        time.sleep(after)
        murmur.kill()
    match name:
        case "a.json":
            whole = json.loads(path.read_text())
            assert violations(whole, "transcript") == []
            texts = [segment["text"] for segment in whole["segments"]]
        case "a.jsonl":
            assert path.read_text().endswith("\n")
            events = [json.loads(line) for line in path.read_text().splitlines()]
            texts = [event["text"] for event in events if event["type"] == "committed"]
        case _:
            texts = [cue.plaintext.rpartition(": ")[2] for cue in pysubs2.load(str(path))]
    assert len(texts) > 9
    assert texts == [entry.text for entry in script[: len(texts)]]


def test_a_file_that_is_deleted_while_it_is_written_is_said(model: Path, tmp_path: Path) -> None:
    write_model(model, tuple(ScriptEntry(i / 10, i / 10 + 0.05, f"Sentence {i}.") for i in range(100)))
    for option, name in (("-o", "a.json"), ("--save-audio", "a.wav")):
        path = tmp_path / "gone" / name
        path.parent.mkdir()
        with start(model, option, path) as murmur:
            assert murmur.stdin is not None
            assert murmur.stderr is not None
            murmur.stdin.write(TONE)
            wait_for(path, "Sentence 3." if name == "a.json" else "data")
            path.unlink()
            path.parent.rmdir()
            murmur.stdin.write(TONE)
            murmur.stdin.close()
            said = murmur.stderr.read().decode()
            assert murmur.wait(30) in (1, 3), said  # as something was written before, or not
            assert said.count("\n") == 1
        assert f"{name}: it was deleted" in said
