"""What torch finds of this machine, for somebody who wonders why a run fails."""

from __future__ import annotations

from pathlib import Path

import torch

from murmur_cli.errors import DeviceError
from murmur_cli.models.device import choose_device
from murmur_cli.models.vibevoice.memory import format_gigabytes, measure_free

__all__ = ["describe_gpus", "describe_torch", "try_device"]

_DRIVER = Path("/proc/driver/nvidia/version")  # is there where the kernel has the driver


def describe_torch() -> str:
    """Say which torch it is, and what it was built for."""
    built = f"CUDA {torch.version.cuda}" if torch.version.cuda else "the CPU alone"
    return f"{torch.__version__}, built for {built}, {torch.get_num_threads()} threads"


def describe_gpus(*, driver: Path = _DRIVER) -> str:
    """Name the GPUs with their memory.

    Args:
        driver: A file that is there where the machine has an NVIDIA driver.

    Raises:
        DeviceError: There is a driver, but torch cannot use it.
    """
    n_gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if n_gpus:
        return "; ".join(_describe_gpu(index) for index in range(n_gpus))
    if driver.exists():
        what = "was built without CUDA" if torch.version.cuda is None else "cannot use it"
        hint = "install a torch that was built for the CUDA of the driver (see nvidia-smi and pytorch.org)"
        raise DeviceError(f"there is an NVIDIA driver, but torch {what}", hint=hint)
    return "none; models run on the CPU"


def _describe_gpu(index: int) -> str:
    facts = torch.cuda.get_device_properties(index)
    free, total = torch.cuda.mem_get_info(index)
    capability = f"compute capability {facts.major}.{facts.minor}"
    return f"cuda:{index} {facts.name}, {capability}, {format_gigabytes(free)} of {format_gigabytes(total)} free"


def try_device() -> str:
    """Compute something where ``--device auto`` would, and say where that is.

    Raises:
        DeviceError: The device does not compute, or not right.
    """
    device = choose_device("auto")
    try:
        found = float((torch.ones(64, 64, device=device) @ torch.ones(64, 64, device=device)).sum())
    except RuntimeError as error:  # such as a GPU that this torch has no kernels for
        first = str(error).partition("\n")[0]
        raise DeviceError(f"{device} does not compute: {first}", hint="give --device cpu, or another torch") from error
    if found != 64.0**3:
        raise DeviceError(f"{device} computes wrongly", hint="give --device cpu, or look after the machine")
    return f"{device}, {format_gigabytes(measure_free(device).n_bytes)} of memory free"
