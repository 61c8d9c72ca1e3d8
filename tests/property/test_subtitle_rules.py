"""Every rule of subtitles, on transcripts and limits of all kinds; and the validator against planted faults."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from subtitle_rules import find_faults
from transcript_samples import make_segment, make_transcript, make_words

from murmur_cli.errors import UsageError
from murmur_cli.options import SubtitleOptions
from murmur_cli.transcript.formats import render_transcript
from murmur_cli.transcript.subtitles import Cue, make_cues
from murmur_cli.types import Segment, Transcript

WORDS = ("yes", "no,", "well.", "extraordinarily", "I", "“quoted”", "3.5", "é", "한국어", "a" * 50, "東京", "です。")


@st.composite
def segments(draw: st.DrawFn, start: float) -> Segment:
    """Speech of any speed, with word times or without, that may last longer than the next one waits."""
    words = draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=60))
    seconds = len(words) * draw(st.sampled_from([0.0, 0.02, 0.1, 0.3, 1.0, 4.0]))
    text = " ".join(words)
    timed = draw(st.booleans()) and seconds > 0
    return make_segment(
        start,
        start + seconds,
        text,
        words=make_words(text, start, start + seconds) if timed else (),
        speaker=draw(st.sampled_from([None, "S1", "S2"])),
    )


@st.composite
def transcripts(draw: st.DrawFn) -> Transcript:
    said: list[Segment] = []
    position = draw(st.floats(0.0, 5.0))
    for _ in range(draw(st.integers(0, 6))):
        said.append(draw(segments(position)))
        position = draw(st.sampled_from([said[-1].start, said[-1].end])) + draw(st.floats(0.0, 3.0))
    duration = max([1.0, *(segment.end for segment in said)]) + draw(st.floats(0.0, 10.0))
    return make_transcript(sorted(said, key=lambda segment: segment.start), duration=duration)


@st.composite
def limits(draw: st.DrawFn) -> SubtitleOptions:
    shortest = draw(st.sampled_from([0.0, 0.8, 1.5]))
    return SubtitleOptions(
        max_line_width=draw(st.integers(10, 60)),
        max_lines=draw(st.integers(1, 3)),
        max_cps=draw(st.floats(1.0, 40.0)),
        min_duration=shortest,
        max_duration=draw(st.sampled_from([1.5, 3.0, 7.0, 20.0])),
    )


@given(transcripts(), limits())
def test_no_rule_is_broken(transcript: Transcript, options: SubtitleOptions) -> None:
    assert find_faults(make_cues(transcript, is_labelled=False, limits=options), transcript, options) == []


GOOD = [
    Cue(0, 2000, ("one two", "three"), None),
    Cue(2000, 4000, ("four",), None),
]
TALK = make_transcript([make_segment(0.0, 2.0, "one two three"), make_segment(2.0, 3.5, "four")], duration=10.0)


@pytest.mark.parametrize(
    ("cues", "fault"),
    [
        (GOOD, None),
        ([GOOD[0], replace(GOOD[1], start_ms=1999)], "overlap"),
        ([GOOD[0], replace(GOOD[1], end_ms=10_001)], "outside"),
        ([GOOD[0], replace(GOOD[1], end_ms=2500)], "too short"),
        ([GOOD[0], replace(GOOD[1], end_ms=2000)], "no time"),
        ([GOOD[0], replace(GOOD[1], end_ms=9500)], "too long"),
        ([replace(GOOD[0], lines=("one", "two", "three")), GOOD[1]], "lines"),
        ([replace(GOOD[0], lines=("one two three" + " " * 30,)), GOOD[1]], "width"),
        ([replace(GOOD[0], lines=("one two thr", "ee")), GOOD[1]], "words"),
        ([replace(GOOD[0], lines=("one two",)), GOOD[1]], "characters"),
        ([replace(GOOD[0], lines=("one two", "")), GOOD[1]], "blanks"),
    ],
)
def test_the_validator_sees_every_fault(cues: list[Cue], fault: str | None) -> None:
    faults = find_faults(cues, TALK, SubtitleOptions())
    assert (fault in faults) if fault else faults == []


def test_the_validator_sees_cues_that_are_too_fast() -> None:
    transcript = make_transcript([make_segment(0.0, 1.0, "a" * 40)], duration=10.0)
    cue = Cue(0, 1500, ("a" * 40,), None)
    assert find_faults([cue], transcript, SubtitleOptions()) == ["too fast"]
    assert find_faults([replace(cue, end_ms=2000)], transcript, SubtitleOptions()) == []


@pytest.mark.parametrize("format_name", ["srt", "vtt", "ass"])
def test_every_subtitle_format_follows_the_options(format_name: str) -> None:
    transcript = make_transcript([make_segment(0.0, 6.0, "one two three four five six seven")], duration=60.0)
    wide, narrow = (
        render_transcript(transcript, format_name, word_times=False, subtitles=options)
        for options in (SubtitleOptions(), SubtitleOptions(max_line_width=10, max_lines=1))
    )
    assert "one two three four five six seven" in wide
    assert "one two three" not in narrow
    assert "one two" in narrow


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("max_line_width", 9),
        ("max_line_width", 1001),
        ("max_lines", 0),
        ("max_lines", 11),
        ("max_cps", 0.0),
        ("max_cps", float("nan")),
        ("max_cps", float("inf")),
        ("min_duration", -0.1),
        ("min_duration", 7.1),
        ("max_duration", 0.5),
        ("max_duration", float("inf")),
    ],
)
def test_limits_that_nothing_can_keep_are_refused(field: str, value: float) -> None:
    with pytest.raises(UsageError) as caught:
        SubtitleOptions(**{field: value})  # type: ignore[arg-type]
    assert caught.value.where in (f"--{field.replace('_', '-')}", "--min-duration")
