"""The nouns of murmur, as frozen records.

Two clocks, one bridge: the signal is counted in int samples (``Span``), transcripts in float seconds
(every ``start`` and ``end`` that is a float). Hypotheses are in chunk time, transcripts in recording
time; only ``transcript/stitch.py`` crosses over.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NewType, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = [
    "SPEECH_RATE",
    "BiasUse",
    "Chunk",
    "ChunkPart",
    "DecodeError",
    "EngineInfo",
    "Gap",
    "HypGap",
    "HypSegment",
    "Hypothesis",
    "KeywordHit",
    "LocalSpeaker",
    "Provenance",
    "RecordingId",
    "Samples",
    "Segment",
    "Span",
    "Speaker",
    "Stretch",
    "Transcript",
    "Turn",
    "Word",
]

SPEECH_RATE = 16_000
"""Samples per second at which speech and speakers are looked for, whatever the engine's rate."""

Samples: TypeAlias = npt.NDArray[np.float32]
"""Mono waveform, shape (n_samples,), full scale is [-1, 1]."""

RecordingId = NewType("RecordingId", int)
"""Position of a recording in one run."""

LocalSpeaker = NewType("LocalSpeaker", int)
"""The model's own number for a speaker; it means nothing outside its part of its chunk."""

Speaker = NewType("Speaker", str)
"""A name that holds for the whole recording: ``S1``, or an enrolled name."""


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A half-open stretch of signal, ``[start, end)``, in samples."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.end:
            raise ValueError(f"not a span: [{self.start}, {self.end})")

    @property
    def n_samples(self) -> int:
        """Length in samples."""
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Chunk:
    """One decoding unit: what is decoded at once, alone.

    ``speech`` lies inside ``span``, sorted and disjoint, both in samples of the recording at the
    engine's rate. ``forced_cut`` says that the chunk's end lies inside speech.
    """

    index: int
    span: Span
    speech: tuple[Span, ...]
    forced_cut: bool


@dataclass(frozen=True, slots=True, order=True)
class ChunkPart:
    """What was decoded as one, in which a local speaker is one person: a chunk, or a part of it decoded apart."""

    chunk: int
    part: int = 0


@dataclass(frozen=True, slots=True)
class Word:
    """A word with its times in seconds and the model's probability in [0, 1].

    ``text`` is verbatim, with the space before it where there is one: joining the words of a segment
    and stripping the ends gives the segment's text.
    """

    start: float
    end: float
    text: str
    probability: float


@dataclass(frozen=True, slots=True)
class HypSegment:
    """A stretch of a hypothesis; times are seconds from the chunk's start.

    ``part``: parts of a chunk that were decoded apart number their speakers apart.
    """

    start: float
    end: float
    text: str
    speaker: LocalSpeaker | None
    words: tuple[Word, ...]
    language: str | None
    part: int = 0


@dataclass(frozen=True, slots=True)
class HypGap:
    """A stretch of a chunk that the engine could not read; seconds from the chunk's start."""

    start: float
    end: float
    reason: str


@dataclass(frozen=True, slots=True)
class KeywordHit:
    """A keyword that was heard; ``changed`` says that without the list some of it would have been written otherwise.

    ``phrase`` is as the list spells it. Times are seconds, of the chunk in a hypothesis, else of the recording.
    """

    start: float
    end: float
    phrase: str
    changed: bool


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """What an engine answers for one chunk.

    ``truncated`` says that the answer broke off. It holds nothing that depends on the run it is in.
    """

    segments: tuple[HypSegment, ...]
    gaps: tuple[HypGap, ...] = ()
    truncated: bool = False
    hits: tuple[KeywordHit, ...] = ()


@dataclass(frozen=True, slots=True)
class DecodeError:
    """A chunk that failed, as a value: its neighbours survive."""

    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of a transcript; times are seconds from the recording's start."""

    start: float
    end: float
    text: str
    speaker: Speaker | None
    words: tuple[Word, ...]
    language: str | None


@dataclass(frozen=True, slots=True, order=True)
class Stretch:
    """Where something is, in seconds from the recording's start; ``Span`` is the same in samples."""

    start: float
    end: float


@dataclass(frozen=True, slots=True, order=True)
class Turn:
    """A stretch in which one person speaks; seconds from the recording's start.

    Turns of different people may overlap, those of one person neither overlap nor touch.
    """

    start: float
    end: float
    speaker: Speaker


@dataclass(frozen=True, slots=True)
class Gap:
    """Speech that could not be transcribed: reported, never dropped. Seconds of the recording."""

    start: float
    end: float
    reason: str


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """Which model answered, and how it was run. ``eviction`` is what was forgotten of a chunk while it was decoded."""

    model: str
    weights_sha256: str
    device: str
    precision: str
    eviction: str = "none"


@dataclass(frozen=True, slots=True)
class Provenance:
    """How a transcript came about: enough to make it again. ``enrolled`` are those whose voices were known.

    ``max_chunk_s`` and ``vad_threshold`` are None for a live session, which is not cut into chunks.
    """

    murmur_version: str
    engine: EngineInfo
    language: str | None
    max_chunk_s: float | None
    vad_threshold: float | None
    enrolled: tuple[Speaker, ...]


@dataclass(frozen=True, slots=True)
class BiasUse:
    """Which keywords a recording was heard with, and what came of them.

    ``sha256`` is that of the list, ``strength`` the most that a keyword may be raised by, in nats.
    """

    sha256: str
    strength: float
    n_phrases: int
    hits: tuple[KeywordHit, ...] = ()


@dataclass(frozen=True, slots=True)
class Transcript:
    """What was said in one recording.

    ``source`` is the recording's name as the user gave it; ``duration`` is the decoded length in seconds (of
    a part of a file, where it ends in the file: all times are those of the file); ``language`` is the
    language of the recording, if the engine knows one; ``damage`` says what was wrong with the file, if
    anything was; ``bias`` is there if keywords were listened for.
    """

    recording_id: RecordingId
    source: str
    segments: tuple[Segment, ...]
    duration: float
    gaps: tuple[Gap, ...]
    language: str | None
    damage: str | None
    provenance: Provenance
    bias: BiasUse | None = None
