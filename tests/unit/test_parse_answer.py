"""Answers as models really write them: sound ones, and the failures that users have published."""

from __future__ import annotations

import pytest

from murmur_cli.decode.entries import Broken, Entry, OpenEntry, iter_entries
from murmur_cli.decode.parse import parse_answer
from murmur_cli.types import DecodeError, HypGap, Hypothesis

Row = tuple[float, float, int | None, str]


def read(text: str, *, duration: float = 60.0) -> Hypothesis:
    found = parse_answer(text, duration=duration)
    assert isinstance(found, Hypothesis), found
    return found


def rows(text: str, *, duration: float = 60.0) -> list[Row]:
    return [(s.start, s.end, s.speaker, s.text) for s in read(text, duration=duration).segments]


def entry(start: object, end: object, content: str, speaker: str = ',"Speaker":0') -> str:
    return f'{{"Start":{start},"End":{end}{speaker},"Content":"{content}"}}'


ONE, TWO, THREE = entry(0.5, 2.0, "one"), entry(2.5, 4.0, "two", ',"Speaker":1'), entry(5, 7.25, "three")
FIRST, SECOND, THIRD = (0.5, 2.0, 0, "one"), (2.5, 4.0, 1, "two"), (5.0, 7.25, 0, "three")


def test_an_answer_with_all_that_the_model_writes_around_it() -> None:
    text = f"<|im_start|>assistant\n[{ONE},{TWO},{THREE}]<|im_end|>\n<|endoftext|>"
    assert rows(text) == [FIRST, SECOND, THIRD]
    assert (read(text).gaps, read(text).truncated) == ((), False)
    segment = read(text).segments[0]
    assert (segment.words, segment.language) == ((), None)


def test_an_empty_list_says_that_nobody_speaks() -> None:
    for text in ("[]", "[ ]", "assistant\n[]\n", "<|im_start|>assistant\n[]<|im_end|>\n<|endoftext|>"):
        assert read(text) == Hypothesis(())


@pytest.mark.parametrize(
    "text",
    [
        "",  # microsoft/VibeVoice 195: "Expecting value: line 1 column 1 (char 0)"
        "assistant\n",
        "[",
        "Thank you for watching.",
        "null",
        "{}",
        "[[]]",
        '[{"Speaker":0}]',
        '[{"Start":0.00,"End":7.56}]',  # 0xShug0/audio.cpp 166: the text is missing
        entry('"soon"', 2, "one"),
        '[{"Start":0.00,"End":9.99,"Speaker":0,"Content":"malo, malo, malo, malo, malo, malo',
    ],
)
def test_an_answer_of_which_nothing_can_be_read_is_an_error(text: str) -> None:
    found = parse_answer(text, duration=60.0)
    assert isinstance(found, DecodeError)
    assert found.reason
    assert text[:10] in found.detail.replace("\\n", "\n")


def test_an_error_quotes_only_the_beginning() -> None:
    found = parse_answer("no " * 100_000, duration=60.0)
    assert isinstance(found, DecodeError)
    assert len(found.detail) < 200
    assert "300000" in found.detail


@pytest.mark.parametrize(
    ("broken", "shown"),
    [
        (entry(2.5, 4, 'she said "no" twice'), 'she said "no" twice'),  # 195; transformers drops all that follows
        (entry(2.5, 4, 'the word "stop"'), 'the word "stop"'),
        (entry(2.5, 4, '"stop" she said'), '"stop" she said'),
        (entry(2.5, 4, "first line\nsecond line"), "first line second line"),  # json refuses the list
        (entry(2.5, 4, r"first line\nsecond line"), "first line second line"),
        (entry(2.5, 4, "a\ttab and \x00 \x1b[0m"), "a tab and [0m"),
        (entry(2.5, 4, r"C:\Users\new"), "C:\\Users ew"),  # \n is an escape, \U is none
        (entry(2.5, 4, r"caf\u00e9 \"au\" lait \/ \\"), 'café "au" lait / \\'),
        (entry(2.5, 4, r"\ud83d\ude00 \ud83d"), "\U0001f600 \ufffd"),
        (entry(2.5, 4, "left {over} [braces]"), "left {over} [braces]"),
        (entry(2.5, 4, "two<|im_end|> <|object_ref_start|><|box_start|>"), "two"),
        (entry(2.5, 4, "two<|<|im_end|>im_end|>"), "two<| im_end|>"),
        (entry(2.5, 4, "two").replace('"}', "}"), "two"),  # no closing quote
        (entry(2.5, 4, "two").replace('"}', '"'), "two"),  # no closing brace
        (entry(2.5, 4, "two").replace('"}', '",}'), "two"),
        ('{"Content":"two","End":4,"Speaker":0,"Start":2.5}', "two"),
        ('{"Content":"say "two"","End":4,"Speaker":0,"Start":2.5}', 'say "two"'),
        ('{"Start time":"2.5","End time":"4","Speaker ID":"0","Content":"two"}', "two"),  # as the prompt asks for them
        ('{ "Start" : 2.5 , "End" : 4.0 ,\n "Speaker" : 0, "Language": "en", "Content" : "two" }', "two"),
        (entry("00:02.5", '"0:00:04"', "two"), "two"),
        (entry("02.50", "4e0", "two"), "two"),
        (entry(2.5, 4, "two", ',"Speaker":"SPEAKER_00"'), "two"),
        (entry(2.5, 4, "[Music] two [Noise]"), "two"),
        (entry(2.5, 4, "two [Unintelligible Speech] three"), "two [Unintelligible Speech] three"),
        (entry(2.5, 4, "[Lyric] two [laughs]"), "[Lyric] two [laughs]"),  # nobody said what these mean: they stay
    ],
)
def test_a_damaged_entry_is_read_and_costs_no_other(broken: str, shown: str) -> None:
    text = f"assistant\n[{ONE},{broken},{THREE}]"
    assert rows(text) == [FIRST, (2.5, 4.0, 0, shown), THIRD]
    assert (read(text).gaps, read(text).truncated) == ((), False)


@pytest.mark.parametrize("speaker", ["", ',"Speaker":"N/A"', ',"Speaker":null', ',"Speaker":""', ',"Speaker":"Ann"'])
def test_a_speaker_may_be_missing(speaker: str) -> None:
    assert rows(f"[{entry(0.5, 2.0, 'one', speaker)},{TWO}]") == [(0.5, 2.0, None, "one"), SECOND]


@pytest.mark.parametrize("tag", ["[Silence]", "[Music]", "[Noise]", "[Human Sounds]", "[Environmental Sounds] [music]"])
def test_where_nobody_speaks_nothing_is_said_and_nothing_missing(tag: str) -> None:
    assert read(f"[{entry(0, 5, tag, '')}]") == Hypothesis(())
    assert rows(f"[{ONE},{entry(2.0, 2.4, tag)},{TWO}]") == [FIRST, SECOND]


def test_speech_that_was_not_understood_is_missing() -> None:
    text = f"[{ONE},{entry(2.5, 4, '[Music] [Unintelligible Speech]', '')},{THREE}]"
    assert rows(text) == [FIRST, THIRD]
    assert [(gap.start, gap.end) for gap in read(text).gaps] == [(2.5, 4.0)]


def test_two_speakers_are_told_apart_only_where_one_is_named() -> None:
    """microsoft/VibeVoice 239: two speakers in one entry, on two lines."""
    assert rows(f"[{entry(2, 4, 'How are you?' + chr(92) + 'nFine.')}]") == [(2.0, 4.0, 0, "How are you? Fine.")]
    named = entry(2, 4, r"How are you?\n Speaker 1: Fine.\nSpeaker 0:And you?")
    assert rows(f"[{named}]") == [(2.0, 4.0, 0, "How are you?"), (2.0, 4.0, 1, "Fine."), (2.0, 4.0, 0, "And you?")]
    assert rows(f"[{entry(2, 4, 'The next Speaker 1: Ann')}]") == [(2.0, 4.0, 0, "The next Speaker 1: Ann")]


@pytest.mark.parametrize(
    ("broken", "place"),
    [
        ('{"Start":2.5,"End":4.0,"Speaker":1}', (2.5, 4.0)),
        (entry(2.5, 4, ""), (2.5, 4.0)),
        (entry(2.5, 4, " <|im_end|> "), (2.5, 4.0)),
        ('{"Start":2.5,"End":4.0,"Content":["two"]}', (2.5, 4.0)),
        ('{"Start":2.5,"End":4.0,"Content":"two","Content":"deux"}', (2.5, 4.0)),
        ('{"Start":2.5,"End":4.0,"Speaker":1,"Content":"two', (2.5, 4.0)),
        ('{"Start":2.5,"Speaker":1,"Content":"two"}', (2.5, 5.0)),
        ('{"End":4.0,"Speaker":1,"Content":"two"}', (2.0, 4.0)),
        (entry("NaN", "Infinity", "two"), (2.0, 5.0)),
        (entry('"a while"', '"later"', "two"), (2.0, 5.0)),
        (entry("[" * 100_000, 4, "two"), (2.0, 4.0)),
        (entry("9" * 5000, 4, "two"), (2.0, 4.0)),
        (entry("1e999", 4, "two"), (2.0, 4.0)),
        (entry('"0:99"', 4, "two"), (2.0, 4.0)),
        (entry('"0:61:00"', 4, "two"), (2.0, 4.0)),
        (entry(345.0, 350.0, "two"), (2.0, 5.0)),
        (entry(-90, -80, "two"), (2.0, 5.0)),
        (entry(345.0, 350.0, ""), (2.0, 5.0)),
        ("and then", (2.0, 5.0)),
        ('{"speaker":1,"text":"two"}', (2.0, 5.0)),
    ],
)
def test_what_cannot_be_read_is_a_gap_and_costs_no_other(broken: str, place: tuple[float, float]) -> None:
    text = f"[{ONE},{broken},{THREE}]"
    assert rows(text) == [FIRST, THIRD]
    (gap,) = read(text).gaps
    assert (gap.start, gap.end) == place
    assert gap.reason
    assert not read(text).truncated


def test_at_the_ends_a_gap_reaches_to_those_of_the_chunk() -> None:
    text = f'Well [{{"Speaker":1,"Content":"zero"}},{TWO},{{"Speaker":1,"Content":"three"}}] Thank you.'
    assert [(gap.start, gap.end) for gap in read(text).gaps] == [(0.0, 2.5), (0.0, 2.5), (4.0, 60.0), (4.0, 60.0)]


def test_a_gap_between_people_who_speak_at_once_is_where_they_do() -> None:
    assert [(gap.start, gap.end) for gap in read(f"[{entry(0, 9, 'a')},well,{entry(5, 8, 'b')}]").gaps] == [(5.0, 9.0)]


def test_what_stands_behind_a_damaged_entry_is_reported() -> None:
    for damaged in ('{"Content":"say "two"","Speaker":1,"Start":2.5,"End":4.0}', entry(2.5, 4.0, 'say "two"')):
        found = read(f"[{ONE},{damaged} and then,{THREE}]")
        assert [segment.text for segment in found.segments] == ["one", 'say "two"', "three"]
        assert [(gap.start, gap.end) for gap in found.gaps] == [(4.0, 5.0)]


@pytest.mark.parametrize(
    ("start", "end", "duration", "shown"),
    [
        (-0.4, 2.0, 60.0, (0.0, 2.0)),
        (58.0, 60.4, 60.0, (58.0, 60.0)),
        (58.0, 400.0, 60.0, (58.0, 60.0)),
        (60.2, 60.4, 60.0, (60.0, 60.0)),
        (5.0, 3.0, 60.0, (5.0, 5.0)),
        ('"01:30"', '"1:01:30.5"', 4000.0, (90.0, 3690.5)),
    ],
)
def test_times_stay_inside_the_chunk(start: object, end: object, duration: float, shown: tuple[float, float]) -> None:
    (segment,) = read(f"[{entry(start, end, 'one')}]", duration=duration).segments
    assert (segment.start, segment.end) == shown


def test_people_who_speak_at_once_come_in_the_order_of_their_starts() -> None:
    """The model writes overlapping speech one speaker after the other; no time is changed for that."""
    assert rows(f"[{entry(5, 9, 'a')},{entry(2, 6, 'b')},{entry(2, 3, 'c')}]") == [
        (2.0, 6.0, 0, "b"),
        (2.0, 3.0, 0, "c"),
        (5.0, 9.0, 0, "a"),
    ]


@pytest.mark.parametrize(
    ("tail", "gap"),
    [
        ("", None),
        (",", None),
        (",{", (2.0, 60.0)),
        (',{"Start":2.5', (2.0, 60.0)),  # it may have been going to be 2.56
        (',{"Start":2.5,"En', (2.5, 60.0)),
        (',{"Start":2.5,"End":9,"Speaker":0,"Content":"' + "no, " * 500, (2.5, 60.0)),  # microsoft/VibeVoice 193, 227
        (',{"Start":2.5,"End":9,"Speaker":0,"Content":"he said "no"', (2.5, 60.0)),
        (',{"Start":2.5,"End":9,"Speaker":0,"Content":"[Music]', (2.5, 60.0)),
        (r',{"Start":2.5,"End":9,"Speaker":0,"Content":"he said \"no\"', (2.5, 60.0)),
        (r',{"Start":2.5,"End":9,"Speaker":0,"Content":"he said \"no\"]', (2.5, 60.0)),
        (r',{"Start":2.5,"End":9,"Speaker":0,"Content":"he said \"no\"}', (2.5, 60.0)),
    ],
)
def test_an_answer_that_breaks_off_says_so(tail: str, gap: tuple[float, float] | None) -> None:
    found = read(f"[{ONE}{tail}")
    assert rows(f"[{ONE}{tail}") == [FIRST]
    assert found.truncated
    assert [(g.start, g.end) for g in found.gaps] == ([] if gap is None else [gap])


def test_pieces_say_where_they_stand() -> None:
    """What loops are cut by, and what may be forgotten follows: the last complete entry, and the open one."""
    text = f'assistant\n[{ONE},oh,{TWO},{{"Start":5.5,"End":9,"Speaker":0,"Content":"no, no, no'
    one, oh, two, opened = iter_entries(text)
    assert isinstance(one, Entry)
    assert isinstance(two, Entry)
    assert (text[one.first : one.past], text[two.first : two.past]) == (ONE, TWO)
    assert isinstance(oh, Broken)
    assert text[oh.first : oh.past] == ",oh,"
    assert opened == OpenEntry(text.index('{"Start":5.5'), 5.5, 9.0)
    assert list(iter_entries(text[two.past :])) == [OpenEntry(1, 5.5, 9.0)]


def test_gaps_that_are_one_are_told_once() -> None:
    gap = HypGap(2.0, 5.0, "the model wrote a segment without a valid time")
    assert read(f"[{ONE},{','.join([entry('NaN', 'NaN', 'no')] * 3)},{THREE}]").gaps == (gap,)
