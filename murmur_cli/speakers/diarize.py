"""Who spoke when: from what two networks heard to turns. No network is known here.

The names S1, S2 … are given by first speech. The same signal gives the same turns, however it was
split into blocks, and memory does not grow with it but for a few MB an hour.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from murmur_cli.speakers.groups import group_slots
from murmur_cli.speakers.limits import SpeakerLimits
from murmur_cli.speakers.slots import Slot
from murmur_cli.speakers.voices import VoiceVector, VoiceVectors, average_voice
from murmur_cli.speakers.votes import Run, find_runs
from murmur_cli.speakers.windows import FRAMES_PER_WINDOW, SPEAKER_RATE, BoolArray, count_frames, find_frame_start
from murmur_cli.types import Samples, Speaker, Turn

__all__ = ["Diarization", "Diarizer", "Hearing", "Voice", "describe_shortfall", "find_turns", "name_speaker"]

_LEAST_WEIGHT_S = 0.05  # of a slot in which somebody speaks only while others do


@dataclass(frozen=True, slots=True, eq=False)
class Voice:
    """How one person of a recording sounds: the mean over ``speech_s`` seconds of clean speech."""

    speaker: Speaker
    vector: VoiceVector
    speech_s: float


@dataclass(frozen=True, slots=True, eq=False)
class Diarization:
    """Who spoke when in one recording.

    Turns are in order. ``voices`` are the people of whom enough was heard, in the order of their names.
    There may be fewer people than were asked for, where nobody else could be heard. ``forced`` says that
    voices were told apart which sound like one, because that many were asked for.
    """

    turns: tuple[Turn, ...]
    voices: tuple[Voice, ...]
    forced: bool


class Diarizer(Protocol):
    """What finds out who spoke when."""

    def turns(self, blocks: Iterable[Samples], limits: SpeakerLimits) -> Diarization:
        """Diarize one recording.

        Args:
            blocks: The whole recording in order, in pieces of any size, at ``SPEAKER_RATE``.
            limits: How many people there may be.

        Returns:
            Turns and voices; none where nobody speaks.
        """
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Hearing:
    """What was heard of one recording.

    Args:
        n_samples: Its length.
        activity: Of each window, shape (FRAMES_PER_WINDOW, LOCAL_SPEAKERS).
        slots: In the order of their windows.
        vectors: The voices of the slots, shape (n_slots, 192).
    """

    n_samples: int
    activity: Sequence[BoolArray]
    slots: Sequence[Slot]
    vectors: VoiceVectors


def find_turns(hearing: Hearing, limits: SpeakerLimits) -> Diarization:
    """Find out who spoke when from what was heard."""
    grouping = group_slots(hearing.slots, hearing.vectors, limits)
    runs = find_runs(
        hearing.activity,
        hearing.slots,
        grouping.labels,
        n_frames=count_frames(hearing.n_samples),
    )
    people = list(dict.fromkeys(run.person for run in runs))  # by first speech
    names = {person: name_speaker(i) for i, person in enumerate(people)}
    turns = (_to_turn(run, names[run.person], hearing.n_samples / SPEAKER_RATE) for run in runs)
    voices = (_average(hearing, grouping.labels == person, name) for person, name in names.items())
    return Diarization(tuple(turns), tuple(voices), grouping.forced)


def name_speaker(index: int) -> Speaker:
    """Name the person who is the ``index``-th to speak, from 0."""
    return Speaker(f"S{index + 1}")


def describe_shortfall(diarization: Diarization, limits: SpeakerLimits) -> str | None:
    """Say in one clause how little the number of people that was asked for fits the recording, None if it does."""
    n_found = len({turn.speaker for turn in diarization.turns})
    if n_found < limits.least:
        return f"{limits.least} speakers were asked for, but only {n_found} can be told apart"
    if diarization.forced:
        return f"{limits.least} speakers were asked for: voices that sound alike are kept apart for that"
    return None


def _to_turn(run: Run, speaker: Speaker, duration: float) -> Turn:
    return Turn(max(0.0, find_frame_start(run.start)), min(duration, find_frame_start(run.end)), speaker)


def _average(hearing: Hearing, chosen: npt.NDArray[np.bool_], speaker: Speaker) -> Voice:
    own_s = np.array([slot.own_s / _count_windows(slot, len(hearing.activity)) for slot in hearing.slots])[chosen]
    vector = average_voice(hearing.vectors[chosen], np.maximum(own_s, _LEAST_WEIGHT_S))
    return Voice(speaker, vector, float(own_s.sum()))


def _count_windows(slot: Slot, n_windows: int) -> int:
    """Count the windows that hear what is said in a slot: two, but for the ends of the recording."""
    neighbour = slot.window - 1 if slot.first + slot.end < FRAMES_PER_WINDOW else slot.window + 1
    return 1 + (0 <= neighbour < n_windows)
