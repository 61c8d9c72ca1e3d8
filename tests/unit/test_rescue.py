"""Models that do everything wrong that users have reported: what it costs, and what is said of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import pytest
from answer_texts import write_answer, write_entry
from scripted_chunk import RATE, Line, Outcome, hear, read_chunk, to_speech, write_line, write_well

from murmur_cli.decode.heard import MarkedText
from murmur_cli.decode.parse import parse_answer
from murmur_cli.decode.rescue import Attempt, ChunkReading
from murmur_cli.types import DecodeError, HypGap, Hypothesis, Span

SECONDS = 240.0
TRUTH = [Line(4.0 * i, 4.0 * i + 3.5, f"this is line {i}", i // 5 % 2) for i in range(60)]
TEXTS = [line.text for line in TRUTH]
LOOP = "no, " * 9999
MOST_ATTEMPTS = 10


def read(write: Callable[[Attempt], str], truth: Sequence[Line] = TRUTH, seconds: float = SECONDS) -> Outcome:
    """Read a chunk, and check what holds for any."""
    outcome = read_chunk(write, seconds=seconds, speech=to_speech(truth))
    assert len(outcome.attempts) <= MOST_ATTEMPTS
    assert outcome == read_chunk(write, seconds=seconds, speech=to_speech(truth))
    last = read_chunk(write, seconds=seconds, speech=to_speech(truth), takes_last=True)
    assert last.result == outcome.result
    assert set(last.attempts) == set(outcome.attempts)
    if isinstance(outcome.result, Hypothesis):
        times = [(segment.start, segment.text) for segment in outcome.result.segments]
        assert times == sorted(times, key=lambda time: time[0])
        assert len(set(times)) == len(times)
    return outcome


def places(outcome: Outcome) -> list[tuple[float, float]]:
    return [(round(gap.start, 1), round(gap.end, 1)) for gap in outcome.gaps]


def loop_at(time: float, attempt: Attempt, *, truth: Sequence[Line] = TRUTH) -> str:
    """Write well, but for a loop in the entry at a time of the chunk."""
    place = time - attempt.span.start / RATE
    before = [line for line in hear(truth, attempt) if line.start < place]
    if len(before) == len(hear(truth, attempt)) or place < 0:
        return write_well(truth, attempt)
    written = [*map(write_line, before), write_entry(place, place + 3.5, LOOP)]
    return write_answer(written).removeprefix("assistant\n[" if attempt.prefix else "")


# --- nothing is wrong


def test_an_answer_that_is_sound_is_what_the_parser_says() -> None:
    outcome = read(partial(write_well, TRUTH))
    (attempt,) = outcome.attempts
    assert (attempt.span, attempt.prefix, attempt.temperature, attempt.part) == (Span(0, 240_000), "", 0.0, 0)
    assert outcome.result == parse_answer(write_well(TRUTH, attempt), duration=SECONDS)
    assert outcome.texts == TEXTS


def test_true_repeats_are_untouched() -> None:
    truth = [Line(3.1 * i, 3.1 * i + 2.8, "It is the same sentence again and again.") for i in range(20)]
    outcome = read(partial(write_well, truth), truth=truth, seconds=62.0)
    assert len(outcome.attempts) == 1
    assert len(outcome.texts) == 20
    assert outcome.gaps == ()


def test_other_sounds_are_read_too() -> None:
    music = [write_entry(40 * i, 40 * i + 40, "[Music]", None) for i in range(6)]
    outcome = read(lambda attempt: write_answer(music))
    assert (outcome.result, len(outcome.attempts)) == (Hypothesis(()), 1)


def test_in_a_chunk_without_speech_nothing_is_missed() -> None:
    outcome = read_chunk(lambda attempt: "[]", seconds=3.0, speech=[])
    assert (outcome.result, len(outcome.attempts)) == (Hypothesis(()), 1)


def test_what_is_missed_in_2_seconds_is_not_missed() -> None:
    truth = [line for i, line in enumerate(TRUTH) if i not in (10, 30)]
    speech = [*to_speech(truth), Span(41_000, 42_500), Span(121_000, 122_500)]
    outcome = read_chunk(partial(write_well, truth), seconds=SECONDS, speech=speech)
    assert (outcome.gaps, len(outcome.attempts)) == ((), 1)


# --- loops


def test_after_a_loop_the_answer_goes_on_warmer() -> None:
    def write(attempt: Attempt) -> str:
        return loop_at(100.0, attempt) if attempt.temperature < 0.25 else write_well(TRUTH, attempt)

    outcome = read(write)
    assert outcome.temperatures == [0.0, 0.2, 0.3]
    assert [attempt.span for attempt in outcome.attempts] == [Span(0, 240_000)] * 3
    first, second, third = (attempt.prefix for attempt in outcome.attempts)
    assert (first, second) == ("", f"[{','.join(map(write_line, TRUTH[:25]))},")
    assert third == second
    assert len({attempt.seed for attempt in outcome.attempts}) == 3
    assert (outcome.texts, outcome.gaps) == (TEXTS, ())
    assert {segment.part for segment in outcome.hypothesis.segments} == {0}


def test_what_a_warmer_answer_adds_is_kept_when_that_loops_too() -> None:
    def write(attempt: Attempt) -> str:
        place = {0.0: 40.0, 0.2: 100.0, 0.3: 160.0}.get(attempt.temperature)
        return write_well(TRUTH, attempt) if place is None else loop_at(place, attempt)

    outcome = read(write)
    assert outcome.temperatures == [0.0, 0.2, 0.3, 0.4]
    assert [attempt.prefix.count("Start") for attempt in outcome.attempts] == [0, 10, 25, 40]
    assert (outcome.texts, outcome.gaps) == (TEXTS, ())


def test_what_always_loops_as_a_whole_is_decoded_in_halves() -> None:
    outcome = read(lambda attempt: write_well(TRUTH, attempt) if attempt.part else loop_at(80.0, attempt))
    assert outcome.temperatures == [0.0, 0.2, 0.3, 0.4, 0.0, 0.0]
    left, right = outcome.attempts[-2:]
    assert left.prefix == right.prefix == ""
    assert (left.span.start, right.span.end) == (79_800, 239_700)
    assert 0 < right.span.start - left.span.end < 200
    assert abs(left.span.end - 160_000) < 40_000
    assert (outcome.texts, outcome.gaps) == (TEXTS, ())
    assert {segment.part for segment in outcome.hypothesis.segments} == {0, 1, 2}
    assert {(s.part, s.speaker) for s in outcome.hypothesis.segments} == {(p, n) for p in range(3) for n in range(2)}


def test_a_place_that_always_loops_costs_no_more_than_its_half() -> None:
    """It is reported from where the good text ends, and behind it all goes on."""
    outcome = read(lambda attempt: loop_at(100.0, attempt))
    assert outcome.texts[:25] == TEXTS[:25]
    assert outcome.texts[25:] == TEXTS[-len(outcome.texts[25:]) :]
    (gap,) = outcome.gaps
    assert 99.5 <= gap.start <= 100.0
    assert gap.end < outcome.hypothesis.segments[25].start + 0.1
    assert "over and over" in gap.reason


def test_what_is_left_of_a_half_gets_one_more_try() -> None:
    def write(attempt: Attempt) -> str:
        return loop_at(140.0 if attempt.part else 80.0, attempt) if attempt.part < 3 else write_well(TRUTH, attempt)

    outcome = read(write)
    assert (outcome.texts, outcome.gaps) == (TEXTS, ())
    assert [attempt.part for attempt in outcome.attempts] == [0, 0, 0, 0, 1, 2, 3]
    assert outcome.attempts[-1].span.start == 139_800


def test_entries_that_repeat_while_time_stands_still_are_kept_once() -> None:
    def write(attempt: Attempt) -> str:
        heard = [line for line in hear(TRUTH, attempt) if line.start < 40.0]
        thanks = [write_entry(40 + attempt.temperature / 5 + i / 100, 43, "Thank you.") for i in range(100)]
        text = write_answer([*map(write_line, heard), *thanks])
        return text.removeprefix("assistant\n[" if attempt.prefix else "")

    outcome = read(lambda attempt: write(attempt) if attempt.part == 0 else write_well(TRUTH, attempt))
    assert outcome.texts.count("Thank you.") == 1
    assert outcome.texts == [*TEXTS[:10], "Thank you.", *TEXTS[11:]]
    assert outcome.gaps == ()


def test_loops_of_entries_each_further_on_cost_nothing_that_was_good() -> None:
    def write(attempt: Attempt) -> str:
        place = {0.0: 40.0, 0.2: 60.0, 0.3: 80.0}.get(attempt.temperature)
        if place is None:
            return write_well(TRUTH, attempt)
        heard = [line for line in hear(TRUTH, attempt) if line.start < place]
        text = write_answer([*map(write_line, heard), *[write_entry(place, place + 3, "Thank you.")] * 100])
        return text.removeprefix("assistant\n[" if attempt.prefix else "")

    outcome = read(write)
    assert [segment.start for segment in outcome.hypothesis.segments if segment.text == "Thank you."] == [40, 60, 80]
    assert [text for text in outcome.texts if text != "Thank you."] == TEXTS


def test_a_loop_behind_all_that_is_said_costs_nothing() -> None:
    written = [*map(write_line, TRUTH), write_entry(239.5, 240, LOOP)]
    outcome = read(lambda attempt: write_answer(written))
    assert (outcome.texts, outcome.gaps, len(outcome.attempts)) == (TEXTS, (), 1)


def test_a_short_rest_is_decoded_whole() -> None:
    outcome = read(lambda attempt: write_well(TRUTH, attempt) if attempt.part else loop_at(236.0, attempt))
    assert [attempt.part for attempt in outcome.attempts] == [0, 0, 0, 0, 1]
    assert (outcome.texts, outcome.gaps) == (TEXTS, ())


def test_speech_without_a_pause_is_split_in_the_middle() -> None:
    outcome = read_chunk(lambda attempt: f"[{LOOP}", seconds=30.0, speech=[Span(0, 30_000)])
    assert [attempt.span for attempt in outcome.attempts[4:]] == [Span(0, 15_000), Span(15_000, 30_000)]
    assert isinstance(outcome.result, DecodeError)


# --- other things that go wrong


def stall(attempt: Attempt) -> str:
    """Ever new entries, and the time does not move."""
    return write_answer([write_entry(1, 2, f"well {i}") for i in range(9999)])


def test_an_answer_that_does_not_get_ahead_ends_with_its_tokens() -> None:
    outcome = read(stall)
    assert len(outcome.attempts) > 5
    assert outcome.gaps[-1].end == 239.7
    assert any("did not come to an end" in gap.reason for gap in outcome.gaps)


def skip(first: float, past: float, attempt: Attempt) -> str:
    """Pass over what is said between two times of the chunk."""
    return write_well([line for line in TRUTH if not first <= line.start < past], attempt)


def test_what_is_passed_over_is_decoded_by_itself() -> None:
    outcome = read(lambda attempt: skip(100.0, 130.0, attempt) if attempt.part == 0 else write_well(TRUTH, attempt))
    assert [(attempt.span, attempt.temperature) for attempt in outcome.attempts[1:]] == [(Span(99_800, 131_700), 0.0)]
    assert (outcome.texts, outcome.gaps) == (TEXTS, ())
    assert [segment.part for segment in outcome.hypothesis.segments if segment.part] == [1] * 8


def test_what_is_passed_over_again_is_a_gap() -> None:
    outcome = read(partial(skip, 100.0, 130.0))
    assert (len(outcome.attempts), places(outcome)) == (2, [(99.8, 131.7)])
    assert outcome.texts == [*TEXTS[:25], *TEXTS[33:]]


def test_a_model_that_passes_over_much_is_not_asked_for_all_of_it() -> None:
    sparse = [line for i, line in enumerate(TRUTH) if i % 6 == 0]
    outcome = read(partial(write_well, sparse))
    assert len(outcome.attempts) == 5
    assert len(outcome.gaps) == 10
    assert outcome.texts == [line.text for line in sparse]


def test_what_lies_behind_the_end_is_not_of_this_chunk() -> None:
    def write(attempt: Attempt) -> str:
        return write_answer([*map(write_line, TRUTH), *(write_entry(250 + i, 251 + i, f"so {i}") for i in range(99))])

    outcome = read(write)
    assert outcome.texts == TEXTS
    assert len(outcome.attempts) == 1


def test_a_text_that_is_no_list_is_reported() -> None:
    outcome = read(lambda attempt: "Thank you for watching.")
    assert isinstance(outcome.result, DecodeError)
    assert outcome.temperatures == [0.0, 0.2, 0.3, 0.4, 0.0, 0.0]


def test_nothing_at_all_is_reported() -> None:
    outcome = read(lambda attempt: "")
    assert isinstance(outcome.result, DecodeError)
    assert "no segment" in outcome.result.reason


def test_an_unreadable_answer_is_tried_again() -> None:
    outcome = read(lambda attempt: write_well(TRUTH, attempt) if attempt.temperature else "Thank you.")
    assert (outcome.texts, outcome.gaps, len(outcome.attempts)) == (TEXTS, (), 2)
    assert outcome.attempts[1].prefix == ""


def test_nobody_speaks_is_not_believed_of_speech() -> None:
    outcome = read(lambda attempt: "[]", seconds=239.7)
    assert (outcome.temperatures, places(outcome)) == ([0.0, 0.2], [(0.0, 239.7)])
    better = read(lambda attempt: write_well(TRUTH, attempt) if attempt.temperature else "[]", seconds=239.7)
    assert (better.texts, better.gaps) == (TEXTS, ())


def break_lines(first: int, past: int, attempt: Attempt) -> str:
    """Write well, but for some lines of which the text is missing."""
    text = write_well(TRUTH, attempt)
    for line in TRUTH[first:past]:
        text = text.replace(f'"Content":"{line.text}"', '"Content":""')
    return text


def test_entries_that_are_broken_are_decoded_by_themselves() -> None:
    outcome = read(lambda attempt: break_lines(10, 12, attempt) if attempt.part == 0 else write_well(TRUTH, attempt))
    assert (outcome.texts, outcome.gaps, len(outcome.attempts)) == (TEXTS, (), 2)


def test_entries_that_stay_broken_are_gaps_at_their_times() -> None:
    outcome = read(partial(break_lines, 10, 12))
    assert outcome.texts == [*TEXTS[:10], *TEXTS[12:]]
    assert outcome.gaps[0].start == pytest.approx(40.0, abs=0.3)
    assert outcome.gaps[-1].end == pytest.approx(47.5, abs=0.3)
    assert all("without its text" in gap.reason for gap in outcome.gaps)


def test_a_broken_entry_of_little_speech_is_a_gap_at_once() -> None:
    truth = [Line(2.0 * i, 2.0 * i + 1.0, f"line {i}") for i in range(10)]
    written = write_well(truth, Attempt(Span(0, 20_000), "", 0.0, 0, 0)).replace('"line 4"', '""')
    outcome = read(lambda attempt: written, truth=truth, seconds=20.0)
    assert (len(outcome.attempts), places(outcome)) == (1, [(8.0, 9.0)])


def test_an_answer_that_ends_within_an_entry_is_read_from_there() -> None:
    def write(attempt: Attempt) -> str:
        text = write_well(TRUTH, attempt)
        return text if attempt.part else text[: text.index("line 30")]

    outcome = read(write)
    assert (outcome.texts, outcome.gaps, len(outcome.attempts)) == (TEXTS, (), 2)


def test_a_chunk_of_a_moment_is_not_split() -> None:
    truth = [Line(0.2, 0.8, "yes")]
    outcome = read(lambda attempt: f"[{LOOP}", truth=truth, seconds=1.0)
    assert outcome.temperatures == [0.0, 0.2, 0.3, 0.4]
    assert isinstance(outcome.result, DecodeError)


# --- how it is driven


def test_only_what_was_asked_for_is_taken_and_only_once() -> None:
    reading = ChunkReading(1000, [Span(0, 1000)], sample_rate=RATE, seed=0)
    first = reading.first()
    with pytest.raises(ValueError, match="1 attempts"):
        reading.finish()
    assert reading.take(first, MarkedText(write_answer([write_entry(0, 1, "yes")])), stopped=True, halted=None) == []
    assert reading.is_done
    with pytest.raises(ValueError, match="not in list"):
        reading.take(first, MarkedText("[]"), stopped=True, halted=None)


def test_a_gap_that_is_known_is_told_once() -> None:
    outcome = read(lambda attempt: break_lines(10, 30, attempt))
    assert len(outcome.gaps) == len(set(outcome.gaps))
    assert isinstance(outcome.gaps[0], HypGap)
