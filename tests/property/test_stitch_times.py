"""Stitching against an oracle that does one segment at a time, in plain steps, in exact fractions."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st
from transcript_samples import PROVENANCE, make_chunk

from murmur_cli.transcript.stitch import RecordingFacts, stitch
from murmur_cli.types import (
    Chunk,
    ChunkPart,
    DecodeError,
    HypGap,
    Hypothesis,
    HypSegment,
    LocalSpeaker,
    RecordingId,
    Speaker,
    Word,
)

Answers = list[tuple[Chunk, Hypothesis | DecodeError]]
Time = Fraction

chunk_times = st.floats(min_value=-5.0, max_value=40.0, allow_nan=False)
words = st.lists(
    st.builds(Word, chunk_times, chunk_times, st.sampled_from(["a", " b", " c,"]), st.floats(0.0, 1.0)), max_size=4
).map(tuple)
speakers = st.none() | st.integers(0, 2).map(LocalSpeaker)
parts = st.sampled_from([0, 0, 1])
hyp_segments = st.builds(
    HypSegment, chunk_times, chunk_times, st.sampled_from(["yes", "no no", "."]), speakers, words, st.none(), parts
)
hyp_gaps = st.builds(HypGap, chunk_times, chunk_times, st.sampled_from(["loop", "torn"]))
results = st.builds(
    Hypothesis, st.lists(hyp_segments, max_size=5).map(tuple), st.lists(hyp_gaps, max_size=2).map(tuple)
)
errors = st.builds(DecodeError, st.sampled_from(["memory", "parse"]), st.just(""))


@st.composite
def recordings(draw: st.DrawFn) -> tuple[RecordingFacts, Answers]:
    """Chunks with pauses between them, answered in any order; the recording may end inside the last one."""
    rate = draw(st.sampled_from([8_000, 16_000, 24_000, 44_100]))
    answers: Answers = []
    position = 0
    for index in range(draw(st.integers(0, 4))):
        start = position + draw(st.integers(0, 3 * rate))
        position = start + draw(st.integers(1, 30 * rate))
        answers.append((make_chunk(index, start, position), draw(results | errors)))
    facts = RecordingFacts(
        recording_id=RecordingId(0),
        source="x",
        duration=max(1, position - draw(st.integers(0, rate))) / rate,
        sample_rate=rate,
        language=None,
        damage=None,
        provenance=PROVENANCE,
    )
    return facts, draw(st.permutations(answers))


def limited(value: Time, low: Time, high: Time) -> Time:
    return sorted([low, value, high])[1]


def expected_segments(facts: RecordingFacts, answers: Answers) -> list[tuple[Time, Time, str, str | None, list[Time]]]:
    """(start, end, text, speaker, word times) of every segment, in order."""
    expected = []
    end_of_all = Time(facts.duration)
    for chunk, result in sorted(answers, key=lambda answer: answer[0].index):
        if isinstance(result, DecodeError):
            continue
        offset = Time(chunk.span.start, facts.sample_rate)
        low = min(offset, end_of_all)
        high = min(Time(chunk.span.end, facts.sample_rate), end_of_all)
        last_start = low
        for segment in result.segments:
            start = limited(offset + Time(segment.start), low, high)
            end = limited(offset + Time(segment.end), low, high)
            start = max(start, last_start)
            end = max(end, start)
            last_start = start
            word_times = []
            last_word = start
            for word in segment.words:
                word_start = limited(offset + Time(word.start), last_word, end)
                word_times += [word_start, limited(offset + Time(word.end), word_start, end)]
                last_word = word_start
            place = f"c{chunk.index}" if segment.part == 0 else f"c{chunk.index}.{segment.part}"
            speaker = None if segment.speaker is None else f"{place}-S{segment.speaker}"
            if (place, segment.speaker) == ("c1", 0):
                speaker = "Ann"
            expected.append((start, end, segment.text, speaker, word_times))
    return expected


def near(times: list[float], expected: list[Time]) -> bool:
    return len(times) == len(expected) and all(
        abs(Time(t) - e) < Time(1, 10**9) for t, e in zip(times, expected, strict=True)
    )


@given(recordings())
def test_segments_are_what_the_oracle_says(recording: tuple[RecordingFacts, Answers]) -> None:
    facts, answers = recording
    transcript = stitch(facts, answers, speakers={(ChunkPart(1), LocalSpeaker(0)): Speaker("Ann")})
    expected = expected_segments(facts, answers)
    assert [(s.text, s.speaker) for s in transcript.segments] == [(text, who) for _, _, text, who, _ in expected]
    for segment, (start, end, _, _, word_times) in zip(transcript.segments, expected, strict=True):
        assert near([segment.start, segment.end], [start, end])
        assert near([t for word in segment.words for t in (word.start, word.end)], word_times)


@given(recordings())
def test_gaps_are_what_the_oracle_says(recording: tuple[RecordingFacts, Answers]) -> None:
    facts, answers = recording
    expected = []
    for chunk, result in answers:
        offset = Time(chunk.span.start, facts.sample_rate)
        low = min(offset, Time(facts.duration))
        high = min(Time(chunk.span.end, facts.sample_rate), Time(facts.duration))
        if isinstance(result, DecodeError):
            expected.append((low, high, result.reason))
            continue
        for gap in result.gaps:
            start = limited(offset + Time(gap.start), low, high)
            expected.append((start, max(start, limited(offset + Time(gap.end), low, high)), gap.reason))
    gaps = stitch(facts, answers).gaps
    assert sorted(gap.reason for gap in gaps) == sorted(reason for _, _, reason in expected)
    assert near([gap.start for gap in gaps], sorted(start for start, _, _ in expected))
    assert near(sorted(gap.end for gap in gaps), sorted(end for _, end, _ in expected))


@given(recordings())
def test_times_are_exactly_within_bounds_and_in_order(recording: tuple[RecordingFacts, Answers]) -> None:
    facts, answers = recording
    transcript = stitch(facts, answers)
    starts = [segment.start for segment in transcript.segments]
    assert starts == sorted(starts)
    for stretch in (*transcript.segments, *transcript.gaps):
        assert 0.0 <= stretch.start <= stretch.end <= facts.duration
    for segment in transcript.segments:
        times = [segment.start, *(word.start for word in segment.words)]
        assert times == sorted(times)
        assert all(word.start <= word.end <= segment.end for word in segment.words)
