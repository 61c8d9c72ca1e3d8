"""What a decoder remembers of the windows that it is decoding: their audio, and what was said so far.

Beams branch and die, but no memory is ever copied from beam to beam: every beam writes into its own
slot, a mask says in which slot each beam's history lies, and a beam attends to all slots through it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

__all__ = ["DecoderState", "Memory", "plan_moves"]

_GROWTH = 16  # positions; memories stay dense (torch copies others at every product), and are copied this seldom


@dataclass(frozen=True, slots=True)
class Memory:
    """Keys and values of one layer, each [B, H, ..., D / H]."""

    keys: Tensor
    values: Tensor


class DecoderState:
    """The memory of B windows with K hypotheses each.

    Attributes:
        audio: Keys and values of the windows' audio, one memory per layer, [B, H, T, D / H].
        position: Tokens read so far, prompt included.

    Args:
        audio: See above.
        prompt: Keys and values of the prompt, one memory per layer, [B, H, P, D / H].
        n_hypotheses: K.
    """

    def __init__(self, audio: Sequence[Memory], prompt: Sequence[Memory], *, n_hypotheses: int) -> None:
        self.audio = list(audio)
        keys = prompt[0].keys
        self.position = keys.shape[2]
        self._itself = keys.new_full((n_hypotheses, n_hypotheses), -math.inf).fill_diagonal_(0.0)
        # [B, H, capacity, K, D / H]; the prompt lies in the first slot.
        self._own = [
            Memory(*(_widen(given[:, :, :, None], 3, n_hypotheses) for given in (memory.keys, memory.values)))
            for memory in prompt
        ]
        # [B, K, capacity, K]: 0 where hypothesis k may see what slot j wrote at a position
        self._mask = keys.new_full((keys.shape[0], n_hypotheses, self.position, n_hypotheses), -math.inf)
        self._mask[..., 0] = 0.0

    def grow(self) -> None:
        """Make room for one more token of every hypothesis, which sees itself there."""
        capacity = self._mask.shape[2]
        if self.position == capacity:
            self._own = [
                Memory(*(_widen(given, 2, capacity + _GROWTH) for given in (memory.keys, memory.values)))
                for memory in self._own
            ]
            self._mask = _widen(self._mask, 2, capacity + _GROWTH, value=-math.inf)
        self._mask[:, :, self.position] = self._itself
        self.position += 1

    def attend(self, layer: int, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """Write the newest token's keys and values, and mix what each hypothesis may see.

        Args:
            layer: Number of the layer.
            queries: Of every hypothesis (scaled), shape [B, H, K, D / H].
            keys: The same shape.
            values: The same shape.

        Returns:
            Shape [B, H, K, D / H].
        """
        own = self._own[layer]
        own.keys[:, :, self.position - 1] = keys
        own.values[:, :, self.position - 1] = values
        all_keys = own.keys.flatten(2, 3)  # [B, H, capacity K, D / H]
        mask = self._mask.flatten(2, 3)[:, None]  # [B, 1, K, capacity K]
        scores = torch.matmul(queries, all_keys.transpose(2, 3)) + mask
        return torch.matmul(torch.softmax(scores, dim=-1), own.values.flatten(2, 3))

    def branch(self, parents: Tensor) -> None:
        """Let hypothesis k of every window go on from the history of hypothesis ``parents[:, k]``.

        Args:
            parents: Shape [B, K], int64.
        """
        self._mask = self._mask.gather(1, parents[:, :, None, None].expand_as(self._mask))

    def retire(self, sources: Sequence[int]) -> None:
        """Keep some windows only: the new window i is the old window ``sources[i]``.

        Args:
            sources: From ``plan_moves``: as few windows as can be are moved.
        """
        self.audio = [self._retire(memory, sources) for memory in self.audio]
        self._own = [self._retire(memory, sources) for memory in self._own]
        self._mask = _move(self._mask, sources)

    def _retire(self, memory: Memory, sources: Sequence[int]) -> Memory:
        return Memory(_move(memory.keys, sources), _move(memory.values, sources))


def plan_moves(kept: Sequence[int]) -> list[int]:
    """Close the gaps that finished windows leave, moving as few as can be.

    Args:
        kept: The windows that stay, ascending.

    Returns:
        For every new place the old one; where they differ the old one is behind the new ones.
    """
    staying = {index for index in kept if index < len(kept)}
    moving = iter([index for index in kept if index >= len(kept)])
    return [index if index in staying else next(moving) for index in range(len(kept))]


def _move(tensor: Tensor, sources: Sequence[int]) -> Tensor:
    for target, source in enumerate(sources):
        if target != source:
            tensor[target] = tensor[source]
    return tensor[: len(sources)]


def _widen(tensor: Tensor, axis: int, size: int, *, value: float = 0.0) -> Tensor:
    """Append ``value`` along an axis; it is finite where it is only masked, as infinity times 0 is not 0."""
    shape = list(tensor.shape)
    shape[axis] = size - shape[axis]
    return torch.cat([tensor, tensor.new_full(shape, value)], dim=axis)
