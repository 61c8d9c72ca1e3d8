"""Attribution against an oracle that goes quarter of a second by quarter of a second."""

from __future__ import annotations

from itertools import accumulate, pairwise

from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.attribute import CELL_S, attribute_plainly

from murmur_cli.speakers.attribute import attribute
from murmur_cli.types import Segment, Speaker, Turn, Word

cells = st.integers(0, 80)
lengths = st.integers(1, 12) | st.integers(1, 60)
speakers = st.sampled_from([Speaker("S1"), Speaker("S2"), Speaker("Ann")])
turns = st.lists(
    st.builds(lambda start, n, who: Turn(start * CELL_S, (start + n) * CELL_S, who), cells, lengths, speakers),
    max_size=8,
)
plain_texts = st.sampled_from([" one", " two", " three"])
latin_texts = [" one", " Two", "three", " four.", ".", " ,", "?!", ' "', '"', "'s", " (", ")", " -", "-half", "…", " ¿"]
any_texts = st.sampled_from([*latin_texts, " ", *"你好。《"])


@st.composite
def segments(draw: st.DrawFn, texts: st.SearchStrategy[str]) -> Segment:
    """Words that follow one another, with pauses and of no length at times; sometimes there are none."""
    start = draw(cells)
    steps = draw(st.lists(st.tuples(st.sampled_from([0, 0, 1, 8]), st.integers(0, 4), texts), max_size=12))
    ends = list(accumulate((pause + n for pause, n, _ in steps), initial=start))
    words = tuple(
        Word((before + pause) * CELL_S, after * CELL_S, text, 0.5)
        for (before, after), (pause, _, text) in zip(pairwise(ends), steps, strict=True)
    )
    spelled = "".join(word.text for word in words).strip()
    end = ends[-1] if words else start + draw(lengths)
    return Segment(start * CELL_S, end * CELL_S, spelled if words else "whole", None, words, "en")


@settings(max_examples=300)
@given(segments(plain_texts), turns)
def test_parts_are_what_the_oracle_says(segment: Segment, turns: list[Turn]) -> None:
    parts = attribute([segment], turns)
    if not turns:
        assert parts == (segment,)
        return
    assert [(part.speaker, part.words) for part in parts] == attribute_plainly(segment, turns)


@settings(max_examples=200)
@given(st.lists(segments(any_texts), max_size=4), turns)
def test_words_in_are_words_out(given: list[Segment], turns: list[Turn]) -> None:
    given.sort(key=lambda segment: segment.start)
    alone = [attribute([segment], turns) for segment in given]
    for segment, parts in zip(given, alone, strict=True):
        assert tuple(word for part in parts for word in part.words) == segment.words
        if len(parts) == 1:
            assert (parts[0].start, parts[0].end, parts[0].text) == (segment.start, segment.end, segment.text)
            continue
        for part in parts:
            assert part.text == "".join(word.text for word in part.words).strip()
            assert (part.start, part.end) == (part.words[0].start, max(word.end for word in part.words))
            assert any(character.isalnum() for character in part.text)
        for left, right in pairwise(parts):
            assert left.speaker != right.speaker
            assert left.text[-1] not in "(¿《"
            assert right.text[0] not in ".,?!'-…)。"

    together = attribute(given, turns)
    assert sorted(map(repr, together)) == sorted(repr(part) for parts in alone for part in parts)
    assert [part.start for part in together] == sorted(part.start for part in together)
