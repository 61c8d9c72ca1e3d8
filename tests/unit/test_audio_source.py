"""What a recording offers, and which files are refused."""

from __future__ import annotations

import os
import re
import struct
import tempfile
from pathlib import Path

import numpy as np
import pytest
import soundfile

from murmur_cli.audio.source import Recording, open_recording
from murmur_cli.audio.spool import Spool
from murmur_cli.errors import AudioError, OutputError
from murmur_cli.types import RecordingId, Span


def load(path: Path | str, sample_rate: int = 16_000) -> Recording:
    return open_recording(str(path), recording_id=RecordingId(7), sample_rate=sample_rate)


def refusal(path: Path | str) -> AudioError:
    with pytest.raises(AudioError) as caught:
        load(path)
    assert caught.value.where == str(path)
    assert caught.value.hint
    return caught.value


def tone(seconds: float, sample_rate: int = 16_000) -> np.ndarray:
    return (0.5 * np.sin(np.arange(round(seconds * sample_rate)) * 2 * np.pi * 440 / sample_rate)).astype(np.float32)


@pytest.fixture
def tone_file(tmp_path: Path) -> Path:
    path = tmp_path / "tone.wav"
    soundfile.write(path, tone(2.5), 16_000, subtype="FLOAT")
    return path


def test_what_is_known_of_a_recording(tone_file: Path) -> None:
    with load(tone_file) as recording:
        assert recording.recording_id == 7
        assert recording.source == str(tone_file)
        assert recording.sample_rate == 16_000
        assert recording.n_samples == 40_000
        assert recording.duration == 2.5
        assert recording.damage is None
        assert recording.notes == ()


def test_slices_are_the_signal(tone_file: Path) -> None:
    with load(tone_file) as recording:
        samples = recording.samples(Span(100, 300))
        assert samples.dtype == np.float32
        assert np.array_equal(samples, tone(2.5)[100:300])
        with pytest.raises(ValueError, match="not inside"):
            recording.samples(Span(0, 40_001))


def test_blocks_for_vad_are_the_whole_signal_at_16_khz(tone_file: Path) -> None:
    with load(tone_file, sample_rate=24_000) as recording:
        assert recording.n_samples == 60_000
        blocks = list(recording.iter_vad_blocks(1.0))
        assert [len(block) for block in blocks] == [16_000, 16_000, 8000]
        assert np.array_equal(np.concatenate(blocks), tone(2.5))


def test_the_signal_is_kept_once_where_one_rate_serves_both(tone_file: Path) -> None:
    with load(tone_file) as recording:
        assert np.shares_memory(recording.samples(Span(0, 10)), next(recording.iter_vad_blocks()))


def test_a_closed_recording_gives_nothing_but_what_it_gave_stays(tone_file: Path) -> None:
    recording = load(tone_file)
    samples = recording.samples(Span(0, 100))
    recording.close()
    assert np.array_equal(samples, tone(2.5)[:100])
    with pytest.raises(ValueError, match="closed"):
        recording.samples(Span(0, 100))


def test_nothing_is_left_in_the_temporary_folder_at_any_time(
    tone_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    with load(tone_file, sample_rate=24_000):
        assert list(temporary.iterdir()) == []


def test_spools_are_closed_when_something_fails(tone_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = []
    close = Spool.close

    def append(spool: Spool, samples: np.ndarray) -> None:
        raise OutputError("the disk is full")

    def close_and_tell(spool: Spool) -> None:
        closed.append(spool)
        close(spool)

    monkeypatch.setattr(Spool, "append", append)
    monkeypatch.setattr(Spool, "close", close_and_tell)
    with pytest.raises(OutputError):
        load(tone_file, sample_rate=24_000)
    assert len(closed) == 2


def test_memory_does_not_grow_with_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "long.wav"
    n_samples = 20 * 60 * 16_000  # 77 MB as float32
    soundfile.write(path, np.zeros(n_samples, np.int16), 16_000, subtype="PCM_16")
    readings = [read_anonymous_memory()]
    append = Spool.append

    def append_and_measure(spool: Spool, samples: np.ndarray) -> None:
        append(spool, samples)
        readings.append(read_anonymous_memory())

    monkeypatch.setattr(Spool, "append", append_and_measure)
    with load(path, sample_rate=24_000) as recording:
        assert recording.n_samples == n_samples * 3 // 2
        for block in recording.iter_vad_blocks():
            assert not block.any()
            readings.append(read_anonymous_memory())
    assert len(readings) > 500
    assert max(readings) - readings[0] < 20e6


def read_anonymous_memory() -> int:
    """Bytes that belong to no file."""
    found = re.search(r"^RssAnon:\s+(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)
    assert found
    return int(found[1]) * 1024


def test_files_that_are_not_there(tmp_path: Path) -> None:
    refusal(tmp_path / "nothing.wav")
    dangling = tmp_path / "dangling.wav"
    dangling.symlink_to(tmp_path / "nothing.wav")
    assert "link" in refusal(dangling).problem
    refusal(tmp_path / "nothing.wav" / "below.wav")
    refusal(tmp_path / ("x" * 300))
    refusal("null\0character.wav")


def test_what_is_no_regular_file(tmp_path: Path) -> None:
    assert "folder" in refusal(tmp_path).problem
    pipe = tmp_path / "pipe.wav"
    os.mkfifo(pipe)  # nobody ever writes to it
    assert "pipe" in refusal(pipe).problem
    refusal("/dev/null")


def test_a_file_that_may_not_be_read(tone_file: Path) -> None:
    tone_file.chmod(0)
    user = os.geteuid()
    os.seteuid(65_534 if user == 0 else user)  # the superuser may read everything
    try:
        assert "permitted" in refusal(tone_file).problem
    finally:
        os.seteuid(user)


@pytest.mark.parametrize("content", [b"", b"this is not audio\n", b"\0" * 5000, bytes(range(256)) * 64])
@pytest.mark.parametrize("name", ["a.wav", "a.mp3", "a.txt", "a"])
def test_files_without_audio(tmp_path: Path, content: bytes, name: str, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    refusal(path)
    assert capfd.readouterr() == ("", "")


def test_a_header_without_samples(tmp_path: Path) -> None:
    path = tmp_path / "header.wav"
    soundfile.write(path, np.zeros(0, np.int16), 16_000)
    refusal(path)


def test_one_sample_is_a_recording(tmp_path: Path) -> None:
    path = tmp_path / "one.wav"
    soundfile.write(path, np.int16([100]), 16_000)
    with load(path) as recording:
        assert recording.n_samples == 1


def wav_header(n_bytes: int, *, tag: int, sample_rate: int) -> bytes:
    fmt = struct.pack("<IHHIIHH", 16, tag, 1, sample_rate, sample_rate * 4, 4, 32)
    return b"RIFF" + struct.pack("<I", 36 + n_bytes) + b"WAVEfmt " + fmt + b"data" + struct.pack("<I", n_bytes)


def test_a_codec_that_nobody_knows(tmp_path: Path) -> None:
    path = tmp_path / "unknown.wav"
    path.write_bytes(wav_header(8000, tag=0x1234, sample_rate=16_000) + bytes(8000))
    assert "decoder" in refusal(path).problem


def test_a_sample_rate_that_nobody_records_at(tmp_path: Path) -> None:
    path = tmp_path / "slow.wav"
    path.write_bytes(wav_header(80_000, tag=3, sample_rate=1) + bytes(80_000))
    assert "rate of 1 Hz" in refusal(path).problem


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, 1e300])
def test_samples_that_are_no_numbers(tmp_path: Path, number: float) -> None:
    path = tmp_path / "broken.wav"
    samples = np.zeros((160_000, 2))
    samples[80_000, 1] = number
    soundfile.write(path, samples, 16_000, subtype="DOUBLE")
    assert "at 5.000 s" in refusal(path).problem


def test_integers_written_as_floats_are_scaled_with_a_note(tmp_path: Path) -> None:
    path = tmp_path / "loud.wav"
    soundfile.write(path, tone(1.0) * 65_536, 16_000, subtype="FLOAT")
    with load(path) as recording:
        assert np.allclose(recording.samples(Span(0, 16_000)), tone(1.0) * 2, atol=1e-5)
        assert len(recording.notes) == 1


def test_an_offset_is_removed_with_a_note(tmp_path: Path) -> None:
    path = tmp_path / "offset.wav"
    soundfile.write(path, tone(1.0) + 0.3, 16_000, subtype="FLOAT")
    with load(path) as recording:
        assert np.allclose(recording.samples(Span(0, 16_000)), tone(1.0), atol=1e-4)
        assert len(recording.notes) == 1


def test_a_cut_file_gives_what_it_has_and_is_called_damaged(tone_file: Path) -> None:
    tone_file.write_bytes(tone_file.read_bytes()[:80_000])
    with load(tone_file) as recording:
        assert 1.2 < recording.duration < 1.25
        assert recording.damage == "decoded 1.2 s of 2.5 s: the file is damaged"
        assert np.array_equal(recording.samples(Span(0, 19_000)), tone(2.5)[:19_000])


def test_a_network_address_is_a_name_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    refusal("http://127.0.0.1:9/a.wav")
    refusal("concat:a.wav|b.wav")


@pytest.mark.parametrize(
    "name",
    [
        "with space.wav",
        "-leading-dash.wav",
        "percent%03d.wav",
        "percent%03d.png",
        "[brackets]*star?{x}.jpg",
        "a:b colon.wav",
        "concat:a.wav",
        "file:",
        "new\nline.wav",
        "🎙️.wav",
        "e\u0301.wav",
        "x" * 240,
        os.fsdecode(b"invalid_\xff.wav"),
        "wrong.mp3",
        "without ending",
    ],
)
def test_any_name_is_a_name(name: str, tone_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tone_file.parent)
    tone_file.rename(name)
    with load(name) as recording:
        assert recording.source == name
        assert recording.duration == 2.5
