"""The keys and values of rows that are decoded side by side, and how long each may be.

A step writes one cell of every slot and attends to all cells that hold a position. Which cell that is makes no
difference: keys are turned to their position before they come here. To forget a position is to mark its
cell free; nothing is copied.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from murmur_cli.decode.cells import TRASH

__all__ = ["CacheShape", "PromptCache", "SlotCache", "round_capacity"]

_GRAIN = 128  # cells; capacities and attended parts are multiples of it, so that there are few different ones


@dataclass(frozen=True, slots=True)
class CacheShape:
    """What a model keeps of one position: a key and a value for every layer and head."""

    n_layers: int
    n_heads: int
    head_size: int
    dtype: torch.dtype

    @property
    def bytes_per_cell(self) -> int:
        """What one position takes."""
        return 2 * self.n_layers * self.n_heads * self.head_size * self.dtype.itemsize


def round_capacity(n_cells: int) -> int:
    """Say how many cells a slot gets so that ``n_cells`` positions fit, the trash cell counted."""
    return -(-(TRASH + 1 + n_cells) // _GRAIN) * _GRAIN


class SlotCache:
    """Keys and values of B slots with C cells each, in the form that transformers' models write to.

    ``positions``, shape [B, C], tells which position of its slot's row a cell holds; -1: it is free. The
    first cell is the trash cell of slots that have nothing to write in a step. It is visible only to
    them, so that they attend to something: a softmax over nothing is not a number.

    Args:
        shape: Of the model's keys and values.
        n_slots: B.
        capacity: C.
        device: Where everything lies.
    """

    def __init__(self, shape: CacheShape, *, n_slots: int, capacity: int, device: torch.device) -> None:
        size = (n_slots, shape.n_heads, capacity, shape.head_size)
        # Zeros: what is masked is still multiplied by 0, and memory as it comes may hold infinities.
        self.keys = [torch.zeros(size, dtype=shape.dtype, device=device) for _ in range(shape.n_layers)]
        self.values = [torch.zeros_like(keys) for keys in self.keys]
        self.positions = torch.full((n_slots, capacity), -1, device=device)
        self.n_attended = capacity
        self._cells = torch.full((n_slots, 1), TRASH, device=device)

    @property
    def capacity(self) -> int:
        """C."""
        return self.positions.shape[1]

    def hold(self, cells: Tensor, positions: Tensor) -> Tensor:
        """Say where the next step writes.

        Args:
            cells: One for every slot, shape [B, 1].
            positions: What they will hold, shape [B, 1].

        Returns:
            Which cells that step attends to, shape [B, 1, 1, n_attended], bool.
        """
        self._cells = cells
        self.positions.scatter_(1, cells, positions)
        return (self.positions[:, : self.n_attended] >= 0)[:, None, None]

    def update(self, keys: Tensor, values: Tensor, layer: int, *_: object, **__: object) -> tuple[Tensor, Tensor]:
        """Write one position of every slot, shape [B, H, 1, D], and give all: called by the model's layers."""
        cells = self._cells[:, None, :, None].expand_as(keys)
        self.keys[layer].scatter_(2, cells, keys)
        self.values[layer].scatter_(2, cells, values)
        return self.keys[layer][:, :, : self.n_attended], self.values[layer][:, :, : self.n_attended]

    def attend_to(self, n_cells: int) -> None:
        """Leave all cells from ``n_cells`` on (rounded up) out of the following steps: none may hold a position."""
        self.n_attended = min(-(-n_cells // _GRAIN) * _GRAIN, self.capacity)

    def open_prompt(self, slot: int, n_prompt: int) -> PromptCache:
        """Empty a slot and open it for the prompt of another row, which takes the cells after the trash cell."""
        self.positions[slot] = -1
        held = slice(TRASH + 1, TRASH + 1 + n_prompt)
        self.positions[slot, held] = torch.arange(n_prompt, device=self.positions.device)
        return PromptCache(
            [keys[slot : slot + 1, :, held] for keys in self.keys],
            [values[slot : slot + 1, :, held] for values in self.values],
        )

    def evict(self, slot: int, cells: Sequence[int]) -> None:
        """Mark some cells of a slot free."""
        self.positions[slot, torch.tensor(cells, dtype=torch.int64, device=self.positions.device)] = -1

    def grow(self, capacity: int) -> None:
        """Give every slot more cells, one layer after the other: no more than one is there twice."""
        self.positions = _widen(self.positions, 1, capacity, fill=-1)
        for tensors in (self.keys, self.values):
            for layer, tensor in enumerate(tensors):
                tensors[layer] = _widen(tensor, 2, capacity, fill=0)

    def clear(self) -> None:
        """Give the memory back, whoever still knows this cache."""
        self.keys.clear()
        self.values.clear()


class PromptCache:
    """The cells of one slot while its prompt is read: it stores, and gives back what it was given.

    So reading a prompt is attention of a text to itself, for which there are fast causal kernels.

    Args:
        keys: One view into the slot for every layer, shape [1, H, n_prompt, D].
        values: Likewise.
    """

    def __init__(self, keys: Sequence[Tensor], values: Sequence[Tensor]) -> None:
        self._keys = keys
        self._values = values

    def update(self, keys: Tensor, values: Tensor, layer: int, *_: object, **__: object) -> tuple[Tensor, Tensor]:
        """Store a whole prompt, shape [1, H, n_prompt, D]: called by the model's layers."""
        self._keys[layer].copy_(keys)
        self._values[layer].copy_(values)
        return keys, values

    def get_seq_length(self, _layer: int = 0) -> int:
        """Nothing was read before the prompt."""
        return 0

    def get_query_offset(self, _layer: int = 0) -> int:
        """Nothing was read before the prompt."""
        return 0

    def get_mask_sizes(self, n_prompt: int, _layer: int = 0) -> tuple[int, int]:
        """A prompt attends to itself, from its beginning on."""
        return n_prompt, 0


def _widen(tensor: Tensor, axis: int, size: int, *, fill: int) -> Tensor:
    shape = list(tensor.shape)
    shape[axis] = size
    wide = torch.full(shape, fill, dtype=tensor.dtype, device=tensor.device)
    wide.narrow(axis, 0, tensor.shape[axis]).copy_(tensor)
    return wide
