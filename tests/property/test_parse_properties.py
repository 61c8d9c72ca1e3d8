"""The answer parser against json by brute force, and on answers that are damaged at random."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.parse import find_entries_plainly, unescape_plainly

from murmur_cli.decode.entries import Broken, Entry, OpenEntry, iter_entries
from murmur_cli.decode.parse import parse_answer
from murmur_cli.types import DecodeError, HypGap, Hypothesis

Row = tuple[float, float, int | None, str]

DURATION = 100.0

PAIRS = (
    '"Start":1.5~"Start":0~"Start time":"0:02"~"Start":-1~"Start":NaN~"End":2.0~"End":2~"End time":"01:30"~"End":1e9'
)
PAIRS += '~"Speaker":0~"Speaker ID":"1"~"Speaker":"N/A"~"Content":"one two"~"Content":"\\ud83d\\u00e9 \\"x\\""'
PAIRS += '~"Content":""~"Content":"[Music]"~"Content":"a\nSpeaker 1: b [Silence]"~"Content":"<|im_end|>"~"x":null'
PAIRS += '~"Content":"said "no" to"'
TEXTS = '{"Start":~{ "Start"~{"Content":"~"End":~"Content":"~four~"three~[Music]~[Unintelligible Speech]~\nSpeaker 2:'
TEXTS += '~\\~\\"~\\ud83d~\\ude00~\\u00e9~\\q~01:30~99999999999~null~"~\x00~\u00e9~\u4f60\u597d~\U0001f600~assistant'
MARKS = ',~:~"~}~},~"},~]~[~{~ ~\n~<|im_start|>~<|im_end|>~<|~|>'

pairs = st.sampled_from(PAIRS.split("~"))
entries = st.tuples(pairs, pairs, st.just('"End":3'), st.just('"Start":2'), pairs).flatmap(st.permutations)
objects = (st.lists(pairs, max_size=5) | entries).map(lambda inside: f"{{{','.join(inside)}}}")
fragments = st.sampled_from(TEXTS.split("~")) | st.sampled_from(MARKS.split("~")) | st.text(max_size=3)
soups = st.lists(fragments | objects | objects, max_size=20).map("".join)
bits = ["one", "two", 'say "no"', "a\nb", "{x}", "[y]", "],", "}", "\\", "é", "\u4f60\u597d", "\U0001f600", "-"]
contents = st.lists(st.sampled_from(bits))


@dataclass(frozen=True, slots=True)
class Answer:
    """Entries as they are written, and what the parser should make of them."""

    written: tuple[str, ...]
    rows: tuple[Row, ...]

    @property
    def text(self) -> str:
        return f"[{','.join(self.written)}]"

    def start(self, index: int) -> float:
        return self.rows[index][0] if index < len(self.rows) else DURATION

    def end(self, index: int) -> float:
        return self.rows[index][1] if index >= 0 else 0.0


@st.composite
def answers(draw: st.DrawFn) -> Answer:
    """Sound answers, as the model writes them or as json does, with and without escapes."""
    written: list[str] = []
    rows: list[Row] = []
    separators, plain = draw(st.sampled_from([None, (",", ":")])), draw(st.booleans())
    now = 0  # in tenths of seconds
    for _ in range(draw(st.integers(1, 6))):
        start = now + draw(st.integers(0, 20))
        now = start + draw(st.integers(1, 100))
        speaker = draw(st.none() | st.integers(0, 3))
        content = " ".join(["x", *draw(contents)])
        who = {} if speaker is None else {"Speaker": speaker}
        entry = {"Start": start / 10, "End": now / 10} | who | {"Content": content}
        written.append(json.dumps(entry, ensure_ascii=plain, separators=separators))
        rows.append((start / 10, now / 10, speaker, " ".join(content.split())))
    return Answer(tuple(written), tuple(rows))


def show(found: Hypothesis | DecodeError) -> list[Row]:
    segments = found.segments if isinstance(found, Hypothesis) else ()
    return [(segment.start, segment.end, segment.speaker, segment.text) for segment in segments]


@given(answers(), st.sampled_from(["", "assistant\n", "<|im_start|>assistant\n", "```json\n"]))
def test_a_sound_answer_reads_back(answer: Answer, prefix: str) -> None:
    found = parse_answer(f"{prefix}{answer.text}<|im_end|>\n<|endoftext|>", duration=DURATION)
    assert isinstance(found, Hypothesis)
    assert show(found) == list(answer.rows)
    assert found.gaps == ()
    assert not found.truncated


@given(answers(), st.data(), soups | st.text(max_size=30))
def test_whatever_stands_in_the_place_of_an_entry_the_others_are_kept(
    answer: Answer, data: st.DataObject, instead: str
) -> None:
    lost = data.draw(st.integers(0, len(answer.rows) - 1))
    written = [*answer.written[:lost], instead, *answer.written[lost + 1 :]]
    found = iter(show(parse_answer(f"[{','.join(written)}]", duration=DURATION)))
    assert all(row in found for row in (*answer.rows[:lost], *answer.rows[lost + 1 :]))  # in their order


@given(answers(), st.data(), st.sampled_from(["well", "{}{no", '"Content":"a"', '{"start":1}', "é"]))
def test_what_is_no_entry_is_a_gap_between_its_neighbours(answer: Answer, data: st.DataObject, instead: str) -> None:
    lost = data.draw(st.integers(0, len(answer.rows) - 1))
    written = [*answer.written[:lost], instead, *answer.written[lost + 1 :]]
    found = parse_answer(f"[{','.join(written)}]", duration=DURATION)
    if len(answer.rows) == 1:
        assert isinstance(found, DecodeError)
        return
    assert isinstance(found, Hypothesis)
    place = (answer.end(lost - 1), answer.start(lost + 1))
    assert {(gap.start, gap.end) for gap in found.gaps} == {place}


@given(answers(), st.data())
def test_an_entry_of_which_characters_are_missing_is_read_or_reported(answer: Answer, data: st.DataObject) -> None:
    hurt = data.draw(st.integers(0, len(answer.rows) - 1))
    whole = answer.written[hurt]
    first = data.draw(st.integers(0, len(whole) - 1))
    rest = whole[:first] + whole[data.draw(st.integers(first + 1, len(whole))) :]
    written = [*answer.written[:hurt], rest, *answer.written[hurt + 1 :]]
    found = parse_answer(f"[{','.join(written)}]", duration=DURATION)
    if isinstance(found, Hypothesis) and any(character.isalnum() for character in rest):
        assert len(found.segments) == len(answer.rows) or found.gaps


@given(answers(), st.data())
def test_of_a_cut_answer_every_complete_entry_is_kept(answer: Answer, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(answer.text)))
    text = answer.text[:cut]
    n_kept = sum(cut >= len("[" + ",".join(answer.written[: index + 1])) for index in range(len(answer.rows)))
    begun_at = len("[" + "".join(f"{entry}," for entry in answer.written[:n_kept]))
    found = parse_answer(text, duration=DURATION)
    assert isinstance(found, Hypothesis) is (n_kept > 0)
    assert show(found) == list(answer.rows[:n_kept])
    *_, last = None, *iter_entries(text)
    assert isinstance(last, OpenEntry) is (begun_at < cut < len(answer.text))
    if isinstance(last, OpenEntry):
        start, end, *_ = answer.rows[n_kept]
        assert last.first == begun_at
        assert last.start == (start if '"End":' in text[begun_at:] else last.start)
        assert last.start in (None, start)
        assert last.end in (None, end)
    if isinstance(found, Hypothesis):
        assert found.truncated is (cut < len(answer.text))
        assert bool(found.gaps) is isinstance(last, OpenEntry)


@given(soups)
def test_whatever_json_can_read_is_found(text: str) -> None:
    found = {
        (piece.first, piece.past, (piece.start, piece.end, piece.speaker, piece.content))
        for piece in iter_entries(text)
        if isinstance(piece, Entry)
    }
    assert set(find_entries_plainly(text)) <= found


@given(soups)
def test_of_any_text_nothing_is_invented(text: str) -> None:
    found = parse_answer(text, duration=DURATION)
    if isinstance(found, DecodeError):
        assert found.reason
        assert not any(isinstance(piece, Entry) and piece.start < DURATION for piece in iter_entries(text))
        return
    starts = [segment.start for segment in found.segments]
    assert starts == sorted(starts)
    for stretch in (*found.segments, *found.gaps):
        assert 0.0 <= stretch.start <= stretch.end <= DURATION
    readable = unescape_plainly(text)
    for segment in found.segments:
        assert segment.text == segment.text.strip() != ""
        assert segment.text.encode()
        assert not {"<|im_start|>", "<|im_end|>", "[Music]", "[Silence]", "\n", "\x00"} & set(segment.text.split(" "))
        assert all(word in readable for word in segment.text.split(" "))


@given(soups)
def test_pieces_lie_side_by_side_and_what_is_broken_is_reported(text: str) -> None:
    pieces = list(iter_entries(text))
    past = 0
    for piece in pieces:
        assert past <= piece.first < len(text)
        past = len(text) if isinstance(piece, OpenEntry) else piece.past
        assert piece.first < past <= len(text)
        assert isinstance(piece, Broken) or text[piece.first] == "{"
    assert not any(isinstance(piece, OpenEntry) for piece in pieces[:-1])
    found = parse_answer(text, duration=DURATION)
    gaps: tuple[HypGap, ...] = found.gaps if isinstance(found, Hypothesis) else ()
    reported = {gap.reason for gap in gaps} or isinstance(found, DecodeError)
    assert reported or all(isinstance(piece, Entry) for piece in pieces)


HEAD = '{"Start":0,"End":1,"Speaker":0,"Content":"'
LONG = {
    "heads": HEAD * 4000,
    "heads, no text": HEAD[:-1] * 4000,
    "only heads": '{"Start"' * 20_000,
    "quotes": HEAD + '"' * 200_000,
    "quotes and blanks": HEAD + ('"' + " " * 400) * 500,
    "backslashes": HEAD + "\\" * 200_000,
    "braces": "{ " * 100_000,
    "nested": '{"Start":' + "[" * 200_000,
    "nested heads": '{"Start":' * 20_000,
    "digits": '{"Start":' + "9" * 200_000 + ',"End":1,"Content":"a"}',
    "line breaks": HEAD + "\n" * 200_000 + '"}',
    "tags": HEAD + "\nSpeaker " * 20_000 + '"}',
    "tokens": HEAD + "<|" + "a" * 200_000 + '"}',
    "half tokens": "<|" * 100_000,
    "brackets": "] " * 100_000,
    "brackets and tokens": "]<|a|>" * 40_000,
    "keys": '{"Start":1' + ',"Content":"a"' * 15_000,
    "commas": '{"Start":1' + ", " * 100_000,
    "surrogates": HEAD + "\\ud83d" * 40_000 + '"}',
    "entries": (HEAD + 'a"},') * 4000,
    "empty entries": (HEAD + '"},') * 4000,
}


@pytest.mark.parametrize("name", LONG)
def test_no_text_takes_long(name: str) -> None:
    """A few hundred thousand characters take a fraction of a second; minutes, if time grew with their square."""
    begin = time.process_time()
    parse_answer(LONG[name], duration=DURATION)
    assert time.process_time() - begin < 5.0
