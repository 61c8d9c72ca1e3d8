"""Stdin, stdout and stderr as the command needs them, however it was started.

What is written to stdout is there whole, or the failure is an error; stderr is talk, and work goes on where nobody
listens to it any more.
"""

from __future__ import annotations

import errno
import io
import os
import select
import sys
from typing import TYPE_CHECKING

from murmur_cli.errors import OutputError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

__all__ = ["replace_standard_streams"]


def replace_standard_streams() -> None:
    """Put streams of our own in the place of Python's stdout and stderr, to be called once in a process.

    Python's stdout loses what a pipe or disk does not take at once, if PYTHONUNBUFFERED is set, and it is None where
    the descriptor is closed.
    """
    _occupy_closed()
    sys.stdout = _to_text(_Stdout(1, "w", closefd=False))
    sys.stderr = _to_text(_Stderr(2, "w", closefd=False))


def _occupy_closed() -> None:
    """Give closed descriptors to something, lest a file that is opened next becomes our stdout or stderr.

    What is piped from there or to there is refused, as if it were closed; only talk may go nowhere.
    """
    for descriptor, mode in enumerate((os.O_WRONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(descriptor)
        except OSError:
            opened = os.open(os.devnull, mode)  # the lowest that is free, which is this one
            assert opened == descriptor


def _to_text(raw: io.FileIO) -> io.TextIOWrapper:
    """Write text at once. Names of files come back as the bytes that they are, whatever the locale says."""
    return io.TextIOWrapper(raw, encoding="utf-8", errors="surrogateescape", newline="\n", write_through=True)


class _Stdout(io.FileIO):
    """Writes whole texts.

    Raises:
        OutputError: They cannot be written.
        BrokenPipeError: Nobody reads them any more.
    """

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return _write_whole(self.fileno(), data)
        except BrokenPipeError:
            raise
        except OSError as error:
            is_closed = error.errno == errno.EBADF
            reason = "it is closed" if is_closed else (error.strerror or str(error)).lower()
            hint = "redirect it to a file or a pipe" if is_closed else "free some space, or redirect it elsewhere"
            raise OutputError(f"cannot be written: {reason}", where="stdout", hint=hint) from error


class _Stderr(io.FileIO):
    """Writes what it can."""

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return _write_whole(self.fileno(), data)
        except OSError:  # nobody is there who could be told
            return memoryview(data).nbytes


def _write_whole(descriptor: int, data: ReadableBuffer) -> int:
    """Write all of ``data``, also where a descriptor is not to be waited for but is full."""
    rest = memoryview(data).cast("B")
    n_bytes = rest.nbytes
    while rest:
        try:
            rest = rest[os.write(descriptor, rest) :]
        except BlockingIOError:
            select.select([], [descriptor], [])
    return n_bytes
