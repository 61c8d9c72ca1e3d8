"""Utterances are those that a look at the whole session gives, however it comes in."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.utterances import cut_plainly

from murmur_cli.options import VadOptions
from murmur_cli.speech.utterances import Utterance, UtteranceCutter
from murmur_cli.speech.vad import FRAME_SAMPLES
from murmur_cli.types import Samples

# Stretches of frames: how many, and how likely speech is in them; 16 frames are half a second.
STRETCH = st.tuples(st.integers(1, 60), st.sampled_from([0.0, 0.2, 0.4, 0.6, 0.9]))
STRETCHES = st.lists(STRETCH, min_size=1, max_size=30)


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
    probabilities: Sequence[float], samples: Samples, options: VadOptions, *, sizes: Sequence[int], n_late: int
) -> list[Utterance]:
    cutter = UtteranceCutter(Told(probabilities, len(samples), n_late=n_late), options)
    utterances, at, turn = [], 0, 0
    while at < len(samples):
        block = samples[at : at + sizes[turn % len(sizes)]]
        utterances += list(cutter.push(block))
        at, turn = at + len(block), turn + 1
    return utterances + list(cutter.finish())


@settings(max_examples=60)
@given(
    stretches=STRETCHES,
    n_cut=st.integers(0, FRAME_SAMPLES - 1),
    seed=st.integers(0, 9),
    sizes=st.lists(st.integers(1, 40_000), min_size=1, max_size=5).filter(lambda sizes: max(sizes) > 300),
    n_late=st.integers(0, 32),
    pad_ms=st.sampled_from([0, 100, 400]),
)
def test_utterances_are_those_of_the_whole_session(
    stretches: list[tuple[int, float]], n_cut: int, seed: int, sizes: list[int], n_late: int, pad_ms: int
) -> None:
    options = VadOptions(speech_pad_ms=pad_ms)
    probabilities, samples = make_session(stretches, n_cut, seed)
    found = cut(probabilities, samples, options, sizes=sizes, n_late=n_late)
    expected = cut_plainly(probabilities, samples, options)
    assert [(u.chunk.span, u.chunk.speech, u.chunk.forced_cut) for u in found] == expected
    for index, utterance in enumerate(found):
        assert utterance.chunk.index == index
        np.testing.assert_array_equal(utterance.samples, samples[utterance.chunk.span.start : utterance.chunk.span.end])


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


def test_memory_does_not_grow() -> None:
    probabilities, samples = make_session([(2000, 0.0), (400, 0.9)] * 3, 0, seed=2)
    cutter = UtteranceCutter(Told(probabilities, len(samples), n_late=4), VadOptions())
    longest = 0
    for start in range(0, len(samples), 1600):
        list(cutter.push(samples[start : start + 1600]))
        longest = max(longest, len(cutter._buffer))
    assert longest < 12 * 16_000
