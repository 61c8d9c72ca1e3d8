"""What programs that score and align read: rttm, stm, ctm, seglst.

One name for a recording (its file's name without the suffix) and one for a speaker in all four. Fields of
rttm, stm and ctm end at a blank, so names are escaped, reversibly: blanks, control characters and ``%;<``
are written as in URLs (``Ann Lee`` is ``Ann%20Lee``). Who is unknown is ``<NA>``, which no name can be.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import PurePath
from urllib.parse import quote, unquote

from murmur_cli.transcript.notation import to_ms, to_one_line
from murmur_cli.types import Segment, Speaker, Transcript, Word

__all__ = ["UNKNOWN", "name_session", "read_name", "render_ctm", "render_rttm", "render_seglst", "render_stm"]

UNKNOWN = "<NA>"
"""Stands where there is no name; from RTTM, where it means "not applicable"."""

_CHANNEL = "1"  # a transcript is of a whole recording, whatever its channels; NIST's formats count from 1

# What ends a field, begins a comment (;;) or begins a label (<o,f0>); and the escape itself.
_UNSAFE = re.compile(r"[\s\x00-\x1f\x7f-\x9f%;<]")


def name_session(transcript: Transcript) -> str:
    """Return the name of the recording: its file's name without folder and suffix, or ``stdin``."""
    return "stdin" if transcript.source == "-" else PurePath(transcript.source).stem


def read_name(field: str) -> str:
    """Return a name as it was before it was written into a field."""
    return unquote(field)


def render_rttm(transcript: Transcript) -> str:
    """Write who speaks when: one ``SPEAKER`` line for each stretch of one speaker without a pause.

    Source: NIST, The 2009 (RT-09) Rich Transcription Meeting Recognition Evaluation Plan, appendix A.
    """
    session = _to_field(name_session(transcript))
    lines = []
    for start, end, speaker in _merge_turns(transcript):
        times = f"{_to_seconds(start)} {_to_seconds(end - start)}"
        lines.append(f"SPEAKER {session} {_CHANNEL} {times} {UNKNOWN} {UNKNOWN} {speaker} {UNKNOWN} {UNKNOWN}\n")
    return "".join(lines)


def render_stm(transcript: Transcript) -> str:
    """Write who said what when: one segment a line.

    Source: NIST sctk, doc/infmts.htm.
    """
    session = _to_field(name_session(transcript))
    lines = []
    for segment in transcript.segments:
        start, end = _times_of(segment, transcript.duration)
        head = f"{session} {_CHANNEL} {_to_field(segment.speaker)} {_to_seconds(start)} {_to_seconds(end)}"
        lines.append(f"{head} {to_one_line(segment.text)}\n")
    return "".join(lines)


def render_ctm(transcript: Transcript) -> str:
    """Write each word's start, length and probability, in order of time; ctm holds no speakers.

    Where a segment has no word times, its time is shared out by the words' lengths, without probabilities.

    Source: NIST sctk, doc/infmts.htm.
    """
    session = _to_field(name_session(transcript))
    rows = []
    for word in sorted(_iter_words(transcript), key=lambda word: word.start):
        start, end = (to_ms(seconds, duration=transcript.duration) for seconds in (word.start, word.end))
        sureness = f" {word.probability:.4f}" if math.isfinite(word.probability) else ""
        times = f"{_to_seconds(start)} {_to_seconds(end - start)}"
        rows.append(f"{session} {_CHANNEL} {times} {word.text}{sureness}\n")
    return "".join(rows)


def render_seglst(transcript: Transcript) -> str:
    """Write segments as a JSON list of objects, as meeteval reads them.

    Source: meeteval (github.com/fgnt/meeteval), "SegLST - Segment-wise Long-form Speech Transcription annotation".
    """
    session = _to_field(name_session(transcript))
    listed = []
    for segment in transcript.segments:
        start, end = _times_of(segment, transcript.duration)
        listed.append(
            {
                "session_id": session,
                "speaker": _to_field(segment.speaker),
                "start_time": start / 1000,
                "end_time": end / 1000,
                "words": to_one_line(segment.text),
            }
        )
    return f"{json.dumps(listed, ensure_ascii=False, allow_nan=False, indent=2)}\n"


def _to_field(name: str | None) -> str:
    if not name:
        return UNKNOWN
    return _UNSAFE.sub(lambda found: quote(found[0], safe=""), name)


def _to_seconds(ms: int) -> str:
    return f"{ms // 1000}.{ms % 1000:03d}"


def _times_of(segment: Segment, duration: float) -> tuple[int, int]:
    return to_ms(segment.start, duration=duration), to_ms(segment.end, duration=duration)


def _merge_turns(transcript: Transcript) -> list[tuple[int, int, str]]:
    """Return start and end in ms, and speaker, by start; those of one speaker neither overlap nor touch."""
    spoken: dict[Speaker | None, list[tuple[int, int]]] = {}
    for segment in transcript.segments:
        start, end = _times_of(segment, transcript.duration)
        turns = spoken.setdefault(segment.speaker, [])
        if start == end:  # a turn that takes no time is none
            continue
        if turns and start <= turns[-1][1]:
            turns[-1] = (turns[-1][0], max(turns[-1][1], end))
        else:
            turns.append((start, end))
    return sorted((start, end, _to_field(speaker)) for speaker, turns in spoken.items() for start, end in turns)


def _iter_words(transcript: Transcript) -> Iterator[Word]:
    """Yield words that hold no blanks; segments without word times are shared out among theirs."""
    for segment in transcript.segments:
        whole = Word(segment.start, segment.end, segment.text, math.nan)
        for word in segment.words or (whole,):
            yield from _share_out(word, to_one_line(word.text).split())


def _share_out(word: Word, parts: Sequence[str]) -> Iterator[Word]:
    """Divide the time of ``word`` among its parts, in proportion to their lengths."""
    borders = list(accumulate(map(len, parts), initial=0))
    step = (word.end - word.start) / max(1, borders[-1])
    for i, part in enumerate(parts):
        yield Word(word.start + borders[i] * step, word.start + borders[i + 1] * step, part, word.probability)
