"""What the header of a WAV file states about its length.

FFmpeg and libsndfile both drop that silently where the file is shorter, which is how a recorder that
lost power leaves it.
"""

from __future__ import annotations

import os
import struct
from typing import BinaryIO

__all__ = ["find_present_fraction"]

_MAX_CHUNKS = 1000  # a header with more is no header
# What programs write that do not know the length yet: 0 (GStreamer), 0xFFFFFFFF (FFmpeg), a number just
# below or at 2**31 (SoX, arecord).
_UNKNOWN_BELOW_2_GB = range(0x7FFF0000, 0x80000001)
_UNKNOWN_BELOW_4_GB = 0xFFFF0000


def find_present_fraction(file: BinaryIO) -> float | None:
    """Tell how much of the data that a WAV header states is in the file.

    Args:
        file: The file, open for reading; its position is moved.

    Returns:
        A fraction in (0, 1], or None if it is no WAV file or states no length.

    Source:
        RIFF and RF64: EBU Tech 3306, sections 3.2 and 3.4.
    """
    kind, form = struct.unpack("<4s4x4s", file.read(12).ljust(12))
    if kind not in (b"RIFF", b"RF64", b"BW64") or form != b"WAVE":
        return None
    long_size = 0
    for _ in range(_MAX_CHUNKS):
        header = file.read(8)
        if len(header) < 8:
            return None
        name, size = struct.unpack("<4sI", header)
        if name == b"data":
            return _divide(file, _drop_placeholder(size) or long_size)
        start = file.tell()
        if name == b"ds64":
            (long_size,) = struct.unpack("<8xQ", file.read(16).ljust(16, b"\0"))
        file.seek(start + size + size % 2)
    return None


def _drop_placeholder(size: int) -> int:
    return 0 if size in _UNKNOWN_BELOW_2_GB or size >= _UNKNOWN_BELOW_4_GB else size


def _divide(file: BinaryIO, stated: int) -> float | None:
    present = os.fstat(file.fileno()).st_size - file.tell()
    return min(1.0, present / stated) if stated and present > 0 else None
