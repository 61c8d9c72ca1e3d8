"""SubRip (srt) and WebVTT (vtt).

Written here and not by pysubs2: that takes the text for SubStation Alpha, so a backslash before n or h, or
anything in braces, is lost, and it neither escapes ``<`` and ``&`` for WebVTT nor keeps speakers. The tests
read both formats back with pysubs2.
"""

from __future__ import annotations

from collections.abc import Sequence

from murmur_cli.options import SubtitleOptions
from murmur_cli.transcript.notation import to_one_line
from murmur_cli.transcript.subtitles import Cue, make_cues
from murmur_cli.types import Transcript

__all__ = ["VTT_HEADER", "render_srt", "render_srt_cues", "render_vtt", "render_vtt_cues"]

VTT_HEADER = "WEBVTT\n"
"""The first line of every WebVTT file."""


def render_srt(transcript: Transcript, options: SubtitleOptions) -> str:
    """Write numbered cues, the speaker in the text: ``S1: …``."""
    return render_srt_cues(make_cues(transcript, is_labelled=True, limits=options), first_number=1)


def render_srt_cues(cues: Sequence[Cue], *, first_number: int) -> str:
    """Write cues that are labelled already.

    SubRip has no escapes: an arrow that could be taken for a line of times loses one dash.
    """
    blocks = []
    for number, cue in enumerate(cues, start=first_number):
        text = "\n".join(cue.lines).replace("-->", "->")
        blocks.append(f"{number}\n{_time_line(cue, decimal_mark=',')}\n{text}\n\n")
    return "".join(blocks)


def render_vtt(transcript: Transcript, options: SubtitleOptions) -> str:
    """Write cues with the speaker as a voice: ``<v S1>…``.

    Source: WebVTT, W3C Candidate Recommendation, section 4 (syntax).
    """
    return VTT_HEADER + render_vtt_cues(make_cues(transcript, is_labelled=False, limits=options))


def render_vtt_cues(cues: Sequence[Cue]) -> str:
    """Write cues that are not labelled, each after the blank line that ends what is before it."""
    blocks = []
    for cue in cues:
        voice = f"<v {_escape_vtt(to_one_line(cue.speaker))}>" if cue.speaker else ""
        text = _escape_vtt("\n".join(cue.lines))
        blocks.append(f"\n{_time_line(cue, decimal_mark='.')}\n{voice}{text}\n")
    return "".join(blocks)


def _time_line(cue: Cue, *, decimal_mark: str) -> str:
    start, end = (_clock(ms).replace(".", decimal_mark) for ms in (cue.start_ms, cue.end_ms))
    return f"{start} --> {end}"


def _clock(ms: int) -> str:
    """Write ``hh:mm:ss.mmm``; hours take as many digits as they need."""
    minutes, ms = divmod(ms, 60_000)
    seconds, ms = divmod(ms, 1000)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02d}:{minutes:02d}:{seconds:02d}.{ms:03d}"


def _escape_vtt(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
