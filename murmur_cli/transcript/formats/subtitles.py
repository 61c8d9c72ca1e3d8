"""SubRip (srt) and WebVTT (vtt).

Written here and not by pysubs2: that takes the text for SubStation Alpha, so a backslash before n or h, or
anything in braces, is lost, and it neither escapes ``<`` and ``&`` for WebVTT nor keeps speakers. The tests
read both formats back with pysubs2.
"""

from __future__ import annotations

from murmur_cli.transcript.notation import to_one_line
from murmur_cli.transcript.subtitles import Cue, make_cues
from murmur_cli.types import Transcript

__all__ = ["render_srt", "render_vtt"]


def render_srt(transcript: Transcript) -> str:
    """Write numbered cues, the speaker in the text: ``S1: …``.

    SubRip has no escapes: an arrow that could be taken for a line of times loses one dash.
    """
    blocks = []
    for number, cue in enumerate(make_cues(transcript, is_labelled=True), start=1):
        text = "\n".join(cue.lines).replace("-->", "->")
        blocks.append(f"{number}\n{_time_line(cue, decimal_mark=',')}\n{text}\n\n")
    return "".join(blocks)


def render_vtt(transcript: Transcript) -> str:
    """Write cues with the speaker as a voice: ``<v S1>…``.

    Source: WebVTT, W3C Candidate Recommendation, section 4 (syntax).
    """
    blocks = ["WEBVTT\n"]
    for cue in make_cues(transcript, is_labelled=False):
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
