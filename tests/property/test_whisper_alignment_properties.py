"""Dynamic time warping against its definition, cell by cell."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from oracles.whisper import cost_of_path, least_cost

from murmur_cli.models.whisper.align import _filter_median
from murmur_cli.models.whisper.dtw import find_starts


@given(st.integers(1, 12), st.integers(1, 30), st.integers(0, 2**32 - 1), st.sampled_from([0.0, 1.0, 100.0]))
def test_the_path_has_the_least_cost(n_tokens: int, n_frames: int, seed: int, shift: float) -> None:
    costs = np.random.default_rng(seed).normal(size=(n_tokens, n_frames)) - shift
    starts = find_starts(costs)
    assert starts[0] == 0
    assert starts == sorted(starts)
    assert starts[-1] < n_frames
    assert cost_of_path(costs, starts) == pytest.approx(least_cost(costs), abs=1e-8)


@given(st.integers(1, 6), st.integers(1, 8), st.integers(0, 2**32 - 1))
def test_ties_cost_nothing(n_tokens: int, n_frames: int, seed: int) -> None:
    costs = np.random.default_rng(seed).integers(-1, 2, size=(n_tokens, n_frames)).astype(np.float64)
    assert cost_of_path(costs, find_starts(costs)) == least_cost(costs)


@given(st.integers(4, 20), st.integers(0, 2**32 - 1))
def test_the_filter_takes_medians_of_seven_mirrored_at_the_ends(n_frames: int, seed: int) -> None:
    ridge = np.random.default_rng(seed).normal(size=(2, n_frames))
    padded = np.pad(ridge, ((0, 0), (3, 3)), mode="reflect")
    medians = [np.median(padded[:, frame : frame + 7], axis=1) for frame in range(n_frames)]
    assert np.array_equal(_filter_median(torch.from_numpy(ridge)).numpy(), np.stack(medians, axis=1))
