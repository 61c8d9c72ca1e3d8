"""Chunks against an oracle that goes sample by sample."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st
from oracles.chunking import plan_chunks_plainly

from murmur_cli.speech.chunking import plan_chunks
from murmur_cli.types import Chunk, Span

RATES = (1, 10, 20, 50)
LONGEST = 700  # samples: at the lowest rates the zone of a cut is longer than what is read at once


@st.composite
def recordings(draw: st.DrawFn) -> tuple[npt.NDArray[np.float32], list[Span]]:
    """A signal of small whole numbers, whose energies are exact, and spans that may overlap, in any order."""
    n_samples = draw(st.integers(1, LONGEST))
    seed = draw(st.integers(0, 2**32 - 1))
    loudest = draw(st.sampled_from([0, 1, 3, 50]))
    signal = np.random.default_rng(seed).integers(-loudest, loudest + 1, n_samples).astype(np.float32)
    lengths = st.sampled_from([0, 1, 2, 5, 30]) | st.integers(0, n_samples)
    spans = []
    for _ in range(draw(st.integers(0, 12))):
        start = draw(st.integers(0, n_samples))
        spans.append(Span(start, min(n_samples, start + draw(lengths))))
    return signal, spans


limits = st.sampled_from([1, 2, 3, 5, 9, 10, 28]) | st.integers(1, LONGEST)


def plan(signal: npt.NDArray[np.float32], spans: list[Span], *, n_max: int, rate: int) -> list[Chunk]:
    def read(span: Span) -> npt.NDArray[np.float32]:
        assert span.end <= len(signal)
        return signal[span.start : span.end]

    return plan_chunks(spans, sample_rate=rate, max_chunk_s=(n_max + 0.5) / rate, read=read)


@given(recordings(), limits, st.sampled_from(RATES))
def test_chunks_equal_those_planned_sample_by_sample(
    recording: tuple[npt.NDArray[np.float32], list[Span]], n_max: int, rate: int
) -> None:
    signal, spans = recording
    expected = plan_chunks_plainly(
        [(span.start, span.end) for span in spans],
        [int(value) for value in signal],
        n_max=n_max,
        n_quiet=max(1, rate // 10),
    )

    chunks = plan(signal, spans, n_max=n_max, rate=rate)

    samples = [tuple(i for span in chunk.speech for i in range(span.start, span.end)) for chunk in chunks]
    assert samples == [chunk.samples for chunk in expected]
    assert [chunk.forced_cut for chunk in chunks] == [chunk.forced_cut for chunk in expected]


@given(recordings(), limits, st.sampled_from(RATES))
def test_every_speech_sample_is_in_one_chunk_and_no_chunk_is_too_long(
    recording: tuple[npt.NDArray[np.float32], list[Span]], n_max: int, rate: int
) -> None:
    signal, spans = recording
    chunks = plan(signal, spans, n_max=n_max, rate=rate)

    spoken = sorted({i for span in spans for i in range(span.start, span.end)})
    assert [i for chunk in chunks for span in chunk.speech for i in range(span.start, span.end)] == spoken
    assert [chunk.index for chunk in chunks] == list(range(len(chunks)))
    for chunk in chunks:
        assert chunk.span.n_samples <= n_max
        assert (chunk.span.start, chunk.span.end) == (chunk.speech[0].start, chunk.speech[-1].end)
        assert all(left.end < right.start for left, right in zip(chunk.speech, chunk.speech[1:], strict=False))
        assert chunk.forced_cut == (chunk.span.end in spoken and chunk.span.end - 1 in spoken)
