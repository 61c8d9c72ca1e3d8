"""A decoder that wants what a script says, token by token, and a small vocabulary for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from murmur_cli.bias.allocation import AllocationOptions, allocate
from murmur_cli.bias.graph import build_graph
from murmur_cli.bias.index import index_vocabulary
from murmur_cli.bias.packed import BiasList
from murmur_cli.bias.vocabulary import Vocabulary
from murmur_cli.decode.bias_filter import BiasKit, RowBias
from murmur_cli.decode.gate import build_json_gate, build_line_gate
from murmur_cli.decode.slots import CacheShape

__all__ = ["END", "INDEX", "JSON_KIT", "LINE_KIT", "PIECES", "ScriptedDecoder", "encode", "make_bias", "make_graph"]

_WORDS = (
    *('{"Start":', '"Speaker"', '"Content"', '":"', '"},', '"}]', '"', " \n", "\\n", "\\", 's"', ' York"', "\n York"),
    *(" Speaker", "Speaker", "Speakers", " Corner", ":", " 0", "0", ": "),
    *(" New", "New", " York", "York", " app", "le", " la", " we", " saw", " the", " a", " b", " c", " d", ", "),
)
PIECES: tuple[bytes | None, ...] = (
    *(bytes([byte]) for byte in range(256)),
    *(word.encode() for word in _WORDS),
    None,
    None,
)
END = len(PIECES) - 1
V = len(PIECES)


def encode(text: str) -> list[int]:
    """Write a text in the longest tokens there are, from the left."""
    left, tokens = text.encode(), []
    while left:
        fitting = [token for token, piece in enumerate(PIECES) if piece is not None and left.startswith(piece)]
        tokens.append(max(fitting, key=lambda token: len(PIECES[token] or b"")))
        left = left[len(PIECES[tokens[-1]] or b"") :]
    return tokens


VOCABULARY = Vocabulary(PIECES, encode, "scripted")
INDEX = index_vocabulary(VOCABULARY)
JSON_KIT = BiasKit(INDEX.classes, build_json_gate(PIECES))
LINE_KIT = BiasKit(INDEX.classes, build_line_gate(PIECES))


def make_graph(*phrases: str) -> BiasList:
    """Compile a list."""
    options = AllocationOptions(frequent_rank=1, rare_rank=2)  # ranks say nothing in so small a vocabulary
    found = [allocate(phrase, VOCABULARY, options, weight=1.0, is_open=False) for phrase in phrases]
    return build_graph([each for each in found if each is not None], INDEX, sha256="|".join(phrases))


def make_bias(*phrases: str, margin: float = 3.0, kit: BiasKit = JSON_KIT) -> RowBias:
    """Listen for a list from the beginning of an answer."""
    return RowBias(kit, make_graph(*phrases), margin, kit.gate.start)


class ScriptedDecoder:
    """Has logits for every position, whatever was written before; what is not in the script is far below.

    Args:
        script: By position, the logits of some tokens.
    """

    def __init__(self, script: Sequence[Mapping[int, float]]) -> None:
        self._logits = torch.full((len(script), V), -30.0)
        for place, wanted in enumerate(script):
            for token, logit in wanted.items():
                self._logits[place, token] = logit

    device = torch.device("cpu")
    cache_shape = CacheShape(n_layers=0, n_heads=1, head_size=1, dtype=torch.float32)

    def embed(self, tokens: Tensor) -> Tensor:
        return tokens[..., None].float()

    def read(self, embedded: Tensor, *, positions: Tensor, mask: Tensor | None, cache: object) -> Tensor:
        return positions[..., None].float()  # a prompt has one position: what follows it is script[0]

    def to_logits(self, hidden: Tensor) -> Tensor:
        return self._logits[hidden[:, 0].long().clamp(max=len(self._logits) - 1)]
