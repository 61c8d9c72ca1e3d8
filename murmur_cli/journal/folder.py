"""The folder of the journals: where each file has its own, and how old ones go."""

from __future__ import annotations

import hashlib
import json
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import filelock

from murmur_cli.journal.codec import to_json
from murmur_cli.journal.records import JournalKey
from murmur_cli.user_folders import find_state_folder

__all__ = ["default_folder", "hash_file", "iter_journals", "lock_of", "name_journal", "prune_folder"]

_JOURNAL_SUFFIX = ".jsonl"
_LOCK_SUFFIX = ".lock"
_PRUNED = "pruned"  # a file that is as old as the last look for old ones
_DAY_S = 24 * 3600.0
_OLD_S = 90 * _DAY_S


def default_folder() -> Path:
    """Where journals are without ``--journal-dir``: in the user's folder for state."""
    return find_state_folder() / "journals"


def hash_file(path: Path) -> str | None:
    """Hash the bytes of a file; None: it is no ordinary one, or cannot be read."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # reading a pipe would take from it
            return None
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def name_journal(key: JournalKey) -> str:
    """Say where in the folder the journal of a key is; the names of all journals of an input begin with its hash."""
    about = hashlib.sha256(json.dumps(to_json(key), sort_keys=True).encode()).hexdigest()
    return f"{_begin_name(key.input_sha256)}{about[:32]}{_JOURNAL_SUFFIX}"


def lock_of(journal: Path) -> filelock.BaseFileLock:
    """Give the lock that whoever works on a journal holds."""
    return filelock.FileLock(journal.with_suffix(_LOCK_SUFFIX), timeout=0)


def iter_journals(folder: Path, input_sha256: str) -> Iterator[Path]:
    """Yield the journals of an input, whatever was asked of it."""
    yield from sorted(folder.glob(f"{_begin_name(input_sha256)}*{_JOURNAL_SUFFIX}"))


def _begin_name(input_sha256: str) -> str:
    """In one of 256 folders, so that none of them grows long."""
    return f"{input_sha256[:2]}/{input_sha256[2:32]}-"


def prune_folder(folder: Path) -> None:
    """Remove, once a day, the journals that nobody has touched for 90 days.

    Raises:
        OSError: The folder cannot be read or written.
    """
    now, stamp = time.time(), folder / _PRUNED
    if stamp.exists() and abs(now - stamp.stat().st_mtime) < _DAY_S:
        return
    stamp.touch()
    for path in folder.glob("*/*"):
        if path.suffix in (_JOURNAL_SUFFIX, _LOCK_SUFFIX, ".tmp") and now - path.stat().st_mtime > _OLD_S:
            with suppress(filelock.Timeout), lock_of(path):  # nobody is at it
                path.unlink(missing_ok=True)
                path.with_suffix(_LOCK_SUFFIX).unlink(missing_ok=True)
