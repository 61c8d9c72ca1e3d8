"""Voices as vectors: the cosine of two says how alike they sound.

Every vector has length 1 and comes from the same network, so any two can be compared.
"""

from __future__ import annotations

from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from murmur_cli.types import Samples

__all__ = ["LEAST_VOICE_S", "VOICE_SIZE", "SpeakerEmbedder", "VoiceVector", "VoiceVectors", "average_voice"]

VOICE_SIZE = 192
"""Numbers in a vector."""

LEAST_VOICE_S = 0.4
"""Seconds of speech below which an embedder gives no vector."""

VoiceVector: TypeAlias = npt.NDArray[np.float32]
"""One voice, shape (192,), of length 1."""

VoiceVectors: TypeAlias = npt.NDArray[np.float32]
"""Many voices, shape (n, 192), each of length 1."""


class SpeakerEmbedder(Protocol):
    """What hears how a voice sounds."""

    def embed(self, samples: Samples) -> VoiceVector:
        """Embed speech of one person.

        Args:
            samples: At ``SPEAKER_RATE``, at least ``LEAST_VOICE_S`` of it, without pauses and other people: what
                is in it is heard.

        Raises:
            ValueError: It is shorter.
        """
        ...


def average_voice(vectors: npt.NDArray[np.floating], weights: npt.NDArray[np.float64]) -> VoiceVector:
    """Average voices, (n, 192), weighted, (n,), to one of length 1."""
    total = weights @ vectors.astype(np.float64)
    return np.asarray(total / max(float(np.linalg.norm(total)), 1e-12), dtype=np.float32)
