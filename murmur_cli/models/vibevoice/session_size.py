"""How long the context of a live session is, and whether a model with it fits on the device.

All of it is arithmetic on ints: nothing need be loaded to refuse what cannot run.
"""

from __future__ import annotations

from murmur_cli.decode.repetition import FASTEST_TOKENS_PER_S
from murmur_cli.decode.rollover import LEAST_CHUNKS, count_most_kept
from murmur_cli.errors import DeviceError, UsageError
from murmur_cli.models.vibevoice.frames import FRAME_SAMPLES, SAMPLE_RATE
from murmur_cli.models.vibevoice.geometry import Geometry
from murmur_cli.models.vibevoice.memory import RESERVE_BYTES, Free, ModelSize, count_usable, format_gigabytes

__all__ = ["check_fit", "count_chunks"]

_MARKS = 3  # around the audio of a chunk, and behind its text
_GROWTH_PERCENT = 125  # what a cache that grows holds at most of what it needs, see GrowingCache


def count_chunks(minutes: float, geometry: Geometry) -> int:
    """Say how many chunks a context of so many minutes holds.

    Raises:
        UsageError: They are too few to tell who speaks.
    """
    most = int(minutes * 60 * SAMPLE_RATE) // geometry.chunk_samples
    if most < LEAST_CHUNKS:
        least = LEAST_CHUNKS * geometry.chunk_samples / SAMPLE_RATE / 60
        problem = (
            f"{minutes:g} minutes are too short for this model, which hears {least / LEAST_CHUNKS * 60:g} s at once"
        )
        raise UsageError(problem, where="--context-minutes", hint=f"give {least:.1f} or more")
    return most


def check_fit(size: ModelSize, geometry: Geometry, *, n_prompt: int, most: int, itemsize: int, free: Free) -> None:
    """Refuse a model that does not fit with its context, as much text as can be said in it included.

    Args:
        size: The model.
        geometry: How it listens.
        n_prompt: Tokens before the first chunk.
        most: Chunks that the context may hold.
        itemsize: Bytes of a number.
        free: What the device has before the weights are on it.

    Raises:
        DeviceError: It does not fit.
    """
    n_frames = geometry.window_samples // FRAME_SAMPLES
    n_chunk = n_frames + _MARKS + int(FASTEST_TOKENS_PER_S * geometry.window_samples / SAMPLE_RATE)
    weights, reserve = size.n_parameters * itemsize, RESERVE_BYTES[free.kind]
    n_cells = (n_prompt + most * n_chunk) * _GROWTH_PERCENT // 100
    context = size.kv_bytes(n_cells, itemsize=itemsize)
    work = size.work_bytes(n_prompt + count_most_kept(most) * n_chunk, itemsize=itemsize)
    usable, needed = count_usable(free), weights + context + work + reserve
    if needed <= usable:
        return
    problem = (
        f"{format_gigabytes(needed)} are needed (weights {format_gigabytes(weights)}, context"
        f" {format_gigabytes(context)}, work {format_gigabytes(work)}, reserve {format_gigabytes(reserve)}), but"
        f" {format_gigabytes(usable)} can be used"
    )
    if weights + reserve + (context + work) * LEAST_CHUNKS // most < usable:
        raise DeviceError(problem, where="--context-minutes", hint="lower it: a shorter context needs less")
    hint = "choose a smaller --model" + (", or --device cpu" if free.kind == "cuda" else "")
    raise DeviceError(problem, where="--model", hint=hint)
