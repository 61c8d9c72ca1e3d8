"""What a recogniser is asked and what it answers.

An engine pulls jobs as it has room and yields answers as chunks finish, in any order. What a chunk
answers does not depend on the run it is in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from murmur_cli.types import Chunk, DecodeError, EngineInfo, Hypothesis, RecordingId, Samples

__all__ = ["Answer", "Engine", "Job"]


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """One chunk to decode.

    ``samples`` is the signal of ``chunk.span``, shape (n_samples,), at the engine's rate.
    ``language`` is a code such as ``en``, or None where the engine decides by itself.
    """

    recording_id: RecordingId
    chunk: Chunk
    samples: Samples
    language: str | None


@dataclass(frozen=True, slots=True)
class Answer:
    """What an engine says to one job, named by the job's recording and chunk index."""

    recording_id: RecordingId
    index: int
    result: Hypothesis | DecodeError


class Engine(Protocol):
    """A recogniser for whole chunks."""

    @property
    def sample_rate(self) -> int:
        """Samples per second that jobs must have."""
        ...

    @property
    def info(self) -> EngineInfo:
        """Which model this is and how it runs."""
        ...

    def resolve_language(self, language: str) -> str:
        """Turn what a user calls a language into the engine's code for it.

        Raises:
            UsageError: The model does not speak it.
        """
        ...

    def detect_language(self, samples: Samples) -> str | None:
        """Name the language of up to 30 s of speech, or None if the model decides for itself.

        Args:
            samples: Speech, shape (n_samples,), at the engine's rate.
        """
        ...

    def decode(self, jobs: Iterable[Job]) -> Iterator[Answer]:
        """Answer every job exactly once.

        Raises:
            DeviceError: The device is out of memory.
        """
        ...
