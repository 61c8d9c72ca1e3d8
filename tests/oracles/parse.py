"""The slow, obvious counterpart of the answer parser: every brace is tried with every later one, by json itself."""

from __future__ import annotations

import json
import math
import re

Row = tuple[float, float, int | None, str]
"""Start, end, speaker, content."""


def find_entries_plainly(text: str) -> list[tuple[int, int, Row]]:
    """Everything in a text that is valid JSON and an entry: (first, past, row)."""
    found = []
    for first in (i for i, character in enumerate(text) if character == "{"):
        for past in (i + 1 for i in range(first, len(text)) if text[i] == "}"):
            row = read_entry_plainly(text[first:past])
            if row is not None:
                found.append((first, past, row))
                break
    return found


def read_entry_plainly(text: str) -> Row | None:
    """An entry that json can read, that opens with a known key, has each once, and both times."""
    try:
        pairs = json.loads(text, strict=False, object_pairs_hook=list)
    except ValueError:
        return None
    if not isinstance(pairs, list) or not pairs or pairs[0][0] not in NAMES:
        return None
    values = {key.split()[0]: value for key, value in pairs if key in NAMES}
    if len(values) < sum(key in NAMES for key, _ in pairs):
        return None
    start, end = (seconds_plainly(values.get(key)) for key in ("Start", "End"))
    content = values.get("Content")
    if start is None or end is None or not isinstance(content, str) or not content:
        return None
    speaker = values.get("Speaker")
    number = re.sub(r"^speaker[ _]?", "", speaker.strip().lower()) if isinstance(speaker, str) else str(speaker)
    who = int(number) if number.isascii() and number.isdigit() and type(speaker) in (str, int) else None
    return start, end, who, mend_plainly(content)


NAMES = ("Start", "Start time", "End", "End time", "Speaker", "Speaker ID", "Content")


def seconds_plainly(value: object) -> float | None:
    """A time as JSON has it, or as a clock shows it."""
    if type(value) in (int, float):
        return float(str(value)) if math.isfinite(float(str(value))) else None
    if not isinstance(value, str) or not re.fullmatch(r"-?[0-9.:]+", value):
        return None
    total = 0.0
    for part in value.removeprefix("-").split(":"):
        if not part[:1].isdigit() or part.count(".") > 1:
            return None
        total = 60 * total + float(part)
    return -total if value.startswith("-") else total


def mend_plainly(text: str) -> str:
    """Half a surrogate pair becomes a replacement character."""
    joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    return "".join("\ufffd" if 0xD800 <= ord(character) <= 0xDFFF else character for character in joined)


def unescape_plainly(text: str) -> str:
    """Read escapes one by one; what is none stays."""
    shown, i = [], 0
    while i < len(text):
        if text[i] == "\\" and text[i + 1 : i + 2] in tuple('"\\/'):
            shown.append(text[i + 1])
            i += 2
        elif text[i] == "\\" and text[i + 1 : i + 2] in tuple("bfnrt"):
            shown.append(" ")
            i += 2
        elif text[i] == "\\" and re.fullmatch("u[0-9a-fA-F]{4}", text[i + 1 : i + 6]):
            shown.append(chr(int(text[i + 2 : i + 6], 16)))
            i += 6
        else:
            shown.append(text[i])
            i += 1
    return mend_plainly("".join(shown))
