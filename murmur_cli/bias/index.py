"""Everything about a vocabulary that does not depend on phrases: what its tokens are, by what they hold.

A token is read as ``head + body + tail``: bytes that end a character begun before it, whole characters (folded), and
bytes that begin one. A token whose bytes are in no text counts as one that stands for none: it is a border.
"""

from __future__ import annotations

import bisect
import hashlib
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from murmur_cli.bias.fold import find_spellings, fold, is_border, is_word
from murmur_cli.bias.partial import BROKEN, PartialTable, RootLevel, build_partial_table
from murmur_cli.bias.vocabulary import Vocabulary

__all__ = [
    "KEEP",
    "N_HEADLESS",
    "TokenClasses",
    "TokenIndex",
    "TokenParts",
    "classify_tokens",
    "identify",
    "index_vocabulary",
]

KEEP = -1
"""After a token that only ends a character, the state depends on the state before."""

N_HEADLESS = 2
"""The first two columns of ``TokenClasses.outcome``: tokens without a head, by the class of their first character."""


@dataclass(frozen=True, slots=True)
class TokenParts:
    """A token's bytes as text: see the module."""

    head: bytes
    body: str
    tail: bytes


@dataclass(frozen=True, slots=True, eq=False)
class TokenClasses:
    """What scoring must know of the tokens.

    Attributes:
        column: By token, its column in ``outcome``: 0 or 1 without a head, else one for each head.
        after: By token, the root-level state after it, or ``KEEP``.
        is_tail: By token, whether it only begins a character.
        outcome: By number of a cut character (0 for none) and column, the root-level state where the head ends.
        is_word: The same, the class of the character that the head completes, or would probably: of what follows
            the state. By ``outcome`` but for row 0, which holds the class of the token's own first character.
        likely: By number of a cut character, the class that it counts as where it breaks off.
        sha256: Of the vocabulary, with the version of Unicode that its characters are sorted by.
    """

    column: npt.NDArray[np.int16]
    after: npt.NDArray[np.int16]
    is_tail: npt.NDArray[np.bool_]
    outcome: npt.NDArray[np.int16]
    is_word: npt.NDArray[np.bool_]
    likely: npt.NDArray[np.bool_]
    sha256: str

    @property
    def n_tokens(self) -> int:
        """Of the vocabulary, with those that stand for no text."""
        return len(self.after)


@dataclass(frozen=True, slots=True, eq=False)
class TokenIndex:
    """Tokens by what they hold. Bodies are folded; tokens that stand for no text are in none of the tables.

    Attributes:
        parts: By token; None for one that stands for no text.
        partial: Of cut characters.
        classes: Of the tokens.
        spellings: See ``find_spellings``.
        whole: Body to tokens that are all body.
        tails: Tail to body to tokens without a head.
        heads: Head to tokens.
        bodies: Body to tokens without a head, with or without a tail; ``sorted_bodies`` in order.
        starts: (rest of a body that begins at a border, tail) to tokens; ``sorted_starts`` in order.
        inner: What stands in bodies between two borders, not at their end unless a tail follows, to tokens.
    """

    parts: list[TokenParts | None]
    partial: PartialTable
    classes: TokenClasses
    spellings: dict[str, tuple[str, ...]] = field(default_factory=find_spellings)
    whole: dict[str, list[int]] = field(default_factory=dict)
    tails: dict[bytes, dict[str, list[int]]] = field(default_factory=dict)
    heads: dict[bytes, list[int]] = field(default_factory=dict)
    bodies: dict[str, list[int]] = field(default_factory=dict)
    starts: dict[tuple[str, bytes], list[int]] = field(default_factory=dict)
    inner: dict[str, list[int]] = field(default_factory=dict)
    sorted_bodies: list[str] = field(default_factory=list)
    sorted_starts: list[tuple[str, bytes]] = field(default_factory=list)

    def iter_longer(self, text: str) -> Iterator[int]:
        """Find the tokens without a head whose body begins with a text and goes on."""
        place = bisect.bisect_right(self.sorted_bodies, text)
        while place < len(self.sorted_bodies) and self.sorted_bodies[place].startswith(text):
            yield from self.bodies[self.sorted_bodies[place]]
            place += 1

    def iter_starting(self, text: str) -> Iterator[int]:
        """Find the tokens in which a text begins at a border, whatever follows it."""
        place = bisect.bisect_left(self.sorted_starts, (text, b""))
        while place < len(self.sorted_starts) and self.sorted_starts[place][0].startswith(text):
            yield from self.starts[self.sorted_starts[place]]
            place += 1


def index_vocabulary(vocabulary: Vocabulary) -> TokenIndex:
    """Read all tokens of a vocabulary, once per run: it takes a second or two for the largest ones."""
    partial = build_partial_table()
    parts = [_read_token(piece) if piece else None for piece in vocabulary.pieces]
    index = TokenIndex(parts, partial, _classify(parts, partial, identify(vocabulary)))
    inner: defaultdict[str, list[int]] = defaultdict(list)
    for token, each in enumerate(parts):
        if each is not None:
            _enter(index, token, each)
            for text in _find_inner(each):
                inner[text].append(token)
    index.inner.update(inner)
    index.sorted_bodies.extend(sorted(index.bodies))
    index.sorted_starts.extend(sorted(index.starts))
    return index


def classify_tokens(vocabulary: Vocabulary) -> TokenClasses:
    """Read all tokens of a vocabulary as far as scoring needs them."""
    parts = [_read_token(piece) if piece else None for piece in vocabulary.pieces]
    return _classify(parts, build_partial_table(), identify(vocabulary))


def identify(vocabulary: Vocabulary) -> str:
    """The sha256 of all that ``TokenClasses`` depend on."""
    return hashlib.sha256(f"{unicodedata.unidata_version} {vocabulary.sha256}".encode()).hexdigest()


def _read_token(piece: bytes) -> TokenParts | None:
    n_head = 0
    while n_head < len(piece) and 0x80 <= piece[n_head] < 0xC0:
        n_head += 1
    rest = piece[n_head:]
    try:
        return TokenParts(piece[:n_head], fold(rest.decode()), b"")
    except UnicodeDecodeError as error:
        if error.reason != "unexpected end of data":
            return None
        return TokenParts(piece[:n_head], fold(rest[: error.start].decode()), rest[error.start :])


def _enter(index: TokenIndex, token: int, parts: TokenParts) -> None:
    body, tail = parts.body, parts.tail
    if parts.head:
        index.heads.setdefault(parts.head, []).append(token)
    else:
        index.bodies.setdefault(body, []).append(token)
        if tail:
            index.tails.setdefault(tail, {}).setdefault(body, []).append(token)
        else:
            index.whole.setdefault(body, []).append(token)
    for begin in _find_borders(body):
        index.starts.setdefault((body[begin:], tail), []).append(token)
    if tail:
        index.starts.setdefault(("", tail), []).append(token)


def _find_borders(body: str) -> list[int]:
    """Where in a body a word may begin, its own beginning among them."""
    classes = [is_word(character) for character in body]
    return [i for i in range(len(body)) if i == 0 or is_border(classes[i - 1], classes[i])]


def _find_inner(parts: TokenParts) -> set[str]:
    borders = _find_borders(parts.body)
    ends = [*borders[1:], *([len(parts.body)] if parts.tail else ())]
    texts = (parts.body[begin:end] for begin in borders for end in ends if begin < end)
    return {text for text in texts if text[-1] != " "}  # no phrase ends with a space


def _classify(parts: Sequence[TokenParts | None], partial: PartialTable, sha256: str) -> TokenClasses:
    heads = sorted({each.head for each in parts if each is not None and each.head})
    columns = {head: N_HEADLESS + number for number, head in enumerate(heads)}
    likely = np.array(partial.likely)
    outcome = np.zeros((partial.n_states, N_HEADLESS + len(heads)), np.int16)
    outcome[:, :N_HEADLESS] = likely[:, None]
    for head, column in columns.items():
        for state in range(1, partial.n_states):
            reached = partial.read(state, head)
            outcome[state, column] = partial.likely[state] if reached == BROKEN else reached
    is_word_ = np.where(outcome > RootLevel.WORD, likely[np.maximum(outcome - 1, 0)], outcome == RootLevel.WORD)
    is_word_[0] = False
    is_word_[0, 1] = True
    return TokenClasses(
        column=np.array([_find_column(each, columns, partial) for each in parts], np.int16),
        after=np.array([_find_after(each, partial) for each in parts], np.int16),
        is_tail=np.array([each is not None and not each.head and not each.body for each in parts]),
        outcome=outcome,
        is_word=is_word_,
        likely=likely,
        sha256=sha256,
    )


def _find_column(parts: TokenParts | None, columns: dict[bytes, int], partial: PartialTable) -> int:
    if parts is None:
        return 0
    if parts.head:
        return columns[parts.head]
    return int(is_word(parts.body[0]) if parts.body else partial.likely[partial.begin(parts.tail)])


def _find_after(parts: TokenParts | None, partial: PartialTable) -> int:
    if parts is None:
        return RootLevel.BORDER
    if parts.tail:
        return 1 + partial.begin(parts.tail)
    return int(is_word(parts.body[-1])) if parts.body else KEEP
