"""Real containers and codecs, whole, broken and strange.

Most are made here by PyAV's own encoders: a tone of 440 Hz, which must come out again. Nothing that
FFmpeg or libsndfile has to say may reach the user.
"""

from __future__ import annotations

import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import av
import numpy as np
import pytest
import soundfile
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from murmur_cli.audio.source import Recording, open_recording
from murmur_cli.errors import AudioError
from murmur_cli.types import RecordingId, Span

TONE_HZ = 440


@dataclass(frozen=True)
class Track:
    """An audio stream to make: a tone of ``seconds`` that begins at ``start_s``, in ``loud`` channels."""

    codec: str
    sample_rate: int = 16_000
    layout: str = "mono"
    seconds: float = 3.0
    start_s: float = 0.0
    loud: tuple[int, ...] = ()
    options: dict[str, str] = field(default_factory=dict)


@pytest.fixture(autouse=True)
def nothing_is_said(capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    yield
    assert capfd.readouterr() == ("", "")


def load(path: Path, sample_rate: int = 16_000) -> Recording:
    return open_recording(str(path), recording_id=RecordingId(0), sample_rate=sample_rate)


def read_all(recording: Recording) -> np.ndarray:
    return recording.samples(Span(0, recording.n_samples))


def make_tone(track: Track) -> np.ndarray:
    """Float samples, shape (n_channels, n_samples)."""
    n_channels = av.AudioLayout(track.layout).nb_channels
    tone = 0.5 * np.sin(np.arange(round(track.seconds * track.sample_rate)) * 2 * np.pi * TONE_HZ / track.sample_rate)
    loud = track.loud or range(n_channels)
    return np.stack([tone if i in loud else np.zeros_like(tone) for i in range(n_channels)]).astype(np.float32)


def encode(
    path: Path,
    *tracks: Track,
    video: str | None = None,
    options: dict[str, str] | None = None,
) -> Path:
    """Write a file with the tracks, and a picture a second in front of them if ``video`` names a codec."""
    with av.open(str(path), "w", options=options or {}) as output:
        pictures = output.add_stream(video, rate=1) if video else None
        if pictures:
            pictures.width = pictures.height = 64
            pictures.pix_fmt = "yuvj420p" if video == "mjpeg" else "yuv420p"
        streams = [
            output.add_stream(track.codec, rate=track.sample_rate, layout=track.layout, options=track.options)
            for track in tracks
        ]
        if pictures:
            for _ in range(10):
                output.mux(pictures.encode(av.VideoFrame.from_ndarray(np.zeros((64, 64, 3), np.uint8))))
            output.mux(pictures.encode(None))
        for stream, track in zip(streams, tracks, strict=True):
            output.mux(stream.encode(make_frame(track)))
            output.mux(stream.encode(None))
    return path


def make_frame(track: Track) -> av.AudioFrame:
    """The whole tone as one frame, its channels interleaved: PyAV 18 cannot make more than 8 planes."""
    interleaved = np.ascontiguousarray(make_tone(track).T.reshape(1, -1))
    frame = av.AudioFrame.from_ndarray(interleaved, format="flt", layout=track.layout)
    frame.sample_rate = track.sample_rate
    frame.pts = round(track.start_s * track.sample_rate)
    return frame


def find_loudest_hz(samples: np.ndarray, sample_rate: int) -> float:
    spectrum = np.abs(np.fft.rfft(samples * np.hanning(len(samples))))
    return float(np.argmax(spectrum)) * sample_rate / len(samples)


def check_tone(recording: Recording, seconds: float = 3.0, *, tolerance_s: float = 0.15) -> None:
    assert recording.duration == pytest.approx(seconds, abs=tolerance_s)
    samples = read_all(recording)[int(0.2 * recording.sample_rate) : int((seconds - 0.2) * recording.sample_rate)]
    assert find_loudest_hz(samples, recording.sample_rate) == pytest.approx(TONE_HZ, abs=2)
    assert np.sqrt(np.mean(samples**2)) == pytest.approx(0.5 / np.sqrt(2), rel=0.25)


@pytest.mark.parametrize(
    ("name", "track"),
    [
        ("a.mp3", Track("libmp3lame", 44_100, "stereo")),
        ("a.mp2", Track("mp2", 48_000, "stereo")),
        ("a.m4a", Track("aac", 48_000)),
        ("b.m4a", Track("alac", 44_100, "stereo")),
        ("a.aac", Track("aac", 22_050)),
        ("a.opus", Track("libopus", 48_000)),
        ("a.webm", Track("libopus", 48_000, "stereo")),
        ("a.mka", Track("flac", 96_000)),
        ("a.flac", Track("flac", 8000)),
        ("a.wma", Track("wmav2", 44_100, options={"b": "128000"})),
        ("a.amr", Track("libopencore_amrnb", 8000, options={"b": "12200"})),
        ("a.ac3", Track("ac3", 48_000, "stereo")),
        ("a.ts", Track("mp2", 32_000)),
        ("adpcm.wav", Track("adpcm_ima_wav", 44_100)),
        ("mulaw.wav", Track("pcm_mulaw", 8000)),
        ("fast.wav", Track("pcm_s16le", 192_000)),
        ("a.aiff", Track("pcm_s24be", 48_000, "stereo")),
        ("a.caf", Track("pcm_f64le", 11_025)),
        ("a.nut", Track("pcm_s64le", 24_000, "stereo")),
        ("a.wv", Track("wavpack", 44_100, "stereo")),
        ("a.tta", Track("tta", 44_100)),
    ],
)
def test_every_format_gives_what_was_recorded(name: str, track: Track, tmp_path: Path) -> None:
    path = encode(tmp_path / name, track)
    for sample_rate in (16_000, 24_000):
        with load(path, sample_rate) as recording:
            check_tone(recording)
            assert recording.damage is None
            assert recording.notes == ()


def test_sixteen_channels_are_one_recording(tmp_path: Path) -> None:
    options = {"mapping_family": "255", "b": "512000"}
    path = encode(tmp_path / "a.opus", Track("libopus", 48_000, "16 channels", options=options))
    with load(path) as recording:
        check_tone(recording)


def test_speech_in_the_centre_of_surround_is_not_lost(tmp_path: Path) -> None:
    path = encode(tmp_path / "a.flac", Track("flac", 48_000, "5.1", loud=(2,)))
    with load(path) as recording:
        check_tone(recording)


def test_of_channels_of_opposite_phase_the_louder_is_used(tmp_path: Path) -> None:
    tone = make_tone(Track("", 16_000))[0]
    path = tmp_path / "a.wav"
    soundfile.write(path, np.stack([0.7 * tone, -tone], axis=1), 16_000, subtype="FLOAT")
    with load(path) as recording:
        assert recording.duration == 3.0
        assert np.array_equal(read_all(recording), -tone)
        assert [note.rpartition(": ")[2] for note in recording.notes] == ["channel 2 is used"]


# --- containers with more than one stream


def test_the_sound_of_a_film(tmp_path: Path) -> None:
    path = encode(tmp_path / "film.mp4", Track("aac", 48_000), video="libx264")
    with load(path) as recording:
        check_tone(recording)
        assert recording.damage is None


@pytest.mark.parametrize(
    ("name", "track", "video"),
    [
        ("film.mkv", Track("libopus", 48_000), "libx264"),
        ("film.wmv", Track("wmav2", 44_100, options={"b": "128000"}), "wmv2"),
        ("film.mov", Track("aac", 48_000), "mjpeg"),
    ],
)
def test_pictures_that_go_on_are_no_missing_sound(name: str, track: Track, video: str, tmp_path: Path) -> None:
    path = encode(tmp_path / name, track, video=video)  # 10 s of pictures
    with load(path) as recording:
        check_tone(recording, tolerance_s=0.3)
        assert recording.damage is None


def test_a_film_without_sound(tmp_path: Path) -> None:
    path = encode(tmp_path / "film.mp4", video="libx264")
    with pytest.raises(AudioError, match="no audio stream") as caught:
        load(path)
    assert caught.value.where == str(path)


def test_a_cover_picture_does_not_matter(tmp_path: Path) -> None:
    path = encode(tmp_path / "cover.mp3", Track("libmp3lame", 44_100), video="mjpeg")
    with av.open(str(path)) as container:
        assert container.streams.video
    with load(path) as recording:
        check_tone(recording)
        assert recording.damage is None
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])
    with load(path) as recording:
        assert recording.damage is not None


def test_the_first_of_two_audio_streams_is_used_and_that_is_said(tmp_path: Path) -> None:
    path = encode(tmp_path / "two.mka", Track("flac"), Track("flac", loud=(99,)))
    with load(path) as recording:
        check_tone(recording)
        assert len(recording.notes) == 1


def test_a_stream_that_turns_up_on_the_way(tmp_path: Path) -> None:
    one = encode(tmp_path / "one.ts", Track("mp2", seconds=45)).read_bytes()
    two = encode(tmp_path / "two.ts", Track("mp2"), Track("mp2")).read_bytes()
    path = tmp_path / "late.ts"
    path.write_bytes(one + two + one + one)
    with load(path) as recording:
        check_tone(recording, 3 * 45 + 3, tolerance_s=0.5)


def test_silence_stands_for_what_comes_late_and_for_holes(tmp_path: Path) -> None:
    late = encode(tmp_path / "late.mp4", Track("aac", start_s=5.0), video="libx264")
    with load(late) as recording:
        assert recording.duration == pytest.approx(8.0, abs=0.1)
        assert recording.notes == ("4.9 s without audio at 0.0 s are kept as silence",)
        assert not recording.samples(Span(0, 78_900)).any()
        assert find_loudest_hz(recording.samples(Span(88_000, 120_000)), 16_000) == pytest.approx(TONE_HZ, abs=2)
        assert recording.damage is None
    with av.open(str(tmp_path / "hole.mka"), "w") as output:
        stream = output.add_stream("pcm_f32le", rate=16_000, layout="mono")
        for start_s in (0.0, 9.0):
            output.mux(stream.encode(make_frame(Track("pcm_f32le", start_s=start_s))))
        output.mux(stream.encode(None))
    with load(tmp_path / "hole.mka") as recording:
        assert recording.duration == pytest.approx(12.0, abs=0.01)
        assert recording.notes == ("6.0 s without audio at 3.0 s are kept as silence",)
        assert not recording.samples(Span(3 * 16_000, 9 * 16_000)).any()
        for start in (0, 9 * 16_000):
            tone = recording.samples(Span(start, start + 32_000))
            assert find_loudest_hz(tone, 16_000) == pytest.approx(TONE_HZ, abs=2)
        assert recording.damage is None


# --- what changes or breaks on the way


@pytest.mark.parametrize(("ending", "codec"), [("mp3", "libmp3lame"), ("aac", "aac")])
def test_rate_and_channels_may_change(ending: str, codec: str, tmp_path: Path) -> None:
    slow = encode(tmp_path / f"slow.{ending}", Track(codec, 16_000))
    fast = encode(tmp_path / f"fast.{ending}", Track(codec, 44_100, "stereo"))
    path = tmp_path / f"both.{ending}"
    path.write_bytes(slow.read_bytes() + fast.read_bytes())
    with load(path) as recording:
        assert recording.duration == pytest.approx(6.1, abs=0.3)
        for start in (8000, 8000 + recording.n_samples // 2):
            samples = recording.samples(Span(start, start + 32_000))
            assert find_loudest_hz(samples, 16_000) == pytest.approx(TONE_HZ, abs=2)
        assert recording.damage is None


@pytest.mark.parametrize(
    ("name", "track"),
    [
        ("a.flac", Track("flac")),
        ("a.aiff", Track("pcm_s16be")),
        ("a.mka", Track("libopus", 48_000)),
        ("a.mp3", Track("libmp3lame", 44_100)),
        ("a.tta", Track("tta", 44_100)),
    ],
)
def test_a_file_that_was_cut_gives_what_it_has(name: str, track: Track, tmp_path: Path) -> None:
    path = encode(tmp_path / name, Track(track.codec, track.sample_rate, seconds=10.0))
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with load(path) as recording:
        assert 3.0 < recording.duration < 6.0
        assert recording.damage is not None
        assert f"decoded {recording.duration:.1f} s of 10." in recording.damage


@pytest.mark.parametrize("start_s", [0.0, 5.0])
def test_an_index_at_the_front_lets_a_cut_film_be_heard(start_s: float, tmp_path: Path) -> None:
    track = Track("aac", seconds=10.0, start_s=start_s)
    path = encode(tmp_path / "a.m4a", track, options={"movflags": "+faststart"})
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with load(path) as recording:
        assert 2.0 < recording.duration < 6.0
        assert recording.damage is not None


def test_a_container_that_cannot_be_read_to_its_end(tmp_path: Path) -> None:
    path = encode(tmp_path / "a.wv", Track("wavpack", 44_100, seconds=10.0))
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 3 // 4])
    with load(path) as recording:
        assert 4.0 < recording.duration < 8.0
        assert recording.damage is not None
        assert f"nothing could be read after {recording.duration:.1f} s" in recording.damage


def test_an_estimate_from_the_bit_rate_is_not_believed(tmp_path: Path) -> None:
    noisy = encode(tmp_path / "loud.aac", Track("aac", 48_000, seconds=2.0))
    quiet = encode(tmp_path / "quiet.aac", Track("aac", 48_000, seconds=20.0, loud=(99,)))
    path = tmp_path / "both.aac"
    path.write_bytes(quiet.read_bytes() + noisy.read_bytes() * 8)
    with av.open(str(path)) as container:
        assert container.duration
        estimate_s = container.duration / av.time_base
    with load(path) as recording:
        assert estimate_s > 1.3 * recording.duration  # or this test shows nothing
        assert recording.damage is None


def test_a_stream_cut_out_of_a_longer_one_is_whole(tmp_path: Path) -> None:
    path = encode(tmp_path / "radio.aac", Track("aac", 44_100, seconds=10.0))
    content = path.read_bytes()
    path.write_bytes(content[len(content) // 3 : len(content) * 2 // 3])
    with load(path) as recording:
        assert recording.duration == pytest.approx(3.3, abs=0.3)
        assert recording.damage is None


@pytest.mark.parametrize(("name", "codec"), [("a.aac", "aac"), ("a.mp3", "libmp3lame"), ("a.flac", "flac")])
def test_decoding_goes_on_behind_what_is_broken(name: str, codec: str, tmp_path: Path) -> None:
    path = encode(tmp_path / name, Track(codec, 44_100, "stereo", seconds=20.0))
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 3000] = np.random.default_rng(0).integers(0, 256, 3000, np.uint8).tobytes()
    path.write_bytes(content)
    with load(path) as recording:
        assert 16.0 < recording.duration < 20.2
        samples = recording.samples(Span(recording.n_samples - 48_000, recording.n_samples - 8000))
        assert find_loudest_hz(samples, 16_000) == pytest.approx(TONE_HZ, abs=2)


def test_packets_that_no_decoder_reads_are_reported(tmp_path: Path) -> None:
    path = encode(tmp_path / "a.m4a", Track("aac", 44_100, seconds=20.0))
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 3000] = b"\xff" * 3000
    path.write_bytes(content)
    with load(path) as recording:
        assert recording.duration > 17.0
        assert recording.damage is not None
        assert "could not be decoded" in recording.damage


def test_tags_in_an_old_encoding_do_not_matter(tmp_path: Path) -> None:
    path = encode(tmp_path / "a.mp3", Track("libmp3lame", 44_100))
    title = b"TIT2" + struct.pack(">I", 6) + b"\0\0" + b"\x03" + b"\xff\xfe\xfa\xe9\xe8"  # says UTF-8, is not
    path.write_bytes(b"ID3\x03\0\0" + bytes([0, 0, 0, len(title)]) + title + path.read_bytes())
    with pytest.raises(UnicodeDecodeError):
        av.open(str(path))  # or this test shows nothing
    with load(path) as recording:
        check_tone(recording)


def test_a_channel_order_of_its_own_does_not_end_the_process(tmp_path: Path) -> None:
    path = tmp_path / "order.caf"
    samples = (make_tone(Track("", 16_000, "3.0"))[0] * 2**15).astype(">i2").repeat(3).tobytes()
    description = struct.pack(">d4sIIIII", 16_000.0, b"lpcm", 0, 6, 1, 3, 16)
    labels = [2, 1, 3]  # right, left, centre: CoreAudio knows it, FFmpeg has no name for it
    layout = struct.pack(">III", 0, 0, 3) + b"".join(struct.pack(">IIfff", label, 0, 0, 0, 0) for label in labels)
    chunks = [(b"desc", description), (b"chan", layout), (b"data", bytes(4) + samples)]
    path.write_bytes(b"caff\0\1\0\0" + b"".join(name + struct.pack(">q", len(body)) + body for name, body in chunks))
    program = (
        "import sys\nfrom murmur_cli.audio.source import open_recording\n"
        "for i in range(5):\n    open_recording(sys.argv[1], recording_id=i, sample_rate=16000).close()\nprint('done')"
    )
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    with load(path) as recording:
        check_tone(recording)


def test_a_playlist_reaches_for_nothing_outside(tmp_path: Path) -> None:
    calls = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def hang_up() -> None:
            with suppress(OSError):  # the test is over
                connection, _ = server.accept()
                calls.append("called")
                connection.close()

        listener = threading.Thread(target=hang_up)
        listener.start()
        path = tmp_path / "list.m3u8"
        address = f"http://127.0.0.1:{server.getsockname()[1]}/a.ts"
        path.write_text(f"#EXTM3U\n#EXT-X-TARGETDURATION:5\n#EXTINF:5,\n{address}\n#EXT-X-ENDLIST\n")
        with pytest.raises(AudioError):
            load(path)
        server.shutdown(socket.SHUT_RDWR)
        listener.join()
    assert calls == []


# --- anything at all


@pytest.fixture(scope="module")
def small_files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("small")
    tracks = {
        "a.mp3": Track("libmp3lame", seconds=0.5),
        "a.m4a": Track("aac", seconds=0.5),
        "a.opus": Track("libopus", 48_000, seconds=0.5),
        "a.flac": Track("flac", seconds=0.5),
        "a.wav": Track("pcm_s16le", seconds=0.5),
        "a.mka": Track("pcm_f32le", layout="stereo", seconds=0.5),
        "a.ts": Track("aac", seconds=0.5),
    }
    return [encode(folder / name, track) for name, track in tracks.items()]


@given(data=st.data())
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_whatever_the_bytes_are_it_is_a_recording_or_one_clear_error(
    data: st.DataObject, small_files: list[Path]
) -> None:
    original = data.draw(st.sampled_from(small_files))
    content = bytearray(original.read_bytes())
    for _ in range(data.draw(st.integers(0, 8))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    del content[data.draw(st.integers(0, 2 * len(content))) :]
    path = original.with_name(f"broken{original.suffix}")
    path.write_bytes(content)
    try:
        with load(path) as recording:
            assert recording.n_samples > 0
            assert np.isfinite(read_all(recording)).all()
    except AudioError as error:
        refused = error
    else:
        return
    assert refused.where == str(path)
    assert refused.hint


@pytest.mark.data
def test_every_file_found_in_the_wild(data_dir: Path) -> None:
    refused = set()
    for path in sorted((data_dir / "formats").iterdir()):
        try:
            with load(path) as recording:
                assert 0.05 < recording.duration < 6.0
        except AudioError:
            refused.add(path.name)
    assert refused == {"bug-non ascii chars.mp3", "corrupt.mkv", "mutagen_emptyfile.mp3"}


@pytest.mark.data
def test_real_recordings_pass_unchanged(data_dir: Path) -> None:
    paths = [
        *sorted((data_dir / "librispeech" / "audio").glob("*.flac"))[:5],
        *sorted((data_dir / "ami").glob("*.wav")),
    ]
    assert len(paths) == 8
    for path in paths:
        expected, sample_rate = soundfile.read(path, dtype="float32")
        assert sample_rate == 16_000
        with load(path) as recording:
            assert np.array_equal(read_all(recording), expected)
            assert recording.damage is None
            assert recording.notes == ()
