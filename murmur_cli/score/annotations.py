"""One file of what was said or who spoke: stm, rttm, seglst, or a transcript of murmur.

The suffix tells stm and rttm from JSON, the content tells the two kinds of JSON apart. A file in which
nothing is said is one recording, named as the file.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from murmur_cli.errors import TranscriptError
from murmur_cli.transcript.fields import Field, parse_json
from murmur_cli.transcript.formats.segments import UNKNOWN, name_session, read_name
from murmur_cli.transcript.read import is_transcript, load_text, to_transcript
from murmur_cli.types import RecordingId, Speaker

__all__ = ["SUFFIXES", "Session", "Utterance", "load_annotations"]

SUFFIXES = (".stm", ".rttm", ".json", ".seglst")
"""What a file that can be scored ends with."""

_LAYOUTS = {
    ".stm": "recording, channel, speaker, start, end, text",
    ".rttm": "SPEAKER, recording, channel, start, length, <NA>, <NA>, speaker",
}
# <o,f0,male> and the like before the text. Other words in angle brackets are words.
_STM_LABEL = re.compile(r"<(?:[^\s<>]*,[^\s<>]*|NA|o)>(?:\s+|$)", re.IGNORECASE)
_STM_IGNORE = "ignore_time_segment_in_scoring"
# Lines about words, people and sentences, not about who speaks when.
_RTTM_OTHERS = frozenset(
    ("SEGMENT", "LEXEME", "NON-LEX", "NON-SPEECH", "FILLER", "EDIT", "IP", "SU", "CB", "A/P", "SPKR-INFO")
)


@dataclass(frozen=True, slots=True)
class Utterance:
    """A stretch of one speaker, in seconds; ``text`` is empty where a file does not say what is said."""

    start: float
    end: float
    speaker: Speaker
    text: str = ""


@dataclass(frozen=True, slots=True)
class Session:
    """What one file, or several, say about one recording.

    ``utterances`` say what was said, None where nothing tells; ``turns`` say who spoke when. ``duration`` in
    seconds and ``model`` are None where no file tells. ``origin`` is the file.
    """

    name: str
    utterances: tuple[Utterance, ...] | None
    turns: tuple[Utterance, ...]
    origin: str
    duration: float | None = None
    model: str | None = None


def load_annotations(path: Path) -> list[Session]:
    """Read the sessions of one file, each named once.

    Raises:
        TranscriptError: It cannot be read, or holds something else.
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        hint = f"give one that ends with {', '.join(SUFFIXES)}"
        raise TranscriptError("is not a kind of file that can be scored", where=str(path), hint=hint)
    text = load_text(str(path))
    if suffix == ".stm":
        return _group(_iter_stm(text, path), path, has_words=True)
    if suffix == ".rttm":
        return _group(_iter_rttm(text, path), path, has_words=False)
    content = parse_json(text, where=str(path))
    if isinstance(content.value, list):
        return _group(map(_to_utterance, content.items()), path, has_words=True)
    if is_transcript(content):
        return [_to_session(content, path)]
    raise content.fail("is neither a transcript of murmur nor a list of segments (SegLST)", hint="give another file")


def _group(said: Iterator[tuple[str, Utterance]], path: Path, *, has_words: bool) -> list[Session]:
    sessions: dict[str, list[Utterance]] = {}
    for name, utterance in said:
        sessions.setdefault(name, []).append(utterance)
    return [
        Session(name, tuple(utterances) if has_words else None, tuple(utterances), str(path))
        for name, utterances in (sessions or {path.stem: []}).items()
    ]


def _iter_stm(text: str, path: Path) -> Iterator[tuple[str, Utterance]]:
    """Source: NIST sctk, doc/infmts.htm."""
    for where, fields in _iter_lines(text, path, n_fields=5, max_split=5):
        session, _, speaker, start, end = fields[:5]
        words = (
            _STM_LABEL.sub("", fields[5], count=1) if len(fields) > 5 and fields[5][0] == "<" else "".join(fields[5:])
        )
        if words.strip().lower() == _STM_IGNORE:
            hint = "take such lines out; what is recognised there then counts as insertions"
            raise TranscriptError("asks for a stretch to be ignored, which is not supported", where=where, hint=hint)
        times = _to_seconds(start, where), _to_seconds(end, where)
        yield read_name(session), _make(*times, read_name(speaker), words.strip(), where=where)


def _iter_rttm(text: str, path: Path) -> Iterator[tuple[str, Utterance]]:
    """Source: NIST, The 2009 (RT-09) Rich Transcription Meeting Recognition Evaluation Plan, appendix A."""
    for where, fields in _iter_lines(text, path, n_fields=8, max_split=-1):
        kind, session, _, start, length, _, _, speaker = fields[:8]
        if kind in _RTTM_OTHERS:
            continue
        if kind != "SPEAKER":
            raise TranscriptError(f"lines of the kind {kind} are not supported", where=where, hint="take them out")
        begin = _to_seconds(start, where)
        yield read_name(session), _make(begin, begin + _to_seconds(length, where), read_name(speaker), "", where=where)


def _iter_lines(text: str, path: Path, *, n_fields: int, max_split: int) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the place and the fields of each line that is no comment."""
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip() or line.startswith(";;"):
            continue
        where, fields = f"{path}, line {number}", line.split(maxsplit=max_split)
        if len(fields) < n_fields:
            layout = _LAYOUTS[path.suffix.lower()]
            raise TranscriptError("has too few fields", where=where, hint=f"a line should have: {layout}")
        yield where, fields


def _to_utterance(field: Field) -> tuple[str, Utterance]:
    """Source: meeteval's SegLST; times may be numbers or strings that spell them, speakers too."""
    where = f"{field.where}, {field.place}"
    start, end = (_to_seconds(str(field.get(name).value), where) for name in ("start_time", "end_time"))
    session, speaker = (read_name(str(field.get(name).value)) for name in ("session_id", "speaker"))
    return session, _make(start, end, speaker, field.get("words").text().strip(), where=where)


def _to_session(content: Field, path: Path) -> Session:
    transcript = to_transcript(content, recording_id=RecordingId(0))
    utterances = tuple(
        Utterance(segment.start, segment.end, segment.speaker or Speaker(UNKNOWN), segment.text)
        for segment in transcript.segments
    )
    engine = transcript.provenance.engine
    model = f"{engine.model} ({engine.weights_sha256[:12]}, {engine.precision})"
    return Session(name_session(transcript), utterances, utterances, str(path), transcript.duration, model)


def _to_seconds(text: str, where: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not (math.isfinite(seconds) and seconds >= 0):
        raise TranscriptError(f"{text!r} is not a time in seconds", where=where, hint="correct the line")
    return seconds


def _make(start: float, end: float, speaker: str, text: str, *, where: str) -> Utterance:
    if end < start:
        raise TranscriptError(f"ends at {end:g} s, before it begins", where=where, hint="correct the line")
    return Utterance(start, end, Speaker(speaker), text)
