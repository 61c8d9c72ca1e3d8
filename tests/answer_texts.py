"""Answers as a model writes them, and tokens for them, for the tests of ``murmur_cli.decode``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_TOKEN = re.compile(r""" ?[^\W\d_]+|\d|["{}\[\],:.]+|.""", re.DOTALL)


class ToyTokenizer:
    """Its tokens are words with the blank before them, digits, and marks that stand together: much like Qwen's."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._numbers: dict[str, int] = {}

    def encode(self, text: str) -> list[int]:
        return [self._number(piece) for piece in _TOKEN.findall(text)]

    def decode(self, tokens: Sequence[int]) -> str:
        return "".join(self._pieces[token] for token in tokens)

    def _number(self, piece: str) -> int:
        if piece not in self._numbers:
            self._numbers[piece] = len(self._pieces)
            self._pieces.append(piece)
        return self._numbers[piece]


def write_entry(start: float, end: float, content: str, speaker: int | None = 0) -> str:
    who = "" if speaker is None else f',"Speaker":{speaker}'
    return f'{{"Start":{start:.2f},"End":{end:.2f}{who},"Content":"{content}"}}'


def write_answer(entries: Iterable[str], *, closed: bool = True) -> str:
    """An answer as it is written without its control tokens."""
    return f"assistant\n[{','.join(entries)}" + ("]" if closed else "")
