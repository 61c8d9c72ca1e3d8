"""Voices with a name: who of the recording is one of those whom the user knows.

Unsure stays unnamed, and no name is given twice.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from murmur_cli.errors import UsageError
from murmur_cli.speakers.diarize import Voice
from murmur_cli.speakers.naming import is_number_name, parse_name
from murmur_cli.speakers.voices import VoiceVector
from murmur_cli.types import Speaker

__all__ = [
    "HEARD_S",
    "LEAST_ENROLLED_S",
    "Enrolment",
    "describe_unheard",
    "match_enrolled",
    "parse_enrolment",
    "parse_enrolments",
    "require_speech",
    "sounds_like",
]

# Murmur's study of diarization, enrolled voices: chosen on half of the readers, reported on the other half.
_LEAST_COSINE = 0.45
_LEAST_MARGIN = 0.10  # above the next enrolled voice
_LEAST_HEARD_S = 3.0  # of a speaker in the recording

LEAST_ENROLLED_S = 3.0
"""Seconds of clean speech without which a voice cannot be enrolled."""

HEARD_S = 120.0
"""Seconds at the start of a file that are heard. Measured: 15 s of speech tell a voice as well as 40 s."""

_OPTION = "--enrol"


@dataclass(frozen=True, slots=True)
class Enrolment:
    """A name, and the recording of that voice alone."""

    name: Speaker
    file: str


def parse_enrolments(texts: Iterable[str]) -> tuple[Enrolment, ...]:
    """Read several ``NAME=FILE``.

    Raises:
        UsageError: One of them cannot be read, or a name stands there twice.
    """
    enrolments = tuple(parse_enrolment(text) for text in texts)
    names = [enrolment.name for enrolment in enrolments]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"{name} is enrolled twice", where=_OPTION, hint="join the recordings of one voice")
    return enrolments


def parse_enrolment(text: str) -> Enrolment:
    """Read ``NAME=FILE``; the file's name may have a ``=`` in it, the person's may not.

    Raises:
        UsageError: It is not of that form, or the name is one that murmur gives by itself.
    """
    name, equals, file = text.partition("=")
    if not equals or not file:
        raise UsageError(f"not NAME=FILE: {text!r}", where=_OPTION, hint="write Ann=ann.wav")
    speaker = parse_name(name, option=_OPTION)
    if is_number_name(speaker):
        hint = "choose another name, or rename speakers with --speaker-names"
        raise UsageError(f"{speaker} is what murmur calls a speaker whom nobody knows", where=_OPTION, hint=hint)
    return Enrolment(speaker, file)


def require_speech(enrolment: Enrolment, speech_s: float) -> None:
    """Refuse an enrolment that holds too little clean speech to know the voice by.

    Raises:
        UsageError: It is under ``LEAST_ENROLLED_S``.
    """
    if speech_s < LEAST_ENROLLED_S:
        problem = f"{speech_s:.1f} s of clean speech, too little to know {enrolment.name} by"
        hint = f"give at least {LEAST_ENROLLED_S:g} s of that voice alone, in the first {HEARD_S / 60:g} minutes of it"
        raise UsageError(problem, where=enrolment.file, hint=hint)


def match_enrolled(enrolled: Mapping[Speaker, VoiceVector], voices: Sequence[Voice]) -> dict[Speaker, Speaker]:
    """Find the enrolled people among the speakers of a recording.

    The margin leaves each speaker at most one name, so the best assignment of one name to one speaker
    is the most alike speaker for each name.

    Args:
        enrolled: The voice of each name.
        voices: The speakers of the recording, in any order.

    Returns:
        The name of each speaker that is surely known.
    """
    matches = [match for voice in voices if (match := _find_match(voice, enrolled)) is not None]
    names: dict[Speaker, Speaker] = {}
    for match in sorted(matches, key=lambda each: (-each.cosine, each.speaker)):
        if match.name not in names.values():
            names[match.speaker] = match.name
    return names


def describe_unheard(enrolled: Iterable[Speaker], names: Mapping[Speaker, Speaker]) -> str | None:
    """Say in one clause who is enrolled but is not surely among the speakers, None if all are."""
    unheard = [name for name in enrolled if name not in names.values()]
    return f"nobody in it is surely {' or '.join(unheard)}" if unheard else None


def sounds_like(voice: VoiceVector, other: VoiceVector) -> bool:
    """Tell whether one voice would be taken for the other, if nobody else were known."""
    return _measure_cosine(voice, other) >= _LEAST_COSINE


@dataclass(frozen=True, slots=True)
class _Match:
    """A speaker of the recording, and the only name that can be theirs."""

    speaker: Speaker
    name: Speaker
    cosine: float


def _find_match(voice: Voice, enrolled: Mapping[Speaker, VoiceVector]) -> _Match | None:
    if voice.speech_s < _LEAST_HEARD_S:
        return None
    cosines = {name: _measure_cosine(voice.vector, vector) for name, vector in enrolled.items()}
    for name, cosine in cosines.items():
        next_best = max((other for rival, other in cosines.items() if rival != name), default=-math.inf)
        if cosine >= _LEAST_COSINE and cosine - next_best >= _LEAST_MARGIN:
            return _Match(voice.speaker, name, cosine)
    return None


def _measure_cosine(left: VoiceVector, right: VoiceVector) -> float:
    return float(left.astype(np.float64) @ right.astype(np.float64))
