"""How a model's tokenizer is read: its tokens as bytes, and in which of them it writes a text."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from murmur_cli.bias.vocabulary import BYTE_LETTERS, read_vocabulary


def _describe(words: list[str], merges: list[str] | list[list[str]]) -> str:
    vocab = {letter: number for number, letter in enumerate((*BYTE_LETTERS, *words))}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return json.dumps({"model": {"type": "BPE", "vocab": vocab, "merges": merges}, "pre_tokenizer": level})


@pytest.mark.parametrize("is_joined", [True, False])
@pytest.mark.parametrize("is_lost", [True, False])
def test_a_first_merge_that_was_lost_is_found(*, is_joined: bool, is_lost: bool, tmp_path: Path) -> None:
    merges = [("Ġ", "t"), ("h", "e"), ("Ġt", "he")][is_lost:]
    path = tmp_path / "tokenizer.json"
    path.write_text(_describe(["Ġt", "he", "Ġthe"], [" ".join(m) if is_joined else list(m) for m in merges]))
    vocabulary = read_vocabulary(path)
    assert [vocabulary.pieces[token] for token in vocabulary.encode(" the ten")] == [b" the", b" t", b"e", b"n"]


def test_tokens_that_nothing_makes_stay_so_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(_describe(["he", "Ġt", "Ġthe"], ["h e", "Ġt he"]))
    vocabulary = read_vocabulary(path)
    assert [vocabulary.pieces[token] for token in vocabulary.encode(" the")] == [b" ", b"t", b"he"]


@pytest.mark.weights
def test_whisper_writes_every_word_that_is_a_token_as_that(whisper_base: Path) -> None:
    vocabulary = read_vocabulary(whisper_base / "tokenizer.json", n_tokens=51_865)
    words = [
        (i, piece.decode()) for i, piece in enumerate(vocabulary.pieces) if re.fullmatch(rb" ?[A-Za-z]+", piece or b"")
    ]
    assert len(words) > 30_000
    for token, word in words[::7]:
        assert list(vocabulary.encode(word)) == [token]
