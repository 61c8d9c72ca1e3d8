"""JSON, and JSON lines (one event a line), version 1.

What they hold stands in ``transcript.schema.json`` and ``events.schema.json`` beside this package.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import asdict
from typing import TypeAlias

from murmur_cli.transcript.notation import floor_ms, to_ms
from murmur_cli.types import BiasUse, Gap, KeywordHit, Segment, Transcript, Word

__all__ = [
    "VERSION",
    "JsonObject",
    "describe_hit",
    "describe_list",
    "describe_word",
    "dump_json",
    "render_json",
    "render_jsonl",
]

VERSION = 1
"""Of the layout, as the field ``v`` says it."""

# Characters that JSON allows in a string, but at which some readers end a line.
_LINE_ENDS = str.maketrans({end: f"\\u{ord(end):04x}" for end in "\x85\u2028\u2029"})

JsonObject: TypeAlias = dict[str, object]
"""What is written as one object of JSON; nothing is ever read from it."""


def render_json(transcript: Transcript, *, word_times: bool) -> str:
    """Write the whole transcript as one object."""
    return f"{dump_json(_to_object(transcript, word_times=word_times), indent=2)}\n"


def render_jsonl(transcript: Transcript, *, word_times: bool) -> str:
    """Write events: ``recording``, then ``segment`` and ``gap`` in order of time, then ``end``.

    Every event names its recording, so those of several can follow one another in one stream.
    """
    events = _iter_events(transcript, word_times=word_times)
    return "".join(f"{dump_json(event)}\n" for event in events)


def _to_object(transcript: Transcript, *, word_times: bool) -> JsonObject:
    duration = transcript.duration
    return {
        "v": VERSION,
        "audio": _describe_audio(transcript),
        "language": transcript.language,
        "segments": [_describe_segment(s, duration, word_times=word_times) for s in transcript.segments],
        "gaps": [_describe_gap(gap, duration) for gap in transcript.gaps],
        "damage": transcript.damage,
        "provenance": asdict(transcript.provenance),
        **_describe_use(transcript),
    }


def _iter_events(transcript: Transcript, *, word_times: bool) -> Iterator[JsonObject]:
    duration = transcript.duration
    key: JsonObject = {"v": VERSION, "recording": transcript.recording_id}
    yield {
        "type": "recording",
        **key,
        "audio": _describe_audio(transcript),
        "language": transcript.language,
        "damage": transcript.damage,
        "provenance": asdict(transcript.provenance),
        **_describe_use(transcript),
    }
    parts: list[Segment | Gap] = [*transcript.segments, *transcript.gaps]
    for part in sorted(parts, key=lambda part: part.start):
        if isinstance(part, Segment):
            yield {"type": "segment", **key, **_describe_segment(part, duration, word_times=word_times)}
        else:
            yield {"type": "gap", **key, **_describe_gap(part, duration)}
    yield {"type": "end", **key, "n_segments": len(transcript.segments), "n_gaps": len(transcript.gaps)}


def _describe_audio(transcript: Transcript) -> JsonObject:
    return {"source": transcript.source, "duration": floor_ms(transcript.duration) / 1000}


def _describe_segment(segment: Segment, duration: float, *, word_times: bool) -> JsonObject:
    described: JsonObject = {
        "start": _to_seconds(segment.start, duration),
        "end": _to_seconds(segment.end, duration),
        "speaker": segment.speaker,
        "language": segment.language,
        "text": segment.text,
    }
    if word_times:
        described["words"] = [describe_word(word, duration) for word in segment.words]
    return described


def describe_word(word: Word, duration: float) -> JsonObject:
    """Write a word, with no time beyond ``duration`` seconds."""
    return {
        "start": _to_seconds(word.start, duration),
        "end": _to_seconds(word.end, duration),
        "text": word.text.strip(),
        "probability": round(word.probability, 4) if math.isfinite(word.probability) else None,
    }


def _describe_use(transcript: Transcript) -> JsonObject:
    """Say what was listened for, if anything was, and what came of it."""
    if transcript.bias is None:
        return {}
    hits = [describe_hit(hit, transcript.duration) for hit in transcript.bias.hits]
    return {"bias": {**describe_list(transcript.bias), "hits": hits}}


def describe_list(use: BiasUse) -> JsonObject:
    """Write which keywords were listened for."""
    return {"sha": use.sha256, "strength": use.strength, "phrases": use.n_phrases}


def describe_hit(hit: KeywordHit, duration: float) -> JsonObject:
    """Write a keyword that was heard, with no time beyond ``duration`` seconds."""
    return {
        "phrase": hit.phrase,
        "start": _to_seconds(hit.start, duration),
        "end": _to_seconds(hit.end, duration),
        "changed": hit.changed,
    }


def _describe_gap(gap: Gap, duration: float) -> JsonObject:
    return {
        "start": _to_seconds(gap.start, duration),
        "end": _to_seconds(gap.end, duration),
        "reason": gap.reason,
    }


def _to_seconds(seconds: float, duration: float) -> float:
    return to_ms(seconds, duration=duration) / 1000


def dump_json(described: JsonObject, *, indent: int | None = None) -> str:
    """Write an object so that no reader finds the end of a line in it, unless it is indented."""
    return json.dumps(described, ensure_ascii=False, allow_nan=False, indent=indent).translate(_LINE_ENDS)
