"""The likeliest token is the one that torch finds, the first of several."""

from __future__ import annotations

import pytest
import torch

from murmur_cli.models.whisper.likeliest import find_likeliest, find_top


def test_the_first_of_the_highest_is_found() -> None:
    logits = torch.tensor([[[0.0, 2.0, 2.0], [-float("inf"), -5.0, -7.0]], [[-1.0, -1.0, -1.0], [3.0, 1.0, 4.0]]])
    assert find_likeliest(logits).tolist() == [[1, 1], [0, 2]]


def test_it_is_the_one_that_torch_finds_in_tensors_of_any_layout() -> None:
    logits = torch.randn(4, 1, 1000, generator=torch.Generator().manual_seed(1))
    for given in (logits, logits.expand(-1, 3, -1), logits.transpose(0, 1), logits[::2]):
        found = find_likeliest(given)
        assert found.dtype == torch.int64
        assert torch.equal(found, given.argmax(dim=-1))


@pytest.mark.parametrize("n_tokens", [1, 3, 20])
def test_the_top_is_that_of_torch(n_tokens: int) -> None:
    logits = torch.randn(5, 400, generator=torch.Generator().manual_seed(n_tokens))
    logits[0, 7:] = -torch.inf
    some = torch.randint(0, 400, (5, n_tokens), generator=torch.Generator().manual_seed(0))
    some[0] = 6
    least = torch.minimum(logits.topk(n_tokens).values[:, -1], logits.gather(1, some).amin(1))
    expected = logits.topk(n_tokens, dim=-1)
    found = find_top(logits, n_tokens, least=least)
    assert torch.equal(logits.gather(1, found), expected.values)
    assert all(len(set(row)) == n_tokens for row in found.tolist())
