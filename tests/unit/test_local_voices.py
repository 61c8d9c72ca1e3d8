"""Which part of a recording a local speaker's voice is taken from."""

from __future__ import annotations

import numpy as np
import pytest

from murmur_cli.speakers.evidence import LocalTalk
from murmur_cli.speakers.local_voices import hear_voices
from murmur_cli.speakers.timeline import leave_out
from murmur_cli.speakers.voices import VoiceVector
from murmur_cli.types import ChunkPart, LocalSpeaker, Samples, Stretch

RATE = 16_000


class Listener:
    """Hears the number that the samples hold, as read from a recording that counts its seconds."""

    def __init__(self) -> None:
        self.heard: list[Samples] = []

    def read(self, stretch: Stretch) -> Samples:
        return np.arange(round(stretch.start * RATE), round(stretch.end * RATE), dtype=np.float32) / RATE

    def embed(self, samples: Samples) -> VoiceVector:
        self.heard.append(samples)
        return np.array([1.0, 0.0], np.float32)


def talk(chunk: int, speaker: int, *stretches: tuple[float, float]) -> LocalTalk:
    return LocalTalk(ChunkPart(chunk), LocalSpeaker(speaker), tuple(Stretch(*each) for each in stretches))


def hear(*talks: LocalTalk) -> tuple[list[LocalTalk], list[set[int]]]:
    """The talks with voices, and for each voice the tenths of a second that it was heard in."""
    listener = Listener()
    voiced = hear_voices(talks, read=listener.read, embedder=listener)
    return voiced, [set(np.floor(samples * 10).astype(int)) for samples in listener.heard]


def test_a_voice_is_heard_where_nobody_else_of_the_chunk_talks() -> None:
    voiced, heard = hear(talk(0, 0, (0, 2), (5, 6)), talk(0, 1, (1, 5.5)), talk(1, 0, (0, 6)))
    assert heard == [{*range(10), *range(55, 60)}, set(range(20, 50)), set(range(60))]
    assert [each.speech_s for each in voiced] == [1.5, 3.0, 6.0]
    assert all(each.vector is not None for each in voiced)
    assert [each.stretches for each in voiced] == [
        ((Stretch(0, 2), Stretch(5, 6))),
        (Stretch(1, 5.5),),
        (Stretch(0, 6),),
    ]


def test_who_never_talks_alone_has_a_voice_without_a_vote() -> None:
    voiced, heard = hear(talk(0, 0, (0, 4)), talk(0, 1, (1, 3)))
    assert heard[1] == set(range(10, 30))
    assert (voiced[1].vector is not None, voiced[1].speech_s) == (True, 0.0)


def test_who_hardly_talks_has_no_voice() -> None:
    voiced, heard = hear(talk(0, 0, (0, 0.39)), talk(0, 1))
    assert heard == []
    assert [each.vector for each in voiced] == [None, None]


def test_half_a_minute_is_enough() -> None:
    (voiced,), (heard,) = hear(talk(0, 0, (0, 20), (30, 50), (60, 70)))
    assert heard == {*range(200), *range(300, 400)}
    assert voiced.speech_s == 30.0


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ([], [(0, 4), (6, 8)]),
        ([(1, 2)], [(0, 1), (2, 4), (6, 8)]),
        ([(3, 7)], [(0, 3), (7, 8)]),
        ([(7, 7.5), (0, 1), (0.5, 2)], [(2, 4), (6, 7), (7.5, 8)]),
        ([(0, 8)], []),
        ([(4, 6)], [(0, 4), (6, 8)]),
    ],
)
def test_what_is_left_when_others_are_left_out(
    others: list[tuple[float, float]], expected: list[tuple[float, float]]
) -> None:
    own = [Stretch(6, 8), Stretch(0, 3), Stretch(2, 4)]
    assert leave_out(own, [Stretch(*each) for each in others]) == [Stretch(*each) for each in expected]
