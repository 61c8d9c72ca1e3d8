"""What is left of a chunk's text where it is more than can have been said, and what a growing cache holds."""

from __future__ import annotations

import pytest
import torch

from murmur_cli.decode.growing import GrowingCache
from murmur_cli.decode.slots import CacheShape
from murmur_cli.models.vibevoice.overrun import MOST_TOKENS, cut_overrun, is_overrun
from murmur_cli.models.vibevoice.stream_text import StreamPiece, StreamText

WINDOW_S = 3.47  # 41 tokens can be said


def decode(tokens: list[int]) -> str:
    return bytes(tokens).decode("utf-8", errors="replace")


def test_an_ordinary_text_is_left_as_it_is() -> None:
    for tokens in ([], [1], list(range(60)), [5] * 40, [1, 2] * 20):
        assert cut_overrun(tokens, seconds=WINDOW_S) == (tokens, None)
        assert not is_overrun(tokens, seconds=WINDOW_S)


def test_a_loop_is_ended_and_one_turn_is_left() -> None:
    tokens = [1, 2, 3]
    while not is_overrun(tokens, seconds=WINDOW_S):
        tokens.append(7 + len(tokens) % 2)
    assert len(tokens) < MOST_TOKENS // 2
    kept, reason = cut_overrun(tokens, seconds=WINDOW_S)
    assert kept == [1, 2, 3, 8, 7]
    assert reason is not None
    assert "over and over" in reason


def test_a_loop_that_ended_by_itself_is_cut_too() -> None:
    kept, reason = cut_overrun([1, *[4] * 50, 2], seconds=WINDOW_S)
    assert kept == [1, 4]
    assert reason


def test_a_text_without_end_is_cut_to_what_can_be_said() -> None:
    tokens = list(range(MOST_TOKENS))
    assert not is_overrun(tokens[:-1], seconds=WINDOW_S)
    assert is_overrun(tokens, seconds=WINDOW_S)
    kept, reason = cut_overrun(tokens, seconds=WINDOW_S)
    assert kept == tokens[:41]
    assert reason is not None
    assert "more than can be said" in reason


def test_whatever_ends_a_text_is_cut() -> None:
    for seconds in (0.2, WINDOW_S, 6.0, 60.0):
        for period in range(1, 43):
            tokens: list[int] = []
            while not is_overrun(tokens, seconds=seconds):
                tokens.append(len(tokens) % period)
            kept, reason = cut_overrun(tokens, seconds=seconds)
            assert reason is not None or len(kept) == len(tokens) == MOST_TOKENS
            assert reason is not None or seconds == 60.0


def test_a_character_and_a_tag_over_two_chunks() -> None:
    text = StreamText(decode)
    assert text.read(list(b" \n Speaker 0:caf\xc3")) == [StreamPiece("caf", 0, starts_line=True)]
    assert text.read(list(b"\xa9")) == [StreamPiece("é", 0, starts_line=False)]
    assert text.read(list(b" \n Spea")) == []
    assert text.read(list(b"ker 1")) == []
    assert text.read(list(b"2: oui")) == [StreamPiece("oui", 12, starts_line=True)]
    assert text.read(list(b" non <|im_")) == [StreamPiece(" non", 12, starts_line=False)]
    assert text.read(list(b"end|>, si ")) == [StreamPiece(" , si", 12, starts_line=False)]
    assert text.finish() == []


def test_text_before_any_tag_has_no_speaker() -> None:
    text = StreamText(decode)
    assert text.read(list(b" one\n two")) == [StreamPiece("one two", None, starts_line=True)]


def test_what_was_held_back_is_given_in_the_end() -> None:
    text = StreamText(decode)
    assert text.read(list(b"a <b <")) == [StreamPiece("a <b", None, starts_line=True)]
    assert text.finish() == [StreamPiece(" <", None, starts_line=False)]


def test_a_cache_grows_and_is_cut_back() -> None:
    shape = CacheShape(n_layers=2, n_heads=1, head_size=1, dtype=torch.float32)
    cache = GrowingCache(shape, device=torch.device("cpu"))
    expected: list[float] = []
    for n in (3, 1, 300, 1, 700):
        positions, mask = cache.hold(n)
        new = torch.arange(len(expected), len(expected) + n, dtype=torch.float32)
        assert positions.tolist() == [new.long().tolist()]
        expected += new.tolist()
        assert torch.equal(mask[0, 0], torch.ones(n, len(expected)).tril(len(expected) - n).bool())
        for layer in range(2):
            keys, values = cache.update(new.view(1, 1, n, 1) + layer, -new.view(1, 1, n, 1), layer)
            assert torch.equal(keys.flatten(), torch.tensor(expected) + layer)
            assert torch.equal(values.flatten(), -torch.tensor(expected))
        kept = max(len(expected) - 1, 1)
        cache.crop(kept)
        del expected[kept:]
        assert cache.n_held == kept
    with pytest.raises(ValueError, match="cannot be kept"):
        cache.crop(len(expected) + 1)
