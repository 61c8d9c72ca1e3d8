"""A file taken apart: a recording for each channel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path

import numpy as np
import pytest
import soundfile

from murmur_cli.audio.channels import ChannelPicker
from murmur_cli.audio.decoder import Block, Decoder
from murmur_cli.audio.source import Part, Recording, open_recordings
from murmur_cli.audio.spool import Spool
from murmur_cli.errors import AudioError
from murmur_cli.options import AudioOptions
from murmur_cli.types import RecordingId, Span

RATE = 16_000
SPEAKERS = AudioOptions(channels="speakers")


def load(path: Path, options: AudioOptions = SPEAKERS, *, ids: Iterator[int] | None = None) -> tuple[Recording, ...]:
    numbers = map(RecordingId, count() if ids is None else ids)
    return open_recordings(str(path), ids=numbers, sample_rate=RATE, options=options)


def read(recording: Recording) -> np.ndarray:
    with recording:
        return recording.samples(Span(0, recording.n_samples))


def write(folder: Path, channels: Sequence[np.ndarray], *, subtype: str = "FLOAT") -> Path:
    path = folder / "call.wav"
    soundfile.write(path, np.stack(channels, axis=1), RATE, subtype=subtype)
    return path


def noise(seed: int, seconds: float = 1.0) -> np.ndarray:
    half = np.random.default_rng(seed).uniform(-0.9, 0.9, round(seconds * RATE) // 2).astype(np.float32)
    return np.concatenate([half, -half])  # no offset


@pytest.fixture
def open_spools(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """The spools that are not closed yet."""
    still_open: set[int] = set()
    make, close = Spool.__init__, Spool.close

    def make_and_tell(spool: Spool) -> None:
        make(spool)
        still_open.add(id(spool))

    def close_and_tell(spool: Spool) -> None:
        close(spool)
        still_open.discard(id(spool))

    monkeypatch.setattr(Spool, "__init__", make_and_tell)
    monkeypatch.setattr(Spool, "close", close_and_tell)
    return still_open


def test_each_channel_is_a_recording_of_its_own(tmp_path: Path, open_spools: set[int]) -> None:
    channels = [noise(seed) for seed in range(3)]
    path = write(tmp_path, channels)
    recordings = load(path, ids=iter([7, 20, 21, 22]))
    assert [recording.recording_id for recording in recordings] == [7, 20, 21]
    assert [recording.part for recording in recordings] == [Part(0, 3), Part(1, 3), Part(2, 3)]
    assert {recording.source for recording in recordings} == {str(path)}
    assert {recording.notes for recording in recordings} == {()}
    assert len(open_spools) == 3
    for recording, channel in zip(recordings, channels, strict=True):
        assert np.array_equal(read(recording), channel)
    assert open_spools == set()


def test_no_more_numbers_are_taken_than_needed(tmp_path: Path) -> None:
    ids = count(5)
    for recording in load(write(tmp_path, [noise(0), noise(1)]), ids=ids):
        recording.close()
    assert next(ids) == 7


def test_a_file_is_decoded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    decoded = []
    iter_blocks = Decoder.iter_blocks

    def iter_and_tell(decoder: Decoder) -> Iterator[Block]:
        decoded.append(decoder)
        return iter_blocks(decoder)

    monkeypatch.setattr(Decoder, "iter_blocks", iter_and_tell)
    for recording in load(write(tmp_path, [noise(0), noise(1)])):
        recording.close()
    assert len(decoded) == 1


def test_the_mix_is_one_recording(tmp_path: Path) -> None:
    left, right = noise(0), noise(1)
    (recording,) = load(write(tmp_path, [left, right]), AudioOptions())
    assert recording.part == Part(0, 1)
    assert np.allclose(read(recording), (left + right) / 2, atol=1e-6)


def test_levels_are_those_of_each_channel(tmp_path: Path) -> None:
    channels = [noise(0), noise(1) * 0.3 + np.float32(0.4), noise(2) * 3]
    quiet, offset, loud = load(write(tmp_path, channels))
    assert quiet.notes == ()
    assert len(offset.notes) == len(loud.notes) == 1
    assert offset.notes[0].startswith("channel 2: a constant offset of +0.400")
    assert loud.notes[0].startswith("channel 3: 2.7 times louder")
    assert np.array_equal(read(quiet), channels[0])
    assert np.allclose(read(offset), noise(1) * 0.3, atol=1e-4)
    assert np.abs(read(loud)).max() == pytest.approx(1.0)


def test_one_channel_is_one_speaker_with_a_note(tmp_path: Path) -> None:
    (recording,) = load(write(tmp_path, [noise(0)]))
    (note,) = recording.notes
    assert "one channel" in note
    assert np.array_equal(read(recording), noise(0))


def test_channels_that_are_alike_are_said_once(tmp_path: Path) -> None:
    first, second = load(write(tmp_path, [noise(0), noise(0)]))
    (note,) = first.notes
    assert "alike" in note
    assert second.notes == ()
    almost = noise(0)
    almost[-1] += 0.01
    assert np.array_equal(read(first), read(second))
    for recording in load(write(tmp_path, [noise(0), almost])):
        assert recording.notes == ()
        recording.close()


def test_damage_is_known_to_every_channel(tmp_path: Path) -> None:
    path = write(tmp_path, [noise(0, 10), noise(1, 10)])
    path.write_bytes(path.read_bytes()[:640_000])
    first, second = load(path)
    assert first.damage == second.damage == "decoded 5.0 s of 10.0 s: the file is damaged"
    assert read(first).shape == read(second).shape


def test_sixteen_channels_are_sixteen_speakers_and_seventeen_are_refused(tmp_path: Path, open_spools: set[int]) -> None:
    recordings = load(write(tmp_path, [noise(seed, 0.1) for seed in range(16)]))
    assert len(recordings) == 16
    for seed, recording in enumerate(recordings):
        assert np.array_equal(read(recording), noise(seed, 0.1))
    path = write(tmp_path, [noise(seed, 0.1) for seed in range(17)])
    with pytest.raises(AudioError, match="17 channels") as caught:
        load(path)
    assert caught.value.where == str(path)
    assert "--channels mix" in str(caught.value)
    assert open_spools == set()


def make_block(n_channels: int, seconds: float = 1.5) -> Block:
    signal = [noise(seed, seconds) for seed in range(n_channels)]
    return Block(signal, tuple(f"C{i}" for i in range(n_channels)), RATE)


def test_channels_that_differ_anywhere_are_not_alike() -> None:
    same = Block([noise(0), noise(0)], ("FL", "FR"), RATE)
    for blocks, n_notes in (([same, same], 1), ([same, make_block(2)], 0), ([make_block(2), same], 0)):
        picker = ChannelPicker(SPEAKERS, "call.wav")
        for block in blocks:
            picker.pick(block)
        assert len(picker.notes) == n_notes


def test_a_number_of_channels_that_changes_is_an_error_that_says_where() -> None:
    picker = ChannelPicker(SPEAKERS, "call.wav")
    for _ in range(2):
        assert len(picker.pick(make_block(2))) == 2
    with pytest.raises(AudioError, match=r"call\.wav: .* from 2 to 1 at 3\.0 s.*--channels mix"):
        picker.pick(make_block(1))
    mix = ChannelPicker(AudioOptions(), "call.wav")
    assert [len(mix.pick(make_block(n))) for n in (2, 1, 20)] == [1, 1, 1]
    assert mix.notes == ()


def test_a_file_that_fails_on_the_way_leaves_no_spool(
    tmp_path: Path, open_spools: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Decoder, "iter_blocks", lambda decoder: iter([make_block(2), make_block(3)]))
    with pytest.raises(AudioError, match="from 2 to 3"):
        load(write(tmp_path, [noise(0), noise(1)]))
    assert open_spools == set()


def test_a_file_without_samples_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AudioError, match="not one sample"):
        load(write(tmp_path, [noise(0, 0), noise(0, 0)]))
