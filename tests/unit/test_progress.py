"""Progress counts seconds of audio, and is plain lines when nobody watches."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass

import pytest
from rich.console import Console

from murmur_cli.audio.source import Part
from murmur_cli.cli import progress as progress_module
from murmur_cli.cli.progress import make_progress
from murmur_cli.options import RunOptions
from murmur_cli.types import Chunk, Hypothesis, Span

RATE = 16_000
NOTES: list[str] = []


@dataclass
class FakeRecording:
    duration: float
    sample_rate: int = RATE
    part: Part = Part()  # noqa: RUF009 - frozen


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


def watch(how: str, monkeypatch: pytest.MonkeyPatch, *, terminal: bool = False) -> str:
    """A run of two 100-s recordings, half of each speech in two chunks, 20 s for each chunk."""
    clock, stream = Clock(), io.StringIO()
    monkeypatch.setattr(progress_module, "time", clock)
    environment = {"TERM": "xterm"} if terminal else {}
    console = Console(file=stream, width=120, force_terminal=terminal, color_system=None, _environ=environment)
    with make_progress(console, RunOptions(progress=how), n_files=2, on_note=NOTES.append) as progress:
        for _ in range(2):
            recording = FakeRecording(100.0)
            chunks = tuple(Chunk(i, Span(i * 50 * RATE, (i * 50 + 25) * RATE), (), False) for i in range(2))
            progress.planned(recording, chunks)
            for chunk in chunks:
                clock.now += 20.0
                progress.answered(recording, chunk, Hypothesis(()))
    return stream.getvalue()


def test_plain_lines_when_not_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = watch("auto", monkeypatch).splitlines()
    assert lines[0] == "murmur: 75 of 200 s, 3.8x real time, 0:33 left, file 1 of 2"
    assert lines[-1] == "murmur: 200 of 200 s, 2.5x real time, 0:00 left, file 2 of 2"
    assert not any("\r" in line or "\x1b" in line for line in lines)


def test_json_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    events = [json.loads(line) for line in watch("json", monkeypatch).splitlines()]
    assert events[0] == {"type": "progress", "v": 1, "done_s": 75.0, "total_s": 200.0}
    assert events[-1]["done_s"] == 200.0


def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "of 200 s" in watch("auto", monkeypatch, terminal=True)


def test_silence_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert watch("none", monkeypatch, terminal=True) == ""


def test_the_channels_of_a_file_count_once(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, stream = Clock(), io.StringIO()
    monkeypatch.setattr(progress_module, "time", clock)
    console = Console(file=stream, width=120, color_system=None, _environ={})
    chunk = Chunk(0, Span(0, 50 * RATE), (), False)
    with make_progress(console, RunOptions(progress="plain"), n_files=2, on_note=NOTES.append) as progress:
        for _ in range(2):
            talking, silent = (FakeRecording(100.0, part=Part(i, 2)) for i in range(2))
            progress.planned(talking, (chunk,))
            progress.planned(silent, ())
            clock.now += 20.0
            progress.answered(talking, chunk, Hypothesis(()))
    first, last = stream.getvalue().splitlines()
    assert first == "murmur: 100 of 200 s, 5.0x real time, 0:20 left, file 1 of 2"
    assert last == "murmur: 200 of 200 s, 5.0x real time, 0:00 left, file 2 of 2"
