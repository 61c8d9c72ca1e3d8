"""srt and vtt, and how segments become cues. Properties of the cutting are in ``property/``."""

from __future__ import annotations

import pysubs2
import pytest
from transcript_samples import make_segment, make_transcript, make_words

from murmur_cli.options import SubtitleOptions
from murmur_cli.transcript.formats import render_transcript
from murmur_cli.transcript.line_breaks import find_units
from murmur_cli.transcript.subtitles import Cue, make_cues
from murmur_cli.types import Segment, Word

LONG = (
    "The committee met on Monday morning, as it had done for years, and nobody expected that the vote would be close. "
    "Then the lights went out, and everything changed."
)
JAPANESE = (
    "東京都は明日から新しい制度を始めると発表しました。"
    "市民の皆さんは、詳しい内容を区役所の窓口で確かめることができます。"
)
THAI = "สวัสดีครับวันนี้เราจะพูดถึงเรื่องการประชุมที่เกิดขึ้นเมื่อวานนี้ที่กรุงเทพมหานครและผลของการลงคะแนน"


def cues_of(*segments: Segment, duration: float = 60.0, limits: SubtitleOptions | None = None) -> list[Cue]:
    transcript = make_transcript(segments, duration=duration)
    return make_cues(transcript, is_labelled=True, limits=limits or SubtitleOptions())


def srt(*segments: Segment, duration: float = 60.0) -> str:
    return render_transcript(make_transcript(segments, duration=duration), "srt", word_times=True)


def vtt(*segments: Segment, duration: float = 60.0) -> str:
    return render_transcript(make_transcript(segments, duration=duration), "vtt", word_times=True)


# --- the formats


def test_srt_is_numbered_cues_with_the_speaker_in_the_text() -> None:
    text = srt(make_segment(0.5, 2.0, "Good morning.", speaker="S1"), make_segment(3.0, 4.25, "Hi."))
    assert text == ("1\n00:00:00,500 --> 00:00:02,000\nS1: Good morning.\n\n2\n00:00:03,000 --> 00:00:04,250\nHi.\n\n")


def test_vtt_has_the_speaker_as_a_voice() -> None:
    text = vtt(make_segment(0.5, 2.0, "Good morning.", speaker="S1"), make_segment(3.0, 4.25, "Hi."))
    assert text == (
        "WEBVTT\n\n00:00:00.500 --> 00:00:02.000\n<v S1>Good morning.\n\n00:00:03.000 --> 00:00:04.250\nHi.\n"
    )


def test_vtt_escapes_what_it_would_take_for_markup() -> None:
    text = vtt(make_segment(0.0, 2.0, "a --> b & <i>c</i>", speaker="R&D <x>"))
    assert text.endswith("\n<v R&amp;D &lt;x&gt;>a --&gt; b &amp; &lt;i&gt;c&lt;/i&gt;\n")


def test_srt_holds_no_arrow_and_no_blank_line_inside_a_cue() -> None:
    text = srt(make_segment(0.0, 2.0, "a\n\nb --> c\n"), make_segment(3.0, 4.0, "d"))
    blocks = text.split("\n\n")
    assert blocks[0] == "1\n00:00:00,000 --> 00:00:02,000\na b -> c"
    assert len(blocks) == 3


@pytest.mark.parametrize("said", [r"open C:\new\Home\hidden", "set {\\p1}x{a}"])
def test_text_that_is_markup_elsewhere_is_kept(said: str) -> None:
    assert said in srt(make_segment(0.0, 3.0, said))


@pytest.mark.parametrize(
    ("start", "written"), [(59.9995, "00:01:00,000"), (3599.9996, "01:00:00,000"), (360_000.0, "100:00:00,000")]
)
def test_clock_times_carry_over(start: float, written: str) -> None:
    assert f"\n{written} --> " in srt(make_segment(start, start + 2.0, "x"), duration=400_000.0)


def test_no_cue_ends_beyond_the_recording() -> None:
    assert "00:00:10,000 --> 00:00:10,000" not in srt(make_segment(10.0006, 10.0006, "x"), duration=10.0006)
    assert [cue.end_ms for cue in cues_of(make_segment(9.9, 10.0006, "x"), duration=10.0006)] == [10_000]


@pytest.mark.parametrize("format_name", ["srt", "vtt"])
def test_another_reader_understands_it(format_name: str) -> None:
    segments = [make_segment(0.0, 14.0, LONG, words=make_words(LONG, 0.0, 14.0)), make_segment(20.0, 21.0, "東京。")]
    text = render_transcript(make_transcript(segments), format_name, word_times=True)
    read = [(e.start, e.end, tuple(e.plaintext.split("\n"))) for e in pysubs2.SSAFile.from_string(text, format_name)]
    assert read == [(cue.start_ms, cue.end_ms, cue.lines) for cue in cues_of(*segments)]


# --- cutting


def test_a_long_segment_is_cut_at_punctuation_and_at_the_times_of_its_words() -> None:
    words = make_words(LONG, 2.0, 18.0)
    cues = cues_of(make_segment(2.0, 18.0, LONG, words=words))
    assert [cue.lines for cue in cues] == [
        ("The committee met on Monday morning,", "as it had done for years,"),
        ("and nobody expected that", "the vote would be close."),
        ("Then the lights went out,", "and everything changed."),
    ]
    assert {cue.start_ms for cue in cues} <= {round(word.start * 1000) for word in words}
    assert {cue.end_ms for cue in cues} <= {round(word.end * 1000) for word in words}


def test_lines_hold_42_characters_with_the_speaker() -> None:
    cues = cues_of(make_segment(0.0, 20.0, LONG, speaker="Professor Higgins"))
    assert all(cue.lines[0].startswith("Professor Higgins: ") for cue in cues)
    assert max(len(line) for cue in cues for line in cue.lines) <= 42
    assert max(len(cue.lines) for cue in cues) == 2


def test_a_segment_without_words_is_cut_in_proportion_to_its_text() -> None:
    cues = cues_of(make_segment(10.0, 20.0, "a" * 39 + ". " + "b" * 39 + ". " + "c" * 39 + "."))
    assert cues[0].start_ms == 10_000
    assert cues[-1].end_ms == 20_000
    # 122 characters in 10 s: the second sentence begins at character 41, the first ends at 40.
    assert (cues[0].end_ms, cues[1].start_ms) == (10_000 + 10_000 * 40 // 122 + 1, 10_000 + 10_000 * 41 // 122 + 1)


def test_words_that_are_not_the_text_do_not_replace_it() -> None:
    cues = cues_of(make_segment(0.0, 2.0, "all of it", words=[Word(0.0, 1.0, "all", 1.0)]))
    assert [cue.lines for cue in cues] == [("all of it",)]


def test_a_word_is_over_when_the_next_one_begins() -> None:
    words = [Word(0.0, 9.0, "drawn", 1.0), Word(1.0, 2.0, " out", 1.0), Word(2.0, 3.0, " here", 1.0)]
    cues = cues_of(make_segment(0.0, 9.0, "drawn out here", words=words))
    assert [(cue.start_ms, cue.end_ms, cue.lines) for cue in cues] == [(0, 3000, ("drawn out here",))]


def test_no_word_is_cut_though_it_is_too_wide() -> None:
    url = "https://example.org/" + "x" * 60
    lines = [line for cue in cues_of(make_segment(0.0, 5.0, f"see {url} there")) for line in cue.lines]
    assert lines == ["see", url, "there"]


@pytest.mark.parametrize(("text", "width"), [(JAPANESE, 2), (THAI, 1)])
def test_scripts_without_blanks_break_between_characters(text: str, width: int) -> None:
    lines = [line for cue in cues_of(make_segment(0.0, 12.0, text)) for line in cue.lines]
    assert "".join(lines) == text
    assert len(lines) > 1
    assert max(map(len, lines)) * width <= 42
    assert not any(line.startswith(("。", "、", "し\u3099")) for line in lines)


def test_words_without_blanks_are_joined_without() -> None:
    words = [Word(i * 0.5, (i + 1) * 0.5, character, 1.0) for i, character in enumerate("東京は、大きい。")]
    assert cues_of(make_segment(0.0, 4.0, "東京は、大きい。", words=words))[0].lines == ("東京は、大きい。",)


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("It's  3.5 km.", ["It's", "3.5", "km."]),
        ("「東京」は、2024年。", ["「東", "京」", "は、", "2024", "年。"]),
        ("ちょっとー", ["ちょっ", "とー"]),
        ("เก้าน้ำ", ["เก้า", "น้ำ"]),  # vowels before, after, above; and tone marks
        ("한국어는 쉽다", ["한국어는", "쉽다"]),
        ("10\u00a0km", ["10\u00a0km"]),
    ],
)
def test_units_are_what_may_stand_alone(text: str, units: list[str]) -> None:
    assert [text[unit.begin : unit.end] for unit in find_units(text)] == units


# --- times


def test_a_short_cue_is_held_where_there_is_room() -> None:
    cues = cues_of(make_segment(1.0, 1.2, "Yes."), make_segment(1.6, 1.8, "No."), make_segment(5.0, 5.1, "So."))
    assert [(cue.start_ms, cue.end_ms) for cue in cues] == [(1000, 1600), (1600, 2400), (5000, 5800)]
    assert cues_of(make_segment(1.0, 1.2, "Yes."), duration=1.5)[0].end_ms == 1500


def test_a_fast_cue_is_held_until_it_can_be_read() -> None:
    said = "forty characters that are spoken quickly"
    assert len(said) == 40
    assert cues_of(make_segment(1.0, 2.0, said))[0].end_ms == 3000
    assert cues_of(make_segment(1.0, 2.0, said), make_segment(2.5, 4.0, "x"))[0].end_ms == 2500


def test_people_who_talk_at_once_take_turns_on_the_screen() -> None:
    together = [make_segment(0.0, 4.0, "one", speaker="S1"), make_segment(0.0, 3.0, "two", speaker="S2")]
    assert [(cue.start_ms, cue.end_ms) for cue in cues_of(*together)] == [(0, 800), (800, 3000)]
    inside = [make_segment(0.0, 6.0, "one"), make_segment(3.0, 3.4, "two")]
    assert [(cue.start_ms, cue.end_ms) for cue in cues_of(*inside)] == [(0, 3000), (3000, 3800)]


def test_a_drawn_out_word_does_not_stay_for_ever() -> None:
    assert [(cue.start_ms, cue.end_ms) for cue in cues_of(make_segment(0.0, 20.0, "Ooooh"))] == [(0, 7000)]


def test_limits_can_be_changed() -> None:
    limits = SubtitleOptions(max_line_width=20, max_lines=1, max_duration=3.0)
    cues = cues_of(make_segment(0.0, 14.0, LONG), limits=limits)
    assert all(len(cue.lines) == 1 and len(cue.lines[0]) <= 20 for cue in cues)
    assert all(cue.end_ms - cue.start_ms <= 3000 for cue in cues)
