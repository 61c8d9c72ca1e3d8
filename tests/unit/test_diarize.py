"""From what was heard to turns: who, when, how many, and what happens to numbers that do not fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest

from murmur_cli.errors import UsageError
from murmur_cli.options import SpeakerOptions
from murmur_cli.speakers.diarize import Diarization, Hearing, describe_shortfall, find_turns
from murmur_cli.speakers.groups import group_slots
from murmur_cli.speakers.limits import ANY_NUMBER, SpeakerLimits, to_limits
from murmur_cli.speakers.slots import Slot, iter_slots
from murmur_cli.speakers.voices import VOICE_SIZE, average_voice
from murmur_cli.speakers.windows import FRAME_S, FRAMES_PER_WINDOW, SPEAKER_RATE, find_frame_start

HOP_S, WINDOW_S = 5, 10


@dataclass(frozen=True)
class Spoken:
    start: float
    end: float
    person: int


def make_people(n: int) -> npt.NDArray[np.float64]:
    """Directions at right angles."""
    return np.eye(VOICE_SIZE)[:n]


def hear(spoken: list[Spoken], *, duration: float, spread: float = 0.5) -> Hearing:
    """What perfect networks would hear: local speakers in the order in which they appear in a window.

    ``spread`` is how far the vectors of one person scatter: the cosine of two of them is 1 / (1 + spread²).
    """
    generator = np.random.default_rng(0)
    people = make_people(1 + max((turn.person for turn in spoken), default=0))
    activity, slots, vectors = [], [], []
    for window in range(max(1, int(np.ceil((duration - WINDOW_S) / HOP_S)) + 1)):
        times = window * HOP_S + np.arange(FRAMES_PER_WINDOW) * FRAME_S + 0.031
        active = np.zeros((FRAMES_PER_WINDOW, 3), np.bool_)
        local: list[int] = []
        for turn in spoken:
            frames = (times >= turn.start) & (times < min(turn.end, duration))
            if frames.any():
                local += [turn.person] if turn.person not in local else []
                active[frames, local.index(turn.person)] = True
        activity.append(active)
        for cut in iter_slots(active, window):
            slots.append(cut.slot)
            noise = generator.standard_normal(VOICE_SIZE)
            vector = people[local[cut.slot.local]] + spread * noise / np.linalg.norm(noise)
            vectors.append(vector / np.linalg.norm(vector))
    table = np.array(vectors, np.float32).reshape(-1, VOICE_SIZE)
    return Hearing(round(duration * SPEAKER_RATE), activity, slots, table)


def alternate(n_people: int, *, n_turns: int, turn_s: float = 6.0, gap_s: float = 0.5) -> list[Spoken]:
    return [Spoken(i * turn_s, (i + 1) * turn_s - gap_s, i % n_people) for i in range(n_turns)]


def seconds_of(diarization: Diarization) -> dict[str, float]:
    total: dict[str, float] = {}
    for turn in diarization.turns:
        total[turn.speaker] = total.get(turn.speaker, 0.0) + turn.end - turn.start
    return total


def test_people_are_told_apart_and_named_by_first_speech() -> None:
    spoken = [Spoken(1, 7, 2), Spoken(8, 15, 0), Spoken(16, 21, 2), Spoken(22, 30, 1)]
    found = find_turns(hear(spoken, duration=32), ANY_NUMBER)
    assert [turn.speaker for turn in found.turns] == ["S1", "S2", "S1", "S3"]
    for turn, expected in zip(found.turns, spoken, strict=True):
        assert turn.start == pytest.approx(expected.start, abs=FRAME_S)
        assert turn.end == pytest.approx(expected.end, abs=FRAME_S)
    assert not found.forced
    assert describe_shortfall(found, ANY_NUMBER) is None


def test_every_person_has_the_voice_of_their_slots() -> None:
    found = find_turns(hear(alternate(3, n_turns=12), duration=75), ANY_NUMBER)
    assert [voice.speaker for voice in found.voices] == ["S1", "S2", "S3"]
    for voice, person in zip(found.voices, make_people(3), strict=True):
        assert np.linalg.norm(voice.vector) == pytest.approx(1)
        assert voice.vector @ person > 0.97
        assert voice.speech_s == pytest.approx(4 * 5.5, rel=0.1)


@pytest.mark.parametrize("duration", [8, 14, 31])
def test_speech_is_measured_once_at_the_ends_of_a_recording_too(duration: float) -> None:
    (voice,) = find_turns(hear([Spoken(1, duration - 1, 0)], duration=duration), ANY_NUMBER).voices
    assert voice.speech_s == pytest.approx(duration - 2, rel=0.1)


def test_talk_at_the_same_time_has_two_turns_at_once() -> None:
    spoken = [Spoken(0.5, 12, 0), Spoken(10, 20, 1)]
    found = find_turns(hear(spoken, duration=21), ANY_NUMBER)
    assert [(round(turn.start), round(turn.end), turn.speaker) for turn in found.turns] == [
        (0, 12, "S1"),
        (10, 20, "S2"),
    ]
    alone = find_turns(hear(spoken, duration=21), SpeakerLimits(1, 1))
    assert [turn.speaker for turn in alone.turns] == ["S1"]
    assert alone.turns[0].end == pytest.approx(20, abs=FRAME_S)


def test_nobody_has_no_turns() -> None:
    for duration in (0.0, 0.25, 30.0):
        hearing = hear([], duration=duration) if duration else Hearing(0, [], [], np.zeros((0, VOICE_SIZE), np.float32))
        for limits in (ANY_NUMBER, SpeakerLimits(2, 2), SpeakerLimits(1, 1)):
            found = find_turns(hearing, limits)
            assert (found.turns, found.voices, found.forced) == ((), (), False)


@pytest.mark.parametrize("person_s", [0.3, 0.6])
def test_one_word_is_one_turn(person_s: float) -> None:
    found = find_turns(hear([Spoken(0.1, 0.1 + person_s, 0)], duration=0.2 + person_s), ANY_NUMBER)
    assert [turn.speaker for turn in found.turns] == ["S1"]
    assert 0 <= found.turns[0].start < found.turns[0].end <= 0.2 + person_s


def test_twenty_people_are_twenty() -> None:
    hearing = hear(alternate(20, n_turns=80), duration=480)
    assert len(find_turns(hearing, ANY_NUMBER).voices) == 20
    few = find_turns(hearing, SpeakerLimits(1, 4))
    assert len(few.voices) == 4
    assert not few.forced


def test_more_people_than_there_are_are_told_apart_under_protest() -> None:
    hearing = hear(alternate(2, n_turns=20), duration=120)
    found = find_turns(hearing, SpeakerLimits(3, 3))
    assert len(found.voices) == 3
    assert found.forced
    assert "3" in (describe_shortfall(found, SpeakerLimits(3, 3)) or "")


def test_more_people_than_slots_is_said() -> None:
    hearing = hear([Spoken(0.2, 3.0, 0)], duration=4)
    found = find_turns(hearing, SpeakerLimits(7, 7))
    assert 1 <= len(found.voices) < 7
    assert "7" in (describe_shortfall(found, SpeakerLimits(7, 7)) or "")


def test_limits_that_fit_change_nothing() -> None:
    hearing = hear(alternate(3, n_turns=12), duration=75)
    free = find_turns(hearing, ANY_NUMBER)
    for limits in (SpeakerLimits(3, 3), SpeakerLimits(2, 5), SpeakerLimits(1, 3), SpeakerLimits(3)):
        assert find_turns(hearing, limits).turns == free.turns
        assert not find_turns(hearing, limits).forced


def test_a_burst_of_noise_is_no_person() -> None:
    spoken = [*alternate(2, n_turns=10), Spoken(62.5, 64.3, 2)]  # heard by one window
    assert len(find_turns(hear(spoken, duration=65), ANY_NUMBER).voices) == 2


def test_with_much_talk_voices_may_vary_more() -> None:
    """The same scatter, mean cosine 0.34: one person in five minutes of talk, more in half a minute."""
    spread = (1 / 0.34 - 1) ** 0.5
    brief = find_turns(hear(alternate(1, n_turns=6), duration=36, spread=spread), ANY_NUMBER)
    long = find_turns(hear(alternate(1, n_turns=60), duration=360, spread=spread), ANY_NUMBER)
    assert len(long.voices) == 1
    assert len(brief.voices) > 1


def test_long_recordings_are_grouped_in_blocks_as_if_at_once() -> None:
    generator = np.random.default_rng(1)
    n_slots, people = 9_000, make_people(5)
    truth = generator.integers(0, 5, n_slots)
    noise = generator.standard_normal((n_slots, VOICE_SIZE)) / VOICE_SIZE**0.5
    vectors = people[truth] + 1.1 * noise  # mean cosine 0.45 within a person: blocks leave many groups
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    slots = [Slot(i // 6, i % 3, 0, 119, 2.0 if i % 4 else 0.5) for i in range(n_slots)]

    grouping = group_slots(slots, vectors, ANY_NUMBER)

    assert len(set(grouping.labels.tolist())) == 5
    for person in range(5):
        assert len(set(grouping.labels[truth == person].tolist())) == 1


def test_noise_without_end_stays_bounded() -> None:
    """Slots of which no two are alike: no block becomes smaller, and the tree is made of a part of them."""
    vectors = np.random.default_rng(2).standard_normal((4_500, VOICE_SIZE)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    slots = [Slot(i // 6, i % 3, 0, 119, 2.0) for i in range(len(vectors))]
    grouping = group_slots(slots, vectors, SpeakerLimits(1, 2))
    assert set(grouping.labels.tolist()) == {0, 1}


def test_frames_are_centred_half_a_frame_after_they_start() -> None:
    assert find_frame_start(0) + FRAME_S / 2 == pytest.approx(0.031, abs=1e-4)


def test_averaging_weights_and_normalises() -> None:
    vectors = np.eye(VOICE_SIZE, dtype=np.float32)[:2]
    average = average_voice(vectors, np.array([3.0, 4.0]))
    np.testing.assert_allclose(average[:2], [0.6, 0.8], atol=1e-6)


# --- the options


@pytest.mark.parametrize(
    ("options", "limits"),
    [
        (SpeakerOptions(), ANY_NUMBER),
        (SpeakerOptions(speakers="none"), ANY_NUMBER),
        (SpeakerOptions(speakers="3"), SpeakerLimits(3, 3)),
        (SpeakerOptions(min_speakers=2), SpeakerLimits(2)),
        (SpeakerOptions(min_speakers=2, max_speakers=2), SpeakerLimits(2, 2)),
        (SpeakerOptions(max_speakers=4), SpeakerLimits(1, 4)),
        (SpeakerOptions(diarizer="pyannote/speaker-diarization-community-1"), ANY_NUMBER),
    ],
)
def test_options_say_how_many_people_there_may_be(options: SpeakerOptions, limits: SpeakerLimits) -> None:
    assert to_limits(options) == limits


@pytest.mark.parametrize("speakers", ["", "0", "-1", "101", "2.5", "two", "٣", "1" * 5000, " 2"])
def test_numbers_of_people_that_are_none_are_refused(speakers: str) -> None:
    with pytest.raises(UsageError, match="--speakers"):
        SpeakerOptions(speakers=speakers)


@pytest.mark.parametrize("value", [0, -3, 101])
def test_bounds_out_of_range_are_refused(value: int) -> None:
    with pytest.raises(UsageError, match="--min-speakers"):
        SpeakerOptions(min_speakers=value)
    with pytest.raises(UsageError, match="--max-speakers"):
        SpeakerOptions(max_speakers=value)


def test_bounds_that_go_against_each_other_are_refused() -> None:
    with pytest.raises(UsageError, match="--max-speakers"):
        SpeakerOptions(min_speakers=4, max_speakers=3)
    for speakers in ("3", "none"):
        with pytest.raises(UsageError, match="--max-speakers"):
            SpeakerOptions(speakers=speakers, max_speakers=3)


@pytest.mark.parametrize("diarizer", ["", "pyannote", "a/b/c", "/tmp", "a /b", "../x/y", "https://x/y"])
def test_diarizers_that_are_none_are_refused(diarizer: str) -> None:
    with pytest.raises(UsageError, match="--diarizer"):
        SpeakerOptions(diarizer=diarizer)


def test_limits_are_checked() -> None:
    for least, most in ((0, None), (3, 2)):
        with pytest.raises(ValueError, match="number of people"):
            SpeakerLimits(least, most)
