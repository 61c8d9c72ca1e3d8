"""Who speaks in a live session, utterance by utterance: what has been said about one is never changed.

The answers follow from the utterances in their order alone, and what is remembered does not grow with
them: of each person, the sum of their voices and its weight.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from murmur_cli.options import MOST_SPEAKERS
from murmur_cli.speakers.diarize import name_speaker
from murmur_cli.speakers.voices import VoiceVector
from murmur_cli.types import SPEECH_RATE, Span, Speaker

__all__ = ["LEAST_HEARD_S", "OnlineSpeakers", "split_at_pauses"]

# Chosen on conversations of spoken digits (6 people, 8 kHz) and of three readers of LibriSpeech, before the other three
# readers were looked at (benchmarks/online_speakers.py). Figures: % of the speech with the right speaker, both kinds
# weighing the same, where one answer for each utterance can have 95 at best. What came of it: in sessions of 10 min
# with 2 of the others 94.9 of 95.3 that one answer can have; 4 readers, 3 of them others: 95.5 of 96.0; all 6: 95.9 of
# 96.7; by telephone 95.0, 95.7 and 94.2. The number of people was right in these 14.
LEAST_HEARD_S = 1.0
"""Seconds of speech in an utterance below which its voice is not listened to.

That is caution, not an optimum: 1.0 has 88.0, 0.7 has 90.3, 0.4 has 91.3, by words that stand alone, as digits do.
"""

# Less alike is somebody else. 0.30: 82.5, 0.36: 86.9, 0.40: 87.9, 0.42 to 0.46: 88.0, 0.50: 87.7, 0.55: 85.8.
_SAME_COSINE = 0.42
# Less alike teaches nothing. It matters little: 0.42: 87.8, 0.50: 88.0, 0.55: 88.4, 0.60: 88.8.
_SURE_COSINE = 0.50
# Seconds of speech that make a new person known. 1.0: 88.1 and twice as many miscounts, 2.0: 87.2, 2.5: 77.2.
_FOUNDING_S = 1.5


class OnlineSpeakers:
    """The people of one session, who get the names S1, S2 … in the order in which they are first heard.

    How much a voice is like a person is its mean cosine with all that was surely theirs, weighted by
    seconds: it does not rise with how much that is, as the cosine with their average voice does, for which
    the best threshold is narrow (0.45: 84.1, 0.50: 87.9, 0.55: 88.7, 0.60: 87.7) and counts are worse.
    """

    def __init__(self, *, most: int = MOST_SPEAKERS) -> None:
        """Begin a session.

        Args:
            most: How many people there may be; when all are known, each voice is that of one of them.

        Raises:
            ValueError: There may be nobody.
        """
        if most < 1:
            raise ValueError(f"no such number of people: {most}")
        self._most = most
        self._sums: list[npt.NDArray[np.float64]] = []  # of a person's voices times their seconds, (192,)
        self._weights: list[float] = []  # those seconds
        self._last = 0

    def assign(self, vector: VoiceVector | None, *, speech_s: float) -> Speaker:
        """Say who speaks in the next utterance.

        Args:
            vector: Its voice, heard in its speech without the pauses; None if it has none.
            speech_s: How many seconds of speech that is.

        Returns:
            The speaker of the utterance before, where there is too little to tell. Before anybody has said
            enough to be known by, that is S1: whose voice is the first one of whom there is enough.
        """
        if vector is not None and speech_s >= LEAST_HEARD_S:
            self._last = self._find_person(vector, speech_s)
        return name_speaker(self._last)

    def _find_person(self, vector: VoiceVector, speech_s: float) -> int:
        """Find whose voice it is, and learn from it if that is sure."""
        n_known = len(self._sums)
        likeness = [float(own @ vector) / weight for own, weight in zip(self._sums, self._weights, strict=True)]
        nearest = max(range(n_known), key=lambda person: likeness[person], default=0)
        if n_known == 0 or (likeness[nearest] < _SAME_COSINE and n_known < self._most):
            if speech_s < _FOUNDING_S:
                return nearest
            self._sums.append(vector.astype(np.float64) * speech_s)
            self._weights.append(speech_s)
            return n_known
        if likeness[nearest] >= _SURE_COSINE:
            self._sums[nearest] += vector.astype(np.float64) * speech_s
            self._weights[nearest] += speech_s
        return nearest


def split_at_pauses(speech: Sequence[Span]) -> list[list[Span]]:
    """Split an utterance at its pauses into parts with enough speech to make a person known.

    One utterance may hold two people, with hardly a pause between them; speakers are assigned part by part,
    and parts of one speaker that follow each other belong together. In the sessions above, 0.9 to 2.2 % more
    of the speech has the right speaker.

    Args:
        speech: What is spoken of it: sorted disjoint spans, without padding, in samples at ``SPEECH_RATE``.
    """
    parts: list[list[Span]] = []
    n_samples = 0  # of the last part
    for span in speech:
        if not parts or n_samples >= _FOUNDING_S * SPEECH_RATE:
            parts.append([])
            n_samples = 0
        parts[-1].append(span)
        n_samples += span.n_samples
    if len(parts) > 1 and n_samples < _FOUNDING_S * SPEECH_RATE:
        rest = parts.pop()
        parts[-1] += rest
    return parts
