"""A chunk that is read until nothing is left to try, whatever the model writes; and the arithmetic on its samples."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from answer_texts import write_answer, write_entry
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.coverage import find_unread_plainly, split_plainly
from oracles.parse import unescape_plainly

from murmur_cli.decode.coverage import find_unread, split_at_pause, trim_to_speech
from murmur_cli.decode.entries import Entry, iter_entries
from murmur_cli.decode.heard import MarkedText
from murmur_cli.decode.rescue import Attempt, ChunkReading
from murmur_cli.types import DecodeError, Hypothesis, Span

RATE = 50
SECONDS = 60
MOST_ATTEMPTS = 10

# --- what the model may write

contents = st.sampled_from(
    ["one", "two three", "no " * 30, "", 'said "no" to', "a\\nb", "x},{y", "[unintelligible speech]"]
)
times = st.integers(-20, 1400).map(lambda tenths: tenths / 20) | st.sampled_from([0.0, 1e9, -50.0])
speakers = st.sampled_from([0, 1, None])
spoils = st.sampled_from(['{"Start":1.00,"End":3.50,"Content":"', '{"Start":1.00,', "well", "]", '"', "}", "[]", "\n"])


@st.composite
def entries(draw: st.DrawFn) -> str:
    start = draw(times)
    return write_entry(
        start, start + draw(st.sampled_from([0.0, 2.0, 5.0, 20.0, -1.0])), draw(contents), draw(speakers)
    )


@st.composite
def ordered(draw: st.DrawFn) -> list[str]:
    """Entries as a model in its right mind writes them, for the first part of the chunk or all of it."""
    written: list[str] = []
    now = 0.0
    for i in range(draw(st.integers(0, 12))):
        start = now + draw(st.sampled_from([0.0, 0.3, 6.0]))
        now = start + draw(st.sampled_from([0.5, 3.0, 8.0]))
        written.append(write_entry(start, now, f"line {i}", draw(speakers)))
    return written


@st.composite
def texts(draw: st.DrawFn) -> str:
    written = draw(ordered() | st.lists(entries() | spoils, max_size=8))
    loop = draw(st.just([]) | st.lists(entries(), min_size=1, max_size=1).map(lambda one: one * 6))
    tail = draw(st.sampled_from(["", ',{"Start":20.00,"End":30.00,"Content":"no no no', "]", ","]))
    return write_answer([*written, *loop], closed=draw(st.booleans())) + tail


@dataclass(frozen=True)
class Written:
    """What the model wrote, and how it ended."""

    text: str
    stopped: bool
    halted: str | None


@st.composite
def answers(draw: st.DrawFn) -> Written:
    stopped = draw(st.booleans())
    return Written(draw(texts() | texts() | spoils), stopped, None if stopped or draw(st.booleans()) else "a loop")


@st.composite
def speeches(draw: st.DrawFn) -> list[Span]:
    spans: list[Span] = []
    now = 0
    while now < SECONDS * RATE and draw(st.integers(0, 9)):
        start = now + draw(st.integers(0, 8 * RATE))
        now = start + draw(st.integers(1, 12 * RATE))
        spans.append(Span(start, now))
    return [Span(min(s.start, SECONDS * RATE), min(s.end, SECONDS * RATE)) for s in spans]


@dataclass(frozen=True)
class Read:
    """A chunk that was read."""

    result: Hypothesis | DecodeError
    asked: dict[Attempt, Written]


def read(script: list[Written], speech: list[Span], *, takes_last: bool = False) -> Read:
    """Read a chunk; what is written about an attempt depends on the attempt alone."""
    reading = ChunkReading(SECONDS * RATE, speech, sample_rate=RATE, seed=0)
    waiting, asked = [reading.first()], {}
    while waiting:
        attempt = waiting.pop(-1 if takes_last else 0)
        written = script[min(attempt.seed, len(script) - 1)]
        asked[attempt] = written
        waiting += reading.take(attempt, MarkedText(written.text), stopped=written.stopped, halted=written.halted)
        assert len(asked) + len(waiting) <= MOST_ATTEMPTS
    return Read(reading.finish(), asked)


scripts = st.lists(answers(), min_size=1, max_size=10)


@settings(max_examples=150)
@given(scripts, speeches())
def test_whatever_the_model_writes(script: list[Written], speech: list[Span]) -> None:
    outcome = read(script, speech)
    check_that_what_is_good_is_kept(outcome)
    if isinstance(outcome.result, DecodeError):
        assert outcome.result.reason
        return
    check_that_all_speech_is_read_or_reported(outcome.result, speech)
    check_that_nothing_is_invented_or_told_twice(outcome.result, outcome.asked)


def check_that_all_speech_is_read_or_reported(result: Hypothesis, speech: list[Span]) -> None:
    covered = np.zeros(SECONDS * RATE, dtype=bool)
    for stretch in (*result.segments, *result.gaps):
        assert 0.0 <= stretch.start <= stretch.end <= SECONDS
        covered[int(stretch.start * RATE) : int(np.ceil(stretch.end * RATE))] = True
    spoken = np.zeros(SECONDS * RATE, dtype=bool)
    for span in speech:
        spoken[span.start : span.end] = True
    borders = [0, *(np.flatnonzero(np.diff(covered)) + 1), SECONDS * RATE]
    for first, past in pairwise(borders):
        assert covered[first] or np.count_nonzero(spoken[first:past]) <= 2 * RATE


def check_that_nothing_is_invented_or_told_twice(result: Hypothesis, asked: dict[Attempt, Written]) -> None:
    segments, gaps = result.segments, result.gaps
    assert [s.start for s in segments] == sorted(s.start for s in segments)
    assert len(set(segments)) == len(segments)
    assert len(set(gaps)) == len(gaps)
    assert not result.truncated
    places = {attempt.part: attempt.span for attempt in asked}
    for segment in segments:
        span = places[segment.part]
        assert span.start / RATE <= segment.start <= segment.end <= span.end / RATE
        own = [written.text for attempt, written in asked.items() if attempt.part == segment.part]
        assert any(all(word in unescape_plainly(text) for word in segment.text.split()) for text in own)


def check_that_what_is_good_is_kept(outcome: Read) -> None:
    tries = sorted((attempt for attempt in outcome.asked if attempt.part == 0), key=lambda attempt: attempt.seed)
    assert [attempt.temperature for attempt in tries] == [0.0, 0.2, 0.3, 0.4][: len(tries)]
    for earlier, later in pairwise(tries):
        assert later.prefix.startswith(earlier.prefix)
    told = outcome.result.segments if isinstance(outcome.result, Hypothesis) else ()
    kept = [
        each for each in iter_entries(tries[-1].prefix) if isinstance(each, Entry) and not each.content.startswith("[")
    ]
    starts = [segment.start for segment in told if segment.part == 0]
    for entry in kept:
        if entry.end >= -1.0 and entry.start <= SECONDS + 1.0:
            assert min(max(entry.start, 0.0), SECONDS) in starts


@settings(max_examples=40)
@given(scripts, speeches())
def test_the_order_of_the_answers_changes_nothing(script: list[Written], speech: list[Span]) -> None:
    first, last = read(script, speech), read(script, speech, takes_last=True)
    assert first == last
    assert len({attempt.seed for attempt in first.asked}) == len(first.asked)


@given(ordered(), ordered(), speeches())
def test_an_answer_that_loops_and_goes_on_is_one_answer(
    before: list[str], after: list[str], speech: list[Span]
) -> None:
    """Cut off by a loop and gone on with, or written in one go: the same, unless nothing was left to be read."""
    loop = '{"Start":50.00,"End":50.10,"Content":"no no no'
    halted = Written(write_answer([*before, loop], closed=False), stopped=False, halted="a loop")
    rest = Written(write_answer(after).removeprefix("assistant\n[") if before else write_answer(after), True, None)
    whole = Written(write_answer([*before, *after]), stopped=True, halted=None)
    outcome = read([halted, rest], speech)
    if [attempt.part for attempt in outcome.asked] == [0, 0]:
        assert outcome.result == read([whole], speech).result


# --- samples

spans = st.tuples(st.integers(0, 30), st.integers(0, 6)).map(lambda each: Span(each[0], each[0] + each[1]))
few = st.lists(spans, max_size=6)


@settings(max_examples=300)
@given(few, few, st.integers(0, 5), st.integers(0, 4))
def test_unread_speech_is_what_the_oracle_says(
    speech: list[Span], taken: list[Span], n_least: int, n_edge: int
) -> None:
    n_samples = max((span.end for span in speech), default=0)
    expected = find_unread_plainly(speech, taken, n_samples, n_least=n_least, n_edge=n_edge)
    assert find_unread(speech, taken, n_least=n_least, n_edge=n_edge) == expected


@settings(max_examples=300)
@given(few, st.builds(Span, st.integers(0, 8), st.integers(20, 40)))
def test_a_stretch_is_split_where_the_oracle_splits_it(speech: list[Span], around: Span) -> None:
    within = trim_to_speech(speech, around)
    if within is not None:
        assert split_at_pause(speech, within) == split_plainly(speech, within)
