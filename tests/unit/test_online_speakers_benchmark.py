"""The benchmark on speakers of live sessions: what an utterance is, and what counts as right."""

from __future__ import annotations

import importlib
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from murmur_cli.types import Span, Speaker

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
online_speakers, scoring = importlib.import_module("online_speakers"), importlib.import_module("scoring")

S = 16_000


def spans(*seconds: tuple[float, float]) -> list[Span]:
    return [Span(round(start * S), round(end * S)) for start, end in seconds]


@pytest.mark.parametrize(
    ("speech", "expected"),
    [
        ([], []),
        ([(1, 2), (2.4, 3), (3.5, 4)], [[(1, 2), (2.4, 3)], [(3.5, 4)]]),
        ([(0, 5), (5.2, 9), (9.2, 12)], [[(0, 5), (5.2, 9)], [(9.2, 12)]]),  # a late pause
        ([(0, 5), (5.2, 12)], [[(0, 5), (5.2, 10)], [(10, 12)]]),  # none
        ([(0, 25), (25.1, 26)], [[(0, 10)], [(10, 20)], [(20, 25), (25.1, 26)]]),
        ([(0, 10), (10.1, 12)], [[(0, 10)], [(10.1, 12)]]),
    ],
)
def test_utterances_end_at_pauses_or_after_ten_seconds(
    speech: list[tuple[float, float]], expected: list[list[tuple[float, float]]]
) -> None:
    assert online_speakers.cut_utterances(spans(*speech)) == [spans(*utterance) for utterance in expected]


def test_utterances_hold_all_speech_once() -> None:
    draw = np.random.default_rng(3)
    bounds = np.cumsum(draw.exponential(1.5, size=200) * S).astype(int)
    speech = [Span(int(start), int(end)) for start, end in bounds.reshape(-1, 2)]
    utterances = online_speakers.cut_utterances(speech)
    heard = [span for utterance in utterances for span in utterance]
    assert sum(span.n_samples for span in heard) == sum(span.n_samples for span in speech)
    assert all(left.end <= right.start for left, right in pairwise(heard))
    assert all(0 < utterance[-1].end - utterance[0].start <= 10 * S for utterance in utterances)


def test_right_is_what_the_reader_says_for_whom_the_speaker_stands() -> None:
    turns = [
        scoring.SpokenTurn(0.0, 4.0, "a", ""),
        scoring.SpokenTurn(4.0, 6.0, "b", ""),
        scoring.SpokenTurn(7.0, 10.0, "b", ""),
    ]
    first, second = tuple(spans((0, 3), (3.5, 5))), tuple(spans((7, 10)))
    answers = [(first, "S1"), (second, "S2")]
    assert judge(answers, turns) == pytest.approx((6.5, 6.5, 7.5))
    assert judge([(first, "S1"), (second, "S1")], turns) == pytest.approx((4.0, 6.5, 7.5))
    assert judge([*answers, (tuple(spans((5, 6))), "S3")], turns) == pytest.approx((6.5, 7.5, 8.5))


def judge(answers: list[tuple[tuple[Span, ...], str]], turns: list[object]) -> tuple[float, float, float]:
    spoken = [online_speakers.Spoken(speech, Speaker(speaker)) for speech, speaker in answers]
    return online_speakers.judge(spoken, turns)


def test_speech_without_a_voice_gets_an_answer_too() -> None:
    first, short, second = tuple(spans((0, 3))), tuple(spans((4, 4.3))), tuple(spans((5, 8)))
    voices = {first: np.eye(192, dtype=np.float32)[0], second: np.eye(192, dtype=np.float32)[1]}
    answers = online_speakers.assign_speakers([first, short, second], voices)
    assert [(answer.speech, answer.speaker) for answer in answers] == [(first, "S1"), (short, "S1"), (second, "S2")]


def test_the_program_starts_and_describes_itself() -> None:
    program = [sys.executable, BENCHMARKS / "online_speakers.py", "--help"]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Examples:" in done.stdout
