"""Transcripts and their parts, made by hand for the tests of ``murmur_cli.transcript``."""

from __future__ import annotations

from collections.abc import Sequence

from murmur_cli.types import (
    BiasUse,
    Chunk,
    EngineInfo,
    Gap,
    HypSegment,
    LocalSpeaker,
    Provenance,
    RecordingId,
    Segment,
    Span,
    Speaker,
    Transcript,
    Word,
)

PROVENANCE = Provenance(
    murmur_version="0.1.0",
    engine=EngineInfo(model="whisper-base", weights_sha256="0" * 64, device="cpu", precision="int8"),
    language=None,
    max_chunk_s=300.0,
    vad_threshold=0.5,
    enrolled=(Speaker("Ann"),),
)


def make_words(text: str, start: float, end: float, *, probability: float = 0.9) -> tuple[Word, ...]:
    """Words at even times, each but the first with the blank before it."""
    spoken = text.split(" ")
    step = (end - start) / len(spoken)
    return tuple(
        Word(start + i * step, start + (i + 1) * step, f" {word}" if i else word, probability)
        for i, word in enumerate(spoken)
    )


def make_segment(
    start: float,
    end: float,
    text: str,
    *,
    speaker: str | None = None,
    words: Sequence[Word] = (),
    language: str | None = "en",
) -> Segment:
    return Segment(start, end, text, None if speaker is None else Speaker(speaker), tuple(words), language)


def make_hyp(
    start: float, end: float, text: str, *, speaker: int | None = None, words: Sequence[Word] = (), part: int = 0
) -> HypSegment:
    return HypSegment(start, end, text, None if speaker is None else LocalSpeaker(speaker), tuple(words), "en", part)


def make_chunk(index: int, start: int, end: int, *, forced_cut: bool = False) -> Chunk:
    span = Span(start, end)
    return Chunk(index=index, span=span, speech=(span,), forced_cut=forced_cut)


def make_transcript(
    segments: Sequence[Segment] = (),
    *,
    duration: float = 60.0,
    gaps: Sequence[Gap] = (),
    source: str = "talk.wav",
    language: str | None = "en",
    damage: str | None = None,
    recording_id: int = 0,
    bias: BiasUse | None = None,
) -> Transcript:
    return Transcript(
        recording_id=RecordingId(recording_id),
        source=source,
        segments=tuple(segments),
        duration=duration,
        gaps=tuple(gaps),
        language=language,
        damage=damage,
        provenance=PROVENANCE,
        bias=bias,
    )
