"""A microphone gives all that it hears at the engine's rate, says what was lost, and is let go."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pytest
import soxr
from fake_portaudio import FakePortAudio, Scene, Status, make_frames

from murmur_cli.audio.microphone import MicrophoneSource
from murmur_cli.audio.portaudio import find_microphone, list_microphones
from murmur_cli.errors import AudioError, DeviceError
from murmur_cli.options import StreamOptions
from murmur_cli.types import Samples

RATE = 16_000


def open_source(
    portaudio: FakePortAudio, wanted: str | None = None, *, duration: float | None = None
) -> MicrophoneSource:
    microphone = find_microphone(portaudio, wanted)
    return MicrophoneSource(microphone, portaudio, sample_rate=RATE, options=StreamOptions(duration=duration))


def mix(n_frames: int, *, rate: int, channels: int) -> Samples:
    return make_frames(0, n_frames, rate=rate, channels=channels).mean(axis=1, dtype=np.float32)


@pytest.mark.parametrize(("wanted", "channels"), [("1", 1), ("2", 2)])
def test_it_is_opened_at_the_rate_of_the_engine_where_it_takes_it(wanted: str, channels: int) -> None:
    portaudio = FakePortAudio(Scene(takes_any_rate=True))
    source = open_source(portaudio, wanted, duration=2.345)
    blocks = list(source.iter_blocks())
    expected = mix(round(2.345 * RATE), rate=RATE, channels=channels)
    np.testing.assert_allclose(np.concatenate(blocks), expected, atol=1e-7)
    assert all(0.03 * RATE <= len(block) <= 0.1 * RATE for block in blocks[:-1])
    assert [stream.rate for stream in portaudio.streams] == [RATE]
    assert (source.damage, source.notes) == (None, [f"hearing {portaudio.scene.devices[channels][0]}, 16000 Hz"])
    assert portaudio.streams[0].closed


def test_it_is_opened_at_its_own_rate_where_it_takes_no_other() -> None:
    portaudio = FakePortAudio()
    source = open_source(portaudio, "3", duration=2.0)
    heard = np.concatenate(list(source.iter_blocks()))
    whole = soxr.resample(mix(3 * 48_000, rate=48_000, channels=2), 48_000, RATE)[: 2 * RATE]
    assert heard.shape == whole.shape
    np.testing.assert_allclose(heard, whole, atol=1e-4)
    assert source.notes == ["hearing USB headset (hw:1,0), 48000 Hz"]


def test_a_device_of_many_channels_is_asked_for_two() -> None:
    portaudio = FakePortAudio(Scene(devices=(("default", 32, 16_000.0),), default=0))
    list(open_source(portaudio, duration=0.2).iter_blocks())
    assert portaudio.streams[0].channels == 2


def test_overflow_is_counted_and_said_with_its_time() -> None:
    # The first block of a device often says so: what was before it, is no part of the session.
    source = open_source(FakePortAudio(Scene(overflows=(0, 10, 11, 30, 130))), duration=8.0)
    assert sum(map(len, source.iter_blocks())) == 8 * RATE
    assert source.damage == "audio was lost 4 times, first at 0.5 s: this machine was too busy to hear it"
    assert source.notes[1:] == ["audio was lost at 0.5 s", "audio was lost at 6.5 s"]


def test_what_nobody_reads_takes_bounded_memory_and_is_not_lost_silently() -> None:
    portaudio = FakePortAudio(Scene(silent_after=0.1))
    source = open_source(portaudio)
    with closing(source.iter_blocks()) as blocks:
        next(blocks)
        next(blocks)
        hear = portaudio.streams[0].callback
        for number in range(10_000):
            hear(np.full((800, 1), number / 10_000, np.float32), 800, None, Status(input_overflow=False))
        n_kept = 0
        assert next(blocks)[0] == 0.0
        hear(np.ones((800, 1), np.float32), 800, None, Status(input_overflow=False))
        for block in blocks:
            n_kept += 1
            if block[0] == 1.0:
                break
    assert n_kept <= 1200
    assert source.damage is not None
    assert source.damage.startswith(f"audio was lost once, first at {(n_kept + 2) * 0.05:.1f} s")


@pytest.mark.parametrize(("wanted", "rate", "channels"), [("1", RATE, 1), ("2", 44_100, 2)])
def test_a_device_that_is_gone_ends_it_after_all_that_came(wanted: str, rate: int, channels: int) -> None:
    portaudio = FakePortAudio(Scene(gone_after=0.97))
    heard: list[Samples] = []
    with pytest.raises(AudioError, match="gone"):
        collect(open_source(portaudio, wanted).iter_blocks(), heard)
    whole = soxr.resample(mix(round(0.97 * rate), rate=rate, channels=channels), rate, RATE)
    assert sum(map(len, heard)) == len(whole) == round(0.97 * RATE)
    np.testing.assert_allclose(np.concatenate(heard), whole, atol=1e-6)
    assert portaudio.streams[-1].closed


@pytest.mark.parametrize(("after", "said"), [(0.0, "from the device"), (0.5, "any more")])
def test_a_device_from_which_nothing_comes_ends_it(monkeypatch: pytest.MonkeyPatch, after: float, said: str) -> None:
    portaudio = FakePortAudio(Scene(silent_after=after))
    heard: list[Samples] = []
    calls, real = iter(range(1_000_000)), time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: real() + next(calls))  # a second each time that somebody looks
    with pytest.raises(AudioError, match=said):
        collect(open_source(portaudio).iter_blocks(), heard)
    assert sum(map(len, heard)) == after * RATE


def collect(blocks: Iterator[Samples], into: list[Samples]) -> None:
    into.extend(blocks)


def test_a_device_that_is_in_use_is_no_device() -> None:
    portaudio = FakePortAudio(Scene(is_busy=True, takes_any_rate=True))
    with pytest.raises(DeviceError, match="Device unavailable"):
        list(open_source(portaudio, "3").iter_blocks())
    assert [(stream.rate, stream.closed) for stream in portaudio.streams] == [(RATE, True), (48_000, True)]


def test_stop_ends_it_soon() -> None:
    portaudio = FakePortAudio(Scene(silent_after=0.2))
    source = open_source(portaudio)
    timer = threading.Timer(0.1, source.stop)
    timer.start()
    start = time.monotonic()
    list(source.iter_blocks())
    assert time.monotonic() - start < 2.0
    assert portaudio.streams[0].closed
    timer.join()


# --- which one


def test_the_list_is_of_what_can_hear() -> None:
    known = list_microphones(FakePortAudio())
    assert [(one.index, one.n_channels, one.sample_rate, one.is_default) for one in known] == [
        (1, 1, 16_000, True),
        (2, 2, 44_100, False),
        (3, 2, 48_000, False),
    ]


@pytest.mark.parametrize(
    ("wanted", "index"), [(None, 1), ("1", 1), ("3", 3), ("desk", 1), ("usb HEADSET", 2), ("hw:1", 3)]
)
def test_one_is_found_by_number_name_or_part(wanted: str | None, index: int) -> None:
    assert find_microphone(FakePortAudio(), wanted).index == index


@pytest.mark.parametrize("wanted", ["0", "4", "99", "webcam", "usb", "-1"])
def test_none_or_several_are_named(wanted: str) -> None:
    with pytest.raises(DeviceError) as caught:
        find_microphone(FakePortAudio(), wanted)
    assert "3 (USB headset (hw:1,0))" in str(caught.value)
    assert ("Desk" in str(caught.value)) == (wanted != "usb")


def test_no_default_is_no_guess() -> None:
    with pytest.raises(DeviceError, match="none is the default; give --microphone: 1 "):
        find_microphone(FakePortAudio(Scene(default=-1)), None)
    with pytest.raises(DeviceError, match="there is none on this machine"):
        find_microphone(FakePortAudio(Scene(devices=(("Loudspeaker", 0, 48_000.0),))), "0")


def test_a_long_list_is_cut() -> None:
    devices = tuple((f"input {i}", 2, 48_000.0) for i in range(40))
    with pytest.raises(DeviceError, match=r"11 \(input 11\) and more: .*--list-microphones"):
        find_microphone(FakePortAudio(Scene(devices=devices)), "webcam")
