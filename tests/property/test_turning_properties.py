"""Texts that turn in circles while they are written, against looking back at each of them."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st
from oracles.whisper_keywords import turns

from murmur_cli.decode.turning import TurnCounter

CPU = torch.device("cpu")
TOKENS = st.lists(st.integers(0, 2), min_size=1, max_size=40)


@given(texts=st.lists(TOKENS, min_size=1, max_size=4), pad=st.integers(3, 5))
def test_each_row_is_judged_by_its_own_text(texts: list[list[int]], pad: int) -> None:
    counter = TurnCounter(len(texts), CPU)
    for place in range(max(map(len, texts))):
        counter.read(torch.tensor([text[place] if place < len(text) else pad for text in texts]))
        told = counter.is_turning().tolist()
        read = [(text + [pad] * 40)[: place + 1] for text in texts]
        assert told == [turns(text) for text in read]


@given(head=TOKENS, tails=st.lists(TOKENS, min_size=1, max_size=3))
def test_a_row_goes_on_from_the_one_that_it_branches_from(head: list[int], tails: list[list[int]]) -> None:
    counter = TurnCounter(2, CPU)
    for token in head:
        counter.read(torch.tensor([token, 9]))
    counter.select(torch.zeros(len(tails), dtype=torch.int64))
    n_read = min(map(len, tails))
    for place in range(n_read):
        counter.read(torch.tensor([tail[place] for tail in tails]))
    assert counter.is_turning().tolist() == [turns([*head, *tail[:n_read]]) for tail in tails]
