"""A file that only grows, a JSON record a line, each with its checksum; read up to its first fault.

A line that was torn, because the process or the machine stopped while it was written, is as if it had not been there.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from murmur_cli.journal.codec import Json

__all__ = ["Found", "LineFile", "read_lines", "write_lines"]

_MODE = 0o600  # what was said is nobody else's business
_BEFORE_SUM, _BEFORE_RECORD, _END = b'{"crc32":"', b'","record":', b"}"
_SUM_BYTES = 8
_RECORD_AT = len(_BEFORE_SUM) + _SUM_BYTES + len(_BEFORE_RECORD)


_Record = TypeVar("_Record")


@dataclass(frozen=True, slots=True)
class Found(Generic[_Record]):
    """The sound part of a file: its records, and where it ends, in bytes.

    ``damaged_line``: the line behind it, from 1, is whole and yet not what was written; None: there is none.
    """

    records: tuple[_Record, ...]
    n_bytes: int
    damaged_line: int | None


def read_lines(path: Path, parse: Callable[[Json], _Record]) -> Found[_Record]:
    """Read a file up to its first fault; one that is not there has no lines.

    Args:
        path: The file.
        parse: Makes a record of what a line holds. It raises ValueError where it cannot: that is a fault.

    Raises:
        OSError: It cannot be read.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return Found((), 0, None)
    records: list[_Record] = []
    n_bytes = 0
    for line in _iter_whole_lines(data):
        try:
            records.append(parse(_read_line(line)))
        except ValueError:
            return Found(tuple(records), n_bytes, damaged_line=len(records) + 1)
        n_bytes += len(line) + 1
    return Found(tuple(records), n_bytes, None)


def write_lines(path: Path, records: Iterable[Json]) -> None:
    """Replace a file as a whole: whenever the process or the machine stops, it is the old one or the new one.

    Raises:
        OSError: It cannot be written; the old one stays.
    """
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    try:
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _MODE), "wb") as file:
            file.write(b"".join(map(_write_line, records)))
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


class LineFile:
    """The end of a file, where lines are added.

    Args:
        path: The file; it is made if it is not there.
        n_bytes: Its sound part; what is behind that is cut off.

    Raises:
        OSError: It cannot be written.
    """

    def __init__(self, path: Path, *, n_bytes: int) -> None:
        is_new = not path.exists()
        self._descriptor: int | None = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, _MODE)
        os.ftruncate(self._descriptor, n_bytes)
        if is_new:
            _sync_folder(path.parent)

    def append(self, record: Json, *, lasting: bool) -> None:
        """Add a line; with ``lasting`` it and those before it outlive the machine from now on, not only the process.

        Raises:
            OSError: It cannot be written. The file ends in a torn line then: nothing is to be added.
        """
        assert self._descriptor is not None, "the file is closed"
        rest = memoryview(_write_line(record))
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]
        if lasting:
            os.fsync(self._descriptor)

    def close(self) -> None:
        """Let go of the file."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _sync_folder(folder: Path) -> None:
    """Make a new file in it outlive the machine, where the file system leaves that to others than its server."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _iter_whole_lines(data: bytes) -> Iterator[bytes]:
    *lines, _torn = data.split(b"\n")
    yield from lines


def _write_line(record: Json) -> bytes:
    return _frame(json.dumps(record, separators=(",", ":")).encode("ascii")) + b"\n"


def _read_line(line: bytes) -> Json:
    written = line[_RECORD_AT : -len(_END)]
    if line != _frame(written):
        raise ValueError("the checksum does not fit")
    record: Json = json.loads(written)
    return record


def _frame(written: bytes) -> bytes:
    return b"%s%08x%s%s%s" % (_BEFORE_SUM, zlib.crc32(written), _BEFORE_RECORD, written, _END)
