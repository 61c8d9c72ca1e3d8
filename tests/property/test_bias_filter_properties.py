"""Rows that listen side by side, in both ways of computing: each writes what a slow filter of its own chooses."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.bias_filter import PlainFilter
from scripted_logits import END, JSON_KIT, LINE_KIT, PIECES, encode, make_bias
from torch import Tensor

from murmur_cli.decode.bias_filter import BiasFilter, BiasKit, RowBias
from murmur_cli.models.vibevoice.live_bias import LiveBias

V = len(PIECES)
CPU = torch.device("cpu")
LISTS = (("New York", "apple", "la"), ("la la", "we saw the"), ("York", "Speakers Corner", "0", "app"), ("d",))
_LIKELY = [
    token for text in (' New York\n"', '"Content":"', " Speaker 0: app", "le la we saw", "\\") for token in encode(text)
]
N_STEPS = 24


def pick(logits: Tensor) -> Tensor:
    return logits.argmax(-1, keepdim=True)


def draw_logits(seed: int, n_rows: int) -> Tensor:
    """Logits of many steps, (N_STEPS, n_rows, V): some tokens are nearly as likely as others."""
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(N_STEPS, n_rows, V, generator=generator)
    logits[..., _LIKELY] += 3.0 + 1.5 * torch.rand(N_STEPS, n_rows, len(_LIKELY), generator=generator)
    logits[:, :, END] += 2.0
    if n_rows:
        opening = encode('{"Content":"')
        for step, token in enumerate(opening):
            logits[step, :, token] += 20.0
    return logits


def write(bias_filter: BiasFilter, logits: Tensor) -> list[list[int]]:
    steps = []
    for each in logits:
        tokens = bias_filter.choose(each, pick)
        bias_filter.read(tokens)
        steps.append(tokens[:, 0])
    return torch.stack(steps, dim=1).tolist()


def listen(choice: int | None, kit: BiasKit) -> RowBias | None:
    return None if choice is None else make_bias(*LISTS[choice], margin=2.0 + choice, kit=kit)


rows_of_lists = st.lists(st.one_of(st.none(), st.integers(0, len(LISTS) - 1)), min_size=1, max_size=4)


@settings(max_examples=25)
@given(rows_of_lists, st.integers(0, 10_000), st.sampled_from([JSON_KIT, LINE_KIT]))
def test_rows_are_what_they_would_be_alone(choices: list[int | None], seed: int, kit: BiasKit) -> None:
    logits = draw_logits(seed, len(choices))
    biases = [listen(choice, kit) for choice in choices]
    expected = []
    for row, bias in enumerate(biases):
        plain = None if bias is None else PlainFilter(bias, PIECES, is_json=kit is JSON_KIT)
        expected.append([int(each[row].argmax()) if plain is None else plain.choose(each[row]) for each in logits])
    for is_padded in (False, True):
        bias_filter = BiasFilter(kit, len(choices), CPU, is_padded=is_padded)
        for row, bias in enumerate(biases):
            bias_filter.seat(row, bias)
        assert write(bias_filter, logits) == expected


@settings(max_examples=20)
@given(st.integers(0, len(LISTS) - 1), st.integers(0, 10_000), st.booleans())
def test_ends_are_decided_without_the_list(choice: int, seed: int, is_padded: bool) -> None:  # noqa: FBT001 - drawn
    bias_filter = BiasFilter(JSON_KIT, 1, CPU, is_padded=is_padded)
    bias_filter.seat(0, make_bias(*LISTS[choice], margin=8.0))
    is_spoken = JSON_KIT.gate.is_spoken
    seen: list[Tensor] = []

    def note(logits: Tensor) -> Tensor:
        seen.append(logits)
        return pick(logits)

    for logits in draw_logits(seed, 1):
        best, (token,) = int(logits.argmax()), bias_filter.choose(logits, note).tolist()
        assert (seen[-1][0, ~is_spoken] <= logits[0, ~is_spoken]).all()
        assert is_spoken[best] == is_spoken[token[0]]
        assert token[0] == best or is_spoken[best]
        bias_filter.read(torch.tensor([token]))


@settings(max_examples=15)
@given(st.booleans(), st.integers(0, 10_000))
def test_a_row_without_a_list_keeps_its_logits_bit_for_bit(is_padded: bool, seed: int) -> None:  # noqa: FBT001 - drawn
    bias_filter = BiasFilter(LINE_KIT, 2, CPU, is_padded=is_padded)
    bias_filter.seat(0, make_bias(*LISTS[0], kit=LINE_KIT))
    seen: list[Tensor] = []

    def note(logits: Tensor) -> Tensor:
        seen.append(logits)
        return pick(logits)

    for logits in draw_logits(seed, 2):
        logits[1, 3] = -0.0
        seen.clear()
        bias_filter.read(bias_filter.choose(logits, note))
        for each in seen:
            assert torch.equal(each[1].view(torch.int32), logits[1].view(torch.int32))


@settings(max_examples=12)
@given(st.integers(0, len(LISTS) - 1), st.integers(0, 10_000), st.sets(st.integers(1, N_STEPS - 1)))
def test_a_session_in_chunks_is_one_text(choice: int, seed: int, borders: set[int]) -> None:
    """What is begun in one chunk goes on in the next one."""
    bias = make_bias(*LISTS[choice], margin=6.0, kit=LINE_KIT)
    logits = draw_logits(seed, 1)
    plain = PlainFilter(bias, PIECES, is_json=False)
    live = LiveBias(CPU)
    live.listen(bias)
    written: list[int] = []
    for begin, end in zip([0, *sorted(borders)], [*sorted(borders), N_STEPS], strict=True):
        live.begin_chunk()
        plain.wake()
        for each in logits[begin:end]:
            written.append(live.choose(each))
            live.read(written[-1])
            assert written[-1] == plain.choose(each[0])
        live.choose(torch.zeros(1, V))  # the token that ends the chunk is chosen, too
        live.end_chunk(written[begin:], is_cut=False)
    assert len(written) == N_STEPS


@settings(max_examples=12)
@given(st.integers(0, len(LISTS) - 1), st.integers(0, 10_000), st.integers(0, N_STEPS), st.integers(0, N_STEPS))
def test_after_a_cut_the_text_that_is_left_counts(choice: int, seed: int, n_kept: int, n_more: int) -> None:
    bias = make_bias(*LISTS[choice], margin=6.0, kit=LINE_KIT)
    logits = draw_logits(seed, 1)
    live = LiveBias(CPU)
    live.listen(bias)
    live.begin_chunk()
    written = []
    for each in logits:
        written.append(live.choose(each))
        live.read(written[-1])
    changed = live.end_chunk(written[:n_kept], is_cut=True)
    assert len(changed) == n_kept
    after = PlainFilter(bias, PIECES, is_json=False)
    for token in written[:n_kept]:
        after.go_on(token, granted=False)
    after.wake()
    live.begin_chunk()
    for each in logits[:n_more]:
        token = live.choose(each)
        live.read(token)
        assert token == after.choose(each[0])
