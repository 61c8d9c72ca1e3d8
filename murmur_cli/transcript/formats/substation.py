"""SubStation Alpha (ass), through pysubs2.

Its text has markup but no escapes that all players know; what stands here is what libass (mpv, VLC, ffmpeg)
shows as it was written.
"""

from __future__ import annotations

import io

from pysubs2 import SSAEvent, SSAFile
from pysubs2.formats.substation import SubstationFormat

from murmur_cli.options import SubtitleOptions
from murmur_cli.transcript.notation import to_one_line
from murmur_cli.transcript.subtitles import Cue, make_cues
from murmur_cli.types import Transcript

__all__ = ["render_ass"]

# U+2060 (word joiner, invisible) keeps a backslash from meaning \N or \h, as ffmpeg writes it; libass knows \{.
_MARKUP = str.maketrans({"\\": "\\\u2060", "{": r"\{", "}": r"\}"})


class _Substation(SubstationFormat):
    """Rounds times down, so that none is beyond the recording's end, and counts hours beyond 9."""

    @staticmethod
    def ms_to_timestamp(requested_ms: int) -> str:
        minutes, ms = divmod(requested_ms, 60_000)
        hours, minutes = divmod(minutes, 60)
        return f"{hours}:{minutes:02d}:{ms // 1000:02d}.{ms % 1000 // 10:02d}"


def render_ass(transcript: Transcript, options: SubtitleOptions) -> str:
    """Write cues with the speaker in the text, ``S1: …``, and in the field for names, which players do not show."""
    subtitles = SSAFile()
    # The resolution that players assume where none is given: the default style's sizes are meant for it.
    subtitles.info |= {"PlayResX": "384", "PlayResY": "288"}
    subtitles.events = [_to_event(cue) for cue in make_cues(transcript, is_labelled=True, limits=options)]
    written = io.StringIO()
    _Substation.to_file(subtitles, written, "ass", header_notice="")
    return written.getvalue()


def _to_event(cue: Cue) -> SSAEvent:
    text = r"\N".join(line.translate(_MARKUP) for line in cue.lines)
    name = to_one_line((cue.speaker or "").replace(",", " "))  # a comma would end the field
    return SSAEvent(start=cue.start_ms, end=cue.end_ms, text=text, name=name)
