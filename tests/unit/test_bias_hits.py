"""Keywords in a text: where they are, in which form, and how the list spells them."""

# ruff: noqa: RUF001 - letters that look alike are what these texts are about

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.bias import fold_plainly, is_word_plainly

from murmur_cli.bias.hits import HitFinder, spell_as_list
from murmur_cli.bias.keywords import join_lists
from murmur_cli.bias.list_files import parse_phrase

LINES = (
    "New York", "New York City", "York", "COVID-19 | covid nineteen", "Szypańsk*", "Straße", "app", "东京", "东京都",
    "O’Brien", "Off :0", "aa b", "b a",
)  # fmt: skip
KEYWORDS = join_lists([parse_phrase(line) for line in LINES])


def _find(text: str) -> list[tuple[str, str]]:
    hits = HitFinder(KEYWORDS).find(text)
    assert all(before.end <= after.start for before, after in pairwise(hits))
    return [(text[hit.start : hit.end], hit.keyword.display) for hit in hits]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He flew to new york city.", [("new york city", "New York City")]),
        ("New York's cities", [("New York", "New York")]),
        ("NEW YORKER York", [("York", "York")]),
        ("apple app Appalachian App-Store", [("app", "app"), ("App", "app")]),
        ("covid nineteen, COVID-19", [("covid nineteen", "COVID-19"), ("COVID-19", "COVID-19")]),
        ("Szypańskiego i SZYPAŃSKA", [("Szypańskiego", "Szypańsk"), ("SZYPAŃSKA", "Szypańsk")]),
        ("STRASSE, strasse", [("STRASSE", "Straße"), ("strasse", "Straße")]),
        ("我在东京都的东京x", [("东京都", "东京都"), ("东京", "东京")]),
        ("o'brien O\u2019BRIEN", [("o'brien", "O’Brien"), ("O\u2019BRIEN", "O’Brien")]),
        ("off aa b a", [("aa b", "aa b")]),
        ("", []),
    ],
)
def test_keywords_are_found_at_borders_the_longest_from_the_left(text: str, expected: list[tuple[str, str]]) -> None:
    assert _find(text) == expected


def test_a_text_is_spelt_as_the_list_spells() -> None:
    text = "covid nineteen in new york, szypańskiego’s STRASSE"
    hits = HitFinder(KEYWORDS).find(text)
    assert spell_as_list(text, hits) == "COVID-19 in New York, szypańskiego’s Straße"


@given(
    st.lists(
        st.sampled_from(["new", "york", "city", "aa", "b", "a", " ", " ", ",", "app", "东京", "都", "ß"]), max_size=12
    )
)
def test_what_is_found_is_what_looking_at_every_place_finds(parts: list[str]) -> None:
    text = "".join(parts)
    forms = {form.text: form.is_open for keyword in KEYWORDS.keywords if keyword.weight for form in keyword.forms}

    def is_border(place: int) -> bool:
        return place in (0, len(text)) or not (is_word_plainly(text[place - 1]) and is_word_plainly(text[place]))

    expected, place = [], 0
    folded = {fold_plainly(form): form for form, is_open in forms.items() if not is_open}
    while place < len(text):
        ends = [
            end
            for end in range(len(text), place, -1)
            if is_border(place) and is_border(end) and fold_plainly(text[place:end]) in folded
        ]
        if ends:
            expected.append(text[place : ends[0]])
        place = ends[0] if ends else place + 1
    assert [found for found, _ in _find(text)] == expected
