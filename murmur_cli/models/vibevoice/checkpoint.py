"""A VibeVoice-ASR checkpoint, in either layout: looked at whole before a single weight is read, then loaded.

Whatever is missing, left over or of another shape is an error: nothing is filled in with random weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from murmur_cli.errors import DeviceError, UsageError, WeightsError
from murmur_cli.models.vibevoice.keymap import EMBEDDINGS, HEAD
from murmur_cli.models.vibevoice.layout import Json, Layout, read_layout
from murmur_cli.models.vibevoice.memory import ModelSize
from murmur_cli.models.vibevoice.network import Network, fill, list_shapes, make_outline, measure_size
from murmur_cli.models.vibevoice.shards import StoredTensor, iter_tensors, list_tensors
from murmur_cli.models.vibevoice.vocabulary import Vocabulary, read_vocabulary

__all__ = ["Blueprint", "Checkpoint", "choose_dtype", "inspect_checkpoint", "load_checkpoint"]

_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
_HINT = "give a whole VibeVoice-ASR checkpoint, or run: murmur models verify"


@dataclass(frozen=True, slots=True, eq=False)
class Blueprint:
    """A checkpoint that was looked at: its files are all there and fit together.

    Attributes:
        folder: Where it is.
        layout: How it is laid out.
        tensors: Where each parameter is stored, by its name in the class; a tied head may be absent.
        vocabulary: Its tokens.
        size: What its memory depends on.
    """

    folder: Path
    layout: Layout
    tensors: Mapping[str, StoredTensor]
    vocabulary: Vocabulary
    size: ModelSize


@dataclass(frozen=True, slots=True, eq=False)
class Checkpoint:
    """A VibeVoice that is ready to run.

    Attributes:
        folder: Where it is.
        network: The transformers model, in evaluation mode, with sdpa attention.
        vocabulary: Its tokens.
        size: What its memory depends on.
        device: Where it runs.
        dtype: What it computes in.
    """

    folder: Path
    network: Network
    vocabulary: Vocabulary
    size: ModelSize
    device: torch.device
    dtype: torch.dtype


def inspect_checkpoint(folder: Path, *, streams: bool = False) -> Blueprint:
    """Check all of a checkpoint that can be checked without reading its weights.

    Args:
        folder: Holds config.json, tokenizer.json and safetensors, in the transformers layout or the original one.
        streams: Take one that only streams, too.

    Raises:
        UsageError: It is a model of another family, or one that only streams, and that is not wanted.
        WeightsError: A file is missing or damaged, a tensor is missing, left over or misshapen, or the tokenizer is
            not the model's.
    """
    layout = read_layout(folder, streams=streams)
    vocabulary = read_vocabulary(folder)
    tensors = _name_tensors(list_tensors(folder), layout, folder)
    outline = make_outline(_state_tokens(layout, vocabulary), where=layout.path)
    shapes = list_shapes(outline)
    _compare_shapes(tensors, shapes, layout, folder)
    highest, n_rows = max(vocabulary.tokenizer.get_vocab().values()), shapes[EMBEDDINGS][0]
    if highest >= n_rows:
        problem = f"the tokenizer counts to {highest}, but the model has {n_rows} embeddings"
        raise WeightsError(problem, where=str(folder), hint=_HINT)
    return Blueprint(folder, layout, tensors, vocabulary, measure_size(outline, has_head=HEAD in tensors))


def choose_dtype(dtype: str, device: torch.device) -> torch.dtype:
    """Choose the precision: ``auto`` is float32 on a CPU and bfloat16, as it was trained, on a GPU.

    Raises:
        UsageError: The device cannot compute in it.
    """
    if dtype == "float16" and device.type == "cpu":
        raise UsageError("float16 runs on a GPU only", where="--dtype", hint="choose auto, bfloat16 or float32")
    if dtype == "auto":
        return torch.float32 if device.type == "cpu" else torch.bfloat16
    return _DTYPES[dtype]


def load_checkpoint(blueprint: Blueprint, *, device: torch.device, dtype: torch.dtype) -> Checkpoint:
    """Read the weights, tensor by tensor, onto a device.

    Raises:
        WeightsError: A file has changed since.
        DeviceError: The device has too little memory.
    """
    network = make_outline(_state_tokens(blueprint.layout, blueprint.vocabulary), where=blueprint.layout.path)
    with _naming_memory(device):
        fill(network, _iter_parameters(blueprint, device), device=device, dtype=dtype)
    return Checkpoint(blueprint.folder, network, blueprint.vocabulary, blueprint.size, device, dtype)


def _iter_parameters(blueprint: Blueprint, device: torch.device) -> Iterator[tuple[str, Tensor]]:
    names = {stored: name for name, stored in blueprint.tensors.items()}
    for stored, tensor in iter_tensors(names, device=device):
        yield names[stored], tensor


def _name_tensors(stored: list[StoredTensor], layout: Layout, folder: Path) -> dict[str, StoredTensor]:
    """Find out which parameter each stored tensor is."""
    named: dict[str, StoredTensor] = {}
    for tensor in stored:
        name = layout.rename(tensor.name)
        if name in named:
            problem = f"{tensor.name} and {named[name].name} are the same parameter"
            raise WeightsError(problem, where=str(folder), hint=_HINT)
        if name is not None:
            named[name] = tensor
    return named


def _compare_shapes(
    tensors: Mapping[str, StoredTensor], shapes: Mapping[str, tuple[int, ...]], layout: Layout, folder: Path
) -> None:
    missing = shapes.keys() - tensors.keys() - ({HEAD} if layout.is_tied else set())
    unknown = tensors.keys() - shapes.keys()
    misshapen = {name for name in tensors.keys() & shapes.keys() if tensors[name].shape != shapes[name]}
    for names, what in ((missing, "missing"), (unknown, "not the model's"), (misshapen, "misshapen")):
        if names:
            first = min(names)
            count = "1 tensor is" if len(names) == 1 else f"{len(names)} tensors are"
            detail = f": {list(tensors[first].shape)} instead of {list(shapes[first])}" if what == "misshapen" else ""
            raise WeightsError(f"{count} {what}, {first}{detail}", where=str(folder), hint=_HINT)


def _state_tokens(layout: Layout, vocabulary: Vocabulary) -> Json:
    """Put the tokenizer's numbers into the configuration.

    Raises:
        WeightsError: The configuration has others: the tokenizer is of another model.
    """
    numbers = {
        "audio_token_id": vocabulary.audio,
        "audio_bos_token_id": vocabulary.audio_begin,
        "audio_eos_token_id": vocabulary.audio_end,
    }
    for key, number in numbers.items():
        stated = layout.config.get(key, number)
        if stated != number:
            problem = f"{key} is {stated}, but {number} in the tokenizer"
            raise WeightsError(problem, where=str(layout.path), hint=_HINT)
    return layout.config | numbers


@contextmanager
def _naming_memory(device: torch.device) -> Iterator[None]:
    hint = "try a smaller --model, or --device cpu" if device.type == "cuda" else "try a smaller --model"
    try:
        yield
    except (torch.OutOfMemoryError, MemoryError) as error:
        raise DeviceError(f"the weights do not fit into the memory of {device}", where="--device", hint=hint) from error
