"""The tokens of a model for keyword lists: found without loading the model, or torch.

The count of tokens is the model's own, not the tokenizer's, so that a list compiled here fits the model when it runs.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from murmur_cli.bias.vocabulary import Vocabulary, read_vocabulary
from murmur_cli.errors import UsageError, WeightsError
from murmur_cli.models.catalog import LocalFolder, resolve_model
from murmur_cli.models.choice import choose_model, pick_model
from murmur_cli.models.weights import PullProgress, pull_weights
from murmur_cli.options import ModelOptions

__all__ = ["find_vocabulary", "load_vocabulary"]

_GPU_FILES = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")  # NVIDIA, AMD, either under WSL
_WITH_TEXT = ("text_config", "decoder_config")  # in the configurations of models that are made of several


def find_vocabulary(
    model: str,
    *,
    offline: bool,
    on_note: Callable[[str], None],
    on_progress: Callable[[PullProgress], None] | None = None,
) -> Vocabulary:
    """Read the vocabulary of a model, fetching its files where they are not here.

    Args:
        model: As ``--model`` names it; ``auto`` is what ``murmur batch`` would take.
        offline: Use no network.
        on_note: Hears which model ``auto`` chose, and why.
        on_progress: Hears how far a download is.

    Raises:
        UsageError: There is no such model, or keywords cannot be given to it.
        ModelUnavailableError: Its files cannot be had.
    """
    name = _choose_name(on_note) if model == "auto" else model
    found = resolve_model(name)
    if isinstance(found, LocalFolder):  # as it is: the hash of its weights, gigabytes maybe, is not wanted here
        return load_vocabulary(found.folder, name=name)
    return load_vocabulary(pull_weights(name, offline=offline, on_progress=on_progress).folder, name=name)


def load_vocabulary(folder: Path, *, name: str) -> Vocabulary:
    """Read the vocabulary of a model in a folder.

    Args:
        folder: With ``config.json`` and ``tokenizer.json``.
        name: What the user calls the model.

    Raises:
        UsageError: Keywords cannot be given to it.
        WeightsError: The configuration cannot be read.
    """
    path = folder / "tokenizer.json"
    if not path.is_file():
        problem = "this model has no tokenizer.json, so it cannot be given keywords"
        raise UsageError(problem, where=name, hint="choose another --model")
    return read_vocabulary(path, n_tokens=_count_tokens(folder / "config.json"))


def _choose_name(on_note: Callable[[str], None]) -> str:
    may_have_gpu = any(Path(path).exists() for path in _GPU_FILES)
    # Where there is surely no GPU, torch, a second or two to load, need not be asked.
    choice = choose_model(ModelOptions()) if may_have_gpu else pick_model(None, best="", find_problem=lambda: None)
    on_note(f"model {choice.model}: {choice.reason}; --model takes another")
    return choice.model


def _count_tokens(path: Path) -> int | None:
    """Tell how many tokens a model counts; None where its configuration does not say."""
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
        parts = [config, *(config[part] for part in _WITH_TEXT if part in config)]
        counts = [part["vocab_size"] for part in parts if "vocab_size" in part]
    except (OSError, ValueError, TypeError) as error:
        raise WeightsError(f"cannot be read: {error}", where=str(path), hint="give a folder in HF layout") from error
    return next((count for count in counts if isinstance(count, int)), None)
