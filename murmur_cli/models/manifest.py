"""What a folder of weights must contain: its record, and the check of the files against it.

A folder without a record is not complete; the record is written last, and the folder renamed after that.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from murmur_cli.errors import WeightsError

__all__ = [
    "MANIFEST",
    "FileRecord",
    "Manifest",
    "check_files",
    "hash_file",
    "hash_weights",
    "read_manifest",
    "record_files",
    "write_manifest",
]

MANIFEST = "murmur.json"

_FORMAT = 1
_HASHED_AT_START = 200_000_000  # bytes: 0.2 s of SHA-256 at 1 GB/s, measured on a CPU with SHA extensions


@dataclass(frozen=True, slots=True)
class FileRecord:
    """A file as it was when it was last hashed. ``size`` is in bytes, ``mtime_ns`` in nanoseconds."""

    name: str
    size: int
    mtime_ns: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """Which model a folder holds, where it came from, and all of its files."""

    name: str
    source: str
    revision: str
    licence: str
    files: tuple[FileRecord, ...]

    @property
    def n_bytes(self) -> int:
        """Size of all files."""
        return sum(file.size for file in self.files)


def record_files(folder: Path) -> tuple[FileRecord, ...]:
    """Hash every file of a folder, in the order of their names."""
    return tuple(_record(path) for path in _list_files(folder))


def check_files(folder: Path, manifest: Manifest, *, thorough: bool) -> Manifest:
    """Compare the files of a folder with their record.

    Args:
        folder: Holds the files; links are followed.
        manifest: The record.
        thorough: Hash every file. Otherwise a file above 200 MB whose size and time of change are as
            recorded is believed, and only the others are hashed.

    Returns:
        The record, with the times of change that were found beside unchanged bytes.

    Raises:
        WeightsError: A file is missing, too many, truncated or altered; it names the first one.
    """
    unknown = {path.name for path in _list_files(folder)} - {record.name for record in manifest.files}
    if unknown:
        raise _bad(folder / min(unknown), "was not there when the weights were recorded", manifest.name)
    checked = (_check(folder, record, manifest.name, thorough=thorough) for record in manifest.files)
    return replace(manifest, files=tuple(checked))


def hash_file(path: Path) -> str:
    """SHA-256 of a file, in hex."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def hash_weights(files: Iterable[tuple[str, str]]) -> str:
    """Reduce the hashes of a model's weight files to one.

    Args:
        files: Name and SHA-256 of each file.

    Returns:
        The hash of the file if it is one, else the hash of the sorted list that ``sha256sum`` would print.
    """
    found = sorted(files)
    if len(found) == 1:
        return found[0][1]
    listing = "".join(f"{sha256}  {name}\n" for name, sha256 in found)
    return hashlib.sha256(listing.encode()).hexdigest()


def read_manifest(folder: Path) -> Manifest | None:
    """Read the record of a folder; None if there is none.

    Raises:
        WeightsError: There is one, but it cannot be read.
    """
    path = folder / MANIFEST
    try:
        return _parse(json.loads(path.read_bytes()))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _bad(path, f"cannot be read ({type(error).__name__}: {error})", folder.name.replace("--", "/")) from error


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the record of a folder, whole or not at all."""
    files = [{field: getattr(record, field) for field in FileRecord.__slots__} for record in manifest.files]
    content = {
        "format": _FORMAT,
        "name": manifest.name,
        "source": manifest.source,
        "revision": manifest.revision,
        "licence": manifest.licence,
        "files": files,
    }
    part = folder / f".{MANIFEST}.{os.getpid()}"
    part.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    part.replace(folder / MANIFEST)


def _list_files(folder: Path) -> list[Path]:
    """The files that count: not the record, and nothing hidden."""
    paths = (path for path in folder.iterdir() if path.name != MANIFEST and not path.name.startswith("."))
    return sorted(paths, key=lambda path: path.name)


def _record(path: Path) -> FileRecord:
    status = path.stat()
    return FileRecord(path.name, status.st_size, status.st_mtime_ns, hash_file(path))


def _check(folder: Path, record: FileRecord, model: str, *, thorough: bool) -> FileRecord:
    path = folder / record.name
    try:
        status = path.stat()
        if status.st_size != record.size:
            raise _bad(path, f"has {status.st_size} bytes instead of {record.size}", model)
        believed = record.size > _HASHED_AT_START and status.st_mtime_ns == record.mtime_ns
        if (thorough or not believed) and hash_file(path) != record.sha256:
            raise _bad(path, "is not what was recorded (SHA-256 differs)", model)
    except OSError as error:
        raise _bad(path, f"cannot be read ({error.strerror})", model) from error
    return replace(record, mtime_ns=status.st_mtime_ns)


def _bad(path: Path, problem: str, model: str) -> WeightsError:
    return WeightsError(problem, where=str(path), hint=f"'murmur models pull {model}' fetches it again")


def _parse(content: object) -> Manifest:
    if not isinstance(content, dict) or content["format"] != _FORMAT:
        raise ValueError("not a record of this format")
    texts = {key: content[key] for key in ("name", "source", "revision", "licence")}
    if not all(isinstance(text, str) for text in texts.values()):
        raise ValueError("a field is not a text")
    files = tuple(_parse_file(item) for item in content["files"])
    return Manifest(texts["name"], texts["source"], texts["revision"], texts["licence"], files)


def _parse_file(item: object) -> FileRecord:
    match item:
        case {"name": str(name), "size": int(size), "mtime_ns": int(mtime_ns), "sha256": str(sha256)}:
            if "/" not in name:
                return FileRecord(name, size, mtime_ns, sha256)
    raise ValueError("a file is not recorded in full")
