"""How much a phrase earns, and where in it."""

from __future__ import annotations

import math

import pytest

from murmur_cli.bias.allocation import AllocationOptions, allocate, tidy
from murmur_cli.bias.vocabulary import Vocabulary

PIECES = {
    b" New": 19_999,
    b" York": 5,
    b" Zyx": 25_000,
    b" The": 40,
    "东".encode(): 25_001,
    "京".encode(): 7,
    b" ": 8,
    b"2": 9,
    b"0": 10,
}
ROWS: list[bytes | None] = [None] * 30_000
for _piece, _token in PIECES.items():
    ROWS[_token] = _piece


def _encode(text: str) -> list[int]:
    content, tokens = text.encode(), []
    while content:
        piece = next((piece for piece in sorted(PIECES, key=len, reverse=True) if content.startswith(piece)), None)
        if piece is None:
            return tokens
        tokens.append(PIECES[piece])
        content = content[len(piece) :]
    return tokens


VOCABULARY = Vocabulary(tuple(ROWS), _encode, "few")


def _allocate(text: str, weight: float = 1.0) -> list[float]:
    phrase = allocate(text, VOCABULARY, AllocationOptions(), weight=weight, is_open=False)
    assert phrase is not None
    return list(phrase.potential)


def test_a_phrase_of_one_token_earns_one_and_late() -> None:
    assert _allocate("Zyx") == pytest.approx([0, 0, 1], abs=1e-9)
    assert _allocate("York") == pytest.approx([0, 0, 0, 1], abs=1e-9)  # however frequent


def test_later_tokens_earn_more() -> None:
    assert _allocate("New York") == pytest.approx([0, 0, 1, 1, 1, 1, 1, 2 + math.log(2)], abs=1e-4)
    assert _allocate("New York", 2.0)[-1] == pytest.approx(2 * (2 + math.log(2)))


def test_a_frequent_first_token_leaves_its_share_to_the_later_ones() -> None:
    later = [1 + math.log(2), 1 + math.log(3)]
    expected = [later[0] * (1 + 1 / sum(later)), 1 + sum(later)]
    found = _allocate("The Zyx York")
    assert found[2] == pytest.approx(0)
    assert [found[6], found[-1]] == pytest.approx(expected)


def test_the_share_in_between_is_by_the_logarithm_of_the_rank() -> None:
    rank = PIECES[b" New"]
    options = AllocationOptions(frequent_rank=100, rare_rank=(rank + 1) ** 2 // 100)
    phrase = allocate("New York", VOCABULARY, options, weight=1.0, is_open=False)
    assert phrase is not None
    assert phrase.potential[2] == pytest.approx(0.5, abs=1e-3)
    assert phrase.potential[-1] == pytest.approx(2 + math.log(2))


def test_a_script_without_spaces_has_none_before_it() -> None:
    assert _allocate("东京") == pytest.approx([1, 2 + math.log(2)])


def test_a_space_that_is_a_token_of_its_own_earns_nothing() -> None:
    assert _allocate("20") == pytest.approx([0, 2 + math.log(2)])  # 2 is a frequent first token


def test_what_the_tokenizer_does_not_write_has_no_bonus() -> None:
    assert allocate("New Yorkshire", VOCABULARY, AllocationOptions(), weight=1.0, is_open=False) is None


def test_phrases_are_composed_and_have_single_spaces() -> None:
    assert tidy("  Ze\u0301\t b\u00a0c ") == "Zé b c"
