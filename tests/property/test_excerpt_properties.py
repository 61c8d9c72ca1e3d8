"""An excerpt against the signal in one piece; how it is cut into blocks must not matter."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from oracles.excerpt import cut

from murmur_cli.audio.decoder import Block
from murmur_cli.audio.excerpt import iter_excerpt

RATES_AND_SIZES = st.lists(st.tuples(st.sampled_from([8, 10, 16]), st.integers(1, 40)), min_size=1, max_size=4)


def make_pieces(sizes: list[tuple[int, int]]) -> list[tuple[int, np.ndarray]]:
    """Samples that count from 0 on; neighbours of one rate are one piece."""
    pieces: list[tuple[int, np.ndarray]] = []
    n_before = 0
    for rate, n_samples in sizes:
        samples = np.arange(n_before, n_before + n_samples, dtype=np.float32)
        n_before += n_samples
        if pieces and pieces[-1][0] == rate:
            samples = np.concatenate([pieces.pop()[1], samples])
        pieces.append((rate, samples))
    return pieces


def iter_blocks(pieces: list[tuple[int, np.ndarray]], n_block: int) -> Iterator[Block]:
    for rate, samples in pieces:
        for i in range(0, len(samples), n_block):
            yield Block([samples[i : i + n_block], -samples[i : i + n_block]], ("FL", "FR"), rate)


@given(RATES_AND_SIZES, st.integers(1, 15), st.floats(0.0, 12.0), st.none() | st.floats(0.01, 12.0))
def test_an_excerpt_is_what_lies_between(
    sizes: list[tuple[int, int]], n_block: int, start_s: float, length_s: float | None
) -> None:
    pieces = make_pieces(sizes)
    end_s = None if length_s is None else start_s + length_s
    heard = list(iter_excerpt(iter_blocks(pieces, n_block), start_s=start_s, end_s=end_s))
    expected = np.concatenate(cut(pieces, start_s, end_s))
    for channel, sign in ((0, 1), (1, -1)):
        joined = np.concatenate([np.zeros(0, np.float32), *(block.channels[channel] for block in heard)])
        assert np.array_equal(joined, sign * expected)
    rates = {float(sample): rate for rate, samples in pieces for sample in samples}
    assert all(block.sample_rate == rates[float(block.channels[0][0])] for block in heard)


def test_what_comes_after_the_end_is_not_asked_for() -> None:
    blocks = iter_blocks([(8, np.arange(80, dtype=np.float32))], 8)
    assert [len(block.channels[0]) for block in iter_excerpt(blocks, start_s=0.5, end_s=1.25)] == [4, 2]
    assert float(next(blocks).channels[0][0]) == 16.0
