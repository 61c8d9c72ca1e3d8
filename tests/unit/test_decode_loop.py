"""The loop around the step: when rows are pulled and admitted, what is told of them, and what is left behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest
import torch
from oracles.slots import decode_plainly
from torch import Tensor
from transformers import VibeVoiceAsrForConditionalGeneration
from vibevoice_models import make_network

from murmur_cli.decode import loop
from murmur_cli.decode.decoder import Decoder
from murmur_cli.decode.draw import draw_tokens
from murmur_cli.decode.graph import StepPlayer, record_graph
from murmur_cli.decode.loop import decode_rows
from murmur_cli.decode.rows import DecodedRow, Row
from murmur_cli.decode.slots import SlotCache
from murmur_cli.decode.step import StepState
from murmur_cli.decode.watch import Orders

NEVER = -1  # a token that no model writes


@cache
def network() -> VibeVoiceAsrForConditionalGeneration:
    return make_network()


def make_prompt(key: int, n_prompt: int) -> Tensor:
    generator = torch.Generator().manual_seed(key)
    return 0.5 * torch.randn(1, n_prompt, network().config.text_config.hidden_size, generator=generator)


def make_row(key: int, n_prompt: int = 10, max_tokens: int = 5, watcher: object = None) -> Row:
    return Row(key, n_prompt, max_tokens, partial(make_prompt, key, n_prompt), watcher)


def write_plainly(row: Row, stop_token: int = NEVER) -> tuple[int, ...]:
    return tuple(decode_plainly(network(), row.embed_prompt(), n_tokens=row.max_tokens, stop_token=stop_token))


def decode(rows: Iterator[Row] | Sequence[Row], *, n_slots: int, stop_token: int = NEVER) -> Iterator[DecodedRow]:
    decoder = Decoder(network().model.language_model, network().lm_head)
    return decode_rows(rows, decoder, n_slots=n_slots, stop_token=stop_token)


@pytest.fixture
def caches(monkeypatch: pytest.MonkeyPatch) -> list[SlotCache]:
    made: list[SlotCache] = []

    class Noted(SlotCache):
        def __init__(self, *args: object, **kwargs: object) -> None:
            super().__init__(*args, **kwargs)
            made.append(self)

    monkeypatch.setattr(loop, "SlotCache", Noted)
    return made


# --- what is pulled, and when


def test_no_rows_is_no_work() -> None:
    assert list(decode([], n_slots=8)) == []


def test_there_must_be_a_slot() -> None:
    with pytest.raises(ValueError, match="0 slots"):
        next(decode([make_row(0)], n_slots=0))


@pytest.mark.parametrize(("n_prompt", "max_tokens"), [(0, 1), (1, 0)])
def test_a_row_has_a_prompt_and_room_for_a_token(n_prompt: int, max_tokens: int) -> None:
    with pytest.raises(ValueError, match="row 3"):
        make_row(3, n_prompt, max_tokens)


def test_rows_are_pulled_and_encoded_when_there_is_room() -> None:
    pulled: list[int] = []
    encoded: list[int] = []

    def embed(key: int) -> Tensor:
        encoded.append(key)
        return make_prompt(key, 10)

    def iter_rows() -> Iterator[Row]:
        for key in range(30):
            pulled.append(key)
            yield Row(key, 10, 20, partial(embed, key))

    decoded: list[int] = []
    for row in decode(iter_rows(), n_slots=2):
        decoded.append(row.key)
        assert len(encoded) <= len(decoded) + 2
        assert len(pulled) <= len(encoded) + 8
    assert sorted(decoded) == encoded == list(range(30))


def test_a_slot_is_refilled_while_its_neighbour_goes_on() -> None:
    rows = [make_row(0, max_tokens=200), *(make_row(key, max_tokens=20) for key in range(1, 5))]
    assert [row.key for row in decode(rows, n_slots=2)] == [1, 2, 3, 4, 0]


def test_the_longest_row_in_sight_goes_first() -> None:
    rows = [make_row(key, max_tokens=1) for key in range(3)] + [make_row(3, n_prompt=50, max_tokens=1)]
    assert [row.key for row in decode(rows, n_slots=1)] == [3, 0, 1, 2]


# --- what rows become


def test_slots_grow_when_a_longer_row_comes() -> None:
    short = [make_row(key, n_prompt=20, max_tokens=40) for key in range(4)]
    rows = [*short, make_row(4, n_prompt=150, max_tokens=60), make_row(5, n_prompt=20, max_tokens=100)]
    decoded = {row.key: row.tokens for row in decode(rows, n_slots=1)}  # the long one is out of sight at first
    assert decoded == {row.key: write_plainly(row) for row in rows}


def test_a_row_that_stops_at_once_writes_nothing() -> None:
    (first, *_) = write_plainly(make_row(0))
    (row,) = decode([make_row(0)], n_slots=3, stop_token=first)
    assert row.tokens == ()
    assert row.stopped
    assert (row.stats.n_prompt, row.stats.n_tokens, row.stats.n_logical, row.stats.n_kept) == (10, 0, 10, 10)
    assert row.stats.live_share == 1.0


@pytest.mark.parametrize("max_tokens", [1, 2, 16, 17, 18, 33])
def test_the_budget_is_exact(max_tokens: int) -> None:
    row = make_row(0, max_tokens=max_tokens)
    (decoded,) = decode([row], n_slots=1)
    assert decoded.tokens == write_plainly(row)
    assert (decoded.stopped, decoded.halted) == (False, None)
    assert decoded.stats.n_tokens == len(decoded.tokens) == max_tokens
    assert decoded.stats.n_logical == decoded.stats.n_kept == 10 + max_tokens - 1  # the last token is not read


def test_shares_count_the_slots_that_write() -> None:
    rows = [make_row(0, n_prompt=30, max_tokens=33), make_row(1, max_tokens=9)]
    stats = {row.key: row.stats for row in decode(rows, n_slots=2)}
    assert stats[0].live_share == pytest.approx((8 * 1.0 + 24 * 0.5) / 32)  # 32 steps; the first token needs none
    assert stats[1].live_share == 1.0
    assert all(0 < one.prompt_s <= one.seconds for one in stats.values())


def test_slots_that_nobody_needs_are_not_there() -> None:
    (row,) = decode([make_row(0, max_tokens=9)], n_slots=8)
    assert row.stats.live_share == 1.0


# --- watchers


class Recorder:
    def __init__(self, judge: Callable[[list[int]], Orders] = lambda seen: Orders()) -> None:
        self.seen: list[int] = []
        self._judge = judge

    def look(self, tokens: Sequence[int]) -> Orders:
        assert tokens
        self.seen += tokens
        return self._judge(self.seen)


def test_a_watcher_sees_every_token_once_while_its_row_goes_on() -> None:
    watcher = Recorder()
    (row,) = decode([make_row(0, max_tokens=40, watcher=watcher)], n_slots=1)
    assert tuple(watcher.seen) == row.tokens[:33]  # one from the prompt, two blocks of 16; then it has ended


def test_a_watcher_ends_its_row_and_no_other() -> None:
    watcher = Recorder(lambda seen: Orders(halt="a loop" if len(seen) > 30 else None))
    rows = [make_row(0, max_tokens=100, watcher=watcher), make_row(1, max_tokens=60)]
    decoded = {row.key: row for row in decode(rows, n_slots=2)}
    assert (decoded[0].halted, decoded[0].stopped, decoded[0].stats.n_tokens) == ("a loop", False, 33)
    assert decoded[0].tokens == write_plainly(rows[0])[:33]
    assert (decoded[1].halted, decoded[1].tokens) == (None, write_plainly(rows[1]))


def test_forgotten_positions_are_counted_once() -> None:
    watcher = Recorder(lambda seen: Orders(forget=range(2, 6)))
    (row,) = decode([make_row(0, max_tokens=60, watcher=watcher)], n_slots=1)
    assert (row.stats.n_logical, row.stats.n_kept) == (69, 65)


def test_a_watcher_cannot_forget_what_is_not_read() -> None:
    watcher = Recorder(lambda seen: Orders(forget=[10 + len(seen) - 1]))
    with pytest.raises(ValueError, match="was never held"):
        list(decode([make_row(0, max_tokens=60, watcher=watcher)], n_slots=1))


def test_a_row_that_is_forgotten_in_time_gets_less_room(caches: list[SlotCache]) -> None:
    def keep_the_prompt_and_20(seen: list[int]) -> Orders:
        return Orders(forget=range(80, 80 + max(0, len(seen) - 20)))

    row = make_row(0, n_prompt=80, max_tokens=200)
    tight = replace(row, watcher=Recorder(keep_the_prompt_and_20), most_cells=80 + 20 + 16)
    assert [next(decode([each], n_slots=1)).stats.n_tokens for each in (row, tight)] == [200, 200]
    assert [cache.capacity for cache in caches] == [384, 128]
    with pytest.raises(ValueError, match="row 0: its watcher forgets too little for 116 cells"):
        next(decode([replace(tight, watcher=Recorder())], n_slots=1))
    with pytest.raises(ValueError, match="80 positions of prompt in 79 cells"):
        replace(row, most_cells=79)


# --- what is left behind


def fail() -> Tensor:
    raise OSError("the file is gone")


def test_what_a_prompt_raises_goes_through_and_the_memory_is_given_back(caches: list[SlotCache]) -> None:
    decoded = decode([make_row(0, n_prompt=20), Row(1, 10, 5, fail)], n_slots=1)
    assert next(decoded).key == 0
    assert caches[0].keys
    with pytest.raises(OSError, match="is gone") as caught:
        next(decoded)
    assert caught.tb is not None  # its frames know the cache still
    assert caches[0].keys == caches[0].values == []


def test_memory_is_given_back_when_nobody_listens_any_more(caches: list[SlotCache]) -> None:
    decoded = decode([make_row(key) for key in range(9)], n_slots=2)
    next(decoded)
    decoded.close()
    assert caches[0].keys == []


def test_a_prompt_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match=r"row 0: a prompt of shape \(1, 9, 64\)"):
        list(decode([Row(0, 10, 5, partial(make_prompt, 0, 9))], n_slots=1))


# --- recorded steps


def make_fake_recorder(records: list[int]) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Like the recorder of a GPU: runs the step a few times, and what it returns runs the very same tensors."""

    def record(step: Callable[[], None]) -> Callable[[], None]:
        for _ in range(3):
            step()
        records.append(1)
        return step

    return record


def test_recording_leaves_no_trace() -> None:
    state = StepState(2, torch.device("cpu"))
    steps: list[int] = []

    def step() -> None:
        steps.append(1)
        state.at.add_(1)
        state.tokens.add_(10)

    records: list[int] = []
    player = StepPlayer(step, make_fake_recorder(records))
    player.play(2, state.tensors)
    assert (state.at.tolist(), state.tokens.tolist(), len(steps), len(records)) == ([2], [[20], [20]], 5, 1)
    player.play(4, state.tensors)
    assert (state.at.tolist(), len(records)) == ([6], 1)
    player.forget()
    player.play(1, state.tensors)
    assert (state.at.tolist(), state.tokens.tolist(), len(records)) == ([7], [[70], [70]], 2)


def test_a_graph_is_captured_after_warming_up_on_another_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """The calls alone: there is no GPU here to make them."""
    told: list[str] = []

    class Fake:
        def __init__(self, *names: object) -> None:
            self.name = " ".join(map(str, names))

        def __enter__(self) -> None:
            told.append(f"enter {self.name}")

        def __exit__(self, *_: object) -> None:
            told.append(f"leave {self.name}")

        def __str__(self) -> str:
            return self.name

        def wait_stream(self, other: object) -> None:
            told.append(f"{self.name} waits for {other}")

        def replay(self) -> None:
            told.append("replay")

    for name in ("device", "stream", "graph"):
        monkeypatch.setattr(torch.cuda, name, partial(Fake, name))
    monkeypatch.setattr(torch.cuda, "Stream", partial(Fake, "side"))
    monkeypatch.setattr(torch.cuda, "current_stream", partial(Fake, "main"))
    monkeypatch.setattr(torch.cuda, "CUDAGraph", partial(Fake, "recorded"))
    play = record_graph(lambda: told.append("step"), device=torch.device("cuda", 1))
    play()
    assert told == [
        "enter device cuda:1",
        "side waits for main",
        "enter stream side",
        *["step"] * 3,
        "leave stream side",
        "main waits for side",
        "enter graph recorded",
        "step",
        "leave graph recorded",
        "leave device cuda:1",
        "replay",
    ]


def test_rows_are_the_same_recorded_and_growing(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a GPU: steps have one shape and are recorded, while rows are under way too, and again once slots grow."""
    records: list[int] = []
    shapes: list[tuple[int, ...]] = []
    hold = SlotCache.hold

    def note_shape(cache: SlotCache, cells: Tensor, positions: Tensor) -> Tensor:
        mask = hold(cache, cells, positions)
        shapes.append(tuple(mask.shape))
        return mask

    monkeypatch.setattr(SlotCache, "hold", note_shape)
    monkeypatch.setattr(loop, "find_recorder", lambda device: make_fake_recorder(records))
    rows = [make_row(key, n_prompt=20 + key, max_tokens=20 + 5 * key if key else 120) for key in range(9)]
    rows.append(make_row(9, n_prompt=250, max_tokens=20))  # it comes in sight when the first is under way
    decoded = {row.key: row.tokens for row in decode(rows, n_slots=2)}
    assert decoded == {row.key: write_plainly(row) for row in rows}
    assert len(records) == 2
    assert list(dict.fromkeys(shapes)) == [(2, 1, 1, 256), (2, 1, 1, 384)]


# --- rows that are drawn, and rows that follow others


def draw_row(key: int, temperature: float, seed: int, max_tokens: int = 40) -> Row:
    return replace(make_row(key, max_tokens=max_tokens), temperature=temperature, seed=seed)


def draw_plainly(row: Row) -> tuple[int, ...]:
    """One forward pass over all that was written for every token, and one random number each."""
    random = np.random.default_rng(row.seed)
    embedded, written = row.embed_prompt(), []
    for _ in range(row.max_tokens):
        hidden = network().model.language_model(inputs_embeds=embedded).last_hidden_state[:, -1]
        chance = torch.tensor([[random.random(dtype=np.float32)]])
        token = draw_tokens(network().lm_head(hidden).float(), torch.tensor([[row.temperature]]), chance)
        written.append(int(token))
        embedded = torch.cat([embedded, network().get_input_embeddings()(token)], dim=1)
    return tuple(written)


@torch.no_grad()
def test_what_is_drawn_depends_on_the_row_alone() -> None:
    rows = [draw_row(0, 0.8, 5), make_row(1, max_tokens=40), draw_row(2, 0.8, 6, max_tokens=21), draw_row(3, 2.0, 5)]
    expected = {row.key: draw_plainly(row) if row.temperature else write_plainly(row) for row in rows}
    assert len(set(expected.values())) == 4
    for n_slots in (1, 2, 4):
        assert {row.key: row.tokens for row in decode(rows[::-1], n_slots=n_slots)} == expected


def test_a_row_may_call_for_another_when_all_others_are_pulled() -> None:
    waiting = [make_row(0, max_tokens=3), make_row(1, max_tokens=40)]

    class Source:
        def __iter__(self) -> Iterator[Row]:
            return self

        def __next__(self) -> Row:
            if not waiting:
                raise StopIteration
            return waiting.pop(0)

    decoded: dict[int, tuple[int, ...]] = {}
    for row in decode(Source(), n_slots=2):
        decoded[row.key] = row.tokens
        if row.key in (0, 1):
            waiting.append(make_row(row.key + 2, max_tokens=7))
    assert decoded == {key: write_plainly(make_row(key, max_tokens=n)) for key, n in ((0, 3), (1, 40), (2, 7), (3, 7))}
