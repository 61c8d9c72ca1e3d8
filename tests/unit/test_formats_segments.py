"""rttm, stm, ctm, seglst and ass: what they say, and that others read them."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Iterator

import pytest
from meeteval.io import CTM, RTTM, STM, SegLST
from pysubs2 import SSAFile
from transcript_samples import make_segment, make_transcript, make_words

from murmur_cli.transcript.formats import render_transcript
from murmur_cli.transcript.formats.segments import UNKNOWN, name_session, read_name
from murmur_cli.types import Transcript, Word

AWKWARD = ["Ann Lee", "100 %", ";;", "<NA>", "a%20b", "東\u3000京", "\tx", "Ünal & Söhne", "é\u00a0"]


@pytest.fixture(autouse=True)
def _quiet_meeteval(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    with caplog.at_level(logging.ERROR):  # it warns that ctm has no speakers
        yield


def two_people() -> Transcript:
    return make_transcript(
        [
            make_segment(0.5, 2.0, "Good morning.", speaker="S1", words=make_words("Good morning.", 0.5, 2.0)),
            make_segment(1.5, 3.0, "<hi> there\nyou", speaker="Ann Lee"),
            make_segment(2.0, 2.75, "How are you?", speaker="S1", words=make_words("How are you?", 2.0, 2.75)),
            make_segment(5.0, 5.0, "Oh.", speaker="S1"),
        ],
        source="calls/my talk.mp3",
    )


def render(transcript: Transcript, format_name: str) -> str:
    return render_transcript(transcript, format_name, word_times=True)


def test_rttm_is_one_line_for_each_turn_of_a_speaker() -> None:
    assert render(two_people(), "rttm") == (
        "SPEAKER my%20talk 1 0.500 2.250 <NA> <NA> S1 <NA> <NA>\n"
        "SPEAKER my%20talk 1 1.500 1.500 <NA> <NA> Ann%20Lee <NA> <NA>\n"
    )


def test_a_turn_lasts_until_the_last_of_its_segments_ends() -> None:
    transcript = make_transcript([make_segment(0, 5, "a", speaker="S1"), make_segment(1, 2, "b", speaker="S1")])
    assert render(transcript, "rttm") == "SPEAKER talk 1 0.000 5.000 <NA> <NA> S1 <NA> <NA>\n"


def test_stm_is_one_line_for_each_segment() -> None:
    assert render(two_people(), "stm").splitlines() == [
        "my%20talk 1 S1 0.500 2.000 Good morning.",
        "my%20talk 1 Ann%20Lee 1.500 3.000 <hi> there you",
        "my%20talk 1 S1 2.000 2.750 How are you?",
        "my%20talk 1 S1 5.000 5.000 Oh.",
    ]


def test_ctm_is_every_word_in_order_of_time() -> None:
    lines = render(two_people(), "ctm").splitlines()
    assert lines[0] == "my%20talk 1 0.500 0.750 Good 0.9000"
    assert "my%20talk 1 1.500 0.500 <hi>" in lines  # a share of the segment: 4 of 12 letters; no probability
    assert [line.split()[4] for line in lines] == [
        *["Good", "morning.", "<hi>", "there", "How", "are", "you?", "you", "Oh."]
    ]


def test_ctm_divides_a_word_with_a_blank_and_leaves_out_what_is_not_a_number() -> None:
    words = (Word(1.0, 2.0, " New York", 0.5), Word(2.0, 3.0, " is", math.nan))
    transcript = make_transcript([make_segment(1.0, 3.0, "New York is", words=words)])
    assert render(transcript, "ctm").splitlines() == [
        "talk 1 1.000 0.429 New 0.5000",
        "talk 1 1.429 0.571 York 0.5000",
        "talk 1 2.000 1.000 is",
    ]


def test_unknown_speakers_are_one_and_no_name_can_be_it() -> None:
    transcript = make_transcript([make_segment(0, 1, "a"), make_segment(2, 3, "b", speaker=UNKNOWN)])
    speakers = [line.split()[7] for line in render(transcript, "rttm").splitlines()]
    assert speakers == [UNKNOWN, "%3CNA>"]
    assert [read_name(speaker) for speaker in speakers] == [UNKNOWN, UNKNOWN]


@pytest.mark.parametrize("name", AWKWARD)
@pytest.mark.parametrize("format_name", ["rttm", "stm", "seglst"])
def test_any_name_comes_back_as_it_was(format_name: str, name: str) -> None:
    transcript = make_transcript([make_segment(0, 1, "a", speaker=name)], source=f"{name}.wav")
    text = render(transcript, format_name)
    read = {"rttm": RTTM.parse, "stm": STM.parse, "seglst": lambda text: SegLST(json.loads(text))}[format_name](text)
    (segment,) = read if isinstance(read, SegLST) else read.to_seglst()
    assert (read_name(segment["session_id"]), read_name(segment["speaker"])) == (name, name)


@pytest.mark.parametrize("name", AWKWARD)
def test_a_name_is_one_field(name: str) -> None:
    line = render(make_transcript([make_segment(0, 1, "a")], source=f"{name}.wav"), "ctm")
    assert len(line.split()) == 5
    assert not line.startswith(";")


@pytest.mark.parametrize(
    ("source", "name"),
    [("a/b.c/talk.x.wav", "talk.x"), ("-", "stdin"), (".hidden", ".hidden"), ("no suffix", "no suffix")],
)
def test_a_session_has_the_name_of_its_file(source: str, name: str) -> None:
    assert name_session(make_transcript(source=source)) == name


def test_meeteval_reads_times_words_and_speakers() -> None:
    transcript = two_people()
    expected = [("S1", 0.5, 2.0, "Good morning."), ("Ann%20Lee", 1.5, 3.0, "<hi> there you")]
    for read in (STM.parse(render(transcript, "stm")).to_seglst(), SegLST(json.loads(render(transcript, "seglst")))):
        found = [(s["speaker"], float(s["start_time"]), float(s["end_time"]), s["words"]) for s in read]
        assert found[:2] == expected
        assert len(found) == 4
    words = CTM.parse(render(transcript, "ctm")).to_seglst()
    assert " ".join(s["words"] for s in words) == "Good morning. <hi> there How are you? you Oh."
    turns = RTTM.parse(render(transcript, "rttm")).to_seglst()
    assert [(t["speaker"], float(t["start_time"]), float(t["end_time"])) for t in turns] == [
        ("S1", 0.5, 2.75),
        ("Ann%20Lee", 1.5, 3.0),
    ]


@pytest.mark.parametrize("format_name", ["rttm", "stm", "ctm"])
def test_an_empty_transcript_has_no_lines(format_name: str) -> None:
    text = render(make_transcript(), format_name)
    assert text == ""
    read = {"rttm": RTTM, "stm": STM, "ctm": CTM}[format_name].parse(text)
    assert list(read.lines) == []


def test_an_empty_transcript_is_a_list_of_nothing_and_subtitles_without_events() -> None:
    assert json.loads(render(make_transcript(), "seglst")) == []
    subtitles = SSAFile.from_string(render(make_transcript(), "ass"))
    assert (list(subtitles), list(subtitles.styles)) == ([], ["Default"])


@pytest.mark.parametrize("format_name", ["rttm", "stm", "ctm", "seglst"])
def test_no_time_is_beyond_the_end(format_name: str) -> None:
    words = make_words("a b", 59.0, 60.0009)
    transcript = make_transcript([make_segment(59.0, 60.0009, "a b", words=words)], duration=60.0009)
    text = render(transcript, format_name)
    if format_name == "seglst":
        assert json.loads(text)[0]["end_time"] == 60.0
        return
    read = {"rttm": RTTM, "stm": STM, "ctm": CTM}[format_name].parse(text)
    assert max(float(segment["end_time"]) for segment in read.to_seglst()) == 60.0


# --- ass


def test_ass_has_the_speaker_in_the_text_and_as_a_name() -> None:
    subtitles = SSAFile.from_string(render(two_people(), "ass"))
    assert [(event.start, event.name, event.text) for event in subtitles][:2] == [
        (500, "S1", "S1: Good morning."),
        (1500, "Ann Lee", "Ann Lee: <hi> there you"),
    ]


def test_ass_fields_stay_apart_whatever_the_name_and_text() -> None:
    transcript = make_transcript([make_segment(1.0, 3.0, "Yes, no, {b} C:\\Net", speaker="Lee, Ann")])
    (event,) = SSAFile.from_string(render(transcript, "ass"))
    assert event.name == "Lee Ann"
    assert event.text == "Lee, Ann: Yes, no, \\{b\\} C:\\\u2060Net"


def test_ass_times_are_cut_to_centiseconds_and_go_beyond_ten_hours() -> None:
    start, end = 36_000.0, 36_001.999
    transcript = make_transcript([make_segment(start, end, "Late.")], duration=end)
    text = render(transcript, "ass")
    assert "Dialogue: 0,10:00:00.00,10:00:01.99,Default" in text
    (event,) = SSAFile.from_string(text)
    assert (event.start, event.end) == (36_000_000, 36_001_990)


def test_ass_breaks_lines_as_the_other_subtitles_do() -> None:
    transcript = make_transcript(
        [make_segment(1.0, 6.0, "We met on Monday, and nobody expected the vote to be close.")]
    )
    (event,) = SSAFile.from_string(render(transcript, "ass"))
    srt = render(transcript, "srt").splitlines()[2:]
    assert event.plaintext.splitlines() == [line for line in srt if line]
    assert len(event.plaintext.splitlines()) == 2
