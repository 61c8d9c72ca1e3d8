"""What ``murmur stream`` says of microphones; in this process, with those that need no sound card."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Protocol

import pytest
from conftest import Finished
from fake_portaudio import FakePortAudio, Scene, write_standin
from scripted_stream import write_model

from murmur_cli.cli.app import run

LINES = "S1: Hello there\neverybody.\nS2: Hi <you> & 東京.\n"
HEARING = "murmur: microphone: hearing Desk microphone, 16000 Hz\n"
USUAL = Scene()


class Hear(Protocol):
    def __call__(self, *args: str | Path, scene: Scene | None = USUAL, stdin: Path | None = None) -> Finished: ...


@pytest.fixture
def hear(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Hear:
    """Run ``murmur stream`` in an empty folder, with what happens to its microphones (None: there is no PortAudio)."""
    monkeypatch.chdir(tmp_path)

    def call(*args: str | Path, scene: Scene | None = USUAL, stdin: Path | None = None) -> Finished:
        if scene is None:
            write_standin(tmp_path / "modules", None)
            monkeypatch.syspath_prepend(tmp_path / "modules")
            monkeypatch.delitem(sys.modules, "sounddevice", raising=False)
        else:
            monkeypatch.setitem(sys.modules, "sounddevice", FakePortAudio(scene))
        with open(stdin or os.devnull) as file:  # noqa: PTH123 - it may be no path
            monkeypatch.setattr(sys, "stdin", file)
            code = run(["stream", *map(str, args)])
        said = capfd.readouterr()
        return Finished(said.out.encode(), said.err, code)

    return call


@pytest.fixture
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("models") / "model")


def test_the_list_is_all_that_is_done(hear: Hear, tmp_path: Path) -> None:
    done = hear("--list-microphones", "gone.wav", "--model", "x", "-o", "y.txt")
    rows = done.stdout.decode().splitlines()
    assert [row.split()[0] for row in rows] == ["INDEX", "1", "2", "3"]
    assert rows[0].split() == ["INDEX", "NAME", "CHANNELS", "RATE", "DEFAULT"]
    assert [rows[1].split()[-3:], rows[3].split()[-2:]] == [["1", "16000", "yes"], ["2", "48000"]]
    assert (done.stderr, done.code, list(tmp_path.iterdir())) == ("", 0, [])
    done = hear("--list-microphones", scene=Scene(devices=()))
    assert (done.stdout.count(b"\n"), done.stderr.count("\n"), done.code) == (1, 1, 0)


def test_one_of_another_rate_is_named(hear: Hear, model: Path, tmp_path: Path) -> None:
    done = hear("--model", model, "--microphone", "hw:1", "--duration", "4", "-o", "out/")
    assert (done.stdout, done.code) == (b"", 0), done.stderr
    assert "hearing USB headset (hw:1,0), 48000 Hz" in done.stderr
    assert (tmp_path / "out" / "microphone.txt").read_text(encoding="utf-8") == LINES


def test_a_pipe_that_is_not_read_is_said(hear: Hear, model: Path) -> None:
    done = hear("--model", model, "--duration", "1", "--quiet", stdin=model / "config.json")
    assert (done.stderr, done.code) == ("", 0)
    done = hear("--model", model, "--duration", "1", stdin=model / "config.json")
    assert "'murmur stream -'" in done.stderr.splitlines()[0]
    assert (done.stderr.count("\n"), done.code) == (2, 0)


@pytest.mark.parametrize(
    ("args", "scene", "code", "said"),
    [
        ((), None, 5, "libportaudio2"),
        ((), Scene(devices=()), 5, "none on this machine"),
        ((), Scene(default=-1), 5, "--microphone: 1 (Desk microphone)"),
        (("--microphone", "webcam"), Scene(), 5, "there is 1 (Desk microphone)"),
        (("--microphone", "headset"), Scene(), 5, "may be 2 (USB headset), 3 (USB headset (hw:1,0))"),
        ((), Scene(is_busy=True), 5, "Device unavailable"),
        ((), Scene(gone_after=0.0), 1, "the device is gone"),
        (("--microphone", " "), Scene(), 2, "--microphone: the name is empty"),
        (("-", "--microphone", "1"), Scene(), 2, "--microphone: stdin"),
        (("a.wav", "--microphone", "1"), Scene(), 2, "leave a.wav out"),
        (("--realtime",), Scene(), 2, "--realtime"),
        (("--input-format", "s16le"), Scene(), 2, "--input-format"),
        (("--input-rate", "8000"), Scene(), 2, "--input-rate"),
        (("--input-channels", "2"), Scene(), 2, "--input-channels"),
    ],
)
def test_one_clear_line(
    hear: Hear, model: Path, args: tuple[str, ...], scene: Scene | None, code: int, said: str
) -> None:
    done = hear("--model", model, *args, scene=scene)
    assert (done.code, done.stdout, done.stderr.count("\n")) == (code, b"", 1), done.stderr
    assert said in done.stderr


def test_unplugged_what_was_committed_is_kept(hear: Hear, model: Path, tmp_path: Path) -> None:
    done = hear("--model", model, "-f", "json,jsonl", "-o", "out/", scene=Scene(gone_after=3.5))
    assert done.stderr == f"{HEARING}murmur: microphone: the device is gone\n"
    assert done.code == 3
    end = json.loads((tmp_path / "out" / "microphone.jsonl").read_text().splitlines()[-1])
    assert (end["reason"], end["damage"], end["duration"]) == ("lost", "the device is gone", 3.5)
    whole = json.loads((tmp_path / "out" / "microphone.json").read_text())
    assert (len(whole["segments"]), whole["damage"]) == (3, "the device is gone")


def test_unplugged_before_anything_was_said_it_has_failed(hear: Hear, model: Path) -> None:
    done = hear("--model", model, scene=Scene(gone_after=0.4))
    assert (done.stdout, done.code) == (b"", 1)
    assert done.stderr.count("the device is gone") == 1


def test_overflow_is_never_silent(hear: Hear, model: Path) -> None:
    scene = Scene(overflows=(24, 50))
    done = hear("--model", model, "--duration", "4", "-f", "jsonl", scene=scene)
    assert "audio was lost at 1.2 s" in done.stderr
    damage = json.loads(done.stdout.splitlines()[-1])["damage"]
    assert damage.startswith("audio was lost 2 times, first at 1.2 s")
    assert (f"microphone: {damage}\n" in done.stderr, done.code) == (True, 3)
    done = hear("--model", model, "--duration", "4", "--quiet", scene=Scene(overflows=(24,), gone_after=3.0))
    assert done.stderr.count("\n") == 1
    assert "lost once" in done.stderr
    assert "gone" in done.stderr
