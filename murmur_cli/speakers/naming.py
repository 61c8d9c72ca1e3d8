"""What speakers are called: S1, S2, … by first appearance, until somebody says their names."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count

from murmur_cli.errors import UsageError
from murmur_cli.speakers.diarize import name_speaker
from murmur_cli.types import Segment, Speaker

__all__ = [
    "find_absent",
    "is_number_name",
    "iter_free_names",
    "number_speakers",
    "parse_name",
    "parse_speaker_names",
    "rename_speakers",
]

_NUMBER_NAME = re.compile(r"S[1-9][0-9]*")
_OPTION = "--speaker-names"


def is_number_name(text: str) -> bool:
    """Tell whether ``text`` is a name that murmur gives by itself."""
    return _NUMBER_NAME.fullmatch(text) is not None


def iter_free_names(taken: Iterable[Speaker]) -> Iterator[Speaker]:
    """Yield S1, S2, … for ever, without those that are taken."""
    used = set(taken)
    return (name for name in map(name_speaker, count()) if name not in used)


def number_speakers(segments: Iterable[Segment]) -> dict[Speaker, Speaker]:
    """Number the speakers anew by the first segment of each; other names than numbers stay out of it."""
    numbers: dict[Speaker, Speaker] = {}
    for segment in segments:
        if segment.speaker is not None and is_number_name(segment.speaker):
            numbers.setdefault(segment.speaker, name_speaker(len(numbers)))
    return numbers


def rename_speakers(segments: Iterable[Segment], names: Mapping[Speaker, Speaker]) -> tuple[Segment, ...]:
    """Put the new names in place, all at once: ``{S1: S2, S2: S1}`` swaps. Who is not in it keeps the name."""
    return tuple(
        segment if segment.speaker is None else replace(segment, speaker=names.get(segment.speaker, segment.speaker))
        for segment in segments
    )


def parse_speaker_names(text: str) -> dict[Speaker, Speaker]:
    """Read ``S1=Ann,S2=Bob``. Two speakers may be given one name: they become one person.

    Raises:
        UsageError: A part is not ``LABEL=NAME``, or a label stands there twice.
    """
    names: dict[Speaker, Speaker] = {}
    for part in text.split(","):
        label, equals, name = part.partition("=")
        if not equals:
            raise UsageError(f"not LABEL=NAME: {part.strip()!r}", where=_OPTION, hint="write S1=Ann,S2=Bob")
        speaker = parse_name(label, option=_OPTION)
        if speaker in names:
            raise UsageError(f"{speaker} is named twice", where=_OPTION, hint="name each speaker once")
        names[speaker] = parse_name(name, option=_OPTION)
    return names


def parse_name(text: str, *, option: str) -> Speaker:
    """Read one name, without the blanks around it.

    Raises:
        UsageError: It is empty, or has a character that cannot be printed on a line.
    """
    name = text.strip()
    if not name:
        raise UsageError("a name is empty", where=option, hint="write a name on both sides of '='")
    if any(unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in name):
        raise UsageError(f"not a name on one line: {name!r}", where=option, hint="leave out control characters")
    return Speaker(name)


def find_absent(names: Mapping[Speaker, Speaker], segments: Sequence[Segment]) -> list[Speaker]:
    """Return the speakers that have a new name, but nothing to say."""
    heard = {segment.speaker for segment in segments}
    return [speaker for speaker in names if speaker not in heard]
