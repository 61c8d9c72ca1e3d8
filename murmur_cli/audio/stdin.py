"""What comes out of a pipe, kept on disk: many containers cannot be read without going back."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from murmur_cli.audio.spool import naming_folder
from murmur_cli.errors import AudioError, UsageError

__all__ = ["STDIN", "check_stdin", "spool_stdin"]

STDIN = "-"
"""What stdin is called among the inputs."""

_BLOCK = 1 << 20  # bytes


def check_stdin() -> None:
    """Refuse a stdin that nothing is piped into.

    Raises:
        UsageError: It is a terminal, or closed.
    """
    if sys.stdin is None:
        raise UsageError("stdin is closed", where=STDIN, hint="pipe something into it, or name a file")
    if sys.stdin.isatty():
        raise UsageError("stdin is a terminal", where=STDIN, hint="pipe something into it, or name a file")


@contextmanager
def spool_stdin() -> Iterator[BinaryIO]:
    """Read stdin to its end into a file without a name, which is gone with the process however that ends.

    Raises:
        AudioError: Nothing comes.
        OutputError: The temporary folder has no room for it.
    """
    with naming_folder():
        file = tempfile.TemporaryFile()  # noqa: SIM115 - closed below
    with file:
        with naming_folder():
            shutil.copyfileobj(sys.stdin.buffer, file, _BLOCK)
            file.flush()
        if not file.tell():
            raise AudioError("nothing came", where=STDIN, hint="pipe a recording into it")
        yield file
