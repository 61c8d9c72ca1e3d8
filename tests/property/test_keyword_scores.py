"""Keyword scores against every stretch and every phrase, tried one by one."""

from __future__ import annotations

from dataclasses import astuple

from hypothesis import given
from hypothesis import strategies as st
from oracles.keywords import count_plainly, edit_distance, split_plainly

from murmur_cli.bias.keywords import Form, Keyword, KeywordList
from murmur_cli.score.keywords import _align, count_keywords, to_phrases
from murmur_cli.score.normalize import load_normalizer

WORDS = st.sampled_from(["new", "york", "city", "New", "yorkshire", "cit", "a"])
TEXTS = st.lists(WORDS, max_size=9)
PHRASES = st.lists(
    st.tuples(st.lists(st.sampled_from(["new", "york", "city", "cit", "a"]), min_size=1, max_size=3), st.booleans()),
    max_size=4,
)


@given(TEXTS, TEXTS, PHRASES)
def test_counts_are_those_of_all_stretches(
    reference: list[str], hypothesis: list[str], listed: list[tuple[list[str], bool]]
) -> None:
    plain = [(" ".join(words), is_open) for words, is_open in listed]
    keywords = KeywordList(tuple(Keyword((Form(text, is_open),)) for text, is_open in plain))
    counted = count_keywords(reference, hypothesis, to_phrases(keywords, load_normalizer("none")))
    pairs = [
        (None if i is None else reference[i], None if j is None else hypothesis[j])
        for i, j in _align(reference, hypothesis)
    ]
    assert astuple(counted.keywords) == count_plainly(pairs, plain)
    split = split_plainly(reference, hypothesis, pairs, plain)
    assert list(astuple(counted.listed)) == split[True]
    assert list(astuple(counted.unlisted)) == split[False]


@given(TEXTS, TEXTS)
def test_the_alignment_is_whole_and_has_the_fewest_changes(reference: list[str], hypothesis: list[str]) -> None:
    pairs = _align(reference, hypothesis)
    assert [i for i, _ in pairs if i is not None] == list(range(len(reference)))
    assert [j for _, j in pairs if j is not None] == list(range(len(hypothesis)))
    n_changes = sum(i is None or j is None or reference[i] != hypothesis[j] for i, j in pairs)
    assert n_changes == edit_distance(reference, hypothesis)
