"""The keys and values of one text that is only added to, and cut back at its end.

Position and cell are the same number here: nothing in the middle is ever forgotten.
"""

from __future__ import annotations

import torch
from torch import Tensor

from murmur_cli.decode.slots import CacheShape

__all__ = ["GrowingCache"]

_GRAIN = 256  # cells
_GROWTH = 4  # a quarter more at a time: little is held for nothing, and little is copied


class GrowingCache:
    """Keys and values of one row, in the form that transformers' models write to. Memory grows with what is held.

    Args:
        shape: Of the model's keys and values.
        device: Where everything lies.
    """

    def __init__(self, shape: CacheShape, *, device: torch.device) -> None:
        size = (1, shape.n_heads, 0, shape.head_size)
        self._keys = [torch.empty(size, dtype=shape.dtype, device=device) for _ in range(shape.n_layers)]
        self._values = [torch.empty_like(keys) for keys in self._keys]
        self._device = device
        self._n_held = 0
        self._n_before = 0  # the positions that are read now

    @property
    def n_held(self) -> int:
        """Positions that are held."""
        return self._n_held

    def hold(self, n: int) -> tuple[Tensor, Tensor]:
        """Say that the next ``n`` positions are read now.

        Returns:
            Their positions, shape [1, n], and what each attends to, shape [1, 1, n, n_held], bool: all up to itself.
        """
        self._n_before, self._n_held = self._n_held, self._n_held + n
        self._make_room(self._n_held)
        positions = torch.arange(self._n_before, self._n_held, device=self._device)
        mask = positions[:, None] >= torch.arange(self._n_held, device=self._device)
        return positions[None], mask[None, None]

    def update(self, keys: Tensor, values: Tensor, layer: int, *_: object, **__: object) -> tuple[Tensor, Tensor]:
        """Write the positions that are read now, shape [1, H, n, D], and give all: called by the model's layers."""
        new = slice(self._n_before, self._n_held)
        self._keys[layer][:, :, new] = keys
        self._values[layer][:, :, new] = values
        return self._keys[layer][:, :, : self._n_held], self._values[layer][:, :, : self._n_held]

    def crop(self, n_held: int) -> None:
        """Forget all but the first ``n_held`` positions.

        Raises:
            ValueError: So many are not held.
        """
        if not 0 <= n_held <= self._n_held:
            raise ValueError(f"{n_held} positions cannot be kept of {self._n_held}")
        self._n_held = n_held

    def clear(self) -> None:
        """Give the memory back, whoever still knows this cache."""
        self._keys.clear()
        self._values.clear()

    def _make_room(self, n_cells: int) -> None:
        """Widen one layer after the other: no more than one is there twice."""
        capacity = self._keys[0].shape[2]
        if n_cells <= capacity:
            return
        wanted = max(n_cells, capacity + capacity // _GROWTH)
        wanted = -(-wanted // _GRAIN) * _GRAIN
        for tensors in (self._keys, self._values):
            for layer, tensor in enumerate(tensors):
                wide = tensor.new_empty((*tensor.shape[:2], wanted, tensor.shape[3]))
                wide[:, :, :capacity] = tensor
                tensors[layer] = wide
