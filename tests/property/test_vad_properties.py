"""Spans of speech against the silero-vad package, and against samples taken one by one."""

from __future__ import annotations

import itertools

from hypothesis import example, given
from hypothesis import strategies as st
from oracles.silero import find_spans_plainly, pad_plainly

from murmur_cli.options import VadOptions
from murmur_cli.speech.vad import FRAME_SAMPLES, convert_spans, find_spans, merge_spans
from murmur_cli.types import Span

# Runs of equal frames, so that speech and pauses reach the durations that matter; at and around both thresholds.
values = st.sampled_from([0.0, 0.004, 0.01, 0.2, 0.34, 0.35, 0.36, 0.49, 0.5, 0.51, 0.7, 0.9, 1.0])
curves = st.lists(st.tuples(values, st.integers(1, 6)), max_size=16).map(
    lambda runs: [value for value, n_frames in runs for _ in range(n_frames)]
)
vad_options = st.builds(
    VadOptions,
    vad_threshold=st.sampled_from([0.1, 0.16, 0.5, 0.7]),
    min_speech_ms=st.sampled_from([0, 32, 64, 100, 160, 250]),
    min_silence_ms=st.sampled_from([0, 32, 64, 100, 200]),
    speech_pad_ms=st.sampled_from([0, 1, 30, 100, 300, 2000]),
)
spans = st.lists(
    st.tuples(st.integers(0, 300), st.integers(0, 60)).map(lambda pair: Span(pair[0], pair[0] + pair[1])), max_size=8
)
rates = st.sampled_from([7, 8, 11, 16, 24])


def samples_of(found: list[Span]) -> list[int]:
    return [i for span in found for i in range(span.start, span.end)]


@given(curves, st.integers(1, FRAME_SAMPLES), vad_options)
def test_spans_are_those_of_silero_padded_sample_by_sample(
    curve: list[float], n_last: int, options: VadOptions
) -> None:
    n_samples = max(0, (len(curve) - 1) * FRAME_SAMPLES + n_last) if curve else 0
    unpadded = find_spans_plainly(
        curve,
        n_samples,
        threshold=options.vad_threshold,
        min_speech_ms=options.min_speech_ms,
        min_silence_ms=options.min_silence_ms,
    )
    expected = pad_plainly(unpadded, n_samples, n_pad=options.speech_pad_ms * 16)

    found = find_spans(curve, n_samples, options)

    assert samples_of(found) == [i for i, is_speech in enumerate(expected) if is_speech]
    assert len(found) == len(unpadded)
    assert all(left.end < right.start for left, right in itertools.pairwise(found))


@given(spans, rates, rates, st.integers(0, 400))
@example([Span(1, 1)], 7, 8, 2)  # nothing stays nothing
def test_converted_spans_hold_every_sample_that_shares_time_with_them(
    given_spans: list[Span], from_rate: int, to_rate: int, n_samples: int
) -> None:
    # Sample i of one rate lasts from i / from_rate to (i + 1) / from_rate.
    spoken = {i for span in given_spans for i in range(span.start, span.end)}
    expected = [
        j
        for j in range(n_samples)
        if any(i * to_rate < (j + 1) * from_rate and (i + 1) * to_rate > j * from_rate for i in spoken)
    ]

    converted = convert_spans(given_spans, from_rate=from_rate, to_rate=to_rate, n_samples=n_samples)

    assert samples_of(converted) == expected
    assert all(left.end < right.start for left, right in itertools.pairwise(converted))


@given(spans)
def test_merged_spans_hold_the_same_samples_and_keep_apart(given_spans: list[Span]) -> None:
    merged = merge_spans(given_spans)

    assert samples_of(merged) == sorted({i for span in given_spans for i in range(span.start, span.end)})
    assert all(span.n_samples for span in merged)
    assert all(left.end < right.start for left, right in itertools.pairwise(merged))
