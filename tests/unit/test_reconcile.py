"""Local speakers of chunks become speakers of the recording."""

from __future__ import annotations

import time

import numpy as np
import pytest
from transcript_samples import PROVENANCE, make_chunk, make_hyp

from murmur_cli.speakers.diarize import Voice
from murmur_cli.speakers.evidence import LocalTalk
from murmur_cli.speakers.reconcile import reconcile
from murmur_cli.speakers.voices import VoiceVector
from murmur_cli.transcript.stitch import RecordingFacts, stitch
from murmur_cli.types import ChunkPart, Hypothesis, LocalSpeaker, RecordingId, Speaker, Stretch, Turn


def talk(
    chunk: int | ChunkPart,
    speaker: int,
    *stretches: tuple[float, float],
    vector: VoiceVector | None = None,
    speech_s: float = 10.0,
) -> LocalTalk:
    place = ChunkPart(chunk) if isinstance(chunk, int) else chunk
    return LocalTalk(place, LocalSpeaker(speaker), tuple(Stretch(*each) for each in stretches), vector, speech_s)


def turn(start: float, end: float, speaker: str) -> Turn:
    return Turn(start, end, Speaker(speaker))


def voice(*angles: float) -> VoiceVector:
    """A voice at an angle in degrees; the cosine of two is that of the difference."""
    total = sum(np.array([np.cos(np.radians(angle)), np.sin(np.radians(angle))]) for angle in angles)
    return (total / np.linalg.norm(total)).astype(np.float32)


def names(
    talks: list[LocalTalk], turns: list[Turn] | None, *, voices: tuple[Voice, ...] = ()
) -> dict[tuple[int, int], str]:
    """Who is who, by chunk and number; all chunks are whole."""
    found = reconcile(talks, turns, voices=voices)
    return {(place.chunk, speaker): name for (place, speaker), name in found.items()}


def test_numbers_mean_nothing_outside_their_chunk() -> None:
    turns = [turn(0, 10, "S1"), turn(10, 20, "S2"), turn(30, 40, "S2"), turn(40, 50, "S1")]
    talks = [talk(0, 0, (0, 10)), talk(0, 1, (10, 20)), talk(1, 0, (30, 40)), talk(1, 1, (40, 50))]
    assert names(talks, turns) == {(0, 0): "S1", (0, 1): "S2", (1, 0): "S2", (1, 1): "S1"}


def test_numbers_decide_nothing_even_where_nothing_else_does() -> None:
    turns = [turn(0, 20, "S1"), turn(0, 20, "S2")]
    found = names([talk(0, 0, (0, 10)), talk(0, 1, (5, 9))], turns)
    assert set(found.values()) == {"S1", "S2"}
    assert names([talk(0, 1, (0, 10)), talk(0, 0, (5, 9))], turns) == {(0, 1): found[0, 0], (0, 0): found[0, 1]}


def test_two_of_a_chunk_are_two_people_even_where_one_turn_covers_both() -> None:
    turns = [turn(0, 30, "S1"), turn(30, 40, "S2")]
    talks = [talk(0, 0, (0, 20)), talk(0, 1, (20, 30)), talk(1, 0, (30, 40))]
    assert names(talks, turns) == {(0, 0): "S1", (0, 1): "S3", (1, 0): "S2"}


def test_the_assignment_is_the_best_in_all_and_not_the_first_that_comes() -> None:
    turns = [turn(0, 10, "S1"), turn(8, 20, "S2")]
    talks = [talk(0, 0, (0, 12)), talk(0, 1, (1, 10))]  # both have most in common with S1: 10 s and 9 s
    assert names(talks, turns) == {(0, 0): "S2", (0, 1): "S1"}


def test_voices_decide_where_talk_does_not() -> None:
    turns = [turn(0, 20, "S1"), turn(20, 40, "S2"), turn(60, 64, "S1"), turn(62, 66, "S2")]
    first = [talk(0, 0, (0, 20), vector=voice(0)), talk(0, 1, (20, 40), vector=voice(90))]
    second = [talk(1, 0, (61, 65), vector=voice(10)), talk(1, 1, (61, 65), vector=voice(80))]
    swapped = [talk(1, 0, (61, 65), vector=voice(80)), talk(1, 1, (61, 65), vector=voice(10))]
    assert names(first + second, turns) == {(0, 0): "S1", (0, 1): "S2", (1, 0): "S1", (1, 1): "S2"}
    assert names(first + swapped, turns) == {(0, 0): "S1", (0, 1): "S2", (1, 0): "S2", (1, 1): "S1"}


def test_common_talk_outweighs_voices_where_there_is_much() -> None:
    turns = [turn(0, 20, "S1"), turn(20, 40, "S2"), turn(60, 80, "S2")]
    talks = [
        talk(0, 0, (0, 20), vector=voice(0)),
        talk(0, 1, (20, 40), vector=voice(90)),
        talk(1, 0, (60, 80), vector=voice(0)),
    ]
    assert names(talks, turns)[1, 0] == "S2"


def test_given_voices_of_the_recording_count_before_those_of_the_chunks() -> None:
    turns = [turn(0, 20, "S1"), turn(60, 61, "S1"), turn(61, 62, "S2"), turn(80, 99, "S2")]
    talks = [talk(0, 0, (0, 20), vector=voice(0)), talk(1, 0, (60, 70), vector=voice(90))]
    given = (Voice(Speaker("S1"), voice(90), 20.0), Voice(Speaker("S2"), voice(0), 20.0))
    assert names(talks, turns, voices=given)[1, 0] == "S1"
    assert names(talks, turns)[1, 0] == "S3"  # 1 s of 10 in common with either, and neither voice


def test_strangers_are_one_person_in_all_chunks_if_they_sound_alike() -> None:
    turns = [turn(0, 20, "S1"), turn(100, 120, "S1")]
    talks = [
        talk(0, 0, (0, 20), vector=voice(0)),
        talk(0, 1, (20, 30), vector=voice(90)),
        talk(0, 2, (30, 40), vector=voice(180)),
        talk(1, 0, (130, 140), vector=voice(175)),
        talk(1, 1, (100, 120), vector=voice(0)),
        talk(1, 2, (140, 150), vector=voice(95)),
    ]
    found = names(talks, turns)
    assert found == {(0, 0): "S1", (0, 1): "S2", (0, 2): "S3", (1, 0): "S3", (1, 1): "S1", (1, 2): "S2"}


def test_strangers_who_sound_alike_in_one_chunk_stay_two() -> None:
    talks = [talk(0, 0, (0, 10), vector=voice(0)), talk(0, 1, (10, 20), vector=voice(1))]
    assert names(talks, []) == {(0, 0): "S1", (0, 1): "S2"}


def test_two_parts_of_a_chunk_may_hold_the_same_person_and_two_of_one_part_may_not() -> None:
    """Parts that were decoded apart number their speakers apart."""
    whole, apart = ChunkPart(3), ChunkPart(3, 1)
    turns = [turn(0, 20, "S1"), turn(20, 40, "S2")]
    talks = [
        talk(whole, 0, (0, 10)),
        talk(whole, 1, (20, 30)),
        talk(apart, 0, (30, 40)),
        talk(apart, 1, (10, 15)),
        talk(apart, 2, (15, 19)),
    ]
    assert reconcile(talks, turns) == {
        (whole, 0): "S1",
        (whole, 1): "S2",
        (apart, 0): "S2",
        (apart, 1): "S1",
        (apart, 2): "S3",
    }


def test_strangers_who_sound_alike_are_one_in_two_parts_of_a_chunk() -> None:
    talks = [talk(ChunkPart(0, part), 0, (10 * part, 10 * part + 9), vector=voice(part)) for part in range(2)]
    assert set(reconcile(talks, []).values()) == {"S1"}


def test_new_names_avoid_those_of_the_turns_and_follow_first_appearance() -> None:
    turns = [turn(10, 20, "S2"), turn(30, 40, "Ann")]
    talks = [talk(0, 5, (50, 60)), talk(0, 0, (10, 20)), talk(0, 3, (0, 10)), talk(0, 1, (30, 40))]
    assert names(talks, turns) == {(0, 3): "S1", (0, 0): "S2", (0, 5): "S3", (0, 1): "Ann"}


def test_who_hardly_talks_takes_whom_the_others_leave() -> None:
    turns = [turn(0, 10, "S1"), turn(10, 20, "S2"), turn(20, 30, "S3")]
    talks = [
        talk(0, 0, (0, 12)),  # S1
        talk(0, 1, (8.5, 10)),  # would be S1, too, and fits nobody else
        talk(0, 2, (20, 30)),  # S3
        talk(1, 0, (18.9, 20.1)),  # S2
    ]
    assert names(talks, turns) == {(0, 0): "S1", (0, 1): "S4", (0, 2): "S3", (1, 0): "S2"}


def test_who_is_too_brief_for_anything_goes_to_the_turn_next_to_it() -> None:
    turns = [turn(0, 10, "S1"), turn(10, 20, "S2"), turn(24, 30, "S3")]
    talks = [talk(0, 0, (0, 10)), talk(0, 1, (20.2, 20.5)), talk(1, 0, (21.5, 22.0)), talk(2, 0, (23.5, 23.7))]
    assert names(talks, turns) == {(0, 0): "S1", (0, 1): "S2", (1, 0): "S4", (2, 0): "S3"}


def test_strangers_with_little_talk_rather_take_whom_their_chunk_has_left() -> None:
    turns = [turn(0, 30, "S1"), turn(30, 60, "S2"), turn(60, 90, "S1"), turn(90, 120, "S1")]
    known = [talk(0, 0, (0, 30), vector=voice(0)), talk(0, 1, (30, 60), vector=voice(90))]
    brief = [talk(1, 0, (60, 80), vector=voice(0)), talk(1, 1, (80, 86), vector=voice(20))]
    assert names(known + brief, turns)[1, 1] == "S2"
    more = [talk(2, 0, (90, 110), vector=voice(0)), talk(2, 1, (110, 116), vector=voice(20))]
    found = names(known + brief + more, turns)
    assert (found[1, 1], found[2, 1]) == ("S3", "S3")


def test_strangers_with_little_talk_whom_nothing_speaks_for_are_new_and_one() -> None:
    turns = [turn(0, 30, "S1"), turn(60, 90, "S1")]
    talks = [
        talk(0, 0, (0, 30), vector=voice(0)),
        talk(0, 1, (30, 34), vector=voice(120)),
        talk(1, 0, (60, 90), vector=voice(0)),
        talk(1, 1, (90, 94), vector=voice(125)),
    ]
    assert names(talks, turns) == {(0, 0): "S1", (0, 1): "S2", (1, 0): "S1", (1, 1): "S2"}


def test_a_voice_of_under_2_s_sways_nobody() -> None:
    turns = [turn(0, 20, "S1"), turn(20, 40, "S2"), turn(60, 64, "S1"), turn(61, 65, "S2")]
    first = [talk(0, 0, (0, 20), vector=voice(0)), talk(0, 1, (20, 40), vector=voice(90))]
    for angle in (0, 90):
        rest = [talk(1, 0, (61, 65), vector=voice(angle), speech_s=1.9)]
        assert names(first + rest, turns)[1, 0] == "S2"  # 4 s of common talk against 3
    assert names([*first, talk(1, 0, (61, 65), vector=voice(0), speech_s=2.1)], turns)[1, 0] == "S1"


def test_without_diarization_no_name_holds_beyond_its_chunk() -> None:
    assert names([talk(0, 0, (0, 10)), talk(1, 0, (20, 30))], None) == {}


def test_a_single_chunk_needs_no_diarization() -> None:
    assert names([talk(0, 1, (5, 9)), talk(0, 0, (9, 10.5)), talk(0, 7, (0, 5))], []) == {
        (0, 7): "S1",
        (0, 1): "S2",
        (0, 0): "S3",
    }


def test_nobody_gives_nothing() -> None:
    assert names([], [turn(0, 1, "S1")]) == {}
    assert names([], []) == {}


def test_a_local_speaker_without_a_moment_is_somebody_all_the_same() -> None:
    assert set(names([talk(0, 0, (0, 10)), talk(0, 1)], [turn(0, 10, "S1")]).values()) == {"S1", "S2"}


def test_a_local_speaker_may_not_stand_there_twice() -> None:
    with pytest.raises(ValueError, match="twice"):
        reconcile([talk(0, 0, (0, 1)), talk(0, 0, (2, 3))], [])


def test_the_mapping_is_what_stitching_takes() -> None:
    facts = RecordingFacts(
        recording_id=RecordingId(0),
        source="x",
        duration=40.0,
        sample_rate=1,
        language=None,
        damage=None,
        provenance=PROVENANCE,
    )
    answers = [
        (make_chunk(0, 0, 10), Hypothesis((make_hyp(0, 10, "one", speaker=0),))),
        (make_chunk(1, 20, 40), Hypothesis((make_hyp(0, 10, "two", speaker=0), make_hyp(10, 20, "three", speaker=1)))),
    ]
    turns = [turn(0, 10, "S1"), turn(20, 30, "S2"), turn(30, 40, "S1")]
    talks = [talk(0, 0, (0, 10)), talk(1, 0, (20, 30)), talk(1, 1, (30, 40))]
    transcript = stitch(facts, answers, speakers=reconcile(talks, turns))
    assert [segment.speaker for segment in transcript.segments] == ["S1", "S2", "S1"]
    apart = stitch(facts, answers, speakers=reconcile(talks, None))
    assert [segment.speaker for segment in apart.segments] == ["c0-S0", "c1-S0", "c1-S1"]


@pytest.mark.parametrize("n_known", [6, 0])
def test_300_chunks_take_less_than_a_second(n_known: int) -> None:
    rng = np.random.default_rng(0)
    people = rng.normal(size=(8, 192))
    talks, turns = [], []
    for chunk in range(300):
        for number, person in enumerate(rng.permutation(8)[:6]):
            starts = chunk * 300.0 + np.sort(rng.uniform(0.0, 290.0, size=12))
            vector = people[person] + 0.5 * rng.normal(size=192)
            stretches = [(float(start), float(start) + 3.0) for start in starts]
            unit = (vector / np.linalg.norm(vector)).astype(np.float32)
            talks.append(talk(chunk, number, *stretches, vector=unit, speech_s=30.0))
            if person < n_known:
                turns += [turn(start - 0.2, end + 0.2, f"S{person + 1}") for start, end in stretches]
    before = time.process_time()
    found = reconcile(talks, turns)
    seconds = time.process_time() - before
    assert len(set(found.values())) == 8
    assert seconds < 1.0
