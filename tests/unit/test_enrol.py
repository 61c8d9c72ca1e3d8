"""Who of a recording is one of those whom the user knows."""

from __future__ import annotations

import numpy as np
import pytest

from murmur_cli.errors import UsageError
from murmur_cli.speakers.diarize import Voice
from murmur_cli.speakers.enrol import (
    Enrolment,
    describe_unheard,
    match_enrolled,
    parse_enrolment,
    parse_enrolments,
    require_speech,
    sounds_like,
)
from murmur_cli.speakers.voices import VoiceVector
from murmur_cli.types import Speaker


def like(*cosines: float) -> VoiceVector:
    """A voice with these cosines to the axes, which are the enrolled ones; the rest of it is like nobody."""
    rest = max(0.0, 1.0 - sum(cosine * cosine for cosine in cosines))
    return np.array([*cosines, *[0.0] * (4 - len(cosines)), rest**0.5], dtype=np.float32)


def hear(speaker: str, *cosines: float, speech_s: float = 10.0) -> Voice:
    return Voice(Speaker(speaker), like(*cosines), speech_s)


ANN, BOB = Speaker("Ann"), Speaker("Bob")
BOTH = {ANN: like(1.0), BOB: like(0.0, 1.0)}


@pytest.mark.parametrize(
    ("cosines", "expected"),
    [
        ((0.46, 0.0), {"S1": "Ann"}),
        ((0.44, 0.0), {}),
        ((0.60, 0.49), {"S1": "Ann"}),
        ((0.60, 0.51), {}),
        ((0.51, 0.62), {"S1": "Bob"}),
        ((-0.9, 0.0), {}),
    ],
)
def test_only_who_is_surely_known_is_named(cosines: tuple[float, float], expected: dict[str, str]) -> None:
    assert match_enrolled(BOTH, [hear("S1", *cosines)]) == expected


def test_who_talks_under_3_s_stays_unnamed() -> None:
    assert match_enrolled(BOTH, [hear("S1", 0.9, speech_s=2.9), hear("S2", 0.0, 0.9, speech_s=3.0)]) == {"S2": "Bob"}


def test_of_two_who_sound_like_one_name_the_more_alike_has_it() -> None:
    voices = [hear("S1", 0.7), hear("S2", 0.8), hear("S3", 0.6)]
    assert match_enrolled(BOTH, voices) == match_enrolled(BOTH, voices[::-1]) == {"S2": "Ann"}


def test_of_two_who_sound_the_same_the_first_name_has_it_in_any_order() -> None:
    voices = [hear("S1", 0.7), hear("S2", 0.7)]
    assert match_enrolled(BOTH, voices) == match_enrolled(BOTH, voices[::-1]) == {"S1": "Ann"}


def test_without_enrolled_voices_nobody_is_named() -> None:
    assert match_enrolled({}, [hear("S1", 0.9)]) == {}
    assert match_enrolled(BOTH, []) == {}


def test_an_enrolment_is_a_name_and_a_file() -> None:
    assert parse_enrolment(" Ann Lee =a=b.wav") == Enrolment(Speaker("Ann Lee"), "a=b.wav")
    assert parse_enrolments(["Ann=a.wav", "Bob=b.wav"]) == (Enrolment(ANN, "a.wav"), Enrolment(BOB, "b.wav"))
    assert parse_enrolments([]) == ()


@pytest.mark.parametrize("text", ["Ann", "", "=a.wav", " =a.wav", "Ann=", "A\nnn=a.wav", "S1=a.wav", "S12=a.wav"])
def test_what_is_no_enrolment_is_refused(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_enrolment(text)
    assert caught.value.where == "--enrol"
    assert caught.value.hint


def test_a_name_is_enrolled_once() -> None:
    with pytest.raises(UsageError) as caught:
        parse_enrolments(["Ann=a.wav", "Bob=b.wav", "Ann=c.wav"])
    assert "Ann" in str(caught.value)


def test_too_little_speech_is_refused_by_the_name_of_its_file() -> None:
    require_speech(Enrolment(ANN, "a.wav"), 3.0)
    with pytest.raises(UsageError) as caught:
        require_speech(Enrolment(ANN, "a.wav"), 2.94)
    assert caught.value.where == "a.wav"
    assert "2.9 s" in str(caught.value)


def test_who_is_enrolled_but_not_found_is_said() -> None:
    assert describe_unheard(BOTH, {}) == "nobody in it is surely Ann or Bob"
    assert describe_unheard(BOTH, {Speaker("S2"): ANN}) == "nobody in it is surely Bob"
    assert describe_unheard(BOTH, {Speaker("S2"): ANN, Speaker("S1"): BOB}) is None
    assert describe_unheard({}, {}) is None


@pytest.mark.parametrize(("cosine", "expected"), [(0.46, True), (0.44, False), (-0.9, False)])
def test_voices_are_alike_where_one_would_pass_for_the_other(cosine: float, *, expected: bool) -> None:
    assert sounds_like(like(1.0), like(cosine)) is expected
    assert match_enrolled({ANN: like(1.0)}, [hear("S1", cosine)]) == ({"S1": ANN} if expected else {})
