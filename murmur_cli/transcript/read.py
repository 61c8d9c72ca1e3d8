"""Read back what ``--format json`` wrote.

Reading and writing again gives the same bytes. Times are in whole milliseconds there, so a transcript that is
read back is one of whole milliseconds.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from murmur_cli.errors import TranscriptError
from murmur_cli.transcript.fields import Field, parse_json
from murmur_cli.transcript.formats.structured import VERSION
from murmur_cli.types import (
    BiasUse,
    EngineInfo,
    Gap,
    KeywordHit,
    Provenance,
    RecordingId,
    Segment,
    Speaker,
    Transcript,
    Word,
)

__all__ = ["is_transcript", "load_text", "load_transcript", "to_transcript"]

_LAYOUT = "give what 'murmur batch --format json' wrote"


def load_transcript(path: str, *, recording_id: RecordingId) -> Transcript:
    """Read a transcript from a file, or from stdin where ``path`` is ``-``.

    Raises:
        TranscriptError: It cannot be read, or is no transcript of a version that is known.
    """
    return to_transcript(parse_json(load_text(path), where=path), recording_id=recording_id)


def load_text(path: str) -> str:
    """Read UTF-8 text from a file, with or without a byte order mark, or from stdin (``-``).

    Raises:
        TranscriptError: It cannot be read, or is not UTF-8.
    """
    if path == "-" and sys.stdin is None:
        raise TranscriptError("stdin is closed", where=path, hint="pipe something into it, or name a file")
    try:
        content = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        problem = f"cannot be read: {(error.strerror or str(error)).lower()}"
        raise TranscriptError(problem, where=path, hint="check the name") from error
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TranscriptError("is not UTF-8 text", where=path, hint="is this the right file?") from error


def is_transcript(content: Field) -> bool:
    """Tell a transcript of murmur, of whatever version, from other JSON."""
    return content.has("v") and content.has("audio") and content.has("segments")


def to_transcript(content: Field, *, recording_id: RecordingId) -> Transcript:
    """Turn JSON of version 1 into a transcript.

    Raises:
        TranscriptError: It is of another version, or something in it is missing or makes no sense.
    """
    if content.has("type") and content.has("v"):
        raise content.fail("is one event of many: these are JSON lines", hint=_LAYOUT)
    if not is_transcript(content):
        raise content.fail("is not a transcript of murmur", hint=_LAYOUT)
    version = content.get("v")
    if version.value != VERSION or isinstance(version.value, bool):
        problem = f"is {version.value!r}, a version of the layout that is not known here"
        raise version.fail(problem, hint=f"this murmur reads version {VERSION}: take the one that wrote the file")
    audio = content.get("audio")
    duration = audio.get("duration").seconds()
    segments = tuple(_to_segment(field, duration) for field in content.get("segments").items())
    gaps = tuple(_to_gap(field, duration) for field in content.get("gaps").items())
    _check_order(content.get("segments"), segments)
    _check_order(content.get("gaps"), gaps)
    return Transcript(
        recording_id=recording_id,
        source=audio.get("source").text(),
        segments=segments,
        duration=duration,
        gaps=gaps,
        language=content.get("language").optional_text(),
        damage=content.get("damage").optional_text(),
        provenance=_to_provenance(content.get("provenance")),
        bias=_to_use(content.get("bias"), duration) if content.has("bias") else None,  # added within version 1
    )


def _to_segment(field: Field, duration: float) -> Segment:
    start, end = _to_times(field, duration)
    text, speaker = field.get("text").text(), field.get("speaker").optional_text()
    if not text.strip():
        raise field.get("text").fail("is empty")
    words = [_to_word(word, duration) for word in field.get("words").items()] if field.has("words") else []
    return Segment(
        start=start,
        end=end,
        text=text,
        speaker=None if speaker is None else Speaker(speaker),
        words=_space(words, text),
        language=field.get("language").optional_text(),
    )


def _to_word(field: Field, duration: float) -> Word:
    start, end = _to_times(field, duration)
    probability = field.get("probability")
    sureness = math.nan if probability.value is None else probability.number()
    if sureness < 0 or sureness > 1:
        raise probability.fail(f"is {sureness:g}, not between 0 and 1")
    return Word(start, end, field.get("text").text(), sureness)


def _space(words: Sequence[Word], text: str) -> tuple[Word, ...]:
    """Give each word back the blanks before it, which the file leaves to the segment's text.

    Where the words are not those of the text, each gets a blank.
    """
    spaced = []
    position = 0
    for word in words:
        begin = text.find(word.text, position)
        if begin < 0 or text[position:begin].strip():
            break
        spaced.append(replace(word, text=f"{text[position:begin]}{word.text}"))
        position = begin + len(word.text)
    if len(spaced) == len(words) and not text[position:].strip():
        return tuple(spaced)
    return tuple(replace(word, text=f" {word.text}") for word in words)


def _to_gap(field: Field, duration: float) -> Gap:
    start, end = _to_times(field, duration)
    return Gap(start, end, field.get("reason").text())


def _to_use(field: Field, duration: float) -> BiasUse:
    return BiasUse(
        sha256=field.get("sha").text(),
        strength=field.get("strength").number(),
        n_phrases=field.get("phrases").count(),
        hits=tuple(_to_hit(hit, duration) for hit in field.get("hits").items()),
    )


def _to_hit(field: Field, duration: float) -> KeywordHit:
    start, end = _to_times(field, duration)
    return KeywordHit(start, end, field.get("phrase").text(), field.get("changed").truth())


def _to_times(field: Field, duration: float) -> tuple[float, float]:
    start = field.get("start").seconds(at_most=duration)
    return start, field.get("end").seconds(at_least=start, at_most=duration)


def _check_order(field: Field, parts: Sequence[Segment | Gap]) -> None:
    for i in range(1, len(parts)):
        if parts[i].start < parts[i - 1].start:
            raise TranscriptError(
                f"{field.place}[{i}] begins before the one ahead of it", where=field.where, hint="sort them by start"
            )


def _to_provenance(field: Field) -> Provenance:
    engine = field.get("engine")
    enrolled = field.get("enrolled").items() if field.has("enrolled") else ()  # added within version 1
    return Provenance(
        murmur_version=field.get("murmur_version").text(),
        engine=EngineInfo(
            model=engine.get("model").text(),
            weights_sha256=engine.get("weights_sha256").text(),
            device=engine.get("device").text(),
            precision=engine.get("precision").text(),
            eviction=engine.get("eviction").text() if engine.has("eviction") else "none",  # added within version 1
        ),
        language=field.get("language").optional_text(),
        max_chunk_s=field.get("max_chunk_s").optional_number(),
        vad_threshold=field.get("vad_threshold").optional_number(),
        enrolled=tuple(Speaker(name.text()) for name in enrolled),
    )
