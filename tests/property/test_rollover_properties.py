"""Which chunks a session keeps, against a plain list of all, and what holds whoever speaks."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.rollover import PlainRollover

from murmur_cli.decode.rollover import LEAST_CHUNKS, ChunkNote, Rollover, Turn


def make_note(
    index: int, *speakers: int, letters: int = 5, begins_turn: bool = False, is_faulty: bool = False
) -> ChunkNote:
    return ChunkNote(
        index=index,
        turns=tuple(Turn(speaker, letters) for speaker in speakers),
        begins_turn=begins_turn,
        is_silent=False,
        is_empty=False,
        is_faulty=is_faulty,
    )


NOTES = [
    make_note(0, *speakers, letters=letters, begins_turn=begins_turn, is_faulty=is_faulty)
    for speakers in [(0,), (1,), (2,), (3,), (4,), (5,), (0, 1), (2, 1), (1, 0, 1), (3, 5)]
    for letters in (1, 8, 9, 20)
    for begins_turn in (False, True)
    for is_faulty in (False, False, False, True)
]
SILENT = replace(make_note(0), is_silent=True, is_empty=True)
EMPTY = replace(make_note(0), is_empty=True)
TAG_ALONE = make_note(0)


@st.composite
def sessions(draw: st.DrawFn) -> list[ChunkNote]:
    chosen = draw(
        st.lists(st.sampled_from([*NOTES, *[SILENT] * 40, *[EMPTY] * 10, TAG_ALONE]), min_size=30, max_size=60)
    )
    return [replace(note, index=index) for index, note in enumerate(chosen)]


@settings(max_examples=60)
@given(sessions(), st.integers(LEAST_CHUNKS, 24))
def test_a_new_context_is_what_a_plain_list_says(session: list[ChunkNote], most: int) -> None:
    rollover, plain = Rollover(most), PlainRollover(most)
    for chunk in session:
        is_due = rollover.is_due(is_silent=chunk.is_silent)
        assert is_due == plain.is_due(is_silent=chunk.is_silent)
        if is_due:
            needed = rollover.needed
            kept = rollover.begin_again()
            assert kept == plain.begin_again()
            assert set(kept) <= needed
            assert len(kept) <= most // 2
        rollover.note(chunk)
        plain.note(chunk)
        assert rollover.n_held == len(plain.context) <= most
        assert len(rollover.needed) <= 7 + 6  # speakers, and the last chunks


@settings(max_examples=60)
@given(sessions())
def test_everybody_is_there_in_the_order_of_the_numbers(session: list[ChunkNote]) -> None:
    rollover = Rollover(26)
    by_index = {chunk.index: chunk for chunk in session}
    for n_heard, chunk in enumerate(session):
        if not rollover.is_due(is_silent=chunk.is_silent):
            rollover.note(chunk)
            continue
        kept = rollover.begin_again()
        known = sorted(set().union(*(before.speakers for before in session[:n_heard])))
        for speaker, index in zip(known, kept, strict=False):
            assert speaker in by_index[index].speakers
        recent = kept[len(known) :]
        assert recent == sorted(recent)
        written = [before.index for before in session[:n_heard] if not before.is_empty]
        assert set(written[-1:]) <= set(recent)
        rollover.note(chunk)


def test_a_full_context_waits_for_a_pause_and_not_for_ever() -> None:
    rollover = Rollover(16)
    due = []
    for index in range(16):
        due.append((rollover.is_due(is_silent=False), rollover.is_due(is_silent=True)))
        rollover.note(make_note(index, 0))
    assert due == [(False, False)] * 14 + [(False, True)] * 2
    assert rollover.is_due(is_silent=False)


def test_the_clearest_chunk_is_where_somebody_begins_and_is_alone() -> None:
    rollover = Rollover(40)
    chunks = [
        make_note(0, 0, 1, letters=9),
        make_note(1, 1, letters=12),
        make_note(2, 1, letters=3, begins_turn=True),
        make_note(3, 1, letters=12, begins_turn=True, is_faulty=True),
        make_note(4, 1, letters=8, begins_turn=True),
        make_note(5, 1, letters=8, begins_turn=True),
        make_note(6, 0, 1, letters=12, begins_turn=True),
        *(make_note(index, 2) for index in range(7, 40)),
    ]
    for chunk in chunks:
        rollover.note(chunk)
    assert rollover.begin_again() == [0, 4, 7, 35, 36, 37, 38, 39]


def test_where_there_is_no_room_who_was_silent_longest_is_forgotten() -> None:
    rollover = Rollover(16)
    for index, speaker in enumerate([0, 1, 2, 3, 1, *[4] * 11]):
        rollover.note(make_note(index, speaker))
    assert rollover.begin_again() == [1, 3, 5, 11, 12, 13, 14, 15]
