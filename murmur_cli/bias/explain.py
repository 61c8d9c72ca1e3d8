"""What a list does to a text, token by token: for people who want to know why a keyword is heard, or is not."""

from __future__ import annotations

from dataclasses import dataclass

from murmur_cli.bias.fold import fold_character, is_word
from murmur_cli.bias.hits import Hit, HitFinder
from murmur_cli.bias.index import TokenClasses
from murmur_cli.bias.mbias import Compiled
from murmur_cli.bias.packed import START
from murmur_cli.bias.vocabulary import Vocabulary

__all__ = ["SCALE", "Explainer", "Explanation", "ScoredHit", "ScoredToken"]

SCALE = 3.0
"""By what a list's scores are multiplied where they are added to logits: what ``BiasStore.add`` takes by itself."""


@dataclass(frozen=True, slots=True)
class ScoredHit:
    """A keyword in a text, and what the text would have kept for it at its end, in nats."""

    hit: Hit
    kept: float


@dataclass(frozen=True, slots=True)
class ScoredToken:
    """A token, its bytes as text, and what the list adds to its logit, in nats; less than nothing takes back."""

    text: str
    score: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """A text with its keywords and tokens; ``settled`` is added where it ends, in nats."""

    text: str
    hits: tuple[ScoredHit, ...]
    tokens: tuple[ScoredToken, ...]
    settled: float

    @property
    def kept(self) -> float:
        """What the text has earned when all is done, in nats; 0 without a whole keyword."""
        return sum(token.score for token in self.tokens) + self.settled


class Explainer:
    """Explains texts by one list.

    Args:
        compiled: The list.
        vocabulary: That it was compiled for.
        classes: Of the vocabulary.
    """

    def __init__(self, compiled: Compiled, vocabulary: Vocabulary, classes: TokenClasses) -> None:
        self._graph = compiled.graph
        self._finder = HitFinder(compiled.keywords)
        self._vocabulary = vocabulary
        self._classes = classes

    def explain(self, text: str) -> Explanation:
        """Find keywords, and read a text token by token, in the tokens in which the model would write it."""
        hits = [ScoredHit(hit, self._read(text[hit.start : hit.end]).kept) for hit in self._finder.find(text)]
        read = self._read(text)
        return Explanation(text, tuple(hits), read.tokens, read.settled)

    def _read(self, text: str) -> Explanation:
        state, tokens = START, []
        for token in self._vocabulary.encode(_lead(text) + text):
            state, added = self._graph.step(self._classes, state, token)
            piece = self._vocabulary.pieces[token] or b""
            tokens.append(ScoredToken(piece.decode(errors="backslashreplace"), SCALE * added))
        return Explanation(text, (), tuple(tokens), SCALE * self._graph.settle(self._classes, state))


def _lead(text: str) -> str:
    """The space that models write before a word."""
    return " " if text and is_word(fold_character(text[0])[0]) else ""
