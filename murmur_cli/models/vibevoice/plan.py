"""How many chunks go side by side, and what must be forgotten of each for that."""

from __future__ import annotations

from collections.abc import Callable

from murmur_cli.decode.eviction import EvictionOptions, RowLayout, most_cells
from murmur_cli.decode.slots import round_capacity
from murmur_cli.decode.step import N_STEPS
from murmur_cli.errors import DeviceError
from murmur_cli.models.vibevoice.memory import Free, MemoryPlan, ModelSize, plan_batch_size
from murmur_cli.options import ModelOptions

__all__ = ["plan_memory", "plan_rows"]


def plan_rows(
    size: ModelSize, longest: RowLayout, model: ModelOptions, *, itemsize: int, free: Free
) -> tuple[EvictionOptions, int]:
    """Choose what is forgotten, and the size of the batch; see ``plan_memory``."""
    eviction, memory = plan_memory(size, longest, model, itemsize=itemsize, free=free)
    return eviction, memory.batch_size


def plan_memory(
    size: ModelSize, longest: RowLayout, model: ModelOptions, *, itemsize: int, free: Free
) -> tuple[EvictionOptions, MemoryPlan]:
    """Choose what is forgotten, and the size of the batch, and say what memory that takes.

    With ``--evict auto`` audio is forgotten where the memory for all of it would limit the batch; else nothing is.

    Args:
        size: The model.
        longest: The row of the longest chunk.
        model: What was asked for.
        itemsize: Bytes of a number.
        free: What the device has before the weights are on it.

    Raises:
        DeviceError: It does not fit.
    """

    def plan(policy: str) -> tuple[EvictionOptions, MemoryPlan]:
        eviction = EvictionOptions(policy=policy)
        memory = plan_batch_size(
            size,
            capacity=round_capacity(most_cells(eviction, longest, n_steps=N_STEPS)),
            n_prompt=longest.n_prompt,
            itemsize=itemsize,
            free=free,
            requested=None if model.batch_size == "auto" else int(model.batch_size),
        )
        return eviction, memory

    return plan(_choose_policy(plan, model))


def _choose_policy(plan: Callable[[str], tuple[EvictionOptions, MemoryPlan]], model: ModelOptions) -> str:
    if model.evict != "auto":
        return model.evict
    try:
        _, memory = plan("none")
    except DeviceError:
        return "speech"
    if not memory.is_limited or model.batch_size != "auto":
        return "none"
    # Of a short chunk so little can be forgotten that no more of them fit.
    return "speech" if plan("speech")[1].batch_size > memory.batch_size else "none"
