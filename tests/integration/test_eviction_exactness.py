"""Rows that are evicted while others are decoded beside them, against a full cache with the same cells masked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pytest
import torch
from oracles.blind import read_blindly
from oracles.slots import decode_plainly
from torch import Tensor
from transformers import VibeVoiceAsrForConditionalGeneration
from vibevoice_models import make_network

from murmur_cli.decode.decoder import Decoder
from murmur_cli.decode.eviction import EvictionOptions, EvictionWatcher, RowLayout, most_cells
from murmur_cli.decode.frontier import FrontierOptions
from murmur_cli.decode.loop import decode_rows
from murmur_cli.decode.rows import Row
from murmur_cli.decode.step import N_STEPS
from murmur_cli.decode.watch import Orders

N_ROWS = 200
NEVER = -1  # a token that no model writes


class Scripted:
    """Stands for a tokenizer: whatever the tokens are, they read as the next part of a text that was written before."""

    def __init__(self, text: str, *, n_each: int) -> None:
        self._text, self._n_each, self._n_read = text, n_each, 0

    def __call__(self, tokens: Sequence[int]) -> str:
        first = self._n_read
        self._n_read += len(tokens) * self._n_each
        return self._text[first : self._n_read]


@dataclass
class Noted:
    """Remembers from which position on its row is blind to others."""

    watcher: EvictionWatcher
    n_prompt: int
    n_tokens: int = 0
    blind_from: dict[int, int] = field(default_factory=dict)

    def look(self, tokens: Sequence[int]) -> Orders:
        orders = self.watcher.look(tokens)
        self.n_tokens += len(tokens)
        assert set(orders.forget).isdisjoint(self.blind_from)
        self.blind_from |= dict.fromkeys(orders.forget, self.n_prompt + self.n_tokens - 1)
        return orders


def write_answer(rng: np.random.Generator, seconds: float) -> str:
    """An answer whose times pass through all of a chunk, now and then with a jump, and perhaps broken off."""
    parts, now = ["assistant\n["], 0.0
    while now < seconds:
        end = now + rng.uniform(0.3, 2.5)
        who = f'"Speaker":{rng.integers(3)},' if rng.random() < 0.8 else ""
        parts.append(f'{{"Start":{now:.2f},"End":{end:.2f},{who}"Content":"{"one " * rng.integers(1, 9)}"}},')
        now = end + (rng.uniform(0, 0.5) if rng.random() < 0.95 else rng.uniform(5, 20))
    return "".join(parts)


def draw_options(rng: np.random.Generator) -> EvictionOptions:
    speech = FrontierOptions(
        sink=int(rng.integers(0, 5)),
        margin=int(rng.integers(0, 12)),
        speaker_pin=int(rng.integers(0, 6)),
        onset_pin=int(rng.integers(0, 3)),
        max_jump=30,
    )
    policy = str(rng.choice(["none", "output", "speech", "both"], p=[0.1, 0.2, 0.3, 0.4]))
    return EvictionOptions(
        policy=policy,
        speech=speech,
        output_sink=int(rng.integers(0, 4)),
        output_window=int(rng.integers(1, 24)),
        output_header=int(rng.integers(0, 8)),
    )


def draw_row(key: int, rng: np.random.Generator, n_hidden: int) -> tuple[Tensor, RowLayout, EvictionOptions]:
    before, n_frames, after = int(rng.integers(1, 8)), int(rng.integers(1, 70)), int(rng.integers(1, 6))
    n_prompt = before + n_frames + after
    generator = torch.Generator().manual_seed(key)
    prompt = 0.5 * torch.randn((1, n_prompt, n_hidden), generator=generator)
    row = RowLayout(
        n_prompt=n_prompt, audio_start=before, n_frames=n_frames, frames_per_s=7.5, max_tokens=int(rng.integers(1, 110))
    )
    return prompt, row, draw_options(rng)


@pytest.fixture(scope="module")
def network() -> VibeVoiceAsrForConditionalGeneration:
    return make_network(n_layers=2, n_hidden=32)


@pytest.mark.parametrize("n_slots", [1, 8])
def test_forgetting_is_masking(network: VibeVoiceAsrForConditionalGeneration, n_slots: int) -> None:
    """Rows of many lengths, each forgetting its own positions at its own times, in slots that others leave."""
    rng = np.random.default_rng(n_slots)
    prompts: list[Tensor] = []
    rows: list[Row] = []
    for key in range(20 if n_slots == 1 else N_ROWS):
        prompt, row, options = draw_row(key, rng, network.config.text_config.hidden_size)
        script = Scripted(write_answer(rng, row.n_frames / 7.5), n_each=int(rng.integers(2, 9)))
        watcher = Noted(EvictionWatcher(options, row, script, n_steps=N_STEPS), row.n_prompt)
        prompts.append(prompt)
        embed = partial(prompts.__getitem__, key)
        n_cells = most_cells(options, row, n_steps=N_STEPS)
        rows.append(Row(key, row.n_prompt, row.max_tokens, embed, watcher, most_cells=n_cells))
    decoder = Decoder(network.model.language_model, network.lm_head)
    blind = 0
    for decoded in decode_rows(rows, decoder, n_slots=n_slots, stop_token=NEVER):
        watcher = rows[decoded.key].watcher
        assert list(decoded.tokens) == read_blindly(network, prompts[decoded.key], decoded.tokens, watcher.blind_from)
        assert decoded.stats.n_kept == decoded.stats.n_logical - len(watcher.blind_from)
        blind += len(watcher.blind_from)
    assert blind > 10 * len(rows)  # it was not an empty exercise


def test_reading_in_one_pass_is_writing_token_by_token(network: VibeVoiceAsrForConditionalGeneration) -> None:
    """Of the two things that rows are compared with, the fast one is the slow one."""
    rng = np.random.default_rng(0)
    for key in range(4):
        prompt, row, _ = draw_row(key, rng, network.config.text_config.hidden_size)
        n_tokens = min(row.max_tokens, 25)
        gone = rng.choice(row.n_prompt + n_tokens, size=15)
        blind_from = {int(position): int(position) + 1 + int(rng.integers(20)) for position in gone}
        written = decode_plainly(network, prompt, n_tokens=n_tokens, stop_token=NEVER, blind_from=blind_from)
        assert written == read_blindly(network, prompt, written, blind_from)
