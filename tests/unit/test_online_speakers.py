"""Who speaks in a live session, utterance by utterance."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from murmur_cli.options import MOST_SPEAKERS
from murmur_cli.speakers.online import OnlineSpeakers, split_at_pauses
from murmur_cli.speakers.voices import VoiceVector
from murmur_cli.types import Span


def like(*cosines: float) -> VoiceVector:
    """A voice with these cosines to the axes, which are people; the rest of it is like nobody."""
    rest = max(0.0, 1.0 - sum(cosine * cosine for cosine in cosines))
    return np.array([*cosines, *[0.0] * (4 - len(cosines)), rest**0.5], dtype=np.float32)


ANN, BOB, CAT = like(1.0), like(0.0, 1.0), like(0.0, 0.0, 1.0)


def assign(*utterances: tuple[VoiceVector | None, float], most: int = MOST_SPEAKERS) -> list[str]:
    speakers = OnlineSpeakers(most=most)
    return [speakers.assign(vector, speech_s=speech_s) for vector, speech_s in utterances]


def test_people_are_numbered_as_they_come_and_known_when_they_come_back() -> None:
    session = [(BOB, 5.0), (BOB, 2.0), (ANN, 3.0), (BOB, 2.0), (CAT, 9.0), (ANN, 1.0)]
    assert assign(*session) == ["S1", "S1", "S2", "S1", "S3", "S2"]


@pytest.mark.parametrize("short", [(None, 8.0), (CAT, 0.99), (ANN, 0.5), (None, 0.0)])
def test_what_is_too_short_to_be_heard_is_said_by_the_speaker_before(short: tuple[VoiceVector | None, float]) -> None:
    session = [(ANN, 3.0), (BOB, 3.0), short, (CAT, 3.0)]
    assert assign(*session) == ["S1", "S2", "S2", "S3"]


@pytest.mark.parametrize("short", [(None, 8.0), (ANN, 0.4), (ANN, 1.4)])
def test_a_short_beginning_is_nobodys_voice(short: tuple[VoiceVector | None, float]) -> None:
    session = [short, short, (BOB, 3.0), (ANN, 3.0), (BOB, 1.0)]
    assert assign(*session) == ["S1", "S1", "S1", "S2", "S1"]


def test_somebody_new_has_to_say_enough() -> None:
    """Until then they are taken for the nearest, who is not taken for them afterwards."""
    session = [(ANN, 3.0), (BOB, 3.0), (like(0.3, 0.2, 0.9), 1.4), (CAT, 1.5), (ANN, 1.0)]
    assert assign(*session) == ["S1", "S2", "S1", "S3", "S1"]


def test_an_unsure_voice_teaches_nothing() -> None:
    """However often it comes, what is like it alone is somebody else."""
    unsure = [(like(0.45), 9.0)] * 20
    assert assign((ANN, 3.0), *unsure, (like(0.2), 3.0)) == ["S1"] * 21 + ["S2"]


def test_a_sure_voice_teaches_by_its_seconds() -> None:
    drifted, further = like(0.6), like(0.35)  # their cosine is 0.96
    assert assign((ANN, 3.0), (drifted, 1.0), (further, 3.0)) == ["S1", "S1", "S1"]  # (3 x 0.35 + 0.96) / 4 = 0.50
    assert assign((ANN, 30.0), (drifted, 1.0), (further, 3.0)) == ["S1", "S1", "S2"]  # (30 x 0.35 + 0.96) / 31 = 0.37


def test_there_are_no_more_people_than_there_may_be() -> None:
    session = [(ANN, 3.0), (BOB, 3.0), (like(0.1, 0.2), 9.0), (like(0.2, 0.1), 9.0), (BOB, 2.0)]
    assert assign(*session, most=2) == ["S1", "S2", "S2", "S1", "S2"]
    assert assign(*session, most=1) == ["S1"] * 5
    with pytest.raises(ValueError, match="0"):
        OnlineSpeakers(most=0)


def test_a_long_session_remembers_no_more_than_a_short_one() -> None:
    draw = np.random.default_rng(1)
    speakers = OnlineSpeakers(most=5)
    sizes = []
    for _ in range(2):
        for vector in draw.normal(size=(2000, 192)):
            speakers.assign((vector / np.linalg.norm(vector)).astype(np.float32), speech_s=3.0)
        sizes.append(len(pickle.dumps(speakers)))
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize(
    ("speech", "expected"),
    [
        ([], []),
        ([2.0], [[2.0]]),
        ([0.5], [[0.5]]),
        ([1.5, 1.5], [[1.5], [1.5]]),
        ([1.4, 0.2, 3.0, 0.3], [[1.4, 0.2], [3.0, 0.3]]),
        ([5.0, 0.2, 0.9], [[5.0, 0.2, 0.9]]),
        ([0.5, 0.5, 0.4], [[0.5, 0.5, 0.4]]),
    ],
)
def test_parts_of_an_utterance_have_enough_speech(speech: list[float], expected: list[list[float]]) -> None:
    spans = [Span(i * 160_000, i * 160_000 + round(16_000 * seconds)) for i, seconds in enumerate(speech)]
    parts = split_at_pauses(spans)
    assert [span for part in parts for span in part] == spans
    assert [[span.n_samples / 16_000 for span in part] for part in parts] == expected
