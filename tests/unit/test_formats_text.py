"""txt and tsv, and what holds for every format."""

from __future__ import annotations

import pytest
from transcript_samples import make_segment, make_transcript

from murmur_cli.options import FORMATS
from murmur_cli.transcript.formats import render_transcript
from murmur_cli.transcript.notation import floor_ms, to_ms


def test_txt_is_one_segment_a_line_after_its_speaker() -> None:
    transcript = make_transcript(
        [
            make_segment(0.0, 1.0, "Good morning.", speaker="S1"),
            make_segment(1.0, 2.0, "こんにちは。"),
            make_segment(2.0, 3.0, "two\nlines\u2028and\ta tab", speaker="Ann\nB."),
        ]
    )
    assert render_transcript(transcript, "txt", word_times=True) == (
        "S1: Good morning.\nこんにちは。\nAnn B.: two lines and a tab\n"
    )


def test_spaces_that_are_text_stay() -> None:
    transcript = make_transcript([make_segment(0.0, 1.0, "Ça va\u00a0? 東\u3000京")])
    assert render_transcript(transcript, "txt", word_times=True) == "Ça va\u00a0? 東\u3000京\n"


def test_tsv_has_whole_milliseconds_and_four_columns_whatever_the_text() -> None:
    transcript = make_transcript(
        [
            make_segment(0.0, 1.2345, "a\tb\r\nc", speaker="S\t1"),
            make_segment(59.9995, 60.0, 'say "x"'),
        ]
    )
    text = render_transcript(transcript, "tsv", word_times=True)
    assert text == 'start\tend\tspeaker\ttext\n0\t1234\tS 1\ta b c\n60000\t60000\t\tsay "x"\n'


@pytest.mark.parametrize(
    ("format_name", "expected"),
    [("txt", ""), ("srt", ""), ("vtt", "WEBVTT\n"), ("tsv", "start\tend\tspeaker\ttext\n")],
)
def test_an_empty_transcript_is_a_valid_file(format_name: str, expected: str) -> None:
    assert render_transcript(make_transcript(), format_name, word_times=True) == expected


@pytest.mark.parametrize("format_name", FORMATS)
def test_every_format_is_utf8_with_whole_lines(format_name: str) -> None:
    transcript = make_transcript([make_segment(0.0, 1.0, "a\udcffb", speaker="S1")], source="talk\udcff.wav")
    text = render_transcript(transcript, format_name, word_times=True)
    assert text.encode("utf-8").endswith(b"\n")
    assert "\ufffd" in text  # in the text, or in the recording's name
    assert "\r" not in text


def test_there_are_no_other_formats() -> None:
    with pytest.raises(ValueError, match="docx"):
        render_transcript(make_transcript(), "docx", word_times=True)


@pytest.mark.parametrize(
    ("seconds", "duration", "expected"),
    [
        (59.9995, 100.0, 60_000),
        (0.0004, 1.0, 0),
        (2.3, 2.3, 2300),  # 2.3 * 1000 is 2299.9999999999995
        (1.0006, 1.0006, 1000),  # 1001 ms would be beyond the end
        (35_999.9996, 36_000.0, 36_000_000),
    ],
)
def test_milliseconds_round_but_never_beyond_the_end(seconds: float, duration: float, expected: int) -> None:
    assert to_ms(seconds, duration=duration) == expected
    assert floor_ms(duration) / 1000 <= duration
