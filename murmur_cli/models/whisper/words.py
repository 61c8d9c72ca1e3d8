"""Tokens into words: where one ends, and which punctuation goes with it.

The texts of the words, joined, are the text of the tokens.
"""

from __future__ import annotations

import codecs
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

__all__ = ["UNSPACED", "TokenWord", "split_words"]

UNSPACED = frozenset({"zh", "ja", "th", "lo", "my", "yue"})
"""Languages that write no spaces between words: openai/whisper@v20240930, tokenizer.py, split_to_word_tokens."""

_READ_ALOUD = frozenset("%&@#*/+")  # punctuation by category, but spoken
_OPENING = frozenset({"Ps", "Pi"})  # categories of what belongs to the word behind it
_QUOTES = frozenset("\"'¿¡")  # the same, of categories that say nothing


@dataclass(frozen=True, slots=True)
class TokenWord:
    """A word as a run of tokens.

    Attributes:
        text: Verbatim, with the space before it and the punctuation around it.
        first: The first token that is spoken: not punctuation at the word's ends.
        last: One past the last token that is spoken.
    """

    text: str
    first: int
    last: int


def split_words(pieces: Sequence[bytes], *, spaced: bool) -> list[TokenWord]:
    """Split a text into words.

    Args:
        pieces: The bytes of its tokens. Bytes that are no UTF-8 are dropped.
        spaced: The language writes spaces between words; else every character is a word.
    """
    words: list[TokenWord] = []
    for word in _split_at_spaces(_split_characters(pieces)) if spaced else _split_characters(pieces):
        if words and (_is_mark(words[-1].text) or (_is_mark(word.text) and not _opens(word.text))):
            words[-1] = _join(words[-1], word)
        else:
            words.append(word)
    if len(words) > 1 and _is_mark(words[-1].text):
        words[-2:] = [_join(words[-2], words[-1])]
    return words


def _split_characters(pieces: Sequence[bytes]) -> Iterator[TokenWord]:
    """Cut where tokens end and characters end too."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="ignore")
    first, text = 0, ""
    for index, piece in enumerate(pieces):
        text += decoder.decode(piece)
        is_whole = not decoder.getstate()[0]
        if is_whole and text:
            yield TokenWord(text, first, index + 1)
            first, text = index + 1, ""
    if text:
        yield TokenWord(text, first, len(pieces))


def _split_at_spaces(groups: Iterable[TokenWord]) -> Iterator[TokenWord]:
    word: TokenWord | None = None
    for group in groups:
        if word is None:
            word = group
        elif group.text.startswith(" "):
            yield word
            word = group
        else:
            word = _join(word, group)
    if word is not None:
        yield word


def _join(left: TokenWord, right: TokenWord) -> TokenWord:
    """Join neighbours; what is spoken of both is spoken of the whole."""
    spoken = [part for part in (left, right) if not _is_mark(part.text)] or [left, right]
    return TokenWord(left.text + right.text, spoken[0].first, spoken[-1].last)


def _is_mark(text: str) -> bool:
    """Tell whether a text is nothing but punctuation and spaces."""
    return all(
        letter.isspace() or (unicodedata.category(letter)[0] == "P" and letter not in _READ_ALOUD) for letter in text
    )


def _opens(text: str) -> bool:
    letter = text.strip()[-1:]
    return bool(letter) and (unicodedata.category(letter) in _OPENING or letter in _QUOTES)
