"""The clock of a live session against a list of all its samples."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmur_cli.audio.session_clock import SessionClock

RATE = 10


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 5)), min_size=1, max_size=12))
def test_times_are_those_of_the_samples(blocks: list[tuple[bool, int]]) -> None:
    clock, decoded, n_heard = SessionClock(RATE), list[int](), 0
    for is_skipped, n_samples in blocks:
        (clock.skip if is_skipped else clock.decode)(n_samples)
        decoded += [] if is_skipped else range(n_heard, n_heard + n_samples)
        n_heard += n_samples
    assert clock.n_heard == n_heard
    assert clock.heard_s == pytest.approx(n_heard / RATE)
    for number, place in enumerate(decoded):  # each sample begins and ends where it is in the session
        assert clock.to_start(number / RATE) == pytest.approx(place / RATE)
        assert clock.to_end((number + 1) / RATE) == pytest.approx((place + 1) / RATE)
    assert clock.to_start(len(decoded) / RATE + 1) == clock.heard_s  # nothing is later than what was heard
