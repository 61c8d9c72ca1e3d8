"""The trained tiny checkpoint, live: words and speakers of sessions of spoken digits."""

from __future__ import annotations

import importlib
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import soundfile

from murmur_cli.engine import StreamSegment
from murmur_cli.models.silero import load_silero
from murmur_cli.models.vibevoice.silence import GATE_OPTIONS
from murmur_cli.models.vibevoice.streaming import VibeVoiceStreamEngine, load_vibevoice_stream
from murmur_cli.models.weights import pull_weights
from murmur_cli.options import ModelOptions, StreamOptions

pytestmark = [pytest.mark.data, pytest.mark.models]

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))  # as it is run
stream_digits = importlib.import_module("stream_digits")

RATE = 24_000


@pytest.fixture(scope="module")
def engine(models_dir: Path) -> VibeVoiceStreamEngine:
    return load_vibevoice_stream(
        pull_weights(str(models_dir / "tiny-vibevoice-digits"), offline=True),
        model=ModelOptions(model="digits", device="cpu"),
        options=StreamOptions(),
        vad=load_silero(GATE_OPTIONS),
        on_note=print,
    )


def test_words_and_speakers_of_live_sessions(engine: VibeVoiceStreamEngine, data_dir: Path, tmp_path: Path) -> None:
    n_errors = n_words = n_right_words = n_right_speakers = 0
    for n_speakers, seconds in ((1, 60), (2, 60), (3, 90), (4, 60)):
        stem = stream_digits.write_digits(
            tmp_path, data=data_dir, seconds=seconds, n_speakers=n_speakers, seed=60 + n_speakers
        )
        samples, _ = soundfile.read(f"{stem}.wav", dtype="float32")
        with engine.open(StreamOptions()) as decoder:
            segments, n_gaps, _ = stream_digits.play(decoder, samples, seed=n_speakers)
        assert n_gaps == 0
        check_lines(segments)
        reference = stream_digits.read_reference(Path(f"{stem}.seglst.json"))
        hypothesis = [(word, segment.speaker) for segment in segments for word in segment.text.split()]
        errors = stream_digits.count_plain_errors(reference, hypothesis)
        n_errors, n_words = n_errors + errors.n_errors, n_words + errors.n_words
        right = stream_digits.count_right_speakers(reference, hypothesis)
        n_right_words, n_right_speakers = n_right_words + right[0], n_right_speakers + right[1]
    assert n_errors <= 0.04 * n_words
    assert n_right_speakers >= 0.98 * n_right_words


def test_speakers_keep_their_numbers_over_new_contexts(
    engine: VibeVoiceStreamEngine, data_dir: Path, tmp_path: Path
) -> None:
    """A context that slides instead names 47 % of the speakers rightly."""
    stem = stream_digits.write_digits(tmp_path, data=data_dir, seconds=240, n_speakers=3, seed=72)
    samples, _ = soundfile.read(f"{stem}.wav", dtype="float32")
    segments: list[StreamSegment] = []
    contexts: list[float] = []
    with engine.open(StreamOptions(context_minutes=1.0)) as decoder:
        for at in range(0, len(samples), RATE):
            segments += decoder.push(samples[at : at + RATE]).committed
            contexts.append(decoder.context_s)
        segments += decoder.finish().committed
    assert max(contexts) <= 60.0
    assert sum(after < before for before, after in pairwise(contexts)) >= 4
    check_lines(segments)
    reference = stream_digits.read_reference(Path(f"{stem}.seglst.json"))
    hypothesis = [(word, segment.speaker) for segment in segments for word in segment.text.split()]
    errors = stream_digits.count_plain_errors(reference, hypothesis)
    n_words, n_speakers = stream_digits.count_right_speakers(reference, hypothesis)
    assert errors.n_errors <= 0.04 * errors.n_words
    assert n_speakers >= 0.95 * n_words


def check_lines(segments: list[StreamSegment]) -> None:
    assert segments[0].starts_line
    now = 0.0
    for left, right in pairwise(segments):
        assert right.starts_line or (right.speaker == left.speaker and right.text.startswith(" "))
        assert now <= left.start < left.end <= right.start + 1e-9
        now = left.start


def test_silence_between_words_is_not_transcribed(
    engine: VibeVoiceStreamEngine, data_dir: Path, tmp_path: Path
) -> None:
    stem = stream_digits.write_digits(tmp_path, data=data_dir, seconds=8, n_speakers=1, seed=3)
    samples, _ = soundfile.read(f"{stem}.wav", dtype="float32")
    quiet = np.random.default_rng(0).standard_normal(20 * RATE).astype(np.float32) * 1e-4
    with engine.open(StreamOptions()) as decoder:
        committed = decoder.push(np.concatenate([quiet, samples, quiet])).committed
        committed += decoder.finish().committed
    assert committed
    assert committed[0].start >= 17.6  # the chunk that the speech begins in
    assert committed[-1].end <= 29.4


def test_the_benchmark_counts_what_is_right() -> None:
    reference = [("one", "S1"), ("two", "S1"), ("three", "S2")]
    hypothesis = [("one", "S1"), ("nine", "S1"), ("three", "S1"), ("four", "S1")]
    assert stream_digits.count_right_speakers(reference, hypothesis) == (2, 1)
    errors = stream_digits.count_plain_errors(reference, hypothesis)
    assert (errors.n_words, errors.n_errors) == (3, 2)
