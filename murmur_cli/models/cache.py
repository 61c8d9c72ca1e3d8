"""Weights on this machine: find them, check them, remove them.

A folder of the cache is whole or not there. At every start its files are compared with their record: files up
to 200 MB by SHA-256, larger ones by size and time of change (by SHA-256 too when the time differs). A byte
that flips on the disk inside a larger file is found by ``murmur models verify``, which hashes everything.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import filelock

from murmur_cli.errors import ModelUnavailableError, WeightsError
from murmur_cli.models.manifest import Manifest, check_files, hash_weights, read_manifest, write_manifest
from murmur_cli.models.sources import Report
from murmur_cli.user_folders import find_cache_folder

__all__ = ["LocalWeights", "describe_weights", "find_weights", "folder_of", "list_cached", "lock", "remove_weights"]


@dataclass(frozen=True, slots=True)
class LocalWeights:
    """A model that is on this machine, in HF layout.

    ``sha256`` identifies the weights: the hash of the safetensors file, or of the list of their hashes.
    ``source``, ``revision`` and ``licence`` are None for a folder of the user's. ``n_bytes`` is its size.
    """

    name: str
    folder: Path
    sha256: str
    n_bytes: int
    source: str | None
    revision: str | None
    licence: str | None


def find_weights(name: str, *, thorough: bool = False) -> LocalWeights | None:
    """Look for weights in the cache and check them; None if they are not there.

    Args:
        name: Of the catalogue, or a hub id.
        thorough: Hash every file, whatever its size.

    Raises:
        WeightsError: They are there, but not as they were recorded.
    """
    folder = folder_of(name)
    recorded = read_manifest(folder)
    if recorded is None:
        return None
    checked = check_files(folder, recorded, thorough=thorough)
    if checked != recorded:  # touched, but unchanged: the next start need not hash it again
        with contextlib.suppress(OSError):  # a cache that cannot be written is as good
            write_manifest(folder, checked)
    return describe_weights(folder, checked)


def remove_weights(name: str) -> int:
    """Delete weights from the cache, damaged ones too, and forget their record.

    Returns:
        How many bytes that frees; files that are links into the hub's own cache stay there and free nothing.

    Raises:
        ModelUnavailableError: The weights are not in the cache.
    """
    folder = folder_of(name)
    if not folder.is_dir():
        raise ModelUnavailableError("not in the cache", where=name)
    with lock(folder, lambda *_: None):
        n_bytes = sum(path.stat().st_size for path in folder.iterdir() if not path.is_symlink())
        shutil.rmtree(folder)
    return n_bytes


def list_cached() -> dict[str, Manifest | None]:
    """The models in the cache, by name, with their records; None stands for one that cannot be read."""
    found: dict[str, Manifest | None] = {}
    for folder in sorted(_cache_folder().glob("[!.]*")):
        if folder.is_dir():
            name = folder.name.replace("--", "/")
            found[name] = None
            with contextlib.suppress(WeightsError):
                found[name] = read_manifest(folder)
    return found


def describe_weights(folder: Path, manifest: Manifest) -> LocalWeights:
    """What the record of a folder says about its weights."""
    return LocalWeights(
        name=manifest.name,
        folder=folder,
        sha256=hash_weights((file.name, file.sha256) for file in manifest.files if file.name.endswith(".safetensors")),
        n_bytes=manifest.n_bytes,
        source=manifest.source,
        revision=manifest.revision,
        licence=manifest.licence,
    )


def folder_of(name: str) -> Path:
    """Where the cache keeps a model: under MURMUR_CACHE_DIR, or the user's cache folder."""
    return _cache_folder() / name.replace("/", "--")


@contextlib.contextmanager
def lock(folder: Path, report: Report) -> Iterator[None]:
    """Keep other processes from changing a folder of the cache; wait for one that does."""
    guard = filelock.FileLock(folder.parent / f".{folder.name}.lock")
    try:
        guard.acquire(blocking=False)
    except filelock.Timeout:
        report("waiting for another murmur that fetches it", 0, None)
        guard.acquire()
    try:
        yield
    finally:
        guard.release()


def _cache_folder() -> Path:
    return find_cache_folder() / "models"
