"""The loop detector against all runs and all periods, tried one by one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from oracles.whisper import find_loop_plainly, says_again_plainly

from murmur_cli.decode.repetition import find_loop, says_again


@st.composite
def texts(draw: st.DrawFn) -> list[int]:
    """Few different tokens, with a phrase that may be repeated."""
    phrase = draw(st.lists(st.integers(0, 3), min_size=1, max_size=6))
    ends = st.lists(st.integers(0, 3), max_size=8)
    return [*draw(ends), *phrase * draw(st.integers(0, 7)), *draw(ends)]


@given(texts())
def test_the_longest_run_is_found(tokens: list[int]) -> None:
    loop = find_loop(tokens)
    longest = find_loop_plainly(tokens, least_repeats=4, least_tokens=16, longest=60)
    assert (loop.end - loop.start if loop else 0) == longest
    if loop:
        run = tokens[loop.start : loop.end]
        assert run[loop.period :] == run[: -loop.period]
        assert len(run) >= 4 * loop.period


@given(texts())
def test_what_is_said_twice_in_a_row_is_noticed(numbers: list[int]) -> None:
    words = [("No,", " no.", "YES", "well")[number] for number in numbers]
    spelled = [("no", "no", "yes", "well")[number] for number in numbers]
    assert says_again(words) == says_again_plainly(spelled)
