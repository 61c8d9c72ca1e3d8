"""The safetensors files of a checkpoint: what is in them, and the tensors themselves.

What is in them is read from their headers, a few kilobytes of files of gigabytes. Nothing is ever unpickled.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from murmur_cli.errors import WeightsError

__all__ = ["StoredTensor", "iter_tensors", "list_tensors"]

_WEIGHTS, _INDEX = "model.safetensors", "model.safetensors.index.json"
_DTYPES = ("F32", "BF16", "F16")
_HINT = "fetch the checkpoint again, whole"


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """A tensor of a checkpoint, under the name that it has in its file."""

    name: str
    path: Path
    shape: tuple[int, ...]


def list_tensors(folder: Path) -> list[StoredTensor]:
    """Read what the weight files of a folder hold, without reading any weight.

    Raises:
        WeightsError: A file is missing or truncated, or holds what its index does not say, or numbers of another
            kind than floats.
    """
    if (folder / _WEIGHTS).is_file():
        return _read_header(folder / _WEIGHTS)
    index = folder / _INDEX
    if not index.is_file():
        hint = "give a checkpoint as safetensors: pickles are not loaded"
        raise WeightsError(f"has neither {_WEIGHTS} nor {_INDEX}", where=str(folder), hint=hint)
    places = _read_index(index)
    found = [tensor for name in sorted(set(places.values())) for tensor in _read_header(folder / name)]
    differing = {(tensor.name, tensor.path.name) for tensor in found} ^ set(places.items())
    if differing:
        name, file = min(differing)
        raise WeightsError(f"does not agree with {file} on the tensor {name}", where=str(index), hint=_HINT)
    return found


def iter_tensors(tensors: Iterable[StoredTensor], *, device: torch.device) -> Iterator[tuple[StoredTensor, Tensor]]:
    """Yield tensors as they are stored, file by file; on a CPU they are views into the files.

    Raises:
        WeightsError: A file cannot be read any more.
    """
    for path, wanted in groupby(sorted(tensors, key=lambda t: (t.path, t.name)), key=lambda t: t.path):
        try:
            with safe_open(path, framework="pt", device=str(device)) as file:
                for tensor in wanted:
                    yield tensor, file.get_tensor(tensor.name)
        except (OSError, SafetensorError) as error:
            raise WeightsError(f"cannot be read: {error}", where=str(path), hint=_HINT) from error


def _read_header(path: Path) -> list[StoredTensor]:
    if not path.is_file():
        raise WeightsError("is missing", where=str(path), hint=_HINT)
    found = []
    try:
        with safe_open(path, framework="pt") as file:
            for name in file.keys():  # noqa: SIM118 - it is no mapping
                stored = file.get_slice(name)
                if stored.get_dtype() not in _DTYPES:
                    problem = f"{name} is stored as {stored.get_dtype()}, and quantised checkpoints are not supported"
                    raise WeightsError(problem, where=str(path), hint="give one in bfloat16, float16 or float32")
                found.append(StoredTensor(name, path, tuple(stored.get_shape())))
    except (OSError, SafetensorError) as error:
        raise WeightsError(f"cannot be read: {error}", where=str(path), hint=_HINT) from error
    return found


def _read_index(path: Path) -> dict[str, str]:
    """Read which file holds which tensor."""
    try:
        places = json.loads(path.read_bytes())["weight_map"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WeightsError(f"is no index: {error!r}", where=str(path), hint=_HINT) from error
    if not isinstance(places, dict) or not places:
        raise WeightsError("names no tensors", where=str(path), hint=_HINT)
    for name in places.values():
        if not isinstance(name, str) or Path(name).name != name or not name.endswith(".safetensors"):
            raise WeightsError(f"names a file that is no safetensors beside it: {name}", where=str(path), hint=_HINT)
    return places
