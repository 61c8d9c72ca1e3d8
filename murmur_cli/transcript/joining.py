"""A segment that a chunk border cut in two is made whole again.

Only where the border was forced inside speech; elsewhere there is a pause, and nothing to join.
"""

from __future__ import annotations

from dataclasses import replace

from murmur_cli.transcript.line_breaks import ends_sentence, is_spaceless
from murmur_cli.types import Segment

__all__ = ["join_at_cut"]

# Speech that goes on leaves no longer pause than this: VAD spans that are 0.1 s apart are one (VadOptions), and
# written times are off by a few tenths.
_MAX_PAUSE_S = 0.5


def join_at_cut(left: Segment, right: Segment) -> list[Segment]:
    """Join the segments on both sides of a forced cut, if speaker and sentence go on; else return both."""
    goes_on = right.start - left.end <= _MAX_PAUSE_S and not ends_sentence(left.text)
    alike = (left.speaker, left.language, bool(left.words)) == (right.speaker, right.language, bool(right.words))
    if not (goes_on and alike):
        return [left, right]
    blank = "" if is_spaceless(left.text[-1]) or is_spaceless(right.text[0]) else " "
    words = left.words
    if right.words:
        first = replace(right.words[0], text=blank + right.words[0].text.lstrip())
        words = (*left.words, first, *right.words[1:])
    end = max(left.end, right.end)
    return [replace(left, end=end, text=f"{left.text}{blank}{right.text}", words=words)]
