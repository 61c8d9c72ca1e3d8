"""Slots against slow counterparts: which cell holds what, which row goes first, and what rows write."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.slots import decode_plainly, order_plainly
from transformers import VibeVoiceAsrForConditionalGeneration
from vibevoice_models import make_network

from murmur_cli.decode.cells import TRASH, RowCells
from murmur_cli.decode.decoder import Decoder
from murmur_cli.decode.look_ahead import LookAhead
from murmur_cli.decode.loop import decode_rows
from murmur_cli.decode.rows import Row
from murmur_cli.decode.watch import Orders


@given(
    n_prompt=st.integers(1, 12),
    rounds=st.lists(st.tuples(st.lists(st.integers(0, 30), max_size=6), st.integers(0, 5)), max_size=12),
)
def test_cells_hold_what_was_not_forgotten(n_prompt: int, rounds: list[tuple[list[int], int]]) -> None:
    cells = RowCells(n_prompt)
    held = {position: position + 1 for position in range(n_prompt)}  # the oracle: position -> cell
    n_positions = n_prompt
    for named, n_taken in rounds:
        forgotten = [position % n_positions for position in named]
        freed = cells.forget(forgotten)
        assert sorted(freed) == sorted(held.pop(position) for position in set(forgotten) if position in held)
        for cell in cells.take(n_taken):
            assert cell == min(set(range(TRASH + 1, 200)) - set(held.values()))
            held[n_positions] = cell
            n_positions += 1
        assert max(held.values(), default=TRASH) < cells.end <= n_positions + 1
        assert cells.n_positions == n_positions
        for n in range(n_positions + 1):
            assert cells.count_kept(n) == sum(position < n for position in held)


@pytest.mark.parametrize("position", [-1, 3])
def test_what_was_never_held_cannot_be_forgotten(position: int) -> None:
    with pytest.raises(ValueError, match="was never held"):
        RowCells(3).forget([position])


def make_row(key: int, n_prompt: int, max_tokens: int = 1) -> Row:
    return Row(key, n_prompt, max_tokens, lambda: torch.empty(0))


@given(lengths=st.lists(st.integers(1, 9), max_size=30), n_ahead=st.integers(1, 8))
def test_the_longest_in_sight_goes_first(lengths: list[int], n_ahead: int) -> None:
    pulled: list[int] = []

    def iter_rows() -> Iterator[Row]:
        for key, length in enumerate(lengths):
            pulled.append(key)
            yield make_row(key, length)

    waiting = LookAhead(iter_rows(), n_rows=n_ahead)
    order: list[int] = []
    while row := waiting.pop():
        order.append(row.key)
        assert len(pulled) <= len(order) - 1 + n_ahead  # those that may wait, and those that are gone
    assert order == order_plainly(lengths, n_ahead=n_ahead)
    for key, length in enumerate(lengths):  # nobody is passed over more often than rows may wait
        overtaken = [other for other in order[: order.index(key)] if other > key]
        assert len(overtaken) <= n_ahead, length


def test_equal_rows_keep_their_order() -> None:
    waiting = LookAhead([make_row(key, 5) for key in range(7)], n_rows=4)
    assert [row.key for row in iter(waiting.pop, None)] == list(range(7))


def test_a_short_row_is_not_passed_over_for_ever() -> None:
    lengths = [1, *[9] * 50]
    assert order_plainly(lengths, n_ahead=8).index(0) == 8
    waiting = LookAhead([make_row(key, length) for key, length in enumerate(lengths)], n_rows=8)
    assert [row.key for row in iter(waiting.pop, None)].index(0) == 8


@cache
def network() -> VibeVoiceAsrForConditionalGeneration:
    return make_network()


class Forgetful:
    """Forgets a stretch of its prompt, then parts of what it has written, and remembers from when on."""

    def __init__(self, n_prompt: int, holes: Sequence[tuple[int, int]]) -> None:
        self._n_prompt = n_prompt
        self._holes = list(holes)
        self._n_tokens = 0
        self.blind_from: dict[int, int] = {}

    def look(self, tokens: Sequence[int]) -> Orders:
        self._n_tokens += len(tokens)
        now = self._n_prompt + self._n_tokens - 1  # the last token is yet to be read
        if not self._holes:
            return Orders()
        start, length = self._holes.pop(0)
        hole = range(start % now, min(start % now + length, now))
        for position in hole:
            self.blind_from.setdefault(position, now)
        return Orders(forget=hole)


ROWS = st.lists(
    st.tuples(
        st.integers(1, 60),  # positions of the prompt
        st.integers(1, 50),  # tokens at most
        st.lists(st.tuples(st.integers(0, 100), st.integers(1, 40)), max_size=3),  # holes
    ),
    min_size=1,
    max_size=9,
)


@settings(max_examples=12)
@given(rows=ROWS, n_slots=st.integers(1, 8), seed=st.integers(0, 99))
def test_rows_write_what_they_write_alone(
    rows: list[tuple[int, int, list[tuple[int, int]]]], n_slots: int, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    n_hidden = network().config.text_config.hidden_size
    prompts = [0.5 * torch.randn((1, n_prompt, n_hidden), generator=generator) for n_prompt, _, _ in rows]
    watchers = [Forgetful(n_prompt, holes) for n_prompt, _, holes in rows]
    first = decode_plainly(network(), prompts[0], n_tokens=rows[0][1], stop_token=-1)
    stop_token = first[len(first) // 2]  # so that one row at least ends in its middle
    asked = [
        Row(key, n_prompt, n_tokens, lambda key=key: prompts[key], watchers[key])
        for key, (n_prompt, n_tokens, _) in enumerate(rows)
    ]
    decoder = Decoder(network().model.language_model, network().lm_head)
    decoded = {row.key: row for row in decode_rows(asked, decoder, n_slots=n_slots, stop_token=stop_token)}
    assert sorted(decoded) == list(range(len(rows)))
    for key, (n_prompt, n_tokens, _) in enumerate(rows):
        blind = watchers[key].blind_from
        plain = decode_plainly(network(), prompts[key], n_tokens=n_tokens, stop_token=stop_token, blind_from=blind)
        row = decoded[key]
        assert list(row.tokens) == plain
        assert row.stopped == (len(plain) < n_tokens)
        assert row.stats.n_tokens == len(plain)
        assert row.stats.n_logical == n_prompt + len(plain) - (not row.stopped)
        assert row.stats.n_kept == row.stats.n_logical - len(blind)
