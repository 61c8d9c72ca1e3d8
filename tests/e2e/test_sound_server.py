"""The installed command hears what a real sound server plays: PulseAudio with a sink that nobody listens to."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest
import scipy.signal
import soundfile
from conftest import MURMUR
from scripted_stream import RATE, write_model

from murmur_cli.models.scripted import ScriptEntry

ALSA = """
</usr/share/alsa/alsa.conf>
pcm.!default { type pulse }
"""
PULSE = """
load-module module-native-protocol-unix auth-anonymous=1 socket={socket}
load-module module-null-sink sink_name=loop rate=44100
"""

pytestmark = [pytest.mark.program("pulseaudio", "pactl"), pytest.mark.library("portaudio")]


class Server:
    """A sound server of this test alone; ``env`` leads its clients to it."""

    def __init__(self, folder: Path) -> None:
        (folder / "alsa.conf").write_text(ALSA)
        (folder / "pulse.pa").write_text(PULSE.format(socket=folder / "socket"))
        own = {name: str(folder) for name in ("HOME", "XDG_RUNTIME_DIR", "PULSE_RUNTIME_PATH", "PULSE_STATE_PATH")}
        self.env = os.environ | own
        self.env |= {"PULSE_SERVER": f"unix:{folder / 'socket'}", "ALSA_CONFIG_PATH": str(folder / "alsa.conf")}
        options = ("-n", "-F", str(folder / "pulse.pa"), "--daemonize=no", "--exit-idle-time=-1", "--use-pid-file=no")
        self.process = subprocess.Popen(
            ["pulseaudio", *options], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=self.env, cwd=folder
        )
        wait_until(lambda: "loop.monitor" in self.ask("list", "short", "sources"))

    def ask(self, *args: str) -> str:
        return subprocess.run(["pactl", *args], env=self.env, capture_output=True, text=True, check=False).stdout

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def play(self, path: Path) -> None:
        """Let the server play a file out of its own memory: no player can be late."""
        self.ask("upload-sample", str(path), "sound")
        self.ask("play-sample", "sound", "loop")
        wait_until(lambda: self.ask("list", "short", "sink-inputs") != "")


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path)
    try:
        yield server
    finally:
        server.kill()


def make_hum(seconds: float) -> np.ndarray:
    """Low noise: no stretch of it is like another, and half a sample more or less makes no difference."""
    noise = np.random.default_rng(7).normal(size=round(seconds * RATE))
    low = scipy.signal.sosfilt(scipy.signal.butter(4, [100, 400], "bandpass", fs=RATE, output="sos"), noise)
    return (low / np.abs(low).max() / 2).astype(np.float32)


def start_murmur(model: Path, *args: str, env: Mapping[str, str], cwd: Path) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    command = [MURMUR, "stream", "--model", model, *args]
    return subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, env=env, cwd=cwd, encoding="utf-8"
    )


def test_all_that_is_played_is_heard(server: Server, tmp_path: Path) -> None:
    hum = make_hum(60.0)
    soundfile.write(tmp_path / "hum.wav", hum, RATE)
    model = write_model(tmp_path / "model")
    options = ("--duration", "2.0", "--save-audio", "heard.wav")
    server.play(tmp_path / "hum.wav")
    with start_murmur(model, *options, env=server.env, cwd=tmp_path) as murmur:
        out, said = murmur.communicate(timeout=60)
    assert (murmur.returncode, said) == (0, "murmur: microphone: hearing default, 16000 Hz\n")
    assert out == "S1: Hello there\neverybody.\n"
    heard, _ = soundfile.read(tmp_path / "heard.wav", dtype="float32")
    assert len(heard) == 2 * RATE
    offset = int(np.argmax(scipy.signal.correlate(hum, heard[: RATE // 2], mode="valid")))
    assert np.corrcoef(hum[offset : offset + len(heard)], heard)[0, 1] > 0.95  # one lost block breaks the rest


def test_a_server_that_is_gone_ends_it_and_what_was_heard_is_kept(server: Server, tmp_path: Path) -> None:
    model = write_model(tmp_path / "model", (ScriptEntry(0.1, 0.3, "Hello there"),))
    with start_murmur(model, env=server.env, cwd=tmp_path) as murmur:
        assert murmur.stdout is not None
        assert murmur.stderr is not None
        try:
            first = murmur.stdout.readline()
            server.process.send_signal(signal.SIGKILL)
            assert murmur.wait(30) == 3
        finally:
            murmur.kill()
        own = [line for line in murmur.stderr if line.startswith("murmur: ")]  # PortAudio has its own say
    assert first == "Hello there\n"
    assert own[1:] == ["murmur: microphone: the device is gone\n"]


def test_the_list_is_of_the_server(server: Server) -> None:
    command = [MURMUR, "stream", "--list-microphones"]
    listed = subprocess.run(command, env=server.env, capture_output=True, text=True, check=True)
    assert [row.split()[1] for row in listed.stdout.splitlines()][-1] == "default"
    assert listed.stderr == ""
