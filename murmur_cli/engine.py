"""What a recogniser is asked and what it answers.

An engine pulls jobs as it has room and yields answers as chunks finish, in any order. What a chunk
answers does not depend on the run it is in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from murmur_cli.audio.levels import Level
from murmur_cli.bias.cache import ListCache
from murmur_cli.bias.keywords import KeywordList
from murmur_cli.errors import UsageError
from murmur_cli.options import StreamOptions
from murmur_cli.types import (
    BiasUse,
    Chunk,
    DecodeError,
    EngineInfo,
    Gap,
    Hypothesis,
    KeywordHit,
    RecordingId,
    Samples,
    Speaker,
    Word,
)

__all__ = [
    "Answer",
    "Bias",
    "ChunkStats",
    "Engine",
    "Extras",
    "Job",
    "StreamDecoder",
    "StreamDraft",
    "StreamEngine",
    "StreamSegment",
    "StreamUpdate",
    "refuse_keywords",
    "require_extras",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Extras:
    """What one engine does and another does not, and what a user wants of it.

    Times of words, a text that is read before the audio, noise in what is heard, chunks side by side, and what is
    forgotten of them, statistics, drafts, a context that grows, keywords.
    """

    word_times: bool = False
    context: bool = False
    acoustic_noise: bool = False
    batch_size: bool = False
    evict: bool = False
    stats: bool = False
    step: bool = False
    context_minutes: bool = False
    bias: bool = False


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

    @property
    def extras(self) -> Extras:
        """What it does that others do not."""
        ...

    def keyword_lists(self) -> ListCache:
        """What compiles lists of keywords for the model.

        Raises:
            UsageError: It cannot be given any.
        """
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


@dataclass(frozen=True, slots=True)
class StreamSegment:
    """One committed piece of text; ``start`` and ``end`` are seconds from the start of the session.

    ``times`` is ``chunk`` where they are only those of the decoding unit that the text came from, split by text
    length; else ``model``. ``starts_line`` is False where the text goes on in the line of the segment before: same
    speaker, same sentence. Then the text begins with a blank if one belongs there, so that a line is its pieces joined.
    ``words`` are there where the engine knows their times, ``hits`` where keywords were heard.
    """

    start: float
    end: float
    text: str
    speaker: Speaker | None
    times: str
    starts_line: bool
    words: tuple[Word, ...] = ()
    hits: tuple[KeywordHit, ...] = ()


@dataclass(frozen=True, slots=True)
class StreamUpdate:
    """What some more audio has brought.

    ``committed`` are segments that never change from now on, in order of their starts; ``gaps`` is what was not
    transcribed.
    """

    committed: tuple[StreamSegment, ...] = ()
    gaps: tuple[Gap, ...] = ()


@dataclass(frozen=True, slots=True)
class StreamDraft:
    """What is said since ``start``, in seconds from the start of the session, as far as it can be told yet."""

    start: float
    text: str
    speaker: Speaker | None


class StreamDecoder(Protocol):
    """One live session."""

    def push(self, samples: Samples) -> StreamUpdate:
        """Hear on. However the same audio is split, the same segments are committed.

        Args:
            samples: A block of any size, shape (n_samples,), at the engine's rate.

        Raises:
            DeviceError: The device is out of memory.
        """
        ...

    def draft(self) -> StreamDraft | None:
        """Decode what is still open, now; None where nothing is, or where the engine has no drafts.

        It may cost as much as an answer, and changes nothing: what is committed does not depend on it.

        Raises:
            DeviceError: The device is out of memory.
        """
        ...

    def rebias(self, bias: Bias | None) -> None:
        """Listen for something else from here on."""
        ...

    def finish(self) -> StreamUpdate:
        """Transcribe what is left; no draft remains.

        Raises:
            DeviceError: The device is out of memory.
        """
        ...


class StreamEngine(Protocol):
    """A recogniser for audio that is still coming in."""

    @property
    def sample_rate(self) -> int:
        """Samples per second that blocks must have."""
        ...

    @property
    def info(self) -> EngineInfo:
        """Which model this is and how it runs."""
        ...

    @property
    def extras(self) -> Extras:
        """What it does that others do not."""
        ...

    def keyword_lists(self) -> ListCache:
        """What compiles lists of keywords for the model.

        Raises:
            UsageError: It cannot be given any.
        """
        ...

    def open(self, options: StreamOptions, *, bias: Bias | None = None) -> AbstractContextManager[StreamDecoder]:
        """Begin a session; all that it remembers is forgotten at the end of the ``with`` block.

        Args:
            options: What it is told.
            bias: What to listen for.

        Raises:
            UsageError: There is no such language.
        """
        ...


_EXTRAS = {
    "word_times": ("--word-times", "gives no times of words"),
    "context": ("--context", "reads no text beforehand"),
    "acoustic_noise": ("--acoustic-noise", "hears without noise"),
    "batch_size": ("--batch-size", "decodes chunks one by one"),
    "evict": ("--evict", "forgets nothing of a chunk while it decodes it"),
    "stats": ("--stats", "keeps no statistics"),
    "step": ("--step", "shows no drafts"),
    "context_minutes": ("--context-minutes", "has no context that grows"),
    "bias": ("--bias", "cannot be given keywords"),
}


_LEAVE_OUT = "leave it out, or choose another --model"


def require_extras(engine: Engine | StreamEngine, wanted: Extras) -> None:
    """Refuse to run where an option would do nothing.

    Raises:
        UsageError: The engine does not do one of the things that are wanted.
    """
    for name, (option, problem) in _EXTRAS.items():
        if getattr(wanted, name) and not getattr(engine.extras, name):
            raise UsageError(f"{engine.info.model} {problem}", where=option, hint=_LEAVE_OUT)


def refuse_keywords(info: EngineInfo) -> UsageError:
    """Say that a model cannot be given keywords."""
    option, problem = _EXTRAS["bias"]
    return UsageError(f"{info.model} {problem}", where=option, hint=_LEAVE_OUT)
