"""Utterances are those that a look at the whole session gives, however it comes in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.utterances import PlainUtterance, cut_plainly

from murmur_cli.options import VadOptions
from murmur_cli.speech.utterances import CLOSE_S, LEFT_S, Utterance, UtteranceCutter
from murmur_cli.speech.vad import FRAME_SAMPLES, VAD_RATE
from murmur_cli.types import Samples, Span

# Stretches of frames: how many, and how likely speech is in them; 16 frames are half a second.
STRETCH = st.tuples(st.integers(1, 60), st.sampled_from([0.0, 0.2, 0.4, 0.6, 0.9]))
STRETCHES = st.lists(STRETCH, min_size=1, max_size=30)
# Speech that seldom pauses, so that it has to be cut, and how far into what may be cut; None: nobody knows where.
TALK = st.lists(st.tuples(st.integers(1, 250), st.sampled_from([0.2, 0.6, 0.9, 0.9])), min_size=1, max_size=12)
ANSWERS = st.lists(st.none() | st.floats(0.0, 1.0), min_size=1, max_size=8)
SIZES = st.lists(st.integers(1, 40_000), min_size=1, max_size=5).filter(lambda sizes: max(sizes) > 300)


class Told:
    """Knows the probabilities beforehand, and tells them as their frames come."""

    def __init__(self, probabilities: Sequence[float], n_samples: int, *, n_late: int) -> None:
        self._left = list(probabilities)
        self._n_samples = n_samples
        self._n_late = n_late
        self._n_heard = 0
        self._n_told = 0

    def push(self, samples: Samples) -> list[float]:
        self._n_heard += len(samples)
        n_known = max(self._n_heard // FRAME_SAMPLES - self._n_late, 0)
        return self._tell(n_known - self._n_told if n_known > self._n_told else 0)

    def finish(self) -> list[float]:
        return self._tell(len(self._left))

    def _tell(self, n: int) -> list[float]:
        told, self._left = self._left[:n], self._left[n:]
        self._n_told += len(told)
        return told


def make_session(stretches: Sequence[tuple[int, float]], n_cut: int, seed: int) -> tuple[list[float], Samples]:
    probabilities = [probability for n, probability in stretches for _ in range(n)]
    n_samples = max(len(probabilities) * FRAME_SAMPLES - n_cut, (len(probabilities) - 1) * FRAME_SAMPLES + 1)
    samples = np.random.default_rng(seed).standard_normal(n_samples).astype(np.float32)
    return probabilities, samples


def cut(
    probabilities: Sequence[float],
    samples: Samples,
    options: VadOptions,
    *,
    sizes: Sequence[int],
    n_late: int,
    answers: Sequence[float | None],
) -> list[Utterance]:
    """Give all utterances, those that are open too, each of these followed by what became of it."""
    cutter = UtteranceCutter(Told(probabilities, len(samples), n_late=n_late), options)
    utterances: list[Utterance] = []
    at = turn = n_open = 0

    def take(given: Iterator[Utterance]) -> None:
        nonlocal n_open
        for utterance in given:
            utterances.append(utterance)
            if utterance.is_open:
                answer = find_answer(utterance.runs, answers[n_open % len(answers)])
                n_open += 1
                if answer is not None:
                    utterances.append(cutter.cut_at(answer))

    while at < len(samples):
        block = samples[at : at + sizes[turn % len(sizes)]]
        take(cutter.push(block))
        at, turn = at + len(block), turn + 1
    take(cutter.finish())
    return utterances


def find_answer(runs: Sequence[Span], share: float | None) -> int | None:
    if share is None:
        return None
    first, last = runs[0].start + 1, runs[-1].end - 1
    return max(round(first + share * (last - first)), first + 2000)  # else a session has thousands


@settings(max_examples=60)
@given(
    stretches=STRETCHES | TALK,
    n_cut=st.integers(0, FRAME_SAMPLES - 1),
    sizes=SIZES,
    n_late=st.integers(0, 32),
    pad_ms=st.sampled_from([0, 100, 400]),
    answers=ANSWERS,
)
def test_utterances_are_those_of_the_whole_session(
    stretches: list[tuple[int, float]],
    n_cut: int,
    sizes: list[int],
    n_late: int,
    pad_ms: int,
    answers: list[float | None],
) -> None:
    options = VadOptions(speech_pad_ms=pad_ms)
    probabilities, samples = make_session(stretches, n_cut, seed=n_cut)
    n_open = 0

    def answer(utterance: PlainUtterance) -> int | None:
        nonlocal n_open
        n_open += 1
        return find_answer(utterance.runs, answers[(n_open - 1) % len(answers)])

    found = cut(probabilities, samples, options, sizes=sizes, n_late=n_late, answers=answers)
    expected = cut_plainly(probabilities, samples, options, cut=answer)
    assert [PlainUtterance(u.chunk, u.runs, u.fresh, u.is_open) for u in found] == expected
    for utterance in found:
        np.testing.assert_array_equal(utterance.samples, samples[utterance.chunk.span.start : utterance.chunk.span.end])


@settings(max_examples=40)
@given(stretches=TALK, seed=st.integers(0, 9), answers=ANSWERS)
def test_all_speech_is_new_once(stretches: list[tuple[int, float]], seed: int, answers: list[float | None]) -> None:
    probabilities, samples = make_session(stretches, 0, seed)
    given_ = cut(probabilities, samples, VadOptions(), sizes=[1600], n_late=4, answers=answers)
    over = [utterance for utterance in given_ if not utterance.is_open]
    assert [utterance.chunk.index for utterance in over] == list(range(len(over)))
    times_new = np.zeros(len(samples), dtype=int)
    for utterance in over:
        for run in utterance.runs:
            times_new[run.start : run.end] += 1
    plain = cut_plainly(probabilities, samples, VadOptions(), cut=lambda _: None)
    is_spoken = np.zeros(len(samples), dtype=int)
    for run in (run for utterance in plain for run in utterance.runs):
        is_spoken[run.start : run.end] = 1
    np.testing.assert_array_equal(times_new, is_spoken)
    for before, now in pairwise(over):
        left = now.fresh - now.chunk.span.start
        assert 0 <= left <= LEFT_S * VAD_RATE
        assert now.chunk.span.start >= before.chunk.span.start  # never before the speech that goes on
        pause = now.runs[0].start - before.runs[-1].end
        assert (left > 0) == (pause <= CLOSE_S * VAD_RATE)


def test_only_an_open_utterance_is_cut_and_inside_its_speech() -> None:
    probabilities, samples = make_session([(20, 0.0), (250, 0.9), (20, 0.0)], 0, seed=4)
    cutter = UtteranceCutter(Told(probabilities, len(samples), n_late=0), VadOptions())
    with pytest.raises(ValueError, match="no utterance is open"):
        cutter.cut_at(30 * FRAME_SAMPLES)
    first, last = 20 * FRAME_SAMPLES, 20 * FRAME_SAMPLES + 6 * VAD_RATE  # where it begins, up to where it is heard
    given_ = cutter.push(samples)
    assert next(given_).runs == (Span(first, last),)
    for at in (0, first, last, len(samples)):
        with pytest.raises(ValueError, match="no utterance is open"):
            cutter.cut_at(at)
    assert cutter.cut_at(last - 1).runs == (Span(first, last - 1),)
    with pytest.raises(ValueError, match="no utterance is open"):
        cutter.cut_at(last - 2)  # it is over
    assert next(given_).runs == (Span(last - 1, 270 * FRAME_SAMPLES),)


def test_an_utterance_that_nobody_cuts_comes_again_and_is_over() -> None:
    probabilities, samples = make_session([(20, 0.0), (250, 0.9), (20, 0.0)], 0, seed=4)
    cutter = UtteranceCutter(Told(probabilities, len(samples), n_late=0), VadOptions())
    given_ = cutter.push(samples)
    offered, again = next(given_), next(given_)
    assert (offered.is_open, again.is_open) == (True, False)
    assert offered.runs[0].start == again.runs[0].start
    assert 4.8 * VAD_RATE <= again.runs[-1].n_samples <= 6 * VAD_RATE
    with pytest.raises(ValueError, match="no utterance is open"):
        cutter.cut_at(again.runs[-1].end - 1)


def test_an_open_utterance_is_seen_as_far_as_it_goes() -> None:
    probabilities, samples = make_session([(10, 0.0), (40, 0.9), (40, 0.0)], 0, seed=1)
    cutter = UtteranceCutter(Told(probabilities, len(samples), n_late=0), VadOptions())
    assert cutter.peek() is None
    assert list(cutter.push(samples[: 30 * FRAME_SAMPLES])) == []
    seen = cutter.peek()
    assert seen is not None
    assert seen.chunk.span.start == 0  # 400 ms before speech, but not before the session
    assert seen.chunk.span.end == 30 * FRAME_SAMPLES
    assert len(list(cutter.push(samples[30 * FRAME_SAMPLES :]))) == 1
    assert cutter.peek() is None


@pytest.mark.parametrize("share", [None, 0.0, 0.5, 0.9])
def test_memory_does_not_grow(share: float | None) -> None:
    probabilities, samples = make_session([(2000, 0.0), (1000, 0.9)] * 3, 0, seed=2)
    cutter = UtteranceCutter(Told(probabilities, len(samples), n_late=4), VadOptions())
    longest = 0
    for start in range(0, len(samples), 1600):
        for utterance in cutter.push(samples[start : start + 1600]):
            if utterance.is_open and (at := find_answer(utterance.runs, share)) is not None:
                cutter.cut_at(at)
        longest = max(longest, len(cutter._buffer))
    assert longest < 11 * 16_000
