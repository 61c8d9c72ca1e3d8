"""The bonus of a text is the same in every spelling and in whatever tokens, and that which the definition says.

The same with 50,000 tokenisations for each vocabulary: ``benchmarks/bias.py --check``.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from bias_samples import LISTS, load_qwen, make_phrases, make_splitter, make_text, respell
from hypothesis import given
from hypothesis import strategies as st
from oracles.bias import PlainBonus, fold_plainly, is_word_plainly

from murmur_cli.bias.allocation import Phrase
from murmur_cli.bias.fold import fold, fold_character, is_word, mark_words
from murmur_cli.bias.graph import build_graph
from murmur_cli.bias.index import TokenIndex, classify_tokens, index_vocabulary
from murmur_cli.bias.packed import START, BiasList
from murmur_cli.bias.partial import RootLevel, build_partial_table
from murmur_cli.bias.reading import Reader, find_cuts
from murmur_cli.bias.states import number_states
from murmur_cli.bias.trie import build_trie
from murmur_cli.bias.vocabulary import Vocabulary, read_vocabulary

VOCABULARIES = ("tiny", "whisper", "qwen")
N_TEXTS = 60  # of each list, in 20 ways
CLOSE = 1e-4
"""Values are stored as float32; a text of twenty tokens adds up as many of them."""


@pytest.fixture(scope="module", params=VOCABULARIES)
def vocabulary(request: pytest.FixtureRequest, models_dir: Path) -> Vocabulary:
    if request.param == "qwen":
        return load_qwen()
    if request.param == "tiny":
        return read_vocabulary(models_dir / "tiny-vibevoice-digits" / "tokenizer.json")
    folder: Path = request.getfixturevalue("whisper_base")
    return read_vocabulary(folder / "tokenizer.json", n_tokens=51_865)


@pytest.fixture(scope="module")
def index(vocabulary: Vocabulary) -> TokenIndex:
    return index_vocabulary(vocabulary)


def _measure(graph: BiasList, index: TokenIndex, tokens: list[int]) -> tuple[float, float]:
    """What a text in tokens has earned, and what if it ends there."""
    state, earned = START, 0.0
    for token in tokens:
        state, added = graph.step(index.classes, state, token)
        earned += added
    return earned, earned + graph.settle(index.classes, state)


@pytest.mark.parametrize("name", LISTS)
def test_every_way_to_write_a_text_earns_the_same(name: str, vocabulary: Vocabulary, index: TokenIndex) -> None:
    rng = random.Random(name)
    phrases = make_phrases(LISTS[name], vocabulary)
    graph, plain, splitter = (
        build_graph(phrases, index, sha256=name),
        PlainBonus(phrases),
        make_splitter(vocabulary, index),
    )
    wrong = []
    for _ in range(N_TEXTS):
        text = make_text(name, rng)
        expected = plain.measure(text), plain.measure(text, has_ended=True)
        for spelling in (text, *(respell(text, rng) for _ in range(4))):
            for longest in (1, 3, 12):
                tokens = splitter.split(spelling, rng, longest=longest)
                if _measure(graph, index, tokens) != pytest.approx(expected, abs=CLOSE):
                    wrong.append((spelling, [vocabulary.pieces[token] for token in tokens]))
            tokens = list(vocabulary.encode(spelling))
            written = b"".join(vocabulary.pieces[token] or b"" for token in tokens).decode()
            if written == spelling and _measure(graph, index, tokens) != pytest.approx(expected, abs=CLOSE):
                wrong.append((spelling, tokens))
    assert wrong == []


def test_every_arc_is_what_reading_its_token_says(models_dir: Path) -> None:
    """All states and all tokens of a small vocabulary with tokens of every kind."""
    odd = [
        "京都".encode()[1:],
        "é".encode()[:1],
        b"k\xe2\x80",
        b"\x9c York",
        b"\xa9e",
        b"\xff",
        b"app\xc3",
        b"\x9f s",
        b"-\xe4\xba",
    ]
    pieces = (
        [bytes([byte]) for byte in range(256)]
        + odd
        + [
            word.encode()
            for word in ("York", " New", " apple", "app", ", ", " ap", "东京", "ss", "us", "kk", "e c", "aa b")
        ]
    )
    vocabulary = Vocabulary((*pieces, None), lambda text: list(text.encode()), "odd")
    index = index_vocabulary(vocabulary)
    phrases = make_phrases(
        ("York", "New York", "app*", "aus*", "Straße", "东京", "京都", "é", "naïve café", "aa", "aa b"), vocabulary
    )
    graph = build_graph(phrases, index, sha256="odd")
    trie = build_trie(phrases)
    states = number_states(Reader(trie, index, find_cuts(trie, index)))
    wrong = []
    for state, place in enumerate(states.places):
        if 2 <= state < 1 + index.partial.n_states:
            continue  # stand for many cut characters at once
        for token in range(len(vocabulary.pieces)):
            target, earned = states.reader.read(place, token)
            found, added = graph.step(index.classes, state, token)
            if found != states.find(target) or abs(added - earned) > CLOSE:
                wrong.append((place, vocabulary.pieces[token], (found, added), (states.find(target), earned)))
    assert wrong == []


def _phrase(text: str, *, is_open: bool = False) -> Phrase:
    return Phrase(text, tuple(float(i + 1) for i in range(len(text))), is_open)


@pytest.mark.parametrize(
    ("phrases", "text", "kept"),
    [
        (("ab", "bc"), "abx", 0.0),  # x goes on in the same word
        (("ab", "bc"), "ab x", 2.0),
        (("ab", "ab cd"), "ab cx", 2.0),  # the longer one breaks off, the shorter was finished
        (("ap",), "apple", 0.0),
        (("ap",), "ap ple", 2.0),
        (("东京", "京都"), "东京x", 2.0),
        (("东京", "东京都大"), "东京都x", 2.0),
    ],
)
def test_what_was_earned_by_a_finished_phrase_stays_and_nothing_else(
    phrases: tuple[str, ...], text: str, kept: float
) -> None:
    vocabulary = Vocabulary((*(bytes([byte]) for byte in range(256)),), lambda written: list(written.encode()), "bytes")
    index = index_vocabulary(vocabulary)
    graph = build_graph([_phrase(each) for each in phrases], index, sha256="")
    assert _measure(graph, index, list(text.encode()))[1] == pytest.approx(kept)
    assert PlainBonus([_phrase(each) for each in phrases]).measure(text, has_ended=True) == pytest.approx(kept)


@given(st.text(max_size=20), st.text(max_size=20))
def test_folding_is_character_by_character(left: str, right: str) -> None:
    assert fold(left) + fold(right) == fold(left + right) == fold_plainly(left + right)


def test_folding_and_classes_of_all_of_unicode() -> None:
    marks, partial = mark_words(), build_partial_table()
    for point in (*range(0xD800), *range(0xE000, 0x11000), *range(0x11000, 0x110000, 23)):
        folded = fold_character(chr(point))
        assert "".join(map(fold_character, folded)) == folded
        classes = {is_word(each) for each in folded}
        assert classes == {is_word_plainly(folded[0])} == {bool(marks[point])}
        encoded = chr(point).encode()
        outcome = partial.steps[0][encoded[0]]
        assert (partial.read(outcome - 1, encoded[1:]) if encoded[1:] else outcome) == int(marks[point])


def test_classes_need_no_index(vocabulary: Vocabulary, index: TokenIndex) -> None:
    alone = classify_tokens(vocabulary)
    for name in ("column", "after", "is_tail", "outcome", "is_word", "likely"):
        assert (getattr(alone, name) == getattr(index.classes, name)).all()
    assert RootLevel.BORDER == START
