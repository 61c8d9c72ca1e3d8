"""A recogniser for recordings: chunks in, answers out.

An engine pulls jobs as it has room and yields answers as chunks finish, in any order. What a chunk
answers does not depend on the run it is in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from murmur_cli.audio.levels import Level
from murmur_cli.bias.keywords import KeywordList
from murmur_cli.engine.recogniser import Recogniser
from murmur_cli.types import BiasUse, Chunk, DecodeError, Hypothesis, RecordingId, Samples

__all__ = ["Answer", "Bias", "ChunkStats", "Engine", "Job"]


@dataclass(frozen=True, slots=True)
class Bias:
    """Keywords to listen for. ``margin`` is the most that a token of one may be raised by, in nats."""

    keywords: KeywordList
    margin: float

    def describe(self) -> BiasUse:
        """Say in a transcript what was listened for; nothing of it is heard yet."""
        return BiasUse(self.keywords.sha256, self.margin, self.keywords.n_phrases)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Job:
    """One chunk to decode.

    ``samples`` is the signal of ``chunk.span``, shape (n_samples,), at the engine's rate. ``level`` is that of
    all chunks of the recording together, so that one gain can be found for them. ``language`` is a code such as
    ``en``, or None where the engine decides by itself. ``context`` is what the engine should have read before.
    ``bias`` is what to listen for; chunks of one run may have different ones.
    """

    recording_id: RecordingId
    chunk: Chunk
    samples: Samples
    level: Level
    language: str | None
    context: str | None = None
    bias: Bias | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkStats:
    """What a chunk cost. Times are the host's: they differ from run to run, so they are no part of a hypothesis.

    ``seconds`` is from the chunk's admission to its answer, while others were decoded beside it; ``prompt_s`` of
    these went to its audio and its prompt. ``live_share`` is the mean share of the batch that was at work
    meanwhile. ``n_kept`` cells of the KV memory were left in the end of the ``n_logical`` that were written.
    """

    n_prompt: int
    n_tokens: int
    n_retries: int
    seconds: float
    prompt_s: float
    live_share: float
    n_kept: int
    n_logical: int


@dataclass(frozen=True, slots=True)
class Answer:
    """What an engine says to one job, named by the job's recording and chunk index."""

    recording_id: RecordingId
    index: int
    result: Hypothesis | DecodeError
    stats: ChunkStats | None = None


class Engine(Recogniser, Protocol):
    """A recogniser for whole chunks."""

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
