"""Where a model runs: what ``--device`` means on this machine."""

from __future__ import annotations

import torch

from murmur_cli.errors import DeviceError, UsageError

__all__ = ["choose_device", "measure_gpu"]


def choose_device(device: str) -> torch.device:
    """Find the device that an option names.

    Args:
        device: ``auto`` (a GPU where there is one), ``cpu``, ``cuda`` or ``cuda:N``.

    Raises:
        DeviceError: There is no such device here.
        UsageError: Models do not run on devices of that kind.
    """
    kind, _, index = device.partition(":")
    if kind not in ("auto", "cpu", "cuda"):
        raise UsageError(f"models do not run on {kind} yet", where="--device", hint="choose auto, cpu or cuda")
    n_gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if kind == "cpu" or (kind == "auto" and not n_gpus):
        return torch.device("cpu")
    number = int(index or 0)
    if number >= n_gpus:
        seen = f"there are {n_gpus}" if n_gpus else "there is none"
        raise DeviceError(f"no CUDA device {number}: {seen}", where="--device", hint="try --device cpu")
    return torch.device("cuda", number)


def measure_gpu(device: str) -> int | None:
    """Tell how much memory, in bytes, the GPU has that an option names; None where it names the CPU.

    Raises:
        DeviceError: There is no such device here.
        UsageError: Models do not run on devices of that kind.
    """
    place = choose_device(device)
    if place.type == "cpu":
        return None
    return int(torch.cuda.get_device_properties(place).total_memory)
