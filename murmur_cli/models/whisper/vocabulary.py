"""Whisper's tokens: which ones steer the model, and which bytes the others stand for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from murmur_cli.bias.vocabulary import BYTE_LETTERS
from murmur_cli.errors import WeightsError

__all__ = ["Vocabulary", "read_vocabulary"]

_SPECIAL = re.compile(r"<\|(.*)\|>")
_LANGUAGE = re.compile(r"[a-z]{2,3}")

_NO_SPEECH = ("nospeech", "nocaptions")  # the second in checkpoints of 2022


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The tokens by what they do.

    Attributes:
        pieces: By token, the bytes that it stands for; none for a special token.
        start: Begins every prompt.
        end: Ends every text.
        transcribe: The task; None in English-only models, which have no other.
        no_timestamps: The last token of a prompt.
        no_speech: Its probability after ``start`` says that nobody speaks.
        languages: By code, the token that names a language; empty in English-only models.
    """

    pieces: tuple[bytes, ...]
    start: int
    end: int
    transcribe: int | None
    no_timestamps: int
    no_speech: int
    languages: Mapping[str, int]

    def prompt(self, language: str) -> tuple[int, ...]:
        """Give the tokens that ask for a text in a language."""
        if self.transcribe is None:
            return (self.start, self.no_timestamps)
        return (self.start, self.languages[language], self.transcribe, self.no_timestamps)

    @property
    def unspoken(self) -> tuple[int, ...]:
        """The tokens that stand for no text, without the one that ends it."""
        return tuple(token for token, piece in enumerate(self.pieces) if not piece and token != self.end)


def read_vocabulary(tokens: Sequence[str | None], *, is_multilingual: bool, where: str) -> Vocabulary:
    """Sort the tokens of a tokenizer.

    Args:
        tokens: By number, as the tokenizer writes them; None where the model has more than it.
        is_multilingual: The model was trained on more than English.
        where: What to name in an error.

    Raises:
        WeightsError: It is not the tokenizer of a Whisper.
    """
    specials: dict[str, int] = {}
    pieces = []
    for number, token in enumerate(tokens):
        special = _SPECIAL.fullmatch(token or "")
        if special:
            specials[special.group(1)] = number
        pieces.append(b"" if special or token is None else _to_bytes(token))

    def find(*names: str) -> int:
        for name in names:
            if name in specials:
                return specials[name]
        raise WeightsError(
            f"the tokenizer has no token <|{names[0]}|>", where=where, hint="give a Whisper model in HF layout"
        )

    languages = {code: number for code, number in specials.items() if _LANGUAGE.fullmatch(code)}
    return Vocabulary(
        pieces=tuple(pieces),
        start=find("startoftranscript"),
        end=find("endoftext"),
        transcribe=find("transcribe") if is_multilingual else None,
        no_timestamps=find("notimestamps"),
        no_speech=find(*_NO_SPEECH),
        languages=languages if is_multilingual else {},
    )


def _to_bytes(token: str) -> bytes:
    """Undo the alphabet of byte-level BPE; a character outside it stands for itself."""
    return b"".join(bytes([BYTE_LETTERS[c]]) if c in BYTE_LETTERS else c.encode() for c in token)
