"""Resampling in blocks against resampling in one piece."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import soxr
from hypothesis import given
from hypothesis import strategies as st

from murmur_cli.audio.resample import Resampler

rates = st.sampled_from([8000, 11_025, 16_000, 22_050, 24_000, 44_100, 48_000, 96_000, 192_000])
engine_rates = st.sampled_from([16_000, 24_000])
signals = st.tuples(st.integers(0, 40_000), st.integers(0, 2**32 - 1))
cuts = st.lists(st.integers(0, 40_000), max_size=12)


def make_noise(n_samples: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, n_samples).astype(np.float32)


def iter_blocks(signal: np.ndarray, places: list[int]) -> Iterator[np.ndarray]:
    edges = [0, *sorted(min(place, len(signal)) for place in places), len(signal)]
    for start, end in itertools.pairwise(edges):
        yield signal[start:end]


def resample_in_one_piece(signal: np.ndarray, from_rate: int, to_rate: int) -> np.ndarray:
    """The oracle."""
    return (
        signal if from_rate == to_rate or not len(signal) else soxr.resample(signal, from_rate, to_rate, quality="HQ")
    )


@given(signals, cuts, rates, engine_rates)
def test_blocks_do_not_matter(signal: tuple[int, int], places: list[int], from_rate: int, to_rate: int) -> None:
    samples = make_noise(*signal)
    resampler = Resampler(to_rate)
    pieces = [piece for block in iter_blocks(samples, places) for piece in resampler.push(block, from_rate)]
    pieces += resampler.finish()
    result = np.concatenate(pieces) if pieces else samples[:0]
    expected = resample_in_one_piece(samples, from_rate, to_rate)
    assert result.dtype == np.float32
    assert len(result) == len(expected)
    assert np.allclose(result, expected, atol=1e-6)


@given(st.lists(st.tuples(signals, cuts, rates), max_size=4), engine_rates)
def test_a_change_of_rate_is_two_signals_in_a_row(
    parts: list[tuple[tuple[int, int], list[int], int]], to_rate: int
) -> None:
    resampler = Resampler(to_rate)
    pieces, expected, last_rate = [np.zeros(0, np.float32)], [np.zeros(0, np.float32)], None
    for signal, places, rate in parts:
        samples = make_noise(*signal)
        if rate == last_rate:
            continue
        last_rate = rate
        pieces += [piece for block in iter_blocks(samples, places) for piece in resampler.push(block, rate)]
        expected.append(resample_in_one_piece(samples, rate, to_rate))
    pieces += resampler.finish()
    assert [len(np.concatenate(pieces))] == [sum(map(len, expected))]
    assert np.allclose(np.concatenate(pieces), np.concatenate(expected), atol=1e-6)


@given(signals, signals, rates)
def test_the_same_rate_passes_every_bit(before: tuple[int, int], signal: tuple[int, int], other_rate: int) -> None:
    samples = make_noise(*signal)
    resampler = Resampler(16_000)
    list(resampler.push(make_noise(*before), other_rate))
    pieces = list(resampler.push(samples, 16_000))
    assert pieces[-1] is samples
    assert list(resampler.finish()) == []
