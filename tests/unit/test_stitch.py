"""From chunk time to recording time, case by case. The comparison with an oracle is in ``property/``."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from transcript_samples import PROVENANCE, make_chunk, make_hyp, make_segment

from murmur_cli.transcript.joining import join_at_cut
from murmur_cli.transcript.stitch import RecordingFacts, locate_speakers, stitch
from murmur_cli.types import (
    ChunkPart,
    DecodeError,
    Gap,
    HypGap,
    Hypothesis,
    LocalSpeaker,
    RecordingId,
    Speaker,
    Stretch,
    Transcript,
    Word,
)

RATE = 16_000


FACTS = RecordingFacts(
    recording_id=RecordingId(4),
    source="talk.wav",
    duration=100.0,
    sample_rate=RATE,
    language="en",
    damage=None,
    provenance=PROVENANCE,
)


def facts(duration: float = 100.0) -> RecordingFacts:
    return replace(FACTS, duration=duration)


def times(transcript: Transcript) -> list[tuple[float, float]]:
    return [(segment.start, segment.end) for segment in transcript.segments]


def test_the_chunks_offset_is_added_once_to_everything() -> None:
    word = Word(1.0, 1.5, " hello", 0.9)
    answer = Hypothesis((make_hyp(1.0, 2.0, "hello", words=[word]),), gaps=(HypGap(2.0, 3.0, "loop"),))
    transcript = stitch(facts(), [(make_chunk(0, 24_000, 80_000), answer)])
    assert times(transcript) == [(2.5, 3.5)]
    assert transcript.segments[0].words == (Word(2.5, 3.0, " hello", 0.9),)
    assert transcript.gaps == (Gap(3.5, 4.5, "loop"),)


def test_what_the_recording_is_stands_in_the_transcript() -> None:
    transcript = stitch(replace(FACTS, duration=12.5, damage="torn at 12.5 s", language="de"), [])
    assert transcript == Transcript(
        recording_id=RecordingId(4),
        source="talk.wav",
        segments=(),
        duration=12.5,
        gaps=(),
        language="de",
        damage="torn at 12.5 s",
        provenance=PROVENANCE,
    )


def test_offsets_are_exact_to_the_sample_after_ten_hours() -> None:
    start = 10 * 3600 * RATE + 1
    transcript = stitch(facts(40_000.0), [(make_chunk(0, start, start + RATE), Hypothesis((make_hyp(0.0, 0.5, "x"),)))])
    assert transcript.segments[0].start == start / RATE


def test_times_stay_inside_the_chunk_and_the_recording() -> None:
    answer = Hypothesis((make_hyp(-3.0, 0.5, "early"), make_hyp(1.0, 30.0, "long"), make_hyp(29.0, 31.0, "late")))
    transcript = stitch(facts(duration=3.5), [(make_chunk(0, 2 * RATE, 4 * RATE), answer)])
    assert times(transcript) == [(2.0, 2.5), (3.0, 3.5), (3.5, 3.5)]


def test_times_never_run_backwards() -> None:
    answer = Hypothesis((make_hyp(5.0, 6.0, "one"), make_hyp(2.0, 3.0, "two"), make_hyp(7.0, 6.5, "three")))
    transcript = stitch(facts(), [(make_chunk(0, 0, 20 * RATE), answer)])
    assert times(transcript) == [(5.0, 6.0), (5.0, 5.0), (7.0, 7.0)]
    assert [segment.text for segment in transcript.segments] == ["one", "two", "three"]


def test_words_stay_inside_their_segment_and_in_order() -> None:
    words = [Word(0.5, 1.2, "a", 1.0), Word(1.1, 1.4, " b", 1.0), Word(1.0, 9.0, " c", 1.0)]
    answer = Hypothesis((make_hyp(1.0, 2.0, "a b c", words=words),))
    transcript = stitch(facts(), [(make_chunk(0, RATE, 20 * RATE), answer)])
    assert [(word.start, word.end) for word in transcript.segments[0].words] == [(2.0, 2.2), (2.1, 2.4), (2.1, 3.0)]


def test_chunks_may_be_answered_in_any_order() -> None:
    answers = [(make_chunk(i, i * RATE, (i + 1) * RATE), Hypothesis((make_hyp(0.0, 0.9, f"{i}"),))) for i in range(5)]
    in_order = stitch(facts(), answers)
    assert stitch(facts(), [answers[i] for i in (3, 0, 4, 2, 1)]) == in_order
    assert [segment.text for segment in in_order.segments] == ["0", "1", "2", "3", "4"]


def test_a_failed_chunk_becomes_a_gap_over_its_span() -> None:
    answers = [
        (make_chunk(1, 20 * RATE, 30 * RATE), DecodeError("out of memory", "2 GiB")),
        (make_chunk(0, 0, 10 * RATE), Hypothesis((make_hyp(0.0, 1.0, "fine"),), gaps=(HypGap(4.0, 5.0, "loop"),))),
    ]
    transcript = stitch(facts(duration=25.0), answers)
    assert transcript.gaps == (Gap(4.0, 5.0, "loop"), Gap(20.0, 25.0, "out of memory"))
    assert [segment.text for segment in transcript.segments] == ["fine"]


def test_an_answer_that_broke_off_leaves_a_gap_behind_it() -> None:
    chunk = make_chunk(0, RATE, 11 * RATE)
    broken = stitch(facts(), [(chunk, Hypothesis((make_hyp(0.0, 4.0, "so far"),), truncated=True))])
    assert [(gap.start, gap.end) for gap in broken.gaps] == [(5.0, 11.0)]
    told = Hypothesis((make_hyp(0.0, 4.0, "so far"),), gaps=(HypGap(4.0, 10.0, "loop"),), truncated=True)
    assert stitch(facts(), [(chunk, told)]).gaps == (Gap(5.0, 11.0, "loop"),)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_segment_without_a_valid_time_becomes_a_gap(bad: float) -> None:
    answer = Hypothesis((make_hyp(0.0, 1.0, "good"), make_hyp(1.0, bad, "bad"), make_hyp(2.0, 3.0, "good")))
    transcript = stitch(facts(), [(make_chunk(0, 0, 4 * RATE), answer)])
    assert times(transcript) == [(0.0, 1.0), (2.0, 3.0)]
    assert [(gap.start, gap.end) for gap in transcript.gaps] == [(0.0, 4.0)]
    word = make_hyp(0.0, 1.0, "bad", words=[Word(bad, 1.0, "bad", 1.0)])
    assert len(stitch(facts(), [(make_chunk(0, 0, 4 * RATE), Hypothesis((word,)))]).gaps) == 1
    gap = Hypothesis((), gaps=(HypGap(bad, 1.0, "loop"),))
    assert stitch(facts(), [(make_chunk(0, 0, 4 * RATE), gap)]).gaps == (Gap(0.0, 4.0, "loop"),)


def test_a_segment_without_text_says_nothing() -> None:
    answer = Hypothesis((make_hyp(0.0, 1.0, "  "), make_hyp(1.0, 2.0, " said ")))
    transcript = stitch(facts(), [(make_chunk(0, 0, 4 * RATE), answer)])
    assert [segment.text for segment in transcript.segments] == ["said"]
    assert transcript.gaps == ()


def test_local_speakers_get_their_recording_wide_name_or_one_of_their_chunk() -> None:
    answers = [
        (make_chunk(0, 0, 10 * RATE), Hypothesis((make_hyp(0.0, 1.0, "a", speaker=0), make_hyp(2.0, 3.0, "b")))),
        (make_chunk(3, 20 * RATE, 30 * RATE), Hypothesis((make_hyp(0.0, 1.0, "c", speaker=0),))),
    ]
    named = stitch(facts(), answers, speakers={(ChunkPart(0), LocalSpeaker(0)): Speaker("Ann")})
    assert [segment.speaker for segment in named.segments] == ["Ann", None, "c3-S0"]


def test_a_part_of_a_chunk_that_was_decoded_apart_has_speakers_of_its_own() -> None:
    told = [make_hyp(i, i + 1, "a", speaker=0, part=part) for i, part in enumerate((0, 1, 2))]
    answers = [(make_chunk(3, 0, 10 * RATE), Hypothesis(tuple(told)))]
    named = stitch(facts(), answers, speakers={(ChunkPart(3, 2), LocalSpeaker(0)): Speaker("Ann")})
    assert [segment.speaker for segment in named.segments] == ["c3-S0", "c3.1-S0", "Ann"]
    assert locate_speakers(facts(), answers) == {
        (ChunkPart(3, part), LocalSpeaker(0)): (Stretch(part, part + 1),) for part in range(3)
    }


def test_a_chunk_answered_twice_is_refused() -> None:
    answer = (make_chunk(0, 0, RATE), Hypothesis(()))
    with pytest.raises(ValueError, match="twice"):
        stitch(facts(), [answer, answer])


def cut(left: str, right: str, *, forced_cut: bool = True, pause: float = 0.0, speaker: int | None = None) -> list[str]:
    """The texts after two chunks whose border is at 10 s, both with words."""
    answers = [
        (
            make_chunk(0, 0, 10 * RATE, forced_cut=forced_cut),
            Hypothesis((make_hyp(8.0, 10.0 - pause, left, words=[Word(8.0, 10.0 - pause, left, 1.0)]),)),
        ),
        (
            make_chunk(1, 10 * RATE, 20 * RATE),
            Hypothesis((make_hyp(0.0, 1.0, right, words=[Word(0.0, 1.0, right, 1.0)], speaker=speaker),)),
        ),
    ]
    transcript = stitch(facts(), answers[::-1])
    for segment in transcript.segments:
        assert "".join(word.text for word in segment.words).strip() == segment.text
    return [segment.text for segment in transcript.segments]


def test_a_sentence_that_a_forced_cut_divides_is_made_whole() -> None:
    assert cut("and then the", "committee decided.") == ["and then the committee decided."]
    assert cut("東京は", "大きい。") == ["東京は大きい。"]


def test_nothing_else_is_joined() -> None:
    assert cut("That is all.", "Next.") == ["That is all.", "Next."]
    assert cut("he said “no.”", "Next.") == ["he said “no.”", "Next."]
    assert cut("and then the", "committee", forced_cut=False) == ["and then the", "committee"]
    assert cut("and then the", "committee", pause=1.0) == ["and then the", "committee"]
    assert cut("and then the", "committee", speaker=1) == ["and then the", "committee"]


def test_a_cut_beside_a_failed_chunk_is_not_joined() -> None:
    answers = [
        (make_chunk(0, 0, RATE, forced_cut=True), Hypothesis((make_hyp(0.0, 1.0, "and"),))),
        (make_chunk(1, RATE, RATE + 160, forced_cut=True), DecodeError("loop", "")),
        (make_chunk(2, RATE + 160, 2 * RATE), Hypothesis((make_hyp(0.0, 0.5, "then"),))),
    ]
    assert len(stitch(facts(), answers).segments) == 2


def test_joined_segments_span_both_and_keep_their_words() -> None:
    left = make_segment(1.0, 3.0, "one", words=[Word(1.0, 3.0, "one", 1.0)])
    right = make_segment(3.0, 4.0, "two", words=[Word(3.0, 4.0, "two", 0.5)])
    joined = make_segment(1.0, 4.0, "one two", words=[Word(1.0, 3.0, "one", 1.0), Word(3.0, 4.0, " two", 0.5)])
    assert join_at_cut(left, right) == [joined]
    wordless = make_segment(3.0, 4.0, "two")
    assert join_at_cut(left, wordless) == [left, wordless]


def test_local_speakers_are_located_in_the_recording() -> None:
    first = Hypothesis(
        (make_hyp(1.0, 2.0, "a", speaker=3), make_hyp(2.0, 9.0, "b"), make_hyp(4.0, 99.0, "c", speaker=3))
    )
    second = Hypothesis((make_hyp(0.0, 1.0, "d", speaker=3), make_hyp(1.0, 2.0, " ", speaker=1)))
    answers = [
        (make_chunk(0, RATE, 6 * RATE), first),
        (make_chunk(1, 10 * RATE, 20 * RATE), second),
        (make_chunk(2, 30 * RATE, 40 * RATE), DecodeError("loop", "")),
    ]
    assert locate_speakers(facts(), answers) == {
        (ChunkPart(0), LocalSpeaker(3)): (Stretch(2.0, 3.0), Stretch(5.0, 6.0)),
        (ChunkPart(1), LocalSpeaker(3)): (Stretch(10.0, 11.0),),
    }
