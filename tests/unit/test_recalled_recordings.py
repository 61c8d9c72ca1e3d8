"""Recordings of which all but the signal is known: the file is decoded when that is read, and must be the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np
import pytest
import soundfile

from murmur_cli.audio.source import Decoded, Recording, open_recordings, recall_recordings
from murmur_cli.errors import AudioError
from murmur_cli.options import AudioOptions
from murmur_cli.types import RecordingId, Span, Stretch

RATE = 24_000
CHANNELS = AudioOptions(channels="speakers")


@pytest.fixture
def call(tmp_path: Path) -> Path:
    """Two people, one on each channel; the first with an offset that is removed."""
    noise = np.random.default_rng(0).normal(0, 0.05, (2 * 44_100, 2)) + np.array([0.1, 0.0])
    soundfile.write(tmp_path / "call.flac", noise, 44_100)
    return tmp_path / "call.flac"


def open_call(call: Path) -> tuple[Recording, ...]:
    return open_recordings(str(call), ids=map(RecordingId, count()), sample_rate=RATE, options=CHANNELS)


def learn(call: Path) -> list[Decoded]:
    """What opening it tells."""
    opened = open_call(call)
    for recording in opened:
        recording.close()
    return [recording.decoded for recording in opened]


def recall(call: Path, decoded: Sequence[Decoded]) -> tuple[Recording, ...]:
    ids = map(RecordingId, count())
    return recall_recordings(str(call), decoded, ids=ids, sample_rate=RATE, options=CHANNELS)


def test_a_recalled_recording_is_the_one_that_was_opened(call: Path) -> None:
    opened = open_call(call)
    for first, second in zip(opened, recall(call, [each.decoded for each in opened]), strict=True):
        assert second.decoded == first.decoded
        assert (second.recording_id, second.source, second.duration) == (
            first.recording_id,
            first.source,
            first.duration,
        )
        whole = Span(0, first.n_samples)
        np.testing.assert_array_equal(second.samples(whole), first.samples(whole))
        np.testing.assert_array_equal(second.speech(Stretch(0.5, 1.0)), first.speech(Stretch(0.5, 1.0)))
        first.close()
        second.close()
    assert opened[0].notes != ()


def test_it_is_not_read_before_it_is_needed(call: Path) -> None:
    decoded = learn(call)
    call.unlink()
    first, second = recall(call, decoded)
    first.close()
    assert second.decoded == decoded[1]
    with pytest.raises(AudioError):
        second.samples(Span(0, 10))


def test_it_must_be_what_it_was(call: Path) -> None:
    decoded = [replace(about, n_samples=7) for about in learn(call)]
    with pytest.raises(AudioError, match="not what it was"):
        recall(call, decoded)[0].samples(Span(0, 7))
