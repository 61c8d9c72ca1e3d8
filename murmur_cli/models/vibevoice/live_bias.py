"""What a session listens for, and where it is in that: in one text that goes on from chunk to chunk.

Where a chunk is cut, what was begun in the text that is gone is taken back.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from murmur_cli.decode.bias_filter import BiasFilter, RowBias
from murmur_cli.decode.gate import TEXT

__all__ = ["LiveBias"]

_MOST_REMEMBERED = 64  # tokens: more than the name of a speaker has, or a character


class LiveBias:
    """Chooses the tokens of one session.

    Args:
        device: Of the logits.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._bias: RowBias | None = None
        self._filter: BiasFilter | None = None
        self._text: list[int] = []  # the end of what was written
        self._is_whole = True  # that is all
        self._changed: list[bool] = []

    def listen(self, bias: RowBias | None) -> None:
        """Listen for something else from here on."""
        self._bias = bias
        self._filter = None if bias is None else BiasFilter(bias.kit, 1, self._device)
        if self._filter is not None:
            self._filter.seat(0, bias)
            self._catch_up()

    def begin_chunk(self) -> None:
        """Begin the next chunk, with the text as it is."""
        self._changed = []
        if self._filter is not None:
            self._filter.wake(0)

    def choose(self, logits: Tensor) -> int:
        """Choose the next token by logits, shape [1, V]."""
        return int(_pick_best(logits) if self._filter is None else self._filter.choose(logits, _pick_best))

    def read(self, token: int) -> None:
        """Go on by a token that was chosen, and that is text."""
        if self._filter is not None:
            self._changed.append(bool(self._filter.changed[0]))
            self._filter.read(torch.tensor([[token]], device=self._device))

    def end_chunk(self, kept: Sequence[int], *, is_cut: bool) -> tuple[bool, ...]:
        """End a chunk.

        Args:
            kept: What is left of its tokens.
            is_cut: Whether others are not.

        Returns:
            In which of them a list had a hand; empty if there is none.
        """
        self._text += kept
        if len(self._text) > _MOST_REMEMBERED:
            self._text = self._text[-_MOST_REMEMBERED:]
            self._is_whole = False
        if is_cut:
            self._catch_up()
        return tuple(self._changed[: len(kept)])

    def _catch_up(self) -> None:
        """Let the list know the text: no keyword is begun in it."""
        if self._filter is not None and self._bias is not None:
            self._filter.begin(0, self._bias.gate if self._is_whole else TEXT)
            self._filter.read_text(0, self._text)


def _pick_best(logits: Tensor) -> Tensor:
    return logits.argmax(-1, keepdim=True)
