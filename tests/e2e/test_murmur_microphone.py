"""The installed command hears a microphone: one that needs no sound card, in place of the module ``sounddevice``."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest
import soundfile
from conftest import MURMUR
from fake_portaudio import Scene, make_frames, write_standin
from scripted_stream import RATE, SCRIPT, write_model


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_model(tmp_path / "model")


def make_env(folder: Path, scene: Scene | None) -> dict[str, str]:
    return os.environ | write_standin(folder / "modules", scene)


def test_it_is_what_is_heard_if_nothing_else_is_named(model: Path, tmp_path: Path) -> None:
    options = ("--duration", "4.0", "--save-audio", "heard.wav", "-f", "jsonl")
    done = subprocess.run(
        [MURMUR, "stream", "--model", model, *options],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=make_env(tmp_path, Scene()),
        cwd=tmp_path,
        timeout=60,
        check=False,
    )
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert (events[0]["source"], events[0]["sample_rate"]) == ("microphone", RATE)
    assert [event["text"] for event in events[1:4]] == [entry.text for entry in SCRIPT[:3]]
    assert all(0 <= event["latency"] < 2 for event in events[1:4])
    assert (events[-1]["duration"], events[-1]["reason"], events[-1]["damage"]) == (4.0, "duration", None)
    heard, rate = soundfile.read(tmp_path / "heard.wav", dtype="float32")
    assert rate == RATE
    np.testing.assert_allclose(heard, make_frames(0, 4 * RATE, rate=RATE, channels=1)[:, 0], atol=2**-15)
    assert (done.stderr, done.returncode) == (b"murmur: microphone: hearing Desk microphone, 16000 Hz\n", 0)


def test_without_portaudio_its_package_is_named(tmp_path: Path) -> None:
    done = subprocess.run(
        [MURMUR, "stream", "--list-microphones"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=make_env(tmp_path, None),
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (5, b"", 1)
    assert b"libportaudio2" in done.stderr


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)], ids=str)
def test_a_signal_ends_it_well(model: Path, tmp_path: Path, number: signal.Signals, code: int) -> None:
    env = make_env(tmp_path, Scene(silent_after=4.5))
    command = [MURMUR, "stream", "--model", model, "-f", "jsonl", "--save-audio", "heard.wav"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, env=env, cwd=tmp_path) as murmur:
        assert murmur.stdout is not None
        assert murmur.stderr is not None
        try:
            seen = [json.loads(murmur.stdout.readline()) for _ in range(4)]
            murmur.send_signal(number)
            rest = [json.loads(line) for line in murmur.stdout.read().splitlines()]
            assert murmur.wait(30) == code
        finally:
            murmur.kill()
        assert murmur.stderr.read().count(b"\n") == 2
    assert seen[-1]["text"] == SCRIPT[2].text
    assert (rest[-1]["type"], rest[-1]["reason"]) == ("end", "stopped")
    assert soundfile.info(tmp_path / "heard.wav").frames == round(rest[-1]["duration"] * RATE)
