"""Windows against all ways to cut a chunk."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from murmur_cli.models.whisper.windows import plan_windows, split_window
from murmur_cli.types import Chunk, Samples, Span

RATE = 10
FREE = 6  # samples: 0.6 s
BRIDGE = 40  # samples: 4 s


@st.composite
def spoken(draw: st.DrawFn, longest: int = 100) -> list[Span]:
    lengths = draw(
        st.lists(st.tuples(st.integers(1, 8) | st.integers(1, 60), st.integers(1, longest)), min_size=1, max_size=8)
    )
    spans, position = [], draw(st.integers(0, 50))
    for pause, length in lengths:
        position += pause
        spans.append(Span(position, position + length))
        position += length
    return spans


def read(span: Span) -> Samples:
    return np.random.default_rng(0).normal(size=2000).astype(np.float32)[span.start : span.end]


def plan(speech: Sequence[Span], max_window_s: float) -> list[Chunk]:
    return plan_windows(speech, sample_rate=RATE, max_window_s=max_window_s, read=read)


def samples_of(spans: Sequence[Span]) -> list[int]:
    return [i for span in spans for i in range(span.start, span.end)]


@given(spoken(longest=200), st.integers(5, 30))
def test_every_speech_sample_is_in_one_window(speech: list[Span], max_window_s: int) -> None:
    windows = plan(speech, max_window_s)
    assert samples_of([part for window in windows for part in window.speech]) == samples_of(speech)
    assert [window.index for window in windows] == list(range(len(windows)))
    for window in windows:
        assert window.span == Span(window.speech[0].start, window.speech[-1].end)
        assert window.span.n_samples <= max_window_s * RATE


@given(spoken())
def test_no_other_plan_is_cheaper(speech: list[Span]) -> None:
    limit = 150
    n = len(speech)
    costs = []
    for cuts in itertools.chain.from_iterable(itertools.combinations(range(1, n), k) for k in range(n)):
        groups = [speech[a:b] for a, b in zip((0, *cuts), (*cuts, n), strict=True)]
        fits = all(group[-1].end - group[0].start <= limit for group in groups)
        bridges = [b.start - a.end for group in groups for a, b in itertools.pairwise(group)]
        if fits and all(bridge <= BRIDGE for bridge in bridges):
            costs.append(cost_of(groups))
    windows = plan(speech, limit / RATE)
    assert cost_of([window.speech for window in windows]) == pytest.approx(min(costs))


def cost_of(groups: Sequence[Sequence[Span]]) -> float:
    pauses = [b[0].start - a[-1].end for a, b in itertools.pairwise(groups)]
    return len(groups) + sum(max(0.0, 1 - pause / FREE) for pause in pauses)


@given(spoken(), st.data())
def test_a_window_is_split_near_a_place_and_keeps_its_speech(speech: list[Span], data: st.DataObject) -> None:
    window = Chunk(3, Span(speech[0].start, speech[-1].end), tuple(speech), forced_cut=True)
    assume(window.span.n_samples >= 3)
    start = data.draw(st.integers(window.span.start + 1, window.span.end - 2))
    near = Span(start, data.draw(st.integers(start + 1, window.span.end - 1)))
    parts = split_window(window, near=near, sample_rate=RATE, read=read)
    assert samples_of([piece for part in parts for piece in part.speech]) == samples_of(speech)
    assert len(parts) == 2
    left, right = parts
    assert left.span.end <= near.end
    assert right.span.start >= near.start
    assert not left.forced_cut
    assert right.forced_cut
