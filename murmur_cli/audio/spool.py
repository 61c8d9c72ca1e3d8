"""Samples on disk instead of in memory: written once from front to back, then read anywhere.

The file has no name from the start, so it is gone when the process is, however that ends.
"""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

import numpy as np

from murmur_cli.errors import OutputError
from murmur_cli.types import Samples

__all__ = ["Spool", "naming_folder"]

_RESCALE_BLOCK = 1 << 20  # samples: 4 MB at a time


class Spool:
    """Float32 samples in a nameless temporary file: append, ``seal``, then ``read``.

    Raises:
        OutputError: There is no temporary folder, or no room in it (from ``append`` too).
    """

    def __init__(self) -> None:
        self.n_samples = 0
        self._samples: Samples | None = None
        with naming_folder():
            self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - closed by close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def append(self, samples: Samples) -> None:
        """Write samples, shape (n_samples,), behind those already there."""
        assert self._samples is None, "a sealed spool cannot grow"
        rest = np.ascontiguousarray(samples, np.float32).data.cast("B")
        with naming_folder():
            while rest:
                rest = rest[self._file.write(rest) :]  # a nearly full disk takes less than asked for
        self.n_samples += len(samples)

    def seal(self) -> None:
        """Map the file into memory; nothing can be appended from now on."""
        # Shared and writable, because torch warns about arrays that are not; the pages belong to the
        # file, so they are no anonymous memory and the kernel drops them when it wants to.
        mapped = mmap.mmap(self._file.fileno(), 0) if self.n_samples else bytearray()
        self._samples = np.frombuffer(mapped, np.float32)
        assert len(self._samples) == self.n_samples

    def rescale(self, *, offset: float, gain: float) -> None:
        """Replace every sample ``x`` by ``(x - offset) * gain``, in place, a block at a time."""
        assert self._samples is not None, "seal the spool first"
        for start in range(0, self.n_samples, _RESCALE_BLOCK):
            block = self._samples[start : start + _RESCALE_BLOCK]
            block -= np.float32(offset)
            block *= np.float32(gain)

    def read(self, start: int, end: int) -> Samples:
        """Give the samples ``[start, end)`` as a view, shape (end - start,), not to be written to.

        The view outlives ``close``.
        """
        if self._samples is None:
            raise ValueError("the recording is closed")
        if not 0 <= start <= end <= self.n_samples:
            raise ValueError(f"[{start}, {end}) is not inside a recording of {self.n_samples} samples")
        return self._samples[start:end]

    def close(self) -> None:
        """Give the disk space back, as soon as the last view is gone."""
        self._samples = None
        self._file.close()


@contextmanager
def naming_folder() -> Iterator[None]:
    """Turn a failure of the temporary folder into an error that names it.

    Raises:
        OutputError: It has no room, or is not there.
    """
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"decoded audio cannot be kept in the temporary folder: {error.strerror or error}",
            where=tempfile.tempdir,
            hint="make room there, or let TMPDIR name a folder on a disk with more (230 MB an hour)",
        ) from error
