"""A row that listens, one token of the vocabulary at a time; whether it is text is asked of regular expressions."""

from __future__ import annotations

import re
from collections.abc import Sequence

import torch
from oracles.leeway import find_leeway
from torch import Tensor

from murmur_cli.bias.floor import Floor
from murmur_cli.bias.store import BiasStore
from murmur_cli.decode.bias_filter import RowBias

_OPENS = re.compile(rb'"Content"[ \t\r\n]*:[ \t\r\n]*"')
_HEX = rb"\\u[^\"\r\n]{4}"
_ESCAPE = _HEX + rb"|\\u[^\"\r\n]{0,3}(?=[\r\n\"])|\\[^u]"
_CLOSES = re.compile(rb"(?:[^\"\\]|" + _ESCAPE + rb")*+\"", re.DOTALL)
_ENDS_IN_ESCAPE = re.compile(rb"(?:[^\"\\]|" + _ESCAPE + rb")*+\\(?:u[^\"\r\n]{0,3})?\Z", re.DOTALL)
_NAMES = b"|".join(b"Speaker"[:n] for n in range(1, 7))
_TAG = rb"[ \t]*(?:" + _NAMES + rb"|Speaker[ \t0-9]*)?\Z"
_JSON_TAG = re.compile(rb"(?:[\r\n]|(?<!\\)(?:\\\\)*+(?:\\[nrtbf]|" + _HEX + rb"))" + _TAG, re.DOTALL)
_LINE_TAG = re.compile(rb"(?:\A|[\r\n])" + _TAG, re.DOTALL)
STRENGTH = 3.0


def read_content(text: bytes) -> bytes | None:
    """What is written so far of the text that an answer in JSON ends in; None: it ends in none."""
    place = 0
    while opened := _OPENS.search(text, place):
        closed = _CLOSES.match(text, opened.end())
        if closed is None:
            return text[opened.end() :]
        place = closed.end()
    return None


def is_json_open(text: bytes) -> bool:
    """Whether plain text can follow."""
    content = read_content(text)
    return content is not None and not _ENDS_IN_ESCAPE.match(content) and not _JSON_TAG.search(content)


def is_line_open(text: bytes) -> bool:
    return not _LINE_TAG.search(text)


class PlainFilter:
    """One row; ``pieces`` are the bytes of tokens."""

    def __init__(self, bias: RowBias, pieces: Sequence[bytes | None], *, is_json: bool) -> None:
        self._bias, self._pieces, self._is_json = bias, pieces, is_json
        self._store = BiasStore(bias.kit.classes, torch.device("cpu"), is_padded=False)
        self._ids = torch.tensor([self._store.add(bias.graph, strength=STRENGTH)])
        self._state = self._store.start(1)
        self.text = b""
        self._tokens: list[int] = []
        self._is_quiet = False

    def _is_spoken(self, token: int) -> bool:
        banned = b'\n\r"\\' if self._is_json else b"\n\r"
        piece = self._pieces[token]
        return piece is not None and not any(byte in banned for byte in piece)

    def choose(self, logits: Tensor) -> int:
        """Choose by logits, shape (V,), and go on by that."""
        best = int(logits.argmax())
        is_open = (is_json_open if self._is_json else is_line_open)(self.text) and self._is_spoken(best)
        is_open = is_open and not self._is_quiet
        token = best
        if is_open:
            base = torch.zeros(1, len(logits))
            nowhere = torch.tensor([float("inf")])
            self._store.score(base, self._state, self._ids, Floor(nowhere, nowhere, nowhere))
            scores = (logits + base[0]).tolist()
            for each in range(len(logits)):
                if not self._is_spoken(each):
                    scores[each] = -float("inf")  # where the best is text, no end is chosen
                elif self._is_likely(logits, each):
                    earned = self._bias.graph.step(self._bias.kit.classes, int(self._state), each)[1]
                    scores[each] = float(logits[each]) + STRENGTH * earned
            token = max(range(len(logits)), key=lambda each: scores[each])
        self.go_on(token, granted=is_open and self._is_likely(logits, token))
        return token

    def _is_likely(self, logits: Tensor, token: int) -> bool:
        behind, uncertainty = (float(top - logits[token]) for top in (logits.max(), logits.logsumexp(0)))
        leeway = find_leeway(self._bias.graph, self._bias.kit.classes, token)
        return behind <= self._bias.margin and uncertainty <= self._bias.margin * leeway

    def wake(self) -> None:
        self._is_quiet = False

    def go_on(self, token: int, *, granted: bool) -> None:
        """Read a token."""
        self.text += self._pieces[token] or b""
        if self._is_json and read_content(self.text) is None:
            self._state, self._tokens, self._is_quiet = self._store.start(1), [], False
        else:
            self._tokens.append(token)
            self._is_quiet |= any(_repeats(self._tokens, period) for period in range(1, 17))
            args = torch.tensor([token]), torch.tensor([granted])
            self._state = self._store.advance(self._state, self._ids, *args)


def _repeats(tokens: Sequence[int], period: int) -> bool:
    last = tokens[-max(3 * period, 8) :]
    return len(last) == max(3 * period, 8) and all(a == b for a, b in zip(last, last[period:], strict=False))
