"""Places that text is added to while a session runs, and a file in them that is valid after every addition.

A file is a part that stands and a short tail that the next addition replaces, so that what closes a document is always
there and an addition costs the same after a day as at first.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from murmur_cli.errors import OutputError
from murmur_cli.transcript.writing import reporting

__all__ = ["GrowingFile", "GrowingText", "StdoutText"]


class GrowingText(Protocol):
    """A text that grows at its end."""

    def add(self, text: str, *, tail: str = "") -> None:
        """Put ``text`` in the place of the last tail, for good, and ``tail`` after it, until the next addition.

        Raises:
            OutputError: It cannot be written; what stood before still does.
            BrokenPipeError: Nobody reads it any more.
        """
        ...


class StdoutText:
    """Standard output, flushed at every addition; implements ``GrowingText`` for texts without a tail."""

    def add(self, text: str, *, tail: str = "") -> None:
        """Write and flush."""
        assert not tail, "what is written to stdout stands"
        with reporting(where="stdout"):
            sys.stdout.write(text)
            sys.stdout.flush()


class GrowingFile:
    """A file, replaced if it is there; implements ``GrowingText``.

    An addition is one call to the operating system: a process that is killed has either made it or not.

    Raises:
        OutputError: The file cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._tail = b""
        self._tail_at = 0
        with reporting(where=str(path)):
            self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
            self._n_links = os.fstat(self._descriptor).st_nlink

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            with reporting(where=str(self._path)):
                os.fsync(self._descriptor)
        finally:
            os.close(self._descriptor)

    def add(self, text: str, *, tail: str = "") -> None:
        """Write at the end of what stands; on a full disk the last tail comes back."""
        if os.fstat(self._descriptor).st_nlink < min(1, self._n_links):  # some file systems count none, ever
            hint = "leave it where it is until the session ends"
            raise OutputError("it was deleted while it was written", where=str(self._path), hint=hint)
        fixed, new_tail = (part.encode("utf-8", errors="replace") for part in (text, tail))
        with reporting(where=str(self._path)):
            try:
                self._put(fixed + new_tail)
            except OSError:
                self._put(self._tail)
                raise
        self._tail, self._tail_at = new_tail, self._tail_at + len(fixed)

    def _put(self, data: bytes) -> None:
        """Let the file end with ``data`` after what stands."""
        at = self._tail_at
        while data:
            n_written = os.pwrite(self._descriptor, data, at)  # a nearly full disk takes less than asked for
            data, at = data[n_written:], at + n_written
        if at < os.fstat(self._descriptor).st_size:
            os.ftruncate(self._descriptor, at)
