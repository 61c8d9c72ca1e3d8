"""Memory that a process has freed and keeps."""

from __future__ import annotations

import ctypes

__all__ = ["give_back_freed"]


def give_back_freed() -> None:
    """Give freed memory back to the system, where the C library can (glibc).

    Blocks of ever new sizes leave holes into which the next one does not fit: chunks of 30 to 60 s that are heard one
    after the other would take more and more.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
