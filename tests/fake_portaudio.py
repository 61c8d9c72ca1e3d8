"""Microphones that need no sound card: what murmur uses of ``sounddevice``, played by a thread.

In this process an instance is injected; for the installed command ``write_standin`` makes a module of this name.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

DEVICES = (
    ("Loudspeaker", 0, 48_000.0),
    ("Desk microphone", 1, 16_000.0),
    ("USB headset", 2, 44_100.0),
    ("USB headset (hw:1,0)", 2, 48_000.0),
)


class FakePortAudioError(Exception):
    """What the real one raises has this text."""


@dataclass(frozen=True)
class Scene:
    """What happens.

    Times are seconds of audio. ``gone_after`` ends all calls, and the stream; ``silent_after`` ends the calls alone.
    ``overflows`` are the numbers of the blocks that say that something before them was lost. ``speed`` is that of the
    clock of the device; the signal is a tone on every channel, of half the level on the second.
    """

    devices: tuple[tuple[str, int, float], ...] = DEVICES
    default: int = 1
    takes_any_rate: bool = False
    is_busy: bool = False
    gone_after: float = 3600.0
    silent_after: float = 3600.0
    overflows: tuple[int, ...] = ()
    speed: float = 20.0


@dataclass
class Status:
    input_overflow: bool


class Stream:
    def __init__(self, scene: Scene, rate: float, channels: int, blocksize: int, callback: Callable[..., None]) -> None:
        self.scene, self.rate, self.channels = scene, rate, channels
        self.blocksize, self.callback = blocksize, callback
        self.active = False
        self.closed = False
        self.thread = threading.Thread(target=self.play, daemon=True)
        self.aborted = threading.Event()

    def start(self) -> None:
        if self.scene.is_busy:
            raise FakePortAudioError("Error starting stream: Device unavailable [PaErrorCode -9985]")
        self.active = True
        self.thread.start()

    def abort(self) -> None:
        self.aborted.set()
        if self.thread.is_alive():
            self.thread.join()

    def close(self) -> None:
        self.closed = True

    def play(self) -> None:
        start, n_played, number = time.monotonic(), 0, 0
        end_s = min(self.scene.gone_after, self.scene.silent_after)
        while n_played < round(end_s * self.rate):
            n_now = min(self.blocksize, round(end_s * self.rate) - n_played)
            due = start + (n_played + n_now) / self.rate / self.scene.speed
            if self.aborted.wait(max(0.0, due - time.monotonic())):
                return
            shared = make_frames(n_played, n_now, rate=self.rate, channels=self.channels)
            self.callback(shared, n_now, None, Status(number in self.scene.overflows))
            shared[:] = np.nan  # the real one uses this memory again
            n_played, number = n_played + n_now, number + 1
        if self.scene.gone_after <= self.scene.silent_after:
            self.active = False


class FakePortAudio:
    PortAudioError = FakePortAudioError

    def __init__(self, scene: Scene = Scene()) -> None:
        self.scene = scene
        self.streams: list[Stream] = []
        self.default = self
        self.device = (scene.default, 0)

    def query_devices(self) -> list[Mapping[str, Any]]:
        keys = ("name", "max_input_channels", "default_samplerate")
        return [dict(zip(keys, device, strict=True)) for device in self.scene.devices]

    def InputStream(  # noqa: N802 - as the real one
        self,
        *,
        device: int,
        samplerate: float,
        channels: int,
        dtype: str,
        blocksize: int,
        callback: Callable[..., None],
    ) -> Stream:
        _, n_channels, own_rate = self.scene.devices[device]
        assert dtype == "float32"
        if not 0 < channels <= n_channels:
            raise FakePortAudioError("Error opening InputStream: Invalid number of channels [PaErrorCode -9998]")
        if samplerate != own_rate and not self.scene.takes_any_rate:
            raise FakePortAudioError("Error opening InputStream: Invalid sample rate [PaErrorCode -9997]")
        self.streams.append(Stream(self.scene, samplerate, channels, blocksize, callback))
        return self.streams[-1]


def make_frames(start: int, n_frames: int, *, rate: float, channels: int) -> np.ndarray:
    """The signal of a device from one of its samples on, shape (n_frames, channels)."""
    tone = 0.25 * np.sin(2 * np.pi * 220 * np.arange(start, start + n_frames) / rate)
    return np.stack([tone, tone / 2][:channels], axis=1).astype(np.float32)


def write_standin(folder: Path, scene: Scene | None) -> dict[str, str]:
    """Write a module ``sounddevice`` for a child process; None: one without PortAudio.

    Returns:
        What the child needs in its environment.
    """
    folder.mkdir()
    lines = ["raise OSError('PortAudio library not found')"]
    if scene is not None:
        names = ("default", "query_devices", "InputStream", "PortAudioError")
        lines = ["from fake_portaudio import FakePortAudio, Scene", f"_fake = FakePortAudio(Scene(**{asdict(scene)}))"]
        lines += [f"{name} = _fake.{name}" for name in names]
    (folder / "sounddevice.py").write_text("\n".join(lines) + "\n")
    before = os.environ.get("PYTHONPATH")
    return {"PYTHONPATH": os.pathsep.join([str(folder), str(Path(__file__).parent), *([before] if before else [])])}
