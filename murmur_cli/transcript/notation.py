"""How times and text are written, whatever the format: whole milliseconds, and one line.

A written time is never beyond the recording's end, and rounding never swaps two times.
"""

from __future__ import annotations

import re

__all__ = ["flatten", "floor_ms", "replace_undecodable", "to_ms", "to_one_line"]

# Blanks, control characters and the two Unicode line separators. Other spaces (no-break, ideographic) are text.
_LINE_BREAKERS = re.compile(r"[ \x00-\x1f\x7f-\x9f\u2028\u2029]+")

_LONE_SURROGATES = re.compile("[\ud800-\udfff]")


def floor_ms(duration: float) -> int:
    """Return the last whole millisecond that is not beyond ``duration`` seconds."""
    nearest = round(duration * 1000)
    return nearest - 1 if nearest / 1000 > duration else nearest


def to_ms(seconds: float, *, duration: float) -> int:
    """Round a time to milliseconds, but never beyond the recording's ``duration``, both in seconds."""
    return min(round(seconds * 1000), floor_ms(duration))


def replace_undecodable(text: str) -> str:
    """Replace the bytes of a file's name that are no UTF-8 (lone surrogates in Python, PEP 383) by U+FFFD."""
    return _LONE_SURROGATES.sub("\ufffd", text)


def flatten(text: str) -> str:
    """Replace each run of blanks and line breaks by one blank, at the ends as well."""
    return _LINE_BREAKERS.sub(" ", text)


def to_one_line(text: str) -> str:
    """Return ``text`` without line breaks, tabs and outer blanks."""
    return flatten(text).strip()
