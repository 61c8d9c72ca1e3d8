"""A validator of subtitles: what the guidelines ask for, checked on finished cues."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import pairwise

from murmur_cli.options import SubtitleOptions
from murmur_cli.transcript.subtitles import Cue
from murmur_cli.types import Transcript

# Scripts that are written without blanks; a break between two of their characters splits no word that shows.
_SPACELESS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u312f\u31f0-\u9fff\uf900-\ufaff\uff00-\uff9f]")


def find_faults(cues: Sequence[Cue], transcript: Transcript, options: SubtitleOptions) -> list[str]:
    """Name every rule that the cues break; none is the answer that is wanted.

    A rule that cannot be kept is none: no line is too wide that is one word, and none is shown too briefly, or has too
    many characters a second, that is shown until the next one comes, until the end, or as long as one may be.
    """
    duration_ms = int(transcript.duration * 1000)
    faults = [fault for cue in cues for fault in _find_faults_of_lines(cue, options)]
    starts = [*(cue.start_ms for cue in cues), duration_ms]
    for cue, room_ends in zip(cues, starts[1:], strict=True):
        faults.extend(_find_faults_of_times(cue, room_ends, options))
    if any(cue.end_ms > following.start_ms for cue, following in pairwise(cues)):
        faults.append("overlap")
    if cues and (cues[0].start_ms < 0 or cues[-1].end_ms > duration_ms):
        faults.append("outside")
    return faults + list(_find_faults_of_words(cues, transcript))


def _find_faults_of_lines(cue: Cue, options: SubtitleOptions) -> Iterator[str]:
    if not 1 <= len(cue.lines) <= options.max_lines:
        yield "lines"
    for line in cue.lines:
        width = sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in line)
        is_one_word = " " not in line and (len(line) == 1 or not _SPACELESS.search(line))
        if width > options.max_line_width and not is_one_word:
            yield "width"
        if not line or line != line.strip():
            yield "blanks"


def _find_faults_of_times(cue: Cue, room_ends: int, options: SubtitleOptions) -> Iterator[str]:
    shown_ms = cue.end_ms - cue.start_ms
    is_held = cue.end_ms == room_ends or shown_ms == options.max_duration_ms
    if shown_ms <= 0:
        yield "no time"
    if shown_ms > options.max_duration_ms:
        yield "too long"
    if shown_ms < options.min_duration_ms and not is_held:
        yield "too short"
    n_characters = sum(map(len, cue.lines))
    if n_characters > options.max_cps * (shown_ms + 0.5) / 1000 and not is_held:
        yield "too fast"


def _find_faults_of_words(cues: Sequence[Cue], transcript: Transcript) -> Iterator[str]:
    """Words are conserved, in their order within a segment, and stand in one line each."""
    written = " ".join(line for cue in cues for line in cue.lines)
    spoken = " ".join(segment.text for segment in transcript.segments)
    if sorted("".join(written.split())) != sorted("".join(spoken.split())):
        yield "characters"
    kept, said = ([word for word in text.split() if not _SPACELESS.search(word)] for text in (written, spoken))
    if sorted(kept) != sorted(said):
        yield "words"
