"""Sessions of several contexts with a model that hears all and remembers only its context: nobody notices."""

from __future__ import annotations

import functools
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from vibevoice_models import make_tokenizer

from murmur_cli.decode.rollover import Rollover
from murmur_cli.models.vibevoice.interleave import ChunkText
from murmur_cli.models.vibevoice.rolling import RollingContext
from murmur_cli.models.vibevoice.stream_text import StreamPiece
from murmur_cli.models.vibevoice.vocabulary import Vocabulary, read_vocabulary

MOST = 20
Talk = list[list[tuple[int, str]]]
"""For every chunk the voices in it, with what they say."""


@functools.cache
def load_vocabulary() -> Vocabulary:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "tokenizer.json").write_text(make_tokenizer(), encoding="utf-8")
        return read_vocabulary(Path(folder))


class Listener:
    """Plays an ``Interleaver``: hears every word, and knows voices and numbers from what is in its context alone.

    A voice that is not in it gets the next number. A number is written where it is not that of whoever spoke last.
    """

    def __init__(self, talk: Talk, faults: frozenset[int]) -> None:
        self.talk, self.faults = talk, faults
        self.context: list[tuple[int, str]] = []
        self.restarts: list[list[int]] = []

    def read(self, features: Tensor, *, is_silent: bool) -> ChunkText:
        index = int(features[0, 0])
        assert not (is_silent and self.talk[index])
        numbers, last = self.recall()
        text = ""
        for voice, words in self.talk[index]:
            number = numbers.setdefault(voice, max(numbers.values(), default=-1) + 1)
            text += f" \n Speaker {number}:{words}" if number != last else f" {words}"
            last = number
        self.context.append((index, text))
        fault = "cut" if index in self.faults else None
        return ChunkText(tuple(load_vocabulary().encode(text)), fault)

    def recall(self) -> tuple[dict[int, int], int | None]:
        """The number of every voice in the context, and of who spoke last."""
        numbers: dict[int, int] = {}
        last = None
        for index, text in self.context:
            said = iter(self.talk[index])
            parts = re.split(r" \n Speaker ([0-9]+):", text)
            for number, words in zip([last, *map(int, parts[1::2])], parts[::2], strict=True):
                for _ in filter(None, [words.strip()]):
                    assert number is not None
                    voice, truth = next(said)
                    assert words.split()[0] == truth
                    assert numbers.setdefault(voice, number) == number, "a voice has one number"
                    last = number
            assert not list(said)
        return numbers, last

    def begin_again(self, chunks: Sequence[tuple[Tensor, Sequence[int]]]) -> None:
        self.context = [(int(features[0, 0]), load_vocabulary().decode(tokens)) for features, tokens in chunks]
        self.restarts.append([index for index, _ in self.context])

    def close(self) -> None:
        self.context.clear()


def play(talk: Talk, most: int, *, faults: frozenset[int] = frozenset(), gated: bool = True) -> Listener:
    listener = Listener(talk, faults)
    rolling = RollingContext(listener, load_vocabulary(), Rollover(most))  # type: ignore[arg-type]
    listener.pieces = []  # type: ignore[attr-defined]
    for index, said in enumerate(talk):
        read = rolling.read(torch.tensor([[float(index)]]), is_silent=gated and not said)
        assert rolling.n_held == len(listener.context) <= most
        listener.pieces.append(read.pieces)  # type: ignore[attr-defined]
        assert len(rolling._heard) <= 4 + 6  # voices, and the last chunks
        assert (read.fault is not None) == (index in faults)
    listener.pieces.append(tuple(rolling.finish()))  # type: ignore[attr-defined]
    return listener


def pieces_of(listener: Listener) -> list[tuple[StreamPiece, ...]]:
    return listener.pieces  # type: ignore[attr-defined,no-any-return]


words = st.sampled_from(["yes", "well", "東京", "one", "é"])


@st.composite
def talks(draw: st.DrawFn) -> Talk:
    """Three contexts and more; whoever speaks goes on for a while, and sometimes nobody does."""
    talk: Talk = []
    while len(talk) < 3 * MOST + 5:
        if draw(st.integers(0, 5)) == 0:
            talk += [[] for _ in range(draw(st.integers(1, 12)))]
        voices = draw(st.lists(st.integers(0, 3), min_size=1, max_size=3))
        voices = [voice for voice, before in zip(voices, [None, *voices], strict=False) if voice != before]
        talk.append([(voice, draw(words)) for voice in voices])
        talk += [[(voices[-1], draw(words))] for _ in range(draw(st.integers(0, 4)))]
    return talk


@settings(max_examples=25)
@given(talk=talks(), faults=st.frozensets(st.integers(0, 80), max_size=8), gated=st.booleans())
def test_a_session_of_three_contexts_says_what_one_without_end_says(
    *, talk: Talk, faults: frozenset[int], gated: bool
) -> None:
    faults = frozenset(index for index in faults if index < len(talk))
    short, endless = (play(talk, most, faults=faults, gated=gated) for most in (MOST, 10_000))
    assert pieces_of(short) == pieces_of(endless)
    assert len(short.restarts) >= 3
    assert not endless.restarts


def test_the_line_goes_on_over_a_new_context() -> None:
    talk: Talk = [[(0, "one")], [(1, "yes")], *[[(0, "well")] for _ in range(MOST)]]
    listener = play(talk, MOST)
    (restart,) = listener.restarts
    assert restart == [2, 1, 15, 16, 17, 18, 19]
    said = [piece for pieces in pieces_of(listener)[3:] for piece in pieces]
    assert said == [StreamPiece(" well", said[0].speaker, starts_line=False)] * (MOST - 1)
    assert listener.context[2][1] == " \n Speaker 0:well"  # after the exemplar of speaker 1
    assert listener.context[3][1] == " well"


def test_who_spoke_before_a_long_silence_speaks_on() -> None:
    talk: Talk = [[(0, "one")], [(1, "yes")], [(0, "well")], *[[] for _ in range(MOST)], [(0, "one")], [(1, "yes")]]
    for gated in (True, False):
        listener = play(talk, MOST, gated=gated)
        assert pieces_of(listener) == pieces_of(play(talk, 10_000, gated=gated))
        assert 2 in listener.restarts[0][2:]
