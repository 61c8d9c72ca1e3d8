"""From what the user calls a model to an engine that runs.

``config.json`` says what a model is, wherever it came from; only this module maps that to code.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from murmur_cli.engine import Engine
from murmur_cli.errors import UsageError, WeightsError
from murmur_cli.models.scripted import load_scripted
from murmur_cli.models.weights import LocalWeights, PullProgress, pull_weights
from murmur_cli.options import ModelOptions

__all__ = ["load_engine"]

_DEFAULT = "whisper-base"


def load_engine(
    options: ModelOptions,
    *,
    on_choice: Callable[[str], None],
    on_progress: Callable[[PullProgress], None] | None = None,
) -> Engine:
    """Find the weights, fetching them at first use, and load them.

    Args:
        options: What was asked for; ``auto`` takes the default of this machine.
        on_choice: Hears which model ``auto`` chose, and why.
        on_progress: Hears how far a download is.

    Raises:
        UsageError: No such model, or one of a kind that murmur does not run.
        ModelUnavailableError: The weights cannot be had.
        DeviceError: There is no such device.
    """
    name = options.model
    if name == "auto":
        name = _DEFAULT
        on_choice(f"model {name}, the default; --model takes another")
    weights = pull_weights(name, offline=options.offline, on_progress=on_progress)
    kind = _read_kind(weights.folder)
    if kind == "whisper":
        return _load_whisper(weights, options)
    if kind == "scripted":
        return load_scripted(weights.folder)
    raise UsageError(f"models of the kind {kind!r} are not supported", where=name, hint="give a Whisper model")


def _load_whisper(weights: LocalWeights, options: ModelOptions) -> Engine:
    from murmur_cli.models.whisper.engine import load_whisper  # noqa: PLC0415 - loads torch, which a script needs not

    return load_whisper(
        weights.folder,
        name=weights.name,
        weights_sha256=weights.sha256,
        device=options.device,
        dtype=options.dtype,
    )


def _read_kind(folder: Path) -> str:
    path = folder / "config.json"
    try:
        kind = json.loads(path.read_text(encoding="utf-8"))["model_type"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        problem = f"does not say what model this is: {error!r}"
        raise WeightsError(problem, where=str(path), hint="give a folder in HF layout") from error
    return str(kind)
