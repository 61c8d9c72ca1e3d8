"""Files that appear whole or not at all, and what is said where they cannot be written."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from murmur_cli.errors import OutputError

__all__ = ["describe_refusal", "reporting", "write_text_atomically"]


def write_text_atomically(path: Path, text: str) -> None:
    """Write a file so that it is there whole or not at all, whenever the process or the machine stops.

    A symbolic link stays one: what it points to is replaced. The file gets the mode that the umask says.

    Raises:
        OutputError: It cannot be written; nothing is left behind.
    """
    with reporting(where=str(path)):
        place = Path(os.path.realpath(path))
        # In the same folder, for only there a rename is one step; a short name, for long ones are at the limit.
        temporary = place.with_name(f".murmur-{secrets.token_hex(8)}.tmp")
        try:
            # Not tempfile: that gives mode 0600 whatever the umask.
            with temporary.open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(place)
        finally:
            with suppress(OSError):  # gone after the rename; and a first error is not to be hidden by a second
                temporary.unlink()
        _sync_folder(place.parent)


@contextmanager
def reporting(*, where: str) -> Iterator[None]:
    """Turn what the operating system refuses into an error that says what to do.

    Raises:
        OutputError: ``where`` cannot be written to.
        BrokenPipeError: Nobody reads it any more.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"cannot be written: {describe_refusal(error)}", where=where, hint=_advise(error)) from error


def describe_refusal(error: OSError) -> str:
    """Say in a few words what the operating system has against it."""
    return (error.strerror or str(error)).lower()


def _advise(error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "free some space, or write elsewhere with --output"
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return "the folder is gone: make it again, or choose another --output"
    return "write elsewhere with --output"


def _sync_folder(folder: Path) -> None:
    """Make a rename last; some file systems (network homes) leave that to their server, and say so."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EINVAL, errno.ENOTSUP):
            raise
