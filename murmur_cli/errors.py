"""What can go wrong, as exceptions that carry their own exit code.

The tree (a test compares it with the classes below)::

    MurmurError               1  failed, nothing usable
    ├── UsageError            2  a bad option, a bad list file, an option that the model cannot honour
    ├── AudioError            1  a file that cannot be read as audio
    ├── OutputError           1  a transcript, or decoded audio, that cannot be written
    ├── TranscriptError       1  a transcript or reference that cannot be read or compared
    ├── BusyError             1  a file that another run is at
    ├── ModelUnavailableError 4  weights or a credential that cannot be had
    │   └── WeightsError      4  weights that are there but are not what they should be
    └── DeviceError           5  out of memory, or no such device

A failed chunk is not an exception but a value (``types.DecodeError``): its neighbours survive it.
"""

from __future__ import annotations

import enum

__all__ = [
    "AudioError",
    "BusyError",
    "DeviceError",
    "ExitCode",
    "ModelUnavailableError",
    "MurmurError",
    "OutputError",
    "TranscriptError",
    "UsageError",
    "WeightsError",
]


class ExitCode(enum.IntEnum):
    """What the process answers to its caller; the same table stands in the help and the man page."""

    OK = 0
    ERROR = 1
    USAGE = 2
    PARTIAL = 3
    NO_MODEL = 4
    NO_DEVICE = 5
    INTERRUPTED = 130
    TERMINATED = 143

    @property
    def meaning(self) -> str:
        """One line for the help and the man page."""
        return _MEANINGS[self]


_MEANINGS = {
    ExitCode.OK: "all done; also when the reader of a pipe went away",
    ExitCode.ERROR: "failed, nothing usable",
    ExitCode.USAGE: "usage: a bad option, or one that the model cannot honour",
    ExitCode.PARTIAL: "some files or chunks failed; the rest is written",
    ExitCode.NO_MODEL: "model or credential not available",
    ExitCode.NO_DEVICE: "out of memory, or no such device",
    ExitCode.INTERRUPTED: "interrupted, after flushing",
    ExitCode.TERMINATED: "terminated, after flushing",
}


class MurmurError(Exception):
    """An error with one clear line for the user: where, what is wrong, and what to do.

    Args:
        problem: What is wrong, as one clause without a full stop.
        where: The file, option or list line that it is about, as the user wrote it.
        hint: What the user can do about it, as one clause.
    """

    exit_code: ExitCode = ExitCode.ERROR

    def __init__(self, problem: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        advice = f"; {self.hint}" if self.hint else ""
        return f"{place}{self.problem}{advice}"


class UsageError(MurmurError):
    """The command was called wrongly; nothing was done."""

    exit_code = ExitCode.USAGE


class AudioError(MurmurError):
    """A file cannot be read as audio."""


class OutputError(MurmurError):
    """A transcript, or decoded audio on its way to one, cannot be written."""


class TranscriptError(MurmurError):
    """A transcript or a reference cannot be read, or two of them cannot be compared."""


class BusyError(MurmurError):
    """Another run is at this file."""


class ModelUnavailableError(MurmurError):
    """The weights, or the credential to get them, cannot be had."""

    exit_code = ExitCode.NO_MODEL


class WeightsError(ModelUnavailableError):
    """Weights are there but truncated, altered, or of a layout that murmur does not read."""


class DeviceError(MurmurError):
    """The device is missing or out of memory."""

    exit_code = ExitCode.NO_DEVICE
