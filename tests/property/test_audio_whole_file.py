"""A recording against its file read and resampled in one piece.

The oracle is libsndfile and soxr on the whole array. How the decoder cuts the signal into blocks is
drawn too: it must not matter.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
import soundfile
import soxr
from hypothesis import given
from hypothesis import strategies as st

from murmur_cli.audio import decoder
from murmur_cli.audio.source import open_recording, open_recordings
from murmur_cli.options import AudioOptions
from murmur_cli.types import RecordingId, Span

WAV_TYPES = ("PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE", "ULAW", "ALAW")
OTHERS = (
    ("AIFF", "PCM_16"),
    ("W64", "PCM_16"),
    ("RF64", "PCM_24"),
    ("CAF", "PCM_16"),
    ("FLAC", "PCM_16"),
    ("FLAC", "PCM_24"),
)
FILES = st.sampled_from([*(("WAV", subtype) for subtype in WAV_TYPES), *OTHERS])


def read_in_one_piece(path: Path, to_rate: int) -> np.ndarray:
    """The oracle."""
    samples, rate = soundfile.read(path, dtype="float32", always_2d=True)
    mono = samples.mean(axis=1, dtype=np.float64).astype(np.float32)
    return mono if rate == to_rate else soxr.resample(mono, rate, to_rate, quality="HQ")


@given(
    file=FILES,
    n_samples=st.integers(20, 20_000),
    n_channels=st.integers(1, 2),
    rates=st.tuples(st.sampled_from([8000, 16_000, 24_000, 44_100]), st.sampled_from([16_000, 24_000])),
    block_samples=st.integers(1, 20_000),
    seed=st.integers(0, 2**32 - 1),
)
def test_every_sample_is_that_of_the_whole_file(
    file: tuple[str, str], n_samples: int, n_channels: int, rates: tuple[int, int], block_samples: int, seed: int
) -> None:
    container, subtype = file
    from_rate, engine_rate = rates
    random = np.random.default_rng(seed)
    signal = random.uniform(-0.9, 0.9, (n_samples // 2, n_channels))
    signal = np.concatenate([signal, -signal])  # no offset
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(decoder, "_BLOCK_SAMPLES", block_samples)
        path = Path(folder, "a.dat")
        soundfile.write(path, signal, from_rate, format=container, subtype=subtype)
        expected = read_in_one_piece(path, engine_rate)
        with open_recording(str(path), recording_id=RecordingId(0), sample_rate=engine_rate) as recording:
            assert recording.n_samples == len(expected)
            samples = recording.samples(Span(0, recording.n_samples))
            assert np.allclose(samples, expected, atol=1e-6)
            assert recording.damage is None
            assert recording.notes == ()
            heard = np.concatenate(list(recording.iter_vad_blocks(0.1)))
            assert np.allclose(heard, read_in_one_piece(path, 16_000), atol=1e-6)


@given(
    n_samples=st.integers(20, 20_000),
    n_channels=st.integers(1, 5),
    rates=st.tuples(st.sampled_from([8000, 16_000, 44_100]), st.sampled_from([16_000, 24_000])),
    block_samples=st.integers(1, 20_000),
    seed=st.integers(0, 2**32 - 1),
)
def test_every_channel_is_that_of_the_whole_file(
    n_samples: int, n_channels: int, rates: tuple[int, int], block_samples: int, seed: int
) -> None:
    from_rate, engine_rate = rates
    signal = np.random.default_rng(seed).uniform(-0.9, 0.9, (n_samples // 2, n_channels)).astype(np.float32)
    signal = np.concatenate([signal, -signal])  # no offset
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(decoder, "_BLOCK_SAMPLES", block_samples)
        path = Path(folder, "a.wav")
        soundfile.write(path, signal, from_rate, subtype="FLOAT")
        recordings = open_recordings(
            str(path),
            ids=map(RecordingId, range(n_channels)),
            sample_rate=engine_rate,
            options=AudioOptions(channels="speakers"),
        )
        for recording, channel in zip(recordings, signal.T, strict=True):
            with recording:
                for to_rate, heard in (
                    (engine_rate, recording.samples(Span(0, recording.n_samples))),
                    (16_000, np.concatenate(list(recording.iter_vad_blocks(0.1)))),
                ):
                    same = to_rate == from_rate
                    whole = channel if same else soxr.resample(channel, from_rate, to_rate, quality="HQ")
                    assert np.allclose(heard, whole, atol=1e-6)


@given(st.integers(0, 2**32 - 1), st.sampled_from(["WAV", "FLAC"]))
def test_16_bits_at_the_rate_of_the_engine_pass_unchanged(seed: int, container: str) -> None:
    integers = np.random.default_rng(seed).integers(-(2**15), 2**15, 5000, dtype=np.int16)
    integers = np.concatenate([integers, ~integers])  # no offset worth the name
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.dat")
        soundfile.write(path, integers, 16_000, format=container, subtype="PCM_16")
        with open_recording(str(path), recording_id=RecordingId(0), sample_rate=16_000) as recording:
            assert np.array_equal(recording.samples(Span(0, 10_000)), integers / np.float32(2**15))
