"""The likeliest token is the one that torch finds, the first of several."""

from __future__ import annotations

import torch

from murmur_cli.models.whisper.likeliest import find_likeliest


def test_the_first_of_the_highest_is_found() -> None:
    logits = torch.tensor([[[0.0, 2.0, 2.0], [-float("inf"), -5.0, -7.0]], [[-1.0, -1.0, -1.0], [3.0, 1.0, 4.0]]])
    assert find_likeliest(logits).tolist() == [[1, 1], [0, 2]]


def test_it_is_the_one_that_torch_finds_in_tensors_of_any_layout() -> None:
    logits = torch.randn(4, 1, 1000, generator=torch.Generator().manual_seed(1))
    for given in (logits, logits.expand(-1, 3, -1), logits.transpose(0, 1), logits[::2]):
        found = find_likeliest(given)
        assert found.dtype == torch.int64
        assert torch.equal(found, given.argmax(dim=-1))
