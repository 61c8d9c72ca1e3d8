"""Enrolled voices against an oracle that tries every way to give the names."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.enrol import match_plainly

from murmur_cli.speakers.diarize import Voice
from murmur_cli.speakers.enrol import match_enrolled
from murmur_cli.speakers.voices import VoiceVector
from murmur_cli.types import Speaker


@settings(max_examples=300)
@given(st.integers(0, 2**32 - 1), st.integers(0, 4), st.integers(0, 4), st.sampled_from([2, 3, 8]))
def test_names_are_those_that_the_oracle_gives(seed: int, n_enrolled: int, n_voices: int, n_dimensions: int) -> None:
    rng = np.random.default_rng(seed)
    enrolled = {Speaker(f"P{i}"): _draw_voice(rng, n_dimensions) for i in range(n_enrolled)}
    voices = [
        Voice(Speaker(f"S{i + 1}"), _draw_voice(rng, n_dimensions), float(rng.choice([1.0, 2.9, 3.0, 60.0])))
        for i in range(n_voices)
    ]
    expected = match_plainly(enrolled, voices)
    assert match_enrolled(enrolled, voices) == expected
    assert match_enrolled(dict(reversed(enrolled.items())), voices[::-1]) == expected


def _draw_voice(rng: np.random.Generator, n_dimensions: int) -> VoiceVector:
    vector = rng.normal(size=n_dimensions)
    return (vector / np.linalg.norm(vector)).astype(np.float32)
