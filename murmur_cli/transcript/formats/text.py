"""Plain text and tab-separated values: one segment a line."""

from __future__ import annotations

from murmur_cli.transcript.notation import to_ms, to_one_line
from murmur_cli.types import Segment, Transcript

__all__ = ["render_tsv", "render_txt"]


def render_txt(transcript: Transcript) -> str:
    """Write each segment on a line, after its speaker where one is known: ``S1: …``."""
    return "".join(f"{_label(segment)}{to_one_line(segment.text)}\n" for segment in transcript.segments)


def render_tsv(transcript: Transcript) -> str:
    """Write start and end in whole milliseconds (as whisper's tsv does), speaker and text, under a header.

    Values are never quoted: tabs and line breaks in them become blanks.
    """
    rows = ["start\tend\tspeaker\ttext\n"]
    for segment in transcript.segments:
        start = to_ms(segment.start, duration=transcript.duration)
        end = to_ms(segment.end, duration=transcript.duration)
        rows.append(f"{start}\t{end}\t{to_one_line(segment.speaker or '')}\t{to_one_line(segment.text)}\n")
    return "".join(rows)


def _label(segment: Segment) -> str:
    return f"{to_one_line(segment.speaker)}: " if segment.speaker else ""
