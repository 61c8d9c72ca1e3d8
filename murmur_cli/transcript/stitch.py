"""From chunk time to recording time, and on to that of the file: the only place that adds an offset.

Segments come out sorted, inside their chunk and inside the recording, and never run backwards. A chunk
that failed becomes a gap; nothing is dropped without one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TypeAlias

from murmur_cli.transcript.joining import join_at_cut
from murmur_cli.types import (
    BiasUse,
    Chunk,
    ChunkPart,
    DecodeError,
    Gap,
    Hypothesis,
    HypSegment,
    KeywordHit,
    LocalSpeaker,
    Provenance,
    RecordingId,
    Segment,
    Speaker,
    Stretch,
    Transcript,
    Word,
)

__all__ = ["Answers", "RecordingFacts", "locate_speakers", "shift", "stitch"]

Answers: TypeAlias = Sequence[tuple[Chunk, Hypothesis | DecodeError]]
"""Every chunk of a recording with its answer, in any order."""

_NOBODY: Mapping[tuple[ChunkPart, LocalSpeaker], Speaker] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingFacts:
    """What a transcript says of its recording beside the words.

    ``duration`` is the decoded length in seconds; ``sample_rate`` is the one that chunks are counted in; ``bias`` says
    what was listened for, without what came of it.
    """

    recording_id: RecordingId
    source: str
    duration: float
    sample_rate: int
    language: str | None
    damage: str | None
    provenance: Provenance
    bias: BiasUse | None = None


def stitch(
    recording: RecordingFacts,
    answers: Answers,
    *,
    speakers: Mapping[tuple[ChunkPart, LocalSpeaker], Speaker] = _NOBODY,
) -> Transcript:
    """Put the answers of one recording's chunks together.

    Args:
        recording: What the transcript says of its recording.
        answers: Every chunk with its answer, in any order.
        speakers: The recording-wide name of a local speaker of a part of a chunk. One that is not in it keeps
            a name that holds there alone, such as ``c3-S0``, or ``c3.1-S0`` in a part that was decoded apart.

    Raises:
        ValueError: A chunk is answered twice.
    """
    ordered = sorted(answers, key=lambda answer: (answer[0].span, answer[0].index))
    if len({chunk.index for chunk, _ in ordered}) < len(ordered):
        raise ValueError("a chunk is answered twice")
    segments: list[Segment] = []
    gaps: list[Gap] = []
    hits: list[KeywordHit] = []
    may_continue = False
    for chunk, result in ordered:
        clock = _ChunkClock.of(chunk, recording)
        found = list(_iter_segments(chunk.index, result, clock, speakers))
        gaps.extend(_iter_gaps(result, found, clock))
        hits.extend(_iter_hits(result, clock))
        if may_continue and segments and found:
            found[:1] = join_at_cut(segments.pop(), found[0])
        segments.extend(found)
        may_continue = chunk.forced_cut and bool(found)
    return Transcript(
        recording_id=recording.recording_id,
        source=recording.source,
        segments=tuple(segments),  # in order, for chunks are apart
        duration=recording.duration,
        gaps=tuple(sorted(gaps, key=lambda gap: (gap.start, gap.end))),
        language=recording.language,
        damage=recording.damage,
        provenance=recording.provenance,
        bias=None if recording.bias is None else replace(recording.bias, hits=tuple(hits)),
    )


def shift(transcript: Transcript, by_s: float) -> Transcript:
    """Give a transcript of a part of a file the times of the file, in which the part begins ``by_s`` after its start.

    Its duration becomes the place where the part ends.
    """
    if not by_s:
        return transcript
    return replace(
        transcript,
        segments=tuple(
            replace(
                segment,
                start=segment.start + by_s,
                end=segment.end + by_s,
                words=tuple(replace(word, start=word.start + by_s, end=word.end + by_s) for word in segment.words),
            )
            for segment in transcript.segments
        ),
        gaps=tuple(replace(gap, start=gap.start + by_s, end=gap.end + by_s) for gap in transcript.gaps),
        duration=transcript.duration + by_s,
        bias=None if transcript.bias is None else _shift_use(transcript.bias, by_s),
    )


def _shift_use(use: BiasUse, by_s: float) -> BiasUse:
    return replace(use, hits=tuple(replace(hit, start=hit.start + by_s, end=hit.end + by_s) for hit in use.hits))


def locate_speakers(
    recording: RecordingFacts, answers: Answers
) -> dict[tuple[ChunkPart, LocalSpeaker], tuple[Stretch, ...]]:
    """Return where in the recording each local speaker of each part of a chunk talks.

    Args:
        recording: Its duration and rate.
        answers: Every chunk with its answer, in any order.
    """
    located: dict[tuple[ChunkPart, LocalSpeaker], list[Stretch]] = {}
    for chunk, result in answers:
        clock = _ChunkClock.of(chunk, recording)
        for told in result.segments if isinstance(result, Hypothesis) else ():
            if told.speaker is not None and told.text.strip() and _is_timed(told):
                start = clock.to_recording(told.start)
                stretch = Stretch(start, max(start, clock.to_recording(told.end)))
                located.setdefault((ChunkPart(chunk.index, told.part), told.speaker), []).append(stretch)
    return {local: tuple(stretches) for local, stretches in located.items()}


@dataclass(frozen=True, slots=True)
class _ChunkClock:
    """A chunk's place in the recording, ``[start, end]`` in seconds, clipped to the recording."""

    start: float
    end: float

    @classmethod
    def of(cls, chunk: Chunk, recording: RecordingFacts) -> _ChunkClock:
        start = min(chunk.span.start / recording.sample_rate, recording.duration)
        return cls(start, min(chunk.span.end / recording.sample_rate, recording.duration))

    def to_recording(self, seconds: float) -> float:
        """Turn chunk time into recording time, clamped to the chunk."""
        return min(max(self.start + seconds, self.start), self.end)


def _iter_segments(
    index: int,
    result: Hypothesis | DecodeError,
    clock: _ChunkClock,
    speakers: Mapping[tuple[ChunkPart, LocalSpeaker], Speaker],
) -> Iterator[Segment]:
    earliest = clock.start
    for told in result.segments if isinstance(result, Hypothesis) else ():
        text = told.text.strip()
        if not text or not _is_timed(told):
            continue
        start = max(clock.to_recording(told.start), earliest)
        end = max(clock.to_recording(told.end), start)
        words = tuple(_iter_words(told.words, clock, start=start, end=end))
        speaker = _name_speaker(ChunkPart(index, told.part), told.speaker, speakers)
        yield Segment(start, end, text, speaker, words, told.language)
        earliest = start


def _iter_words(words: Sequence[Word], clock: _ChunkClock, *, start: float, end: float) -> Iterator[Word]:
    """Yield the words in recording time, in order, inside their segment ``[start, end]``."""
    earliest = start
    for word in words:
        earliest = min(max(clock.to_recording(word.start), earliest), end)
        yield Word(earliest, min(max(clock.to_recording(word.end), earliest), end), word.text, word.probability)


def _iter_gaps(result: Hypothesis | DecodeError, segments: Sequence[Segment], clock: _ChunkClock) -> Iterator[Gap]:
    if isinstance(result, DecodeError):
        yield Gap(clock.start, clock.end, result.reason)
        return
    covered = [segment.end for segment in segments]
    for told in result.gaps:
        timed = math.isfinite(told.start) and math.isfinite(told.end)
        start = clock.to_recording(told.start) if timed else clock.start
        end = max(clock.to_recording(told.end), start) if timed else clock.end
        yield Gap(start, end, told.reason)
        covered.append(end)
    if not all(_is_timed(told) for told in result.segments):
        yield Gap(clock.start, clock.end, "the model wrote a segment without a valid time")
    answered_until = max(covered, default=clock.start)
    if result.truncated and answered_until < clock.end:
        yield Gap(answered_until, clock.end, "the model's answer broke off")


def _iter_hits(result: Hypothesis | DecodeError, clock: _ChunkClock) -> Iterator[KeywordHit]:
    """Yield keywords in recording time; one without a valid time is said to be somewhere in its chunk."""
    for hit in result.hits if isinstance(result, Hypothesis) else ():
        timed = math.isfinite(hit.start) and math.isfinite(hit.end)
        start = clock.to_recording(hit.start) if timed else clock.start
        yield replace(hit, start=start, end=max(clock.to_recording(hit.end), start) if timed else clock.end)


def _is_timed(told: HypSegment) -> bool:
    times = [told.start, told.end, *(time for word in told.words for time in (word.start, word.end))]
    return all(math.isfinite(time) for time in times)


def _name_speaker(
    place: ChunkPart, speaker: LocalSpeaker | None, speakers: Mapping[tuple[ChunkPart, LocalSpeaker], Speaker]
) -> Speaker | None:
    if speaker is None:
        return None
    name = f"c{place.chunk}.{place.part}" if place.part else f"c{place.chunk}"
    return speakers.get((place, speaker), Speaker(f"{name}-S{speaker}"))
