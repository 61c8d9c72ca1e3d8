"""Speakers of a live session: against an oracle that keeps everything, and what no later utterance may change."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.online_speakers import Said, assign_plainly

from murmur_cli.speakers.online import OnlineSpeakers

SECONDS = (0.3, 0.99, 1.0, 1.49, 1.5, 2.5, 9.0)


@st.composite
def sessions(draw: st.DrawFn, *, n_dimensions: int) -> list[Said]:
    """Sessions of a few people whose voices vary so much that some are taken for others; some say too little."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    spread = draw(st.sampled_from([0.1, 0.5, 1.0]))
    people = rng.normal(size=(draw(st.integers(1, 6)), n_dimensions))
    session = []
    for _ in range(draw(st.integers(0, 25))):
        voice = people[rng.integers(len(people))] + spread * rng.normal(size=n_dimensions)
        vector = None if rng.random() < 0.1 else (voice / np.linalg.norm(voice)).astype(np.float32)
        session.append(Said(vector, float(rng.choice(SECONDS))))
    return session


def assign(session: Sequence[Said], *, most: int) -> list[str]:
    speakers = OnlineSpeakers(most=most)
    return [speakers.assign(said.vector, speech_s=said.speech_s) for said in session]


ANY_SESSION = st.sampled_from([2, 3, 8]).flatmap(lambda n_dimensions: sessions(n_dimensions=n_dimensions))


@settings(max_examples=300)
@given(ANY_SESSION, st.sampled_from([1, 2, 3, 100]))
def test_answers_are_those_of_the_oracle(session: list[Said], most: int) -> None:
    assert assign(session, most=most) == assign_plainly(session, most=most)


@given(ANY_SESSION, st.sampled_from([1, 2, 100]))
def test_names_are_given_in_the_order_of_first_appearance(session: list[Said], most: int) -> None:
    names = list(dict.fromkeys(assign(session, most=most)))
    assert names == [f"S{i + 1}" for i in range(len(names))]
    assert len(names) <= most


@given(*[sessions(n_dimensions=3)] * 3)
def test_what_follows_changes_no_answer(session: list[Said], one_end: list[Said], other_end: list[Said]) -> None:
    answers = [assign(session + end, most=100)[: len(session)] for end in ([], one_end, other_end)]
    assert answers[0] == answers[1] == answers[2]
