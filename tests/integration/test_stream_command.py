"""What ``murmur stream`` says of what it cannot hear or write, and lag; in this process, with a script for a model."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import av
import numpy as np
import pytest
import soundfile
from conftest import Finished
from scripted_stream import RATE, Bystander, make_tone, write_model

from murmur_cli.audio.live import LiveSource
from murmur_cli.cli.app import run
from murmur_cli.models.scripted import ScriptedStreamEngine, ScriptEntry
from murmur_cli.options import StreamOptions
from murmur_cli.stream import Wishes, transcribe_live
from murmur_cli.transcript.growing import GrowingFile
from murmur_cli.transcript.live import make_writer
from murmur_cli.types import Samples

LINES = "S1: Hello there\neverybody.\nS2: Hi <you> & 東京.\nS1: The long end\n"
TONE = make_tone(5.0)

Run = Callable[..., Finished]


@pytest.fixture
def run_murmur(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Run:
    """Run a command line in this process, in an empty folder, with these bytes on stdin."""
    monkeypatch.chdir(tmp_path)

    def call(*args: str | Path, stdin: bytes = b"") -> Finished:
        path = tmp_path_factory.mktemp("stdin") / "bytes"
        path.write_bytes(stdin)
        with path.open() as file:
            monkeypatch.setattr(sys, "stdin", file)
            code = run([str(arg) for arg in args])
        said = capfd.readouterr()
        return Finished(said.out.encode(), said.err, code)

    return call


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_model(tmp_path / "model")


def make_m4a() -> bytes:
    """A file as phones make it, with its index at the end."""
    file = io.BytesIO()
    with av.open(file, "w", format="mp4") as container:
        stream = container.add_stream("aac", rate=RATE, layout="mono")
        noise = np.random.default_rng(0).uniform(-0.1, 0.1, (1, 20 * RATE)).astype(np.float32)  # more than a buffer
        frame = av.AudioFrame.from_ndarray(noise, format="fltp", layout="mono")
        frame.sample_rate = RATE
        for packet in (*stream.encode(frame), *stream.encode(None)):
            container.mux(packet)
    return file.getvalue()


def to_wav(pcm: bytes) -> bytes:
    file = io.BytesIO()
    soundfile.write(file, np.frombuffer(pcm, "<i2"), RATE, format="WAV")
    return file.getvalue()


@pytest.mark.parametrize(
    ("args", "stdin", "code", "said"),
    [
        ((), b"", 1, "not one sample"),
        ((), b"\0", 1, "not one sample"),
        ((), TONE + b"\0", 3, "1 byte at its end"),
        ((), b"RIFF and then nothing", 1, "no audio"),
        ((), make_m4a(), 1, "save it to a file"),
        (("--input-rate", "8000"), to_wav(TONE), 2, "--input-rate"),
        (("--input-format", "s24le"), TONE, 2, "--input-format"),
        (("--input-channels", "0"), TONE, 2, "--input-channels"),
        (("--realtime",), TONE, 2, "--realtime"),
        (("--duration", "-1"), TONE, 2, "--duration"),
        (("--on-lag", "hurry"), TONE, 2, "--on-lag"),
        (("--step", "0"), TONE, 2, "--step"),
        (("--context-minutes", "0.5"), TONE, 2, "--context-minutes"),
        (("--step", "2"), TONE, 2, "scripted shows no drafts"),
        (("--context-minutes", "3"), TONE, 2, "scripted has no context that grows"),
        (("--captions", "0", "-o", "a.txt"), TONE, 2, "between 1 and 1000"),
        (("--captions", "2"), TONE, 2, "stdout is no terminal"),
        (("-f", "srt"), TONE, 2, "--output"),
        (("-o", "x.ass"), TONE, 2, "ass cannot be written live"),
        (("--context", "Ann"), TONE, 2, "--context"),
        (("--phrase", "Ann"), TONE, 2, "scripted cannot be given keywords"),
        (("--bias", "gone.txt"), TONE, 2, "gone.txt"),
        (("--save-audio", "gone/x.wav"), TONE, 2, "gone"),
        (("--save-audio", "model"), TONE, 2, "model"),
        (("-o", "a.txt", "--save-audio", "a.txt"), TONE, 2, "a.txt"),
        (("--input-format", "f32le"), TONE, 1, "--input-format"),
        (("--speaker-names", "S9=Ann"), TONE, 0, "nobody in it is called S9"),
        (("--duration", "0.3"), TONE, 0, "no speech found"),
    ],
)
def test_one_clear_line(
    run_murmur: Run, model: Path, args: tuple[str, ...], stdin: bytes, code: int, said: str
) -> None:
    done = run_murmur("stream", "-", "--model", model, *args, stdin=stdin)
    assert (done.code, done.stderr.count("\n")) == (code, 1), done.stderr
    assert said in done.stderr
    if code == 3:
        assert done.stdout.decode() == LINES
    assert [path.name for path in model.parent.iterdir()] == ["model"]


def test_samples_that_sound_like_noise(run_murmur: Run, model: Path) -> None:
    wrong = (np.frombuffer(TONE, "<i2") / np.float32(32768)).astype("<f4").tobytes()  # read as s16le
    done = run_murmur("stream", "-", "--model", model, stdin=wrong)
    assert "sounds like noise" in done.stderr
    assert done.code == 0


@pytest.mark.weights
def test_without_a_model_the_default_one_hears_utterances(run_murmur: Run, data_dir: Path) -> None:
    done = run_murmur("stream", data_dir / "speech" / "jfk.flac", "-f", "jsonl")
    assert done.code == 0
    events = [json.loads(line) for line in done.stdout.splitlines()]
    said = [event for event in events if event["type"] == "committed"]
    assert "what you can do for your country" in " ".join(event["text"] for event in said).lower()
    assert {event["speaker"] for event in said} == {"S1"}
    assert all(event["words"] for event in said)
    assert "whisper-base" in done.stderr


def test_what_cannot_be_heard(run_murmur: Run) -> None:
    assert run_murmur("stream", "gone.wav", "--model", "x").code == 1


def test_a_file_waits_so_nothing_is_skipped(run_murmur: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.wav").write_bytes(to_wav(TONE))
    assert run_murmur("stream", "a.wav", "--model", model, "--on-lag", "skip").code == 2
    refused = run_murmur("stream", "a.wav", "--model", model, "--save-audio", "a.wav", "--overwrite")
    assert (refused.code, (tmp_path / "a.wav").read_bytes() == to_wav(TONE)) == (2, True)


# --- how long it can go on


class Day(LiveSource):
    """A day of silence, as fast as possible."""

    def iter_blocks(self) -> Iterator[Samples]:
        block = np.zeros(4 * RATE, np.float32)
        for _ in range(6 * 3600):
            yield block


def measure_memory() -> int:
    """Anonymous memory of this process in KB."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon:"))


def test_a_day_takes_no_more_memory_than_ten_minutes(tmp_path: Path) -> None:
    script = [ScriptEntry(i * 10.0, i * 10.0 + 2, f"This is sentence {i}, and so it goes.", i % 3) for i in range(8640)]
    options, after = StreamOptions(), 0
    source = Day("day.wav", sample_rate=RATE, options=options)
    engine = ScriptedStreamEngine(script, sample_rate=RATE)
    names = ("jsonl", "json", "srt")
    with (
        GrowingFile(tmp_path / "jsonl") as events_file,
        GrowingFile(tmp_path / "json") as json_file,
        GrowingFile(tmp_path / "srt") as srt_file,
    ):
        writers = [make_writer(*pair) for pair in zip(names, (events_file, json_file, srt_file), strict=True)]
        events = transcribe_live(
            source, engine, options=options, recorder=None, wishes=Wishes(lambda: False), observer=Bystander()
        )
        for n, event in enumerate(events):
            for writer in writers:
                writer.write(event)
            if n == 60:
                after = measure_memory()
    assert n == 8641
    assert measure_memory() - after < 5 * 1024
    assert all((tmp_path / name).stat().st_size > 500_000 for name in names)
