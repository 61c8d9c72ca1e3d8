"""An answer while it is written: tokens become text, and text becomes entries.

Nothing that can no longer change is read again: to follow an answer to its end takes time in proportion to its length.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from murmur_cli.decode.entries import Broken, Entry, OpenEntry, iter_entries

__all__ = ["AnswerFollower", "Decode", "Piece", "Reading", "TextFollower"]

Decode = Callable[[Sequence[int]], str]
"""Turns tokens into text, the bytes of one after those of the other; what is no whole character becomes U+FFFD."""

Piece = Entry | Broken | OpenEntry

_LOST = "\ufffd"
_MOST_SPLIT = 4  # bytes of a character, and so the most tokens that it can be spread over

# Behind the newest entry stand at most two pieces that are none: something else, and the first characters of the next.
# What comes before the newest entry is settled, whatever is written later.
_MOST_UNSETTLED = 3


class TextFollower:
    """Reads the text of tokens as they come; a character that they split is held back until it is whole.

    Args:
        decode: Of the tokenizer.
    """

    def __init__(self, decode: Decode) -> None:
        self._decode = decode
        self._split: list[int] = []  # the last tokens, where they end within a character
        self._n_read = 0  # characters of these that were given out

    def read(self, tokens: Sequence[int]) -> str:
        """Give the text that has become whole with some more tokens."""
        held = [*self._split, *tokens]
        text = self._decode(held)
        is_split = text.endswith(_LOST)
        new = text[self._n_read : len(text) - is_split]
        self._split = held[-_MOST_SPLIT:] if is_split else []
        self._n_read = len(self._decode(self._split)) - 1 if is_split else 0
        return new


@dataclass(frozen=True, slots=True)
class Reading:
    """What is new in an answer.

    ``settled`` are the pieces that cannot change any more, each named in one reading. ``unsettled`` are the last ones
    as they read now. ``open_tokens`` numbers the tokens of the answer in which the open entry's brace came, from the
    look before it to the one after it; None: no entry is open.
    """

    settled: tuple[Piece, ...]
    unsettled: tuple[Piece, ...]
    open_tokens: range | None


@dataclass(frozen=True, slots=True)
class _Look:
    """The tokens and the characters that came between two looks."""

    tokens: range
    past: int  # the characters, up to here


class AnswerFollower:
    """Reads the entries of an answer as its tokens come.

    Args:
        decode: Of the tokenizer.
    """

    def __init__(self, decode: Decode) -> None:
        self._text = TextFollower(decode)
        self._rest = ""  # of the text, from the first piece that is not settled
        self._n_cut = 0  # characters before it
        self._looks: list[_Look] = []  # all that bear on the rest
        self._n_tokens = 0

    @property
    def n_tokens(self) -> int:
        """Tokens that were read."""
        return self._n_tokens

    def read(self, tokens: Sequence[int]) -> Reading:
        """Read on."""
        self._rest += self._text.read(tokens)
        self._looks.append(_Look(range(self._n_tokens, self._n_tokens + len(tokens)), self._n_cut + len(self._rest)))
        self._n_tokens += len(tokens)
        pieces = tuple(iter_entries(self._rest))
        settled, unsettled = pieces[:-_MOST_UNSETTLED], pieces[-_MOST_UNSETTLED:]
        newest = pieces[-1] if pieces else None
        opened = self._find_tokens(newest.first) if isinstance(newest, OpenEntry) else None
        self._cut(unsettled[0].first if settled else 0)
        return Reading(settled, unsettled, opened)

    def _find_tokens(self, first: int) -> range:
        return next(look.tokens for look in self._looks if look.past > self._n_cut + first)

    def _cut(self, first: int) -> None:
        self._rest = self._rest[first:]
        self._n_cut += first
        self._looks = [look for look in self._looks if look.past > self._n_cut]
