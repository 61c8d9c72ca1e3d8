"""Nucleus sampling against the plain loop over one row's tokens."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from murmur_cli.decode.draw import TOP_SHARE, draw_tokens

N_ROWS, N_TOKENS = 5, 40


def draw_plainly(logits: np.ndarray, temperature: float, uniform: float) -> int:
    """Go through the tokens, likeliest first, until their share passes the random number."""
    scaled = np.exp((logits - logits.max()).astype(np.float64) / temperature)
    shares = scaled / scaled.sum()
    kept: list[int] = []
    for token in np.argsort(-shares, kind="stable"):
        if sum(shares[kept]) >= TOP_SHARE:
            break
        kept.append(int(token))
    passed, wanted = 0.0, uniform * sum(shares[kept])
    for token in kept:
        passed += shares[token]
        if passed > wanted:
            return token
    return kept[-1]


def make(seed: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    random = np.random.default_rng(seed)
    logits = random.normal(0, 3, (N_ROWS, N_TOKENS)).astype(np.float32)
    temperatures = random.choice([0.0, 0.2, 0.4, 1.0], (N_ROWS, 1)).astype(np.float32)
    uniforms = random.random((N_ROWS, 1), dtype=np.float32)
    return torch.from_numpy(logits), torch.from_numpy(temperatures), torch.from_numpy(uniforms)


@pytest.mark.parametrize("seed", range(60))
def test_it_draws_what_the_plain_loop_draws(seed: int) -> None:
    logits, temperatures, uniforms = make(seed)
    drawn = draw_tokens(logits, temperatures, uniforms)
    assert drawn.shape == (N_ROWS, 1)
    for row in range(N_ROWS):
        temperature = float(temperatures[row, 0])
        expected = int(logits[row].argmax())
        if temperature:
            expected = draw_plainly(logits[row].numpy(), temperature, float(uniforms[row, 0]))
        assert int(drawn[row, 0]) == expected


def test_what_one_row_draws_does_not_depend_on_the_others() -> None:
    logits, temperatures, uniforms = make(0)
    together = draw_tokens(logits, temperatures, uniforms)
    for row in range(N_ROWS):
        one = slice(row, row + 1)
        assert torch.equal(draw_tokens(logits[one], temperatures[one], uniforms[one]), together[one])


def test_tokens_come_as_often_as_they_are_likely_and_the_tail_never() -> None:
    logits = torch.log(torch.tensor([[0.5, 0.3, 0.17, 0.02, 0.01]])).expand(4000, 5)
    uniforms = (torch.arange(4000, dtype=torch.float32)[:, None] + 0.5) / 4000
    drawn = draw_tokens(logits, torch.ones(4000, 1), uniforms)
    shares = torch.bincount(drawn[:, 0], minlength=5) / 4000
    assert torch.allclose(shares, torch.tensor([0.5, 0.3, 0.17, 0.0, 0.0]) / 0.97, atol=1e-3)


def test_the_last_of_the_nucleus_is_drawn_at_the_very_end() -> None:
    logits = torch.log(torch.tensor([[0.6, 0.37, 0.02, 0.01]]))
    assert int(draw_tokens(logits, torch.ones(1, 1), torch.tensor([[1.0]]))) == 1
