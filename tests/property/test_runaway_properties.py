"""The watcher for answers that run away against an oracle that works all out anew, and against answers that do not."""

from __future__ import annotations

from itertools import pairwise

from answer_texts import ToyTokenizer, write_answer, write_entry
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.runaway import repeats_plainly, runs_away_plainly, sound_plainly

from murmur_cli.decode.entries import Entry, iter_entries
from murmur_cli.decode.repetition import count_repeating
from murmur_cli.decode.runaway import RunawayWatcher, find_standstill

DURATION = 40.0

times = st.sampled_from([0.0, 1.0, 1.05, 1.5, 2.0, 3.5, 9.0, 30.0, 39.0, 45.0, -3.0, 1e9])
WORDS = " ".join(f"{first}{last}" for first in "bcdf" for last in "aeiouy" if first != last)
contents = st.sampled_from(
    [WORDS, WORDS[:60], "no", "yes, it is so", "", "[Music]", 'said "no" to', "no " * 30, "a b c d e f g " * 3]
)
speakers = st.sampled_from([0, 1, None])
entries = st.builds(write_entry, times, times, contents, speakers)
cuts = st.sampled_from(
    ['{"Start":1.00,"End":3.50,"Content":"', '{"Start":1.00,', "no ", "\n", "]", '"', "}", "and so on "]
)
bits = st.tuples(entries | entries | cuts, st.sampled_from([1, 1, 1, 2, 3, 4, 7, 40]))


@st.composite
def answers(draw: st.DrawFn) -> str:
    """Pieces of answers, some of them many times."""
    parts: list[str] = []
    for bit, n_times in draw(st.lists(bits, max_size=12)):
        parts += [bit + draw(st.sampled_from([",", ",", ""]))] * n_times
    return "assistant\n[" + "".join(parts)


@settings(max_examples=150)
@given(answers(), st.lists(st.integers(1, 17), min_size=1, max_size=4))
def test_a_row_is_ended_at_the_look_at_which_the_oracle_ends_it(text: str, sizes: list[int]) -> None:
    tokenizer = ToyTokenizer()
    tokens = tokenizer.encode(text)
    watcher = RunawayWatcher(tokenizer.decode, duration=DURATION)
    looks: list[list[int]] = []
    while tokens:
        n_tokens = sizes[len(looks) % len(sizes)]
        looks.append(tokens[:n_tokens])
        tokens = tokens[n_tokens:]
        halted = watcher.look(looks[-1]).halt is not None
        assert halted is runs_away_plainly(looks, tokenizer.decode, duration=DURATION)
        if halted:
            return


@given(st.lists(entries | entries | st.just("x"), max_size=14).map(lambda few: few * 2), st.randoms())
def test_the_first_repeat_is_that_of_the_oracle(written: list[str], random: object) -> None:
    random.shuffle(written)  # type: ignore[attr-defined]
    found = [piece for piece in iter_entries(write_answer(written)) if isinstance(piece, Entry)]
    assert find_standstill(found) == sound_plainly(found)


@given(
    st.lists(st.integers(0, 2), max_size=20),
    st.lists(st.integers(0, 2), min_size=1, max_size=30),
    st.integers(0, 70),
    st.integers(0, 29),
)
def test_what_repeats_at_the_end_is_what_the_oracle_says(
    before: list[int], phrase: list[int], n_times: int, n_more: int
) -> None:
    tokens = [*before, *phrase * n_times, *phrase[:n_more]][:400]
    assert count_repeating(tokens) == repeats_plainly(tokens)


def test_a_turn_has_120_tokens_at_most() -> None:
    assert count_repeating([*range(120)] * 6) == repeats_plainly([*range(120)] * 6) == 720
    assert count_repeating([*range(121)] * 9) == repeats_plainly([*range(121)] * 9) == 0


@st.composite
def said(draw: st.DrawFn) -> list[str]:
    """Entries of one speaker after the other, whose texts take their time: 3 to 7 words a second, often the same."""
    written: list[str] = []
    now = 0.0
    for _ in range(draw(st.integers(1, 30))):
        words = draw(st.sampled_from(["yes", "no no no", "it is so", "one two three four five six", "ha " * 40 + "ha"]))
        length = len(words.split()) / draw(st.sampled_from([3.0, 5.0, 7.0]))
        now += draw(st.sampled_from([0.0, 0.2, 3.0]))
        written.append(write_entry(now, now + length, words, draw(st.integers(0, 2))))
        now += length
    return written


@settings(max_examples=50)
@given(said(), st.sampled_from([3, 16]))
def test_what_takes_its_time_goes_on(written: list[str], n_tokens: int) -> None:
    tokenizer = ToyTokenizer()
    tokens = tokenizer.encode(write_answer(written))
    watcher = RunawayWatcher(tokenizer.decode, duration=1000.0)
    borders = [*range(0, len(tokens), n_tokens), len(tokens)]
    assert not any(watcher.look(tokens[first:past]).halt for first, past in pairwise(borders))
