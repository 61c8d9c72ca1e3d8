"""What Whisper's encoder hears: a log-mel spectrogram of a window, padded with silence."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from transformers.audio_utils import mel_filter_bank

from murmur_cli.types import Samples

__all__ = ["HOP_SAMPLES", "SAMPLE_RATE", "FeatureExtractor"]

SAMPLE_RATE = 16_000
"""Samples per second that every Whisper was trained on."""

HOP_SAMPLES = 160
"""Samples per column of the spectrogram."""

_FRAME_SAMPLES = 400
_FLOOR = 1e-10
_RANGE = 8.0  # powers of ten below the loudest


class FeatureExtractor:
    """Makes spectrograms for one size of encoder.

    Args:
        n_mels: Rows of the spectrogram: 80, or 128 from large-v3 on.
        n_frames: Columns of the spectrogram: 3000 for 30 s.

    Source:
        transformers 5.24, WhisperFeatureExtractor; openai/whisper@v20240930, whisper/audio.py.
    """

    def __init__(self, *, n_mels: int, n_frames: int) -> None:
        bank = mel_filter_bank(
            num_frequency_bins=_FRAME_SAMPLES // 2 + 1,
            num_mel_filters=n_mels,
            min_frequency=0.0,
            max_frequency=SAMPLE_RATE / 2,
            sampling_rate=SAMPLE_RATE,
            norm="slaney",
            mel_scale="slaney",
        )
        self._bank = torch.from_numpy(np.ascontiguousarray(bank.T, dtype=np.float32))  # [n_mels, frequencies]
        self._hann = torch.hann_window(_FRAME_SAMPLES)
        self._n_samples = n_frames * HOP_SAMPLES

    def extract(self, samples: Samples, *, n_samples: int | None = None) -> Tensor:
        """Make the spectrogram of a window.

        Args:
            samples: Shape (n_samples,), at ``SAMPLE_RATE``, no longer than the encoder hears.
            n_samples: How much is heard, with silence behind the window; None: as much as the encoder hears.

        Returns:
            Shape (n_mels, n_frames), float32.
        """
        n_samples = self._n_samples if n_samples is None else min(n_samples, self._n_samples)
        assert len(samples) <= n_samples, "a window fits into the encoder"
        padded = torch.zeros(n_samples)
        padded[: len(samples)] = torch.from_numpy(np.array(samples))
        spectrum = torch.stft(padded, _FRAME_SAMPLES, HOP_SAMPLES, window=self._hann, return_complex=True)
        power = spectrum[:, :-1].abs().square()
        logarithm = (self._bank @ power).clamp_min(_FLOOR).log10()
        return (torch.maximum(logarithm, logarithm.max() - _RANGE) + 4.0) / 4.0
