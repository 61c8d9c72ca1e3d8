"""How much memory a run needs, before it begins, and how many chunks go side by side.

All of it is arithmetic on ints, the same on every machine; only ``measure_free`` looks at this one.

Source:
    The sizes of the published checkpoints, of which this gives the same: microsoft/VibeVoice-ASR-HF.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

import torch

from murmur_cli.errors import DeviceError
from murmur_cli.models.vibevoice.frames import PIECE_SAMPLES

__all__ = [
    "RESERVE_BYTES",
    "Free",
    "MemoryPlan",
    "ModelSize",
    "count_usable",
    "format_gigabytes",
    "measure_free",
    "plan_batch_size",
    "refuse_slow",
]

RESERVE_BYTES = {"cpu": 0, "cuda": 1_500_000_000}
"""What a kind of device takes for itself: the CUDA context, kernels' workspaces, fragmentation."""

_MOST_ROWS = {"cpu": 8, "cuda": 32}  # for auto: more rows hardly make a run faster
_USABLE_PERCENT = 90

# What a CPU cannot beat: all weights of the decoder pass through it for every token.
_CPU_BYTES_PER_S = 50_000_000_000  # a desktop's two channels of DDR4-3200; laptops have less
_TOKENS_PER_S = 7.5  # of speech, 6-9 in practice
_SLOWEST = 2.0  # times the duration of the audio


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSize:
    """What the memory of a model depends on.

    ``n_step_parameters`` are those that every token passes through. ``n_key`` is the length of a token's key in a
    layer, all heads together. ``n_sound_channels`` is how many numbers the encoders hold at once for each sample, at
    their widest.
    """

    n_parameters: int
    n_step_parameters: int
    n_layers: int
    n_key: int
    n_hidden: int
    n_intermediate: int
    n_sound_channels: int

    def kv_bytes(self, n_tokens: int, *, itemsize: int) -> int:
        """Bytes of the keys and values of so many tokens."""
        return 2 * self.n_layers * self.n_key * itemsize * n_tokens

    def work_bytes(self, n_prompt: int, *, itemsize: int) -> int:
        """Bytes that come and go while a chunk is admitted: its encoders, then its prompt with its own memory.

        A feed-forward layer of the encoders' first stage holds its widened input twice, and beside it what came into
        the block, what the convolution made of it, and that as it was normalised, twice: measured with torch's
        profiler. A layer of the language model holds a gate, what it gates and their product, and about six vectors
        of its own width.
        """
        sound = PIECE_SAMPLES * self.n_sound_channels * itemsize
        layer = n_prompt * (3 * self.n_intermediate + 6 * self.n_hidden) * itemsize
        return max(sound, layer + self.kv_bytes(n_prompt, itemsize=itemsize))


@dataclass(frozen=True, slots=True)
class Free:
    """Free memory of a device of a ``kind``, ``cpu`` or ``cuda``."""

    kind: str
    n_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPlan:
    """How many chunks go side by side, and what that takes, in bytes.

    ``is_limited`` says that with more memory ``auto`` would take more chunks.
    """

    batch_size: int
    weights: int
    kv: int
    work: int
    reserve: int
    is_limited: bool

    @property
    def total(self) -> int:
        """All that the run needs."""
        return self.weights + self.kv + self.work + self.reserve


def plan_batch_size(
    size: ModelSize, *, capacity: int, n_prompt: int, itemsize: int, free: Free, requested: int | None
) -> MemoryPlan:
    """Choose how many chunks are decoded side by side, or check a number that was asked for.

    Args:
        size: The model.
        capacity: Tokens that each row may hold, prompt and answer.
        n_prompt: Tokens of the longest prompt.
        itemsize: Bytes of a number.
        free: What the device has before the weights are on it.
        requested: Rows that were asked for; None fills 90 % of the free memory, up to 8 rows on a CPU and 32 on a GPU.

    Raises:
        DeviceError: The rows that were asked for do not fit, or not even one does.
    """
    weights = size.n_parameters * itemsize
    work = size.work_bytes(n_prompt, itemsize=itemsize)
    reserve, most = RESERVE_BYTES[free.kind], _MOST_ROWS[free.kind]
    row = size.kv_bytes(capacity, itemsize=itemsize)
    usable = count_usable(free)
    n_fitting = max(0, usable - weights - work - reserve) // row
    n_rows = requested or min(max(n_fitting, 1), most)
    plan = MemoryPlan(
        batch_size=n_rows, weights=weights, kv=n_rows * row, work=work, reserve=reserve, is_limited=n_fitting < most
    )
    if n_rows > n_fitting:
        raise _explain_lack(plan, usable=usable, n_fitting=n_fitting, kind=free.kind)
    return plan


def count_usable(free: Free) -> int:
    """Say how many of the free bytes a run may take."""
    return free.n_bytes * _USABLE_PERCENT // 100


def measure_free(device: torch.device, *, meminfo: Path = Path("/proc/meminfo")) -> Free:
    """Ask how much memory a device has free.

    Args:
        device: A GPU or the CPU.
        meminfo: Where Linux says it for the CPU. Where no such file is, all memory of the machine counts as free.
    """
    if device.type == "cuda":
        return Free("cuda", torch.cuda.mem_get_info(device)[0])
    try:
        found = re.search(r"^MemAvailable:\s*(\d+) kB$", meminfo.read_text(encoding="ascii"), re.MULTILINE)
    except OSError:
        found = None
    n_bytes = int(found[1]) * 1024 if found else os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return Free("cpu", n_bytes)


def refuse_slow(step_bytes: int, *, where: str) -> None:
    """Refuse a model that a CPU cannot run in any useful time.

    Args:
        step_bytes: What is read of the model for every token.
        where: What the user called the model.

    Raises:
        DeviceError: It would take more than twice as long as the audio, even on a fast CPU.
    """
    slowness = step_bytes * _TOKENS_PER_S / _CPU_BYTES_PER_S
    if slowness <= _SLOWEST:
        return
    problem = (
        f"on a CPU it takes at least {slowness:.1f} times as long as the audio: {format_gigabytes(step_bytes)} are read"
        f" for every token, {_TOKENS_PER_S} tokens are written for a second of speech, and"
        f" {format_gigabytes(_CPU_BYTES_PER_S)} can be read in a second"
    )
    raise DeviceError(
        problem, where=where, hint="choose a GPU or a smaller --model, or run it all the same with --force"
    )


def _explain_lack(plan: MemoryPlan, *, usable: int, n_fitting: int, kind: str) -> DeviceError:
    parts = (
        f"weights {format_gigabytes(plan.weights)}, {plan.batch_size} x memory of a chunk {format_gigabytes(plan.kv)}"
    )
    parts += f", work {format_gigabytes(plan.work)}" + (
        f", reserve {format_gigabytes(plan.reserve)}" if plan.reserve else ""
    )
    problem = f"{format_gigabytes(plan.total)} are needed ({parts}), but {format_gigabytes(usable)} can be used"
    if n_fitting:
        return DeviceError(problem, where="--batch-size", hint=f"give {n_fitting} or less, or auto")
    if plan.weights + plan.reserve < usable:
        return DeviceError(problem, where="--max-chunk-s", hint="lower it: shorter chunks need less")
    hint = "choose a smaller --model" + (", or --device cpu" if kind == "cuda" else "")
    return DeviceError(problem, where="--model", hint=hint)


def format_gigabytes(n_bytes: int) -> str:
    """Write a size for a message."""
    return f"{n_bytes / 1e9:.1f} GB"
