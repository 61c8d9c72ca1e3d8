"""Seams between readings, case by case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from murmur_cli.models.whisper.seams import Seam, count_known, find_seam, keep_part, shift_reading
from murmur_cli.types import HypGap, Hypothesis, HypSegment, KeywordHit, Word


def say(text: str, *, at: float = 0.0) -> list[Word]:
    """Words of half a second each, one after the other."""
    return [Word(at + i / 2, at + i / 2 + 0.5, f" {word}", 0.9) for i, word in enumerate(text.split())]


def make_reading(*texts: str, gaps: Sequence[HypGap] = ()) -> Hypothesis:
    words = iter(say(" ".join(texts)))
    segments = []
    for text in texts:
        own = tuple(next(words) for _ in text.split())
        segments.append(HypSegment(own[0].start, own[-1].end, text, None, own, "en"))
    return Hypothesis(tuple(segments), tuple(gaps))


@pytest.mark.parametrize(
    ("again", "told", "at", "expected"),
    [
        ("the cat sat on a mat", "see the cat sat", 1.5, 3),  # times are right
        ("the cat sat on a mat", "see the cat sat", 1.2, 3),  # and here one word off,
        ("the cat sat on a mat", "see the cat sat", 0.6, 3),  # two,
        ("the cat sat on a mat", "see the cat sat", 2.6, 3),  # two the other way
        ("the cat sat on a mat", "see the cat sat", 3.1, 6),  # three are too many: times count
        ("The CAT, sat! on a mat", "see the cat sat", 1.0, 3),
        ("a bad cat sat on a mat", "see the cat sat", 1.9, 4),  # two alike are enough
        ("that hat spat on a mat", "see the cat sat", 1.5, 3),  # and where none are, times count
        ("no no no no yes", "no no no", 1.0, 2),  # the reading begins with the second
        ("no no no no yes", "so no no no", 1.5, 3),
        ("no no no no yes", "no no", 2.0, 4),
        ("the cat", "the cat", 5.0, 2),  # nothing is new
        ("the cat", "", 5.0, 0),  # nothing is known
        ("", "the cat", 5.0, 0),
    ],
)
def test_known_words(again: str, told: str, at: float, expected: int) -> None:
    assert count_known(say(again), say(told), at=at) == expected


@pytest.mark.parametrize(
    ("words", "start", "expected"),
    [
        (say("a b c d e f g h i j k l m n"), 0.0, Seam(11, 5.5)),  # ends with the tail's begin
        ([*say("a b c d e"), *say("f g", at=5.1)], 0.0, Seam(5, 3.8)),  # halfway through the pause
        (say("a b c d e"), 0.0, Seam(5, 2.5)),  # none behind: all that follows is read again
        (say("a b c d e"), 0.6, None),  # that gains too little
        (say("a b c d", at=4.0), 3.5, Seam(3, 5.5)),
        (say("a b c", at=5.1), 0.0, None),  # all end too late
        ([], 0.0, None),
    ],
)
def test_seams(words: Sequence[Word], start: float, expected: Seam | None) -> None:
    assert find_seam(words, start=start, end=7.0) == expected


def test_a_part_is_cut_out_of_segments() -> None:
    reading = make_reading("a b c.", "d e f.", "g h.")
    part = keep_part(reading, slice(1, 5))
    assert [segment.text for segment in part.segments] == ["b c.", "d e"]
    assert [(segment.start, segment.end) for segment in part.segments] == [(0.5, 1.5), (1.5, 2.5)]
    assert [word for segment in part.segments for word in segment.words] == say("a b c. d e f. g h.")[1:5]
    assert keep_part(reading, slice(0, None)) == reading
    assert [segment.text for segment in keep_part(reading, slice(6, None)).segments] == ["g h."]
    assert keep_part(reading, slice(0)).segments == ()


def test_a_keyword_is_told_with_its_first_word() -> None:
    hits = (KeywordHit(0.0, 1.0, "a b", False), KeywordHit(1.0, 2.0, "c d", True), KeywordHit(2.5, 3.0, "f", False))
    reading = replace(make_reading("a b c", "d e f"), hits=hits)
    assert [keep_part(reading, slice(n)).hits for n in range(7)] == [(), hits[:1], hits[:1], *[hits[:2]] * 3, hits]
    for n in range(7):
        assert keep_part(reading, slice(n)).hits + keep_part(reading, slice(n, None)).hits == hits


def test_a_reading_is_moved_with_all_that_is_in_it() -> None:
    reading = replace(make_reading("a b", gaps=[HypGap(1.0, 2.0, "x")]), hits=(KeywordHit(0.5, 1.0, "b", True),))
    moved = shift_reading(reading, 3.0)
    assert moved.segments[0].words == tuple(say("a b", at=3.0))
    assert (moved.segments[0].start, moved.segments[0].end) == (3.0, 4.0)
    assert moved.gaps == (HypGap(4.0, 5.0, "x"),)
    assert moved.hits == (KeywordHit(3.5, 4.0, "b", True),)
    assert keep_part(moved, slice(1)).hits == ()
    assert shift_reading(moved, -3.0) == reading


def test_gaps_stay_where_they_are_in_the_part() -> None:
    gaps = [HypGap(0.0, 1.0, "x"), HypGap(1.5, 2.5, "y"), HypGap(3.0, 4.0, "z"), HypGap(4.0, 5.0, "v")]
    part = keep_part(make_reading("a", gaps=gaps), slice(0, None), start=2.0, end=3.5)
    assert part.gaps == (HypGap(2.0, 2.5, "y"), HypGap(3.0, 3.5, "z"))
    assert keep_part(make_reading("a", gaps=gaps), slice(0, None), start=1.0, end=1.5).gaps == ()
    assert keep_part(make_reading("a", gaps=gaps), slice(0, None), start=0.5).gaps == (
        HypGap(0.5, 1.0, "x"),
        *gaps[1:],
    )
