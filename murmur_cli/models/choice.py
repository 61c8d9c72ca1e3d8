"""Which model ``--model auto`` is: the best that this machine can run, without fetching anything large.

What decides is in ``pick_model``, which knows no machine; ``choose_model`` looks at this one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from murmur_cli.errors import ModelUnavailableError
from murmur_cli.models.weights import pull_weights
from murmur_cli.options import ModelOptions

__all__ = ["Choice", "choose_model", "pick_model"]

_BEST, _BEST_LIVE, _DEFAULT = "vibevoice", "vibevoice-streaming-7b", "whisper-base"
_ENOUGH_BYTES = 23_500_000_000  # cards that are sold with 24 GB have between 23.7e9 and 25.8e9 bytes


@dataclass(frozen=True, slots=True)
class Choice:
    """A model, and why it, as one clause."""

    model: str
    reason: str


def choose_model(options: ModelOptions, *, is_live: bool = False) -> Choice:
    """Choose the model for a machine.

    Args:
        options: On which device it is to run.
        is_live: It is to hear live speech.

    Raises:
        DeviceError: There is no such device.
        UsageError: Models do not run on devices of that kind.
    """
    from murmur_cli.models.device import measure_gpu  # noqa: PLC0415 - loads torch

    best = _BEST_LIVE if is_live else _BEST
    return pick_model(measure_gpu(options.device), best=best, find_problem=lambda: _find_problem(best))


def pick_model(gpu_bytes: int | None, *, best: str, find_problem: Callable[[], str | None]) -> Choice:
    """Choose between the best model and the default.

    Args:
        gpu_bytes: Memory of the GPU; None: there is none, or none is wanted.
        best: The best model.
        find_problem: Says why the best model's weights cannot be used as they are; asked only where they would run.
    """
    if gpu_bytes is None:
        return Choice(_DEFAULT, "the default without a GPU")
    size = f"{gpu_bytes / 1e9:.0f} GB"
    if gpu_bytes < _ENOUGH_BYTES:
        return Choice(_DEFAULT, f"the default for a GPU of {size}")
    if problem := find_problem():
        return Choice(_DEFAULT, f"{best} would fit the GPU of {size}, but {problem}")
    return Choice(best, f"the GPU has {size} and the weights are here")


def _find_problem(best: str) -> str | None:
    """Look for the weights in the caches, without any network; 17 GB are not fetched unasked."""
    try:
        pull_weights(best, offline=True)
    except ModelUnavailableError as error:
        return f"{error.problem} ('murmur models pull {best}' fetches them)"
    return None
