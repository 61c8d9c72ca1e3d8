"""How enrolled people sound: what one person says in the file that the user gave for them.

A voice is heard as those of a recording are, by the same networks, so that the two compare.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations, islice

from murmur_cli.audio.source import Recording, open_recording
from murmur_cli.errors import AudioError, UsageError
from murmur_cli.speakers.diarize import Diarizer, Voice
from murmur_cli.speakers.enrol import HEARD_S, Enrolment, require_speech, sounds_like
from murmur_cli.speakers.limits import ANY_NUMBER
from murmur_cli.speakers.voices import VoiceVector
from murmur_cli.types import SPEECH_RATE, RecordingId, Samples, Speaker

__all__ = ["hear_enrolled"]

_BLOCK_S = 30.0
# Of all clean speech. A word of somebody else, or a slip of the diarizer (1 of 68 files of one reader: 3 %), is left
# out of the voice; what is more makes it unsure whose voice is meant.
_MOST_FOREIGN_SHARE = 0.1
_NO_RUN = RecordingId(0)  # the file is no recording of the run


def hear_enrolled(
    enrolments: Sequence[Enrolment], diarizer: Diarizer, *, on_note: Callable[[str], None]
) -> dict[Speaker, VoiceVector]:
    """Turn files into voices.

    The first ``HEARD_S`` of each file are heard: the voice of the one who talks there, where nobody else does.

    Args:
        enrolments: The people, each once.
        diarizer: Hears who talks when, and how they sound.
        on_note: Is told what the user should know of a file, as one clause with its name.

    Returns:
        The voice of each name, in the order in which they were given.

    Raises:
        UsageError: A file is missing or cannot be read, has less clean speech than it takes, or has two people in it.
        OutputError: The temporary folder has no room for a decoded file.
    """
    enrolled = {each.name: _hear(each, diarizer, on_note=on_note) for each in enrolments}
    for pair in _iter_alike(enrolled):
        on_note(f"{pair}: their files sound like one person, so neither may be known by them")
    return enrolled


def _hear(enrolment: Enrolment, diarizer: Diarizer, *, on_note: Callable[[str], None]) -> VoiceVector:
    with _open(enrolment) as recording:
        for note in (*recording.notes, *([] if recording.damage is None else [recording.damage])):
            on_note(f"{enrolment.file}: {note}")
        voices = sorted(diarizer.turns(_take_first(recording), ANY_NUMBER).voices, key=lambda voice: -voice.speech_s)
    foreign_s = sum(voice.speech_s for voice in voices[1:])
    if foreign_s > _MOST_FOREIGN_SHARE * sum(voice.speech_s for voice in voices):
        raise _refuse_company(enrolment, voices)
    require_speech(enrolment, voices[0].speech_s if voices else 0.0)
    if foreign_s:
        on_note(f"{enrolment.file}: {foreign_s:.1f} s of it sound like somebody else, and are left out")
    return voices[0].vector


def _open(enrolment: Enrolment) -> Recording:
    try:
        return open_recording(enrolment.file, recording_id=_NO_RUN, sample_rate=SPEECH_RATE)
    except AudioError as error:  # without the voice, the option cannot be honoured
        hint = f"give a recording of {enrolment.name} with --enrol"
        raise UsageError(error.problem, where=error.where, hint=hint) from error


def _take_first(recording: Recording) -> Iterable[Samples]:
    return islice(recording.iter_vad_blocks(_BLOCK_S), math.ceil(HEARD_S / _BLOCK_S))


def _refuse_company(enrolment: Enrolment, voices: Sequence[Voice]) -> UsageError:
    parts = ", ".join(f"{voice.speech_s:.1f} s" for voice in voices)
    problem = f"{len(voices)} people talk in it ({parts}), and which of them is {enrolment.name} is not known"
    return UsageError(problem, where=enrolment.file, hint=f"give a part in which only {enrolment.name} talks")


def _iter_alike(enrolled: Mapping[Speaker, VoiceVector]) -> Iterable[str]:
    """Name the pairs of whom one would pass for the other, were the other not enrolled."""
    for (name, voice), (other, rival) in combinations(enrolled.items(), 2):
        if sounds_like(voice, rival):
            yield f"{name} and {other}"
