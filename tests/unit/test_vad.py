"""Spans of speech from probabilities, on examples that can be checked by eye."""

from __future__ import annotations

import itertools

import pytest

from murmur_cli.options import VadOptions
from murmur_cli.speech.vad import FRAME_SAMPLES, VAD_RATE, convert_spans, find_spans
from murmur_cli.types import Span

BARE = VadOptions(min_speech_ms=0, min_silence_ms=100, speech_pad_ms=0)


def spans_in_frames(curve: list[float], options: VadOptions = BARE) -> list[tuple[float, float]]:
    found = find_spans(curve, len(curve) * FRAME_SAMPLES, options)
    return [(span.start / FRAME_SAMPLES, span.end / FRAME_SAMPLES) for span in found]


def test_nothing_heard_is_no_span() -> None:
    assert spans_in_frames([]) == []
    assert spans_in_frames([0.4999] * 50) == []


def test_a_span_opens_at_the_threshold_and_closes_lower() -> None:
    assert spans_in_frames([0.1, 0.5, 0.35, 0.35, 0.35, 0.35, 0.35, 0.34, 0.1, 0.1, 0.1, 0.1, 0.1]) == [(1, 7)]


def test_a_short_pause_does_not_close_a_span() -> None:
    four_frames, five_frames = [0.0] * 4, [0.0] * 5  # 128 ms, 160 ms; a span closes once 100 ms have passed
    assert spans_in_frames([0.9, *four_frames, 0.9]) == [(0, 6)]
    assert spans_in_frames([0.9, *five_frames, 0.9]) == [(0, 1), (6, 7)]


def test_short_spans_are_dropped() -> None:
    options = VadOptions(min_speech_ms=64, speech_pad_ms=0)
    assert spans_in_frames([0.9, *[0.0] * 9, 0.9, 0.9, *[0.0] * 9], options) == [(10, 12)]


def test_padding_stays_inside_the_recording() -> None:
    options = VadOptions(min_speech_ms=0, speech_pad_ms=10_000)
    assert find_spans([0.0, 0.9, 0.0], 2 * FRAME_SAMPLES + 1, options) == [Span(0, 2 * FRAME_SAMPLES + 1)]


def test_padding_never_fills_a_pause() -> None:
    options = VadOptions(min_speech_ms=0, speech_pad_ms=200)
    assert spans_in_frames([0.9, *[0.0] * 8, 0.9], options) == [(0, 4), (6, 10)]


def test_longer_pauses_stay_longer() -> None:
    options = VadOptions(min_speech_ms=0, speech_pad_ms=200)
    curve = [0.9]
    for n_silent in range(5, 40):
        curve += [*[0.0] * n_silent, 0.9]
    found = find_spans(curve, len(curve) * FRAME_SAMPLES, options)
    pauses = [right.start - left.end for left, right in itertools.pairwise(found)]
    assert len(pauses) == 35
    assert all(shorter < longer for shorter, longer in itertools.pairwise(pauses))


@pytest.mark.parametrize("n_probabilities", [0, 1, 3])
def test_probabilities_that_do_not_fit_the_recording_are_refused(n_probabilities: int) -> None:
    with pytest.raises(ValueError, match="2 frames"):
        find_spans([0.9] * n_probabilities, FRAME_SAMPLES + 1, BARE)


def test_spans_are_converted_outward_and_exactly() -> None:
    assert convert_spans([Span(1, 2)], from_rate=VAD_RATE, to_rate=24_000, n_samples=100) == [Span(1, 3)]
    ten_hours = 36_000 * VAD_RATE
    assert convert_spans([Span(ten_hours - 1, ten_hours)], from_rate=VAD_RATE, to_rate=44_100, n_samples=2**40) == [
        Span(36_000 * 44_100 - 3, 36_000 * 44_100)
    ]


def test_converted_spans_end_with_the_recording() -> None:
    spans = [Span(0, 100), Span(200, 300)]
    assert convert_spans(spans, from_rate=VAD_RATE, to_rate=VAD_RATE, n_samples=50) == [Span(0, 50)]
