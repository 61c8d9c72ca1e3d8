"""A WAV file that grows and is valid at any moment: its header never states more than there is."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from murmur_cli.errors import OutputError, UsageError
from murmur_cli.types import Samples

__all__ = ["HEADER_BYTES", "GrowingWav", "check_wav_path", "make_header"]

HEADER_BYTES = 80
"""RIFF, ds64 (or room for it), fmt and data."""

_LARGEST_RIFF = 0xFFFFFFFF
_DS64_BYTES = 28


class GrowingWav:
    """16-bit mono samples, appended; the header is renewed with every block.

    Args:
        path: The file; replaced if it is there.
        sample_rate: Samples per second.

    Raises:
        OutputError: It cannot be written (from ``append`` too: what was written before stays).
    """

    def __init__(self, path: str, *, sample_rate: int) -> None:
        self._path = path
        self._sample_rate = sample_rate
        self._n_bytes = 0
        with self._naming():
            self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
            self._n_links = os.fstat(self._descriptor).st_nlink
        self._write(make_header(0, sample_rate), at=0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._descriptor)

    def append(self, samples: Samples) -> None:
        """Write the next samples, shape (n_samples,); what is beyond full scale is clipped."""
        if os.fstat(self._descriptor).st_nlink < min(1, self._n_links):  # some file systems count none, ever
            hint = "leave it where it is until the session ends"
            raise OutputError("it was deleted while it was written", where=self._path, hint=hint)
        data = np.clip(np.rint(samples * np.float32(32768.0)), -32768, 32767).astype("<i2").tobytes()
        self._write(data, at=HEADER_BYTES + self._n_bytes)
        self._n_bytes += len(data)
        self._write(make_header(self._n_bytes, self._sample_rate), at=0)

    def _write(self, data: bytes, *, at: int) -> None:
        with self._naming():
            while data:
                n_written = os.pwrite(self._descriptor, data, at)  # a nearly full disk takes less than asked for
                data, at = data[n_written:], at + n_written

    @contextmanager
    def _naming(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            problem = f"cannot be written: {(error.strerror or str(error)).lower()}"
            raise OutputError(problem, where=self._path, hint="free some space, or leave --save-audio out") from error


def make_header(n_bytes: int, sample_rate: int) -> bytes:
    """Make the header of 16-bit mono samples of ``n_bytes`` in all; beyond 4 GB it is one of RF64.

    Source:
        EBU Tech 3306, section 3.4: room for ds64 is kept in a JUNK chunk until it is needed.
    """
    riff_bytes = HEADER_BYTES - 8 + n_bytes
    fmt = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, sample_rate, 2 * sample_rate, 2, 16)
    if riff_bytes <= _LARGEST_RIFF:
        room = struct.pack(f"<4sI{_DS64_BYTES}x", b"JUNK", _DS64_BYTES)
        return struct.pack("<4sI4s", b"RIFF", riff_bytes, b"WAVE") + room + fmt + struct.pack("<4sI", b"data", n_bytes)
    ds64 = struct.pack("<4sIQQQI", b"ds64", _DS64_BYTES, riff_bytes, n_bytes, n_bytes // 2, 0)
    unknown = _LARGEST_RIFF
    return struct.pack("<4sI4s", b"RF64", unknown, b"WAVE") + ds64 + fmt + struct.pack("<4sI", b"data", unknown)


def check_wav_path(path: str, *, overwrite: bool) -> None:
    """Refuse a name for ``--save-audio`` that cannot be written to, or must not be.

    Raises:
        UsageError: There is such a file already, or no such folder.
    """
    place = Path(path)
    if place.exists() and not (overwrite and place.is_file()):
        hint = "give --overwrite to replace it, or another name" if place.is_file() else "give the name of a file"
        raise UsageError("there is something of this name already", where=path, hint=hint)
    if not place.parent.is_dir():
        raise UsageError("there is no such folder", where=str(place.parent), hint="make it, or choose another name")
    if not os.access(place.parent, os.W_OK | os.X_OK):
        raise UsageError("the folder cannot be written to", where=str(place.parent), hint="choose another one")
