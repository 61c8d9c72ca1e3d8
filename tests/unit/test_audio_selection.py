"""What is taken from a file: a channel, a stream, an excerpt, samples without a header, the clock of a container."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import av
import numpy as np
import pytest
import soundfile
from transcript_samples import make_segment, make_transcript

from murmur_cli.audio.channels import ChannelPicker
from murmur_cli.audio.clock import ContainerClock
from murmur_cli.audio.decoder import Block
from murmur_cli.audio.source import Recording, open_recordings
from murmur_cli.errors import AudioError, UsageError
from murmur_cli.options import AudioOptions
from murmur_cli.transcript.stitch import shift
from murmur_cli.types import Gap, RecordingId, Span, Word

RATE = 16_000


def noise(seed: int, seconds: float = 1.0) -> np.ndarray:
    half = np.random.default_rng(seed).uniform(-0.9, 0.9, round(seconds * RATE) // 2).astype(np.float32)
    return np.concatenate([half, -half])  # no offset


def write(path: Path, *channels: np.ndarray) -> Path:
    soundfile.write(path, np.stack(channels, axis=1), RATE, subtype="FLOAT")
    return path


def load(path: Path, options: AudioOptions, **more: object) -> Recording:
    (recording,) = open_recordings(
        str(path),
        ids=iter([RecordingId(0)]),
        sample_rate=RATE,
        options=options,
        **more,  # type: ignore[arg-type]
    )
    return recording


def read(recording: Recording) -> np.ndarray:
    with recording:
        return recording.samples(Span(0, recording.n_samples))


# --- channels


@pytest.mark.parametrize(("channels", "index"), [("left", 0), ("right", 1), ("1", 0), ("3", 2)])
def test_one_channel_is_taken_as_it_is(tmp_path: Path, channels: str, index: int) -> None:
    signals = [noise(seed) for seed in range(3)]
    recording = load(write(tmp_path / "a.wav", *signals), AudioOptions(channels=channels))
    assert recording.notes == ()
    assert np.array_equal(read(recording), signals[index])


@pytest.mark.parametrize(("channels", "n_there"), [("right", 1), ("4", 3)])
def test_a_channel_that_is_not_there_is_an_error(tmp_path: Path, channels: str, n_there: int) -> None:
    path = write(tmp_path / "a.wav", *[noise(seed) for seed in range(n_there)])
    with pytest.raises(AudioError) as caught:
        load(path, AudioOptions(channels=channels))
    assert caught.value.where == str(path)
    assert f"no channel {2 if channels == 'right' else 4}" in caught.value.problem


def test_a_channel_that_ends_is_an_error_that_says_where() -> None:
    picker = ChannelPicker(AudioOptions(channels="2"), "a.mp3")
    both = Block([noise(0), noise(1)], ("FL", "FR"), RATE)
    assert picker.pick(both)[0] is both.channels[1]
    with pytest.raises(AudioError, match=r"at 1\.0 s"):
        picker.pick(Block([noise(0)], ("FC",), RATE))


def mixed(*blocks: Sequence[np.ndarray]) -> int | None:
    picker = ChannelPicker(AudioOptions(), "a.wav")
    for channels in blocks:
        picker.pick(Block(list(channels), tuple(f"C{i}" for i in range(len(channels))), RATE))
    return picker.louder_opposite


def test_only_channels_that_cancel_each_other_are_opposite() -> None:
    speech, other, hiss = noise(0), noise(1), 0.1 * noise(2)
    assert mixed([speech, -speech]) == 1
    assert mixed([0.6 * speech, -speech + hiss]) == 2
    assert mixed([speech, -speech], [speech, -speech], [hiss, hiss]) == 1
    for channels in (
        [speech, speech],
        [speech, other],
        [speech, 0 * speech],
        [speech, -other],
        [0 * speech, 0 * speech],
    ):
        assert mixed(channels) is None
    assert mixed([speech, -speech, other]) is None
    assert mixed([speech]) is None


def test_opposite_channels_are_said_and_the_louder_is_used_whatever_else_is_wanted(tmp_path: Path) -> None:
    path = write(tmp_path / "a.wav", 0.7 * noise(0, 3), -noise(0, 3))
    recording = load(path, AudioOptions(start="1", end="2"))
    (note,) = recording.notes
    assert "channel 2" in note
    assert np.array_equal(read(recording), -noise(0, 3)[RATE : 2 * RATE])
    assert np.array_equal(read(load(path, AudioOptions(channels="1"))), 0.7 * noise(0, 3))


# --- streams


def test_an_audio_stream_is_chosen_by_its_number(tmp_path: Path) -> None:
    path, signals = tmp_path / "two.mka", [noise(0), noise(1)]
    with av.open(str(path), "w") as output:
        streams = [output.add_stream("pcm_f32le", rate=RATE, layout="mono") for _ in signals]
        for stream, signal in zip(streams, signals, strict=True):
            frame = av.AudioFrame.from_ndarray(signal[None], format="flt", layout="mono")
            frame.sample_rate = RATE
            output.mux(stream.encode(frame))
            output.mux(stream.encode(None))
    for number, signal in enumerate(signals, start=1):
        recording = load(path, AudioOptions(audio_stream=number))
        assert recording.notes == ()
        assert np.array_equal(read(recording), signal)
    with pytest.raises(AudioError, match="only 2 audio streams"):
        load(path, AudioOptions(audio_stream=3))


# --- excerpts


@pytest.mark.parametrize(
    ("start", "end", "span"),
    [
        ("0.5", None, (8000, 48_000)),
        (None, "0:01", (0, 16_000)),
        ("1.25", "0:00:02.5", (20_000, 40_000)),
        ("2", "99", (32_000, 48_000)),
        ("0", None, (0, 48_000)),
    ],
)
def test_an_excerpt_is_cut_at_the_sample(
    tmp_path: Path, start: str | None, end: str | None, span: tuple[int, int]
) -> None:
    path, signal = tmp_path / "a.wav", noise(0, 3)
    recording = load(write(path, signal), AudioOptions(start=start, end=end))
    assert recording.part.starts_at == span[0] / RATE
    assert recording.damage is None
    assert np.array_equal(read(recording), signal[slice(*span)])


def test_what_begins_after_the_end_is_an_error_that_says_where_it_ends(tmp_path: Path) -> None:
    path = write(tmp_path / "a.wav", noise(0, 3))
    with pytest.raises(AudioError, match=r"ends at 3\.0 s.*--start"):
        load(path, AudioOptions(start="3"))


def test_damage_behind_the_end_is_nobodys_business(tmp_path: Path) -> None:
    path = write(tmp_path / "a.wav", noise(0, 10))
    path.write_bytes(path.read_bytes()[: 5 * RATE * 4])
    for options, is_damaged in ((AudioOptions(start="1"), True), (AudioOptions(end="4"), False)):
        with load(path, options) as recording:
            assert (recording.damage is not None) == is_damaged


def test_a_shifted_transcript_has_the_times_of_the_file() -> None:
    segment = make_segment(1.0, 2.0, "a", words=[Word(1.25, 1.5, "a", 1.0)])
    transcript = make_transcript([segment], duration=4.0, gaps=[Gap(3.0, 4.0, "loop")])
    moved = shift(transcript, 60.5)
    assert moved == replace(
        transcript,
        segments=(replace(segment, start=61.5, end=62.5, words=(Word(61.75, 62.0, "a", 1.0),)),),
        gaps=(Gap(63.5, 64.5, "loop"),),
        duration=64.5,
    )
    assert shift(transcript, 0.0) == transcript


# --- samples without a header


ENCODINGS = {
    "s16le": lambda samples: (samples * 2**15).astype("<i2").tobytes(),
    "f32le": lambda samples: samples.astype("<f4").tobytes(),
}


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("opener", [io.FileIO, lambda path: None], ids=["open", "named"])
def test_samples_without_a_header_are_read_as_the_options_say(
    tmp_path: Path, encoding: str, opener: Callable[[Path], io.FileIO | None]
) -> None:
    encode: Callable[[np.ndarray], bytes] = ENCODINGS[encoding]
    signals = [np.round(noise(seed) * 100) / 2**15 for seed in range(2)]
    path = tmp_path / "50%03d.raw"
    path.write_bytes(encode(np.stack(signals, axis=1).astype(np.float32)))
    options = AudioOptions(channels="2", input_format=encoding, input_rate=RATE, input_channels=2)
    content = opener(path)
    recording = load(path, options, content=content)
    assert (recording.notes, recording.damage) == ((), None)
    assert np.allclose(read(recording), signals[1], atol=1e-6)
    if content:
        content.close()


def test_telephone_samples_are_those_of_the_file_with_a_header(tmp_path: Path) -> None:
    signal = 0.5 * noise(0)
    for encoding, subtype in (("mulaw", "ULAW"), ("alaw", "ALAW")):
        soundfile.write(tmp_path / "a.wav", signal, RATE, subtype=subtype)
        soundfile.write(tmp_path / "a.raw", signal, RATE, subtype=subtype, format="RAW")
        raw = load(tmp_path / "a.raw", AudioOptions(input_format=encoding))
        assert np.array_equal(read(raw), read(load(tmp_path / "a.wav", AudioOptions())))


def test_a_wrong_format_and_half_a_sample_are_said(tmp_path: Path) -> None:
    path = tmp_path / "a.raw"
    path.write_bytes(np.random.default_rng(0).bytes(64_001))
    recording = load(path, AudioOptions(input_format="s16le"))
    assert any("noise" in note for note in recording.notes)
    assert recording.damage is not None
    assert recording.damage.startswith("1 byte at its end")
    recording.close()


# --- the clock of a container


class Container:
    """What a clock asks of an open file."""

    def __init__(self, format_name: str, start_s: float | None) -> None:
        self.handle = self
        self.format = self
        self.name = format_name
        self.start_time = None if start_s is None else round(start_s * av.time_base)


def place(*frames: float | None, format_name: str = "matroska,webm", start_s: float | None = 0.0) -> list[float]:
    """Seconds of silence before each frame of 1 s."""
    clock = ContainerClock(Container(format_name, start_s))  # type: ignore[arg-type]
    reached, silences = 0.0, []
    for frame_s in frames:
        silences.append(clock.place(frame_s, length_s=1.0, reached_s=reached))
        reached += silences[-1] + 1.0
    place.notes = clock.notes  # type: ignore[attr-defined]
    return silences


def test_frames_that_follow_each_other_need_no_silence() -> None:
    assert place(0.0, 1.0, 2.001, 2.999) == [0, 0, 0, 0]
    assert place(-0.02, 0.98) == [0, 0]
    assert place(5.0, 6.0, start_s=5.0) == [0, 0]  # the audio is what begins first: players begin there
    assert place(None, None, start_s=None) == [0, 0]
    assert place(0.0, 9.0, format_name="mpegts") == [0, 0]
    assert place.notes == ()  # type: ignore[attr-defined]


def test_silence_stands_for_the_start_and_for_holes() -> None:
    assert place(5.0, 6.0) == [5.0, 0]
    assert place.notes == ("5.0 s without audio at 0.0 s are kept as silence",)  # type: ignore[attr-defined]
    assert place(0.0, 3.0, 4.0, 5.5, 6.5) == [0, 2.0, 0, 0.5, 0]
    (note,) = place.notes  # type: ignore[attr-defined]
    assert note == "2 holes are kept as silence, 2.5 s in all from 1.0 s on"


def test_what_came_too_early_is_made_up_for() -> None:
    assert place(0.0, 0.5, 1.5, 4.0) == [0, 0, 0, 1.0]  # three frames end at 3.0


def test_a_slow_clock_is_followed() -> None:
    silences = place(*(i * 1.001 for i in range(1000)))
    assert sum(silences) == pytest.approx(1.0, abs=0.1)


def test_a_clock_that_jumps_by_years_is_not_believed_and_goes_on_from_there() -> None:
    assert place(0.0, 1e9, 1e9 + 1, 1e9 + 4) == [0, 0, 0, 2.0]
    assert len(place.notes) == 2  # type: ignore[attr-defined]
    assert sum(place(*(i * 3600.0 for i in range(20)))) <= 4 * 3600


# --- options


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0", 0), ("90", 90), ("90.5", 90.5), ("1:30", 90), ("90:00", 5400), ("1:02:03.25", 3723.25), ("0:00:09", 9)],
)
def test_places_are_seconds_or_clock_times(text: str, seconds: float) -> None:
    assert AudioOptions(start=text).start_s == seconds


@pytest.mark.parametrize(
    "text", ["", "-1", "nan", "inf", "1e3", "1:60", "1:2:03", "1:02:3", "12:", ":30", "٣", "9" * 9]
)
@pytest.mark.parametrize("option", ["start", "end"])
def test_other_places_are_refused(option: str, text: str) -> None:
    with pytest.raises(UsageError) as caught:
        AudioOptions(**{option: text})  # type: ignore[arg-type]
    assert caught.value.where == f"--{option}"


@pytest.mark.parametrize(
    ("options", "where"),
    [
        ({"channels": "0"}, "--channels"),
        ({"channels": "-1"}, "--channels"),
        ({"channels": "²"}, "--channels"),
        ({"channels": "middle"}, "--channels"),
        ({"audio_stream": 0}, "--audio-stream"),
        ({"start": "5", "end": "5"}, "--end"),
        ({"end": "0"}, "--end"),
        ({"input_format": "s24le"}, "--input-format"),
        ({"input_rate": 8000}, "--input-rate"),
        ({"input_channels": 2}, "--input-channels"),
        ({"input_format": "alaw", "input_rate": 1}, "--input-rate"),
        ({"input_format": "alaw", "input_channels": 65}, "--input-channels"),
        ({"input_format": "alaw", "audio_stream": 1}, "--audio-stream"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, object], where: str) -> None:
    with pytest.raises(UsageError) as caught:
        AudioOptions(**options)  # type: ignore[arg-type]
    assert caught.value.where == where
