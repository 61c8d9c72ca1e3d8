"""Where an answer is spoken text and nothing else, told of all tokens at once by the bytes that they consist of.

What frames a text, ends it or names a speaker is never text: only there may keywords be heard.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["TEXT", "TextGate", "build_json_gate", "build_line_gate"]

TEXT = 0
"""The state in which tokens that are text alone may be raised."""

# In a text, behind a line break: blanks, then perhaps "Speaker 0:", letter by letter. Its last state takes the number.
_LINE = 1
_TAG = b"Speaker"
_N_TEXT = _LINE + len(_TAG) + 1
_BLANKS, _DIGITS, _BREAKS = b" \t", b"0123456789", b"\n\r"

# In JSON, beside these: an escape, and four hexadecimal digits. They are of a text, too.
_ESCAPE = _N_TEXT
_HEX = _ESCAPE + 1
_N_HEX = 4
_N_CONTENT = _HEX + _N_HEX

# Outside of texts: the key of the next one, character by character, and what leads from there to its quote.
_OUTSIDE = _N_CONTENT
_KEY = b'"Content"'
_COLON = _OUTSIDE + len(_KEY) + 1  # behind it
_N_JSON = _COLON + 1
_SPACES = _BLANKS + _BREAKS


@dataclass(frozen=True, slots=True, eq=False)
class TextGate:
    """Follows an answer by its tokens.

    Attributes:
        after: The state after a token, by the state before it, shape (n_states, V), uint8.
        is_spoken: By token, whether it keeps a text in ``TEXT`` from its first byte to its last, shape (V,).
        is_content: By state, whether a text goes on in it, shape (n_states,).
        start: The state in which nothing is written.
    """

    after: npt.NDArray[np.uint8]
    is_spoken: npt.NDArray[np.bool_]
    is_content: npt.NDArray[np.bool_]
    start: int

    def read(self, state: int, tokens: Iterable[int]) -> int:
        """Follow some tokens from a state."""
        for token in tokens:
            state = int(self.after[state, token])
        return state


def build_json_gate(pieces: Sequence[bytes | None]) -> TextGate:
    """Build the gate of answers that are JSON: texts are the values of ``"Content"``.

    A quote ends a text, also one that should have been escaped; the next key opens one again, whatever stands between.

    Args:
        pieces: The bytes of each token; None for one that stands for no text.
    """
    moves = np.zeros((_N_JSON, 256), np.uint8)
    _lay_text(moves)
    for state in range(_N_TEXT):
        moves[state, ord('"')] = _OUTSIDE
        moves[state, ord("\\")] = _ESCAPE
    # What an escape stands for is not looked at. The text is on again behind the token that follows it.
    moves[_ESCAPE, list(b"nrtbf")] = _LINE
    moves[_ESCAPE, ord("u")] = _HEX
    for digit in range(_N_HEX):
        moves[_HEX + digit] = _HEX + digit + 1 if digit + 1 < _N_HEX else _LINE
        moves[_HEX + digit, ord('"')] = _OUTSIDE
    moves[_ESCAPE:_N_CONTENT, list(_BREAKS)] = _LINE
    moves[_OUTSIDE:] = _OUTSIDE
    moves[_OUTSIDE:, _KEY[0]] = _OUTSIDE + 1
    for n_read, byte in enumerate(_KEY):
        moves[_OUTSIDE + n_read, byte] = _OUTSIDE + n_read + 1
    moves[_COLON - 1, list(_SPACES)] = _COLON - 1
    moves[_COLON - 1, _KEY[1]] = _OUTSIDE + 2  # the quote that ends a key may begin another
    moves[_COLON - 1, ord(":")] = _COLON
    moves[_COLON, list(_SPACES)] = _COLON
    moves[_COLON, ord('"')] = TEXT
    return _build(moves, pieces, n_content=_N_CONTENT, start=_OUTSIDE)


def build_line_gate(pieces: Sequence[bytes | None]) -> TextGate:
    """Build the gate of plain text with a speaker's name at the beginning of some lines.

    Args:
        pieces: The bytes of each token; None for one that stands for no text.
    """
    moves = np.zeros((_N_TEXT, 256), np.uint8)
    _lay_text(moves)
    return _build(moves, pieces, n_content=_N_TEXT, start=_LINE)


def _lay_text(moves: npt.NDArray[np.uint8]) -> None:
    moves[:_N_TEXT] = TEXT
    moves[:_N_TEXT, list(_BREAKS)] = _LINE
    moves[_LINE, list(_BLANKS)] = _LINE
    for n_read, byte in enumerate(_TAG):
        moves[_LINE + n_read, byte] = _LINE + n_read + 1
    moves[_N_TEXT - 1, list(_BLANKS + _DIGITS)] = _N_TEXT - 1


def _build(moves: npt.NDArray[np.uint8], pieces: Sequence[bytes | None], *, n_content: int, start: int) -> TextGate:
    """Follow all tokens from all states, a byte of each at a time."""
    n_states, n_tokens = len(moves), len(pieces)
    joined = np.frombuffer(b"".join(piece or b"" for piece in pieces), np.uint8)
    lengths = np.array([len(piece or b"") for piece in pieces], np.int64)
    begins = np.cumsum(lengths) - lengths
    after = np.repeat(np.arange(n_states, dtype=np.uint8)[:, None], n_tokens, axis=1)
    is_spoken = lengths > 0
    for place in range(int(lengths.max(initial=0))):
        tokens = np.flatnonzero(lengths > place)
        after[:, tokens] = moves[after[:, tokens], joined[begins[tokens] + place]]
        is_spoken[tokens] &= after[TEXT, tokens] == TEXT
    return TextGate(after, is_spoken, np.arange(n_states) < n_content, start)
