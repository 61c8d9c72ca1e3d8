"""S1, S2, … and what the user calls them."""

from __future__ import annotations

from itertools import islice

import pytest
from transcript_samples import make_segment

from murmur_cli.errors import UsageError
from murmur_cli.speakers.naming import (
    find_absent,
    is_number_name,
    iter_free_names,
    number_speakers,
    parse_speaker_names,
    rename_speakers,
)
from murmur_cli.types import Segment, Speaker


def said_by(*speakers: str | None) -> list[Segment]:
    return [make_segment(i, i + 1, "so", speaker=speaker) for i, speaker in enumerate(speakers)]


def test_numbers_follow_first_appearance_and_names_stay() -> None:
    segments = said_by("S3", None, "Ann", "S1", "c3-S0", "S3", "S10")
    numbers = number_speakers(segments)
    assert numbers == {"S3": "S1", "S1": "S2", "S10": "S3"}
    renamed = [segment.speaker for segment in rename_speakers(segments, numbers)]
    assert renamed == ["S1", None, "Ann", "S2", "c3-S0", "S1", "S3"]


def test_renaming_changes_nothing_but_the_name() -> None:
    segments = said_by("S1", "S2")
    assert rename_speakers(segments, {}) == tuple(segments)
    (segment, _) = rename_speakers(segments, {Speaker("S1"): Speaker("Ann")})
    assert segment == make_segment(0, 1, "so", speaker="Ann")


def test_names_may_be_swapped() -> None:
    names = parse_speaker_names("S1=S2,S2=S1")
    assert [segment.speaker for segment in rename_speakers(said_by("S1", "S2"), names)] == ["S2", "S1"]


def test_free_names_leave_out_those_that_are_taken() -> None:
    assert list(islice(iter_free_names([Speaker("S2"), Speaker("Ann")]), 3)) == ["S1", "S3", "S4"]


@pytest.mark.parametrize(
    ("name", "expected"), [("S1", True), ("S20", True), ("S0", False), ("S01", False), ("s1", False), ("S1 ", False)]
)
def test_names_that_murmur_gives(name: str, *, expected: bool) -> None:
    assert is_number_name(name) == expected


def test_speaker_names_are_read() -> None:
    assert parse_speaker_names("S1=Ann") == {"S1": "Ann"}
    assert parse_speaker_names(" S1 = Ann Lee , c3-S0=Bob=b") == {"S1": "Ann Lee", "c3-S0": "Bob=b"}
    assert parse_speaker_names("S1=Ann,S3=Ann") == {"S1": "Ann", "S3": "Ann"}


@pytest.mark.parametrize("text", ["", "Ann", "S1=Ann,", "S1=Smith, John", "S1=", "=Ann", "S1=A\tB", "S1=Ann,S1=Bob"])
def test_what_is_no_list_of_names_is_refused(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_speaker_names(text)
    assert caught.value.where == "--speaker-names"
    assert caught.value.hint


def test_names_for_nobody_are_found() -> None:
    names = parse_speaker_names("S1=Ann,S5=Bob,S4=Cid")
    assert find_absent(names, said_by("S1", "S2", None)) == ["S5", "S4"]
