"""Chunks decoded side by side: admit, step, retire, refill.

B slots hold one row each. There is no barrier: a row that has ended makes room at once, for a row of any
file. What a row writes does not depend on its neighbours (in float32; in bf16 two tokens that are equally likely may
change places with the number of slots).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate

import numpy as np
import torch
from torch import Tensor

from murmur_cli.decode.bias_filter import BiasFilter, RowBias
from murmur_cli.decode.cells import TRASH, RowCells
from murmur_cli.decode.decoder import Decoder
from murmur_cli.decode.draw import draw_tokens
from murmur_cli.decode.graph import StepPlayer, find_recorder
from murmur_cli.decode.look_ahead import LookAhead
from murmur_cli.decode.rows import DecodedRow, Row, RowStats
from murmur_cli.decode.slots import SlotCache, round_capacity
from murmur_cli.decode.step import N_STEPS, StepState, run_step
from murmur_cli.decode.watch import Orders

__all__ = ["LOOK_AHEAD_BATCHES", "decode_rows"]

LOOK_AHEAD_BATCHES = 4


def decode_rows(rows: Iterable[Row], decoder: Decoder, *, n_slots: int, stop_token: int) -> Iterator[DecodedRow]:
    """Decode rows, the longest of those in sight first; answers come as rows end.

    Args:
        rows: Pulled when a slot is free, up to four batches ahead. An iterator that has come to its end is asked again
            as long as rows are under way: an answer may call for another row.
        decoder: What decodes them.
        n_slots: How many are decoded side by side.
        stop_token: The token that ends a row.

    Raises:
        ValueError: There is no slot, or a prompt is not as long as its row says, or a row holds more cells than it
            said it would. What ``embed_prompt`` and watchers raise goes through. The rows under way are lost.

    Source:
        Murmur, arXiv:2606.01483.
    """
    if n_slots < 1:
        raise ValueError(f"{n_slots} slots: there must be one")
    waiting = LookAhead(rows, n_rows=LOOK_AHEAD_BATCHES * n_slots)
    waiting.pull()
    if not waiting:
        return
    capacity = round_capacity(waiting.n_cells)
    with closing(
        _Slots(decoder, n_slots=min(n_slots, len(waiting)), stop_token=stop_token, capacity=capacity)
    ) as slots:
        while True:
            slots.fill(waiting)
            if slots.is_empty:
                return
            slots.run_block()
            yield from slots.retire()


@dataclass(slots=True, eq=False)
class _Seat:
    """A row in its slot."""

    row: Row
    started: float  # time.perf_counter()
    cells: RowCells
    random: np.random.Generator
    prompt_s: float = 0.0
    tokens: list[int] = field(default_factory=list)
    changed: list[bool] = field(default_factory=list)  # by the row's list, if it has one
    stopped: bool = False
    halted: str | None = None
    n_seen: int = 0  # tokens that the watcher knows
    n_steps: int = 0
    shares: float = 0.0  # of live slots, summed up over its steps

    @property
    def n_left(self) -> int:
        """Tokens that it may still write."""
        return self.row.max_tokens - len(self.tokens)

    @property
    def is_drawn(self) -> bool:
        """Whether chance has a say in it."""
        return self.row.temperature > 0.0

    def draw(self, n: int) -> list[float]:
        """Take the next ``n`` of the row's own random numbers, one for every token."""
        numbers: list[float] = self.random.random(n, dtype=np.float32).tolist()
        return numbers

    @property
    def is_live(self) -> bool:
        """Whether it goes on."""
        return not self.stopped and self.halted is None and self.n_left > 0

    def write(self, written: Sequence[int], changed: Sequence[bool], stop_token: int) -> int:
        """Take over what was written; returns how much of it was this row's, the stop token counted."""
        tokens = list(written[: self.n_left])
        self.stopped = stop_token in tokens
        n_written = tokens.index(stop_token) if self.stopped else len(tokens)
        self.tokens += tokens[:n_written]
        self.changed += changed[:n_written]
        return n_written + self.stopped


class _Slots:
    """B slots, their cache, and the rows that sit in them."""

    def __init__(self, decoder: Decoder, *, n_slots: int, stop_token: int, capacity: int) -> None:
        device = decoder.device
        self._decoder = decoder
        self._stop_token = stop_token
        self._cache = SlotCache(decoder.cache_shape, n_slots=n_slots, capacity=capacity, device=device)
        self._state = StepState(n_slots, device)
        self._seats: list[_Seat | None] = [None] * n_slots
        recorder = find_recorder(device)
        self._has_one_shape = recorder is not None  # a step that is recorded; in Python, fewer cells take less time
        step = partial(run_step, decoder, self._cache, self._state)
        self._players = {draws: StepPlayer(partial(step, draws=draws), recorder) for draws in (False, True)}
        self._bias: BiasFilter | None = None  # there is none before the first row with a list
        self._biased_players: dict[bool, StepPlayer] = {}

    @property
    def is_empty(self) -> bool:
        """Whether no row is here."""
        return not any(self._seats)

    def fill(self, waiting: LookAhead) -> None:
        """Admit rows until there is no free slot, or none waits."""
        for slot, seat in enumerate(self._seats):
            if seat is None and (row := waiting.pop()):
                self._seats[slot] = self._admit(slot, row)
        if self._bias is not None and self._bias.drop_left():
            self._forget_biased_steps()

    @torch.inference_mode()
    def _admit(self, slot: int, row: Row) -> _Seat:
        started = time.perf_counter()
        embedded = row.embed_prompt()
        if embedded.shape[:2] != (1, row.n_prompt):
            raise ValueError(f"row {row.key}: a prompt of shape {tuple(embedded.shape)}, not (1, {row.n_prompt}, H)")
        if round_capacity(row.n_cells) > self._cache.capacity:
            self._cache.grow(round_capacity(row.n_cells))
            self._forget_steps()
        positions = torch.arange(row.n_prompt, device=embedded.device)[None]
        cache = self._cache.open_prompt(slot, row.n_prompt)
        hidden = self._decoder.read(embedded, positions=positions, mask=None, cache=cache)
        seat = _Seat(row, started, RowCells(row.n_prompt), np.random.default_rng(row.seed))
        logits = self._decoder.to_logits(hidden[:, -1])  # of the last position alone: V is large
        first, is_changed = self._choose_first(slot, seat, logits)
        self._state.seat(slot, first, row.n_prompt, temperature=row.temperature)
        seat.prompt_s = time.perf_counter() - started
        seat.write([first], [is_changed] if row.bias else [], self._stop_token)
        return seat

    def _choose_first(self, slot: int, seat: _Seat, logits: Tensor) -> tuple[int, bool]:
        """Choose a row's first token from logits, shape [1, V], and tell whether its list had a hand in it."""
        pick = _make_first_pick(seat, logits.device)
        self._listen(slot, seat.row.bias)
        if self._bias is None or seat.row.bias is None:
            return int(pick(logits)), False
        rows = slice(slot, slot + 1)
        token = self._bias.choose(logits, pick, rows)
        self._bias.read(token, rows)
        return int(token), bool(self._bias.changed[slot])

    def _listen(self, slot: int, bias: RowBias | None) -> None:
        if self._bias is None and bias is not None:
            self._bias = BiasFilter(bias.kit, len(self._seats), self._decoder.device)
            for draws in (False, True):
                step = partial(run_step, self._decoder, self._cache, self._state, draws=draws, bias=self._bias)
                self._biased_players[draws] = StepPlayer(step, find_recorder(self._decoder.device))
        if self._bias is not None and self._bias.seat(slot, bias):
            self._forget_biased_steps()

    @torch.inference_mode()
    def run_block(self) -> None:
        """Run as many steps as may be of use, up to ``N_STEPS``, and see what was written."""
        live = {slot: seat for slot, seat in enumerate(self._seats) if seat and seat.is_live}
        if not live:
            return
        n_steps = min(N_STEPS, max(seat.n_left for seat in live.values()))
        cells = [[TRASH] * N_STEPS for _ in self._seats]
        chances = [[0.0] * N_STEPS for _ in self._seats]
        for slot, seat in live.items():
            taken = seat.cells.take(min(n_steps, seat.n_left))
            cells[slot][: len(taken)] = taken
            if seat.is_drawn:
                chances[slot][: len(taken)] = seat.draw(len(taken))
            if seat.cells.end > self._cache.capacity:
                raise ValueError(f"row {seat.row.key}: its watcher forgets too little for {seat.row.n_cells} cells")
        end = max(seat.cells.end for seat in live.values())
        self._cache.attend_to(self._cache.capacity if self._has_one_shape else end)
        draws = any(seat.is_drawn for seat in live.values())
        self._state.begin_block(cells, chances if draws else None)
        bias = self._bias if any(seat.row.bias for seat in live.values()) else None
        player = (self._players if bias is None else self._biased_players)[draws]
        kept = () if bias is None else bias.tensors
        player.play(n_steps, (*self._state.tensors, *kept, self._cache.positions))
        changed = None if bias is None else self._state.read_changed(n_steps)
        self._look(live, self._state.read_block(n_steps), changed)

    def _look(
        self, live: Mapping[int, _Seat], written: Sequence[Sequence[int]], changed: Sequence[Sequence[bool]] | None
    ) -> None:
        lengths = {
            slot: seat.write(written[slot], changed[slot] if changed and seat.row.bias else (), self._stop_token)
            for slot, seat in live.items()
        }
        n_live = [sum(length > step for length in lengths.values()) for step in range(max(lengths.values()))]
        shares = list(accumulate((n / len(self._seats) for n in n_live), initial=0.0))
        for slot, seat in live.items():
            seat.n_steps += lengths[slot]
            seat.shares += shares[lengths[slot]]
            if seat.is_live and seat.row.watcher is not None:
                self._obey(slot, seat, seat.row.watcher.look(seat.tokens[seat.n_seen :]))
                seat.n_seen = len(seat.tokens)

    def _obey(self, slot: int, seat: _Seat, orders: Orders) -> None:
        freed = seat.cells.forget(orders.forget)
        if freed:
            self._cache.evict(slot, freed)
        seat.halted = orders.halt

    def retire(self) -> Iterator[DecodedRow]:
        """Free the slots of the rows that have ended, and say what they wrote."""
        for slot, seat in enumerate(self._seats):
            if seat and not seat.is_live:
                self._seats[slot] = None
                yield _to_decoded(seat)

    def close(self) -> None:
        """Give the memory back, also while an exception still holds on to this."""
        self._forget_steps()
        self._biased_players.clear()
        self._bias = None
        self._cache.clear()

    def _forget_steps(self) -> None:
        for player in self._players.values():
            player.forget()
        self._forget_biased_steps()

    def _forget_biased_steps(self) -> None:
        for player in self._biased_players.values():
            player.forget()


def _make_first_pick(seat: _Seat, device: torch.device) -> Callable[[Tensor], Tensor]:
    """Say how a row's first token is chosen from logits, shape [1, V]."""
    if not seat.is_drawn:
        return lambda logits: logits.argmax(-1, keepdim=True)
    chances = torch.tensor([seat.draw(1)], device=device)
    return partial(draw_tokens, temperatures=torch.full_like(chances, seat.row.temperature), uniforms=chances)


def _to_decoded(seat: _Seat) -> DecodedRow:
    row = seat.row
    n_logical = min(seat.cells.n_positions, row.n_prompt + len(seat.tokens))
    stats = RowStats(
        n_prompt=row.n_prompt,
        n_tokens=len(seat.tokens),
        seconds=time.perf_counter() - seat.started,
        prompt_s=seat.prompt_s,
        live_share=seat.shares / seat.n_steps if seat.n_steps else 1.0,
        n_kept=seat.cells.count_kept(n_logical),
        n_logical=n_logical,
    )
    return DecodedRow(
        row.key,
        tuple(seat.tokens),
        stopped=seat.stopped,
        halted=seat.halted,
        stats=stats,
        changed=tuple(seat.changed),
    )
