"""The entries of an answer that a model writes as a JSON list, read from text that may be damaged anywhere.

A new entry begins wherever an object opens with one of the known keys. So nothing that is written before or
after an entry can cost it; and every character is looked at a fixed number of times, whatever the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from murmur_cli.types import LocalSpeaker

__all__ = ["Broken", "Entry", "OpenEntry", "iter_entries"]

# Repeats are possessive (*+): what they took is not given back, so no text makes a search slow.
_NAMES = r"Start(?: time)?|End(?: time)?|Speaker(?: ID)?|Content"
_HEAD = re.compile(r'\{\s*+"(?:Start|End|Speaker|Content)')
_PAIR = re.compile(
    r'\s*+"([^"\\]*+)"\s*+:\s*+("(?:[^"\\]++|\\.)*+"|[^\s",{}\[\]]++)\s*+([,}])',  # key, value, what follows
    re.DOTALL,
)
_KEY = re.compile(rf'[{{,]\s*+"({_NAMES})"\s*+:\s*+')
_NAME = re.compile(_NAMES)
_QUOTE = r'(?<!\\)(?:\\\\)*+(")'  # that no backslash escapes
_TEXT_CLOSE = re.compile(rf"{_QUOTE}\s*+,?+\s*+\}}")
_ENDS_QUOTED = re.compile(rf"{_QUOTE}\Z")
_LIST_CLOSE = re.compile(r"\]\s*+(?:(?:<\|[^\s|<>]{1,64}+\|>|```)\s*+)*+\Z")
_FRAME = re.compile(r"<\|im_start\|>\s*+assistant|<\|[^\s|<>]{1,64}+\|>|```(?:json)?")
_TIME = re.compile(
    r'("?) *+(-)?(?:(?:([0-9]{1,3}):)?([0-9]{1,3}):)?([0-9]{1,9}(?:\.[0-9]{0,30})?(?:[eE][+-]?[0-9]{1,2})?) *+\1'
)
_SPEAKER = re.compile(r'"?\s*+(?:speaker[ _]?)?([0-9]{1,4})(?:\.0)?\s*+"?', re.IGNORECASE)
_ESCAPE = re.compile(r'\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))')
_ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


@dataclass(frozen=True, slots=True)
class Entry:
    """A complete entry: the object at ``text[first:past]`` of an answer.

    Times are seconds as the model wrote them: finite, but in no order and perhaps outside of the chunk.
    ``content`` is what it wrote as spoken, with tags and line breaks; it can be encoded.
    """

    first: int
    past: int
    start: float
    end: float
    speaker: LocalSpeaker | None
    content: str


@dataclass(frozen=True, slots=True)
class Broken:
    """What stands at ``text[first:past]`` and is no entry, with those of its times that can be read."""

    first: int
    past: int
    start: float | None
    end: float | None
    reason: str


@dataclass(frozen=True, slots=True)
class OpenEntry:
    """The entry at ``text[first:]`` in which the text ends, with those of its times that are written in full."""

    first: int
    start: float | None
    end: float | None


@dataclass(frozen=True, slots=True)
class _Found:
    """The values of known keys as they are written, and where the object ends, if it does."""

    values: tuple[tuple[str, str], ...]
    past: int | None

    def get(self, key: str) -> str:
        """What is written for a key, or nothing."""
        return next((value for name, value in self.values if name == key), "")


def iter_entries(text: str) -> Iterator[Entry | Broken | OpenEntry]:
    """Yield what an answer consists of, in the order of the text; an open entry comes last.

    The keys are those that the published checkpoints write or are asked for, in any order: Start or Start time,
    End or End time, Speaker or Speaker ID, and Content. Others are passed over, as is what frames the list.

    Args:
        text: An answer, or as much of it as there is.

    Source:
        microsoft/VibeVoice@3143295, vibevoice/processor/vibevoice_asr_processor.py (the keys).
    """
    heads = [head.start() for head in _HEAD.finditer(text)]
    list_close = _LIST_CLOSE.search(text, heads[-1] if heads else 0)
    end = len(text) if list_close is None else list_close.start()
    past = 0
    for first, limit in pairwise([*heads, end]):
        yield from _iter_residue(text, past, first)
        found = _read_strictly(text, first, limit) or _read_loosely(text, first, limit, is_last=limit == end)
        if found.past is None and limit == end:
            yield OpenEntry(first, _to_seconds(found.get("Start")), _to_seconds(found.get("End")))
            return
        piece = _judge(found, first, limit)
        yield piece
        past = piece.past
    yield from _iter_tail(text, past)


def _iter_residue(text: str, first: int, past: int) -> Iterator[Broken]:
    """Report what stands between entries, unless it only frames or separates them."""
    rest = text[first:past] if first else text[:past].lstrip().removeprefix("assistant")
    if any(character.isalnum() for character in _FRAME.sub(" ", rest)):
        yield Broken(first, past, None, None, "the model wrote something that is no segment")


def _iter_tail(text: str, past: int) -> Iterator[Broken | OpenEntry]:
    """Report what stands behind the last entry: perhaps the first characters of another."""
    opened = text.rfind("{", past)
    is_open = opened >= 0 and text.find("}", opened) < 0
    yield from _iter_residue(text, past, opened if is_open else len(text))
    if is_open:
        yield OpenEntry(opened, None, None)


def _read_strictly(text: str, first: int, limit: int) -> _Found | None:
    """Read an object as JSON has it, but for line breaks in strings; None if it is not one, or a nested one."""
    values: list[tuple[str, str]] = []
    position = first + 1
    while pair := _PAIR.match(text, position, limit):
        if _NAME.fullmatch(pair[1]):
            values.append((_to_key(pair[1]), pair[2]))
        position = pair.end()
        if pair[3] == "}":
            return _Found(tuple(values), position)
    return None


def _read_loosely(text: str, first: int, limit: int, *, is_last: bool) -> _Found:
    """Read an object in which a text holds quotes: what belongs to a key goes on up to the next known key.

    Where another object follows, the last quote or brace may be missing. ``is_last``: none does, and the text may have
    been cut off; ``limit`` is where it ends, or where it seems to close the list.
    """
    keys = list(_KEY.finditer(text, first, limit))
    if not keys:
        return _Found((), None)
    values = [(_to_key(key[1]), text[key.end() : after.start()].strip()) for key, after in pairwise(keys)]
    value, past = _read_last_value(text, keys[-1].end(), limit, is_last=is_last)
    return _Found((*values, (_to_key(keys[-1][1]), value)), past)


def _read_last_value(text: str, first: int, limit: int, *, is_last: bool) -> tuple[str, int | None]:
    """Return the value at ``first``, and where the object ends behind it, if it does."""
    if not text.startswith('"', first):
        close = text.find("}", first, limit)
        if close >= 0:
            return text[first:close].strip(" ,"), close + 1
        value, comma, _ = text[first:limit].partition(",")
        return value.strip() if comma else "", None  # without the comma, more of it may have been to come
    close_quotes = list(_TEXT_CLOSE.finditer(text, first + 1, limit))
    if close_quotes:
        return text[first : close_quotes[-1].end(1)], close_quotes[-1].end()
    value = text[first:limit].strip().removesuffix(",").rstrip()
    is_closed = bool(_ENDS_QUOTED.search(value, 1)) and limit < len(text)
    if is_closed or (not is_last and len(value) > 1 and value.endswith(("}", '"'))):
        return value.removesuffix("}").rstrip(), limit
    return "", None


def _judge(found: _Found, first: int, limit: int) -> Entry | Broken:
    """Tell whether what was read is an entry: every key at most once, with both times and a text."""
    past = limit if found.past is None else found.past
    start, end = _to_seconds(found.get("Start")), _to_seconds(found.get("End"))
    content = _to_text(found.get("Content"))
    names = [name for name, _ in found.values]
    if found.past is None:
        reason = "the model began a segment and did not end it"
    elif len(set(names)) < len(names):
        reason = "the model wrote a segment that says a thing twice"
    elif start is None or end is None:
        reason = "the model wrote a segment without a valid time"
    elif not content:
        reason = "the model wrote a segment without its text"
    else:
        return Entry(first, past, start, end, _to_speaker(found.get("Speaker")), content)
    return Broken(first, past, start, end, reason)


def _to_key(name: str) -> str:
    return name.split(maxsplit=1)[0]


def _to_seconds(value: str) -> float | None:
    """Read 12.5, "12.5", 01:30 or 1:01:30.5 as seconds; None for anything else."""
    time = _TIME.fullmatch(value)
    if time is None:
        return None
    _, sign, hours, minutes, seconds = time.groups()
    total = float(seconds)
    if minutes is not None and (total >= 60 or (hours is not None and int(minutes) >= 60)):
        return None
    total += 60 * int(minutes or 0) + 3600 * int(hours or 0)
    return -total if sign else total


def _to_speaker(value: str) -> LocalSpeaker | None:
    """Read a speaker's number; None where the model names nobody (N/A), as it does where nobody speaks."""
    speaker = _SPEAKER.fullmatch(value)
    return None if speaker is None else LocalSpeaker(int(speaker[1]))


def _to_text(value: str) -> str:
    """Take off the quotes and read the escapes; what is no escape stays, and half a surrogate pair becomes U+FFFD."""
    if value == "null" or value.startswith(("[", "{")):
        return ""
    text = value.removeprefix('"').removesuffix('"')
    text = _ESCAPE.sub(_read_escape, text)
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _read_escape(escape: re.Match[str]) -> str:
    return chr(int(escape[1], 16)) if escape[1] else _ESCAPED.get(escape[2], escape[2])
