"""Seams between readings: the slow way finds the same, and words with true times are neither lost nor doubled."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from oracles.seams import count_known_plainly, find_seam_plainly

from murmur_cli.models.whisper.seams import count_known, find_seam
from murmur_cli.types import Word

TENTHS = st.lists(st.tuples(st.integers(0, 8), st.integers(1, 8)), max_size=20)  # before a word, and of it
TEXTS = st.sampled_from([" no", " No,", " yes", " so.", " well"])


@st.composite
def words(draw: st.DrawFn) -> list[Word]:
    """Words in order of time."""
    made, now = [], 0
    for pause, length in draw(TENTHS):
        made.append(Word((now + pause) / 10, (now + pause + length) / 10, draw(TEXTS), 1.0))
        now += pause + length
    return made


def shake(said: Sequence[Word], off: Sequence[int]) -> list[Word]:
    """Move the ends of words by hundredths, but not as far as their middles."""
    return [
        Word(word.start - (off[i % len(off)] % 5) / 100, word.end + (off[-i % len(off)] % 5) / 100, word.text, 0.5)
        for i, word in enumerate(said)
    ]


@given(words=words(), told=words(), at=st.integers(-5, 200))
def test_as_many_are_known_as_trying_all_numbers_finds(words: list[Word], told: list[Word], at: int) -> None:
    assert count_known(words, told, at=at / 10) == count_known_plainly(words, told, at=at / 10)


@given(words=words(), start=st.integers(0, 30), length=st.integers(20, 80))
def test_seams_are_those_of_trying_all_words(words: list[Word], start: int, length: int) -> None:
    begin, end = start / 10, (start + length) / 10
    seam = find_seam(words, start=begin, end=end)
    assert (None if seam is None else (seam.n_words, seam.at)) == find_seam_plainly(words, start=begin, end=end)


@given(said=words(), left=st.integers(0, 30), off=st.lists(st.integers(0, 99), min_size=1, max_size=4))
def test_where_times_are_right_nothing_is_lost_or_doubled(said: list[Word], left: int, off: list[int]) -> None:
    """Whatever is said, also "no, no, no", and wherever the next reading begins."""
    seam = find_seam(said, start=0.0, end=7.0)
    if seam is None:
        return
    told = said[: seam.n_words]
    begun = sum(word.end <= seam.at - left / 10 for word in told)  # the next reading hears none of these
    again = shake(said[begun:], off)
    n_known = count_known(again, told, at=seam.at)
    assert [word.text for word in told + again[n_known:]] == [word.text for word in said]
