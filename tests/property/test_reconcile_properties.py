"""Reconciliation against an oracle that tries every assignment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from oracles.reconcile import TieError, reconcile_plainly

from murmur_cli.speakers.diarize import Voice
from murmur_cli.speakers.evidence import LocalTalk
from murmur_cli.speakers.reconcile import reconcile
from murmur_cli.types import ChunkPart, LocalSpeaker, Speaker, Stretch, Turn

CHUNK_S = 40.0


@dataclass(frozen=True)
class Case:
    talks: tuple[LocalTalk, ...]
    turns: tuple[Turn, ...]
    voices: tuple[Voice, ...]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Up to 4 local speakers in each of 2 parts of 2 chunks, and a diarization of up to 4 people that is partly wrong.

    Nearly all comes from a generator, not from hypothesis: no two numbers are equal, so one answer is best.
    """
    n_people, n_chunks = draw(st.sampled_from([4, 3, 2, 0])), draw(st.sampled_from([4, 3, 1]))
    blur = draw(st.sampled_from([0.1, 0.3, 1.0]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    people = rng.normal(size=(5, 4))  # those from n_people on are strangers to the diarization
    talks: list[LocalTalk] = []
    turns: list[Turn] = []
    for chunk in range(n_chunks):
        for number, person in enumerate(rng.permutation(5)[: rng.integers(0, 5)]):
            stretches = _draw_stretches(rng, chunk)
            vector = _to_unit(people[person] + blur * rng.normal(size=4)) if rng.random() < 0.8 else None
            talks.append(
                LocalTalk(
                    ChunkPart(chunk // 2, chunk % 2),
                    LocalSpeaker(number),
                    stretches,
                    vector,
                    float(rng.choice([2.0, 10.0, 300.0]) * rng.uniform(0.5, 1.5)),
                )
            )
            if person < n_people:
                shifts = rng.normal(0.0, 2 * blur, size=len(stretches))
                name = Speaker(f"S{person + 1}")
                turns += [
                    Turn(s.start + shift, s.end + shift, name) for s, shift in zip(stretches, shifts, strict=True)
                ]
    named = sorted({turn.speaker for turn in turns})
    voices = [Voice(name, _to_unit(rng.normal(size=4)), 10.0) for name in named if rng.random() < 0.3]
    return Case(tuple(talks), tuple(turns), tuple(voices))


def _draw_stretches(rng: np.random.Generator, chunk: int) -> tuple[Stretch, ...]:
    """One to three, in all under 2 s or more; they may overlap."""
    length = rng.choice([0.5, 4.0, 12.0], p=[0.2, 0.4, 0.4])
    starts = chunk * CHUNK_S + rng.uniform(0.0, CHUNK_S - length, size=rng.integers(1, 4))
    return tuple(Stretch(float(start), float(start + length * rng.uniform(0.3, 1.0))) for start in starts)


def _to_unit(vector: np.ndarray) -> np.ndarray:
    return (vector / np.linalg.norm(vector)).astype(np.float32)


@settings(max_examples=400)
@given(cases())
def test_the_mapping_is_the_best_of_all(case: Case) -> None:
    mapping = reconcile(case.talks, case.turns, voices=case.voices)
    try:
        expected = reconcile_plainly(case.talks, case.turns, case.voices)
    except TieError:
        reject()
    assert mapping == expected


@given(cases())
def test_two_of_one_place_never_share_a_name_and_nobody_is_left_out(case: Case) -> None:
    mapping = reconcile(case.talks, case.turns, voices=case.voices)
    assert set(mapping) == {(talk.place, talk.speaker) for talk in case.talks}
    for place in {talk.place for talk in case.talks}:
        names = [name for (other, _), name in mapping.items() if other == place]
        assert len(names) == len(set(names))


@given(cases(), st.randoms(use_true_random=False))
def test_numbers_and_order_change_nothing(case: Case, random: object) -> None:
    rng = np.random.default_rng(int(random.random() * 2**32))  # type: ignore[attr-defined]
    renumbered: dict[tuple[ChunkPart, LocalSpeaker], LocalSpeaker] = {}
    for place in {talk.place for talk in case.talks}:
        numbers = rng.permutation(20)
        renumbered |= {
            (place, talk.speaker): LocalSpeaker(int(numbers[talk.speaker]))
            for talk in case.talks
            if talk.place == place
        }
    talks = [replace(talk, speaker=renumbered[talk.place, talk.speaker]) for talk in _shuffle(case.talks, rng)]
    turns = _shuffle(case.turns, rng)
    mapping = reconcile(talks, turns, voices=_shuffle(case.voices, rng))
    expected = reconcile(case.talks, case.turns, voices=case.voices)
    assert {key: mapping[key[0], renumbered[key]] for key in expected} == expected


def _shuffle(items: Sequence, rng: np.random.Generator) -> list:
    return [items[i] for i in rng.permutation(len(items))]
