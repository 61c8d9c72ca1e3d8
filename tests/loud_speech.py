"""Speech for tests of live sessions: whatever is loud."""

from __future__ import annotations

import numpy as np

from murmur_cli.speech.vad import FRAME_SAMPLES, VAD_RATE
from murmur_cli.types import Samples

__all__ = ["Loud", "make_talk"]


class Loud:
    """Takes what is loud for speech, frame by frame; implements ``LiveVad`` and ``SpeechScorer``."""

    def __init__(self) -> None:
        self._rest = np.zeros(0, np.float32)

    def open(self) -> Loud:
        return Loud()

    def push(self, samples: Samples) -> list[float]:
        self._rest = np.concatenate((self._rest, samples))
        n_whole = len(self._rest) // FRAME_SAMPLES * FRAME_SAMPLES
        frames, self._rest = self._rest[:n_whole].reshape(-1, FRAME_SAMPLES), self._rest[n_whole:]
        return [score(frame) for frame in frames]

    def finish(self) -> list[float]:
        return [score(self._rest)] if len(self._rest) else []


def score(frame: Samples) -> float:
    return float(np.abs(frame).max() > 0.01)


def make_talk(*parts: tuple[float, float]) -> Samples:
    """Noise of so many seconds, so loud each."""
    draw = np.random.default_rng(5)
    return np.concatenate(
        [level * draw.standard_normal(round(seconds * VAD_RATE)).clip(-3, 3) for seconds, level in parts]
    ).astype(np.float32)
