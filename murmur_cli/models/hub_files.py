"""Which files of a hub repository a model needs, and whether they have the bytes that the hub says.

Only safetensors and small JSON and text files count, never a pickle.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from murmur_cli.errors import ModelUnavailableError
from murmur_cli.models.manifest import MANIFEST, hash_file

__all__ = ["blob_digest", "can_run_from", "has_digest", "select_files"]

_SMALL = 64 * 2**20  # bytes; the largest tokenizer.json known is 33 MB
_WEIGHTS, _INDEX = "model.safetensors", "model.safetensors.index.json"
_LEFT_OUT = ("adapter_config.json", MANIFEST)  # the first makes from_pretrained look for another model
_SHA256_HEX, _SHA1_HEX = 64, 40  # characters


def select_files(sizes: Mapping[str, int], *, read: Callable[[str], Path]) -> list[str]:
    """Choose the files that a model in HF layout needs.

    Args:
        sizes: The files of the repository, with their sizes in bytes.
        read: Gives the path of a file; called for the index of weights in several files.

    Returns:
        The configuration, tokenizer and feature files, and ``model.safetensors`` or its parts: never a variant
        such as ``model.fp32.safetensors``, never a pickle.

    Raises:
        ModelUnavailableError: There is no configuration, or no safetensors.
    """
    small = [name for name, size in sizes.items() if _is_small_text(name) and size <= _SMALL]
    if "config.json" not in small:
        raise ModelUnavailableError("the repository has no config.json")
    if _WEIGHTS in sizes:
        return sorted([*small, _WEIGHTS])
    if _INDEX not in sizes:
        raise ModelUnavailableError("the repository has no safetensors, and pickles are never loaded")
    parts = _list_parts(read(_INDEX))
    if not parts <= sizes.keys():
        raise ModelUnavailableError(f"the repository lacks {min(parts - sizes.keys())}")
    return sorted({*small, _INDEX, *parts})


def can_run_from(names: Iterable[str]) -> bool:
    """Whether a model can be run from these files alone: a cache often holds only some of them."""
    found = set(names)
    has_tokenizer = "tokenizer.json" in found or {"vocab.json", "merges.txt"} <= found
    has_features = "preprocessor_config.json" in found or "processor_config.json" in found
    return has_tokenizer and has_features and "generation_config.json" in found


def blob_digest(path: Path) -> str | None:
    """The hash of a file that the hub's cache holds: it names the blob that the file links to.

    Returns:
        SHA-256 or git blob SHA-1 in hex; None where the cache keeps plain files.
    """
    name = path.readlink().name if path.is_symlink() else ""
    return name if re.fullmatch(f"[0-9a-f]{{{_SHA1_HEX}}}|[0-9a-f]{{{_SHA256_HEX}}}", name) else None


def has_digest(path: Path, digest: str) -> bool:
    """Whether a file has the hash by which the hub stores it: SHA-256, or git blob SHA-1 for small files."""
    if len(digest) == _SHA256_HEX:
        return hash_file(path) == digest
    content = path.read_bytes()
    blob = b"blob %d\0" % len(content) + content  # git's object format
    return hashlib.sha1(blob, usedforsecurity=False).hexdigest() == digest


def _is_small_text(name: str) -> bool:
    kind = name.endswith((".json", ".txt")) and not name.endswith(".index.json")
    return kind and "/" not in name and not name.startswith(".") and name not in _LEFT_OUT


def _list_parts(index: Path) -> set[str]:
    try:
        content = json.loads(index.read_bytes())
    except ValueError as error:
        raise ModelUnavailableError(f"{index.name} is not JSON") from error
    files = content.get("weight_map") if isinstance(content, dict) else None
    parts = set(files.values()) if isinstance(files, dict) else set()
    if not parts or not all(isinstance(name, str) and _is_part(name) for name in parts):
        raise ModelUnavailableError(f"{index.name} does not name safetensors files")
    return parts


def _is_part(name: str) -> bool:
    return name.endswith(".safetensors") and "/" not in name
