"""Kaldi's log-mel filter bank, as speaker networks are trained on it.

Frames of 25 ms, one every 10 ms, without dither; only whole frames count.

Source: Kaldi, ``feat/feature-fbank.cc`` and ``feat/mel-computations.cc``, with ``--num-mel-bins=80 --dither=0``.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional

from murmur_cli.speakers.windows import SPEAKER_RATE

__all__ = ["FBANK_BINS", "FBANK_FRAME_SAMPLES", "FBANK_STEP_SAMPLES", "FilterBank"]

FBANK_BINS = 80
"""Features of a frame."""

FBANK_FRAME_SAMPLES = SPEAKER_RATE * 25 // 1000
"""Samples behind one frame."""

FBANK_STEP_SAMPLES = SPEAKER_RATE // 100
"""Samples from one frame to the next."""

_FFT_SAMPLES = 512
_PREEMPHASIS = 0.97
_LOWEST_HZ = 20.0
_FLOOR = torch.finfo(torch.float32).eps


class FilterBank:
    """The window and the bands, made once."""

    def __init__(self) -> None:
        self._window = torch.hann_window(FBANK_FRAME_SAMPLES, periodic=False) ** 0.85  # Kaldi calls it povey
        self._bands = _make_bands()

    def __call__(self, samples: Tensor) -> Tensor:
        """Give the features of a signal, [T] -> [frames, 80]; none of less than 25 ms."""
        if len(samples) < FBANK_FRAME_SAMPLES:
            return torch.zeros(0, FBANK_BINS)
        frames = samples.unfold(0, FBANK_FRAME_SAMPLES, FBANK_STEP_SAMPLES)
        frames = frames - frames.mean(1, keepdim=True)
        before = torch.cat([frames[:, :1], frames[:, :-1]], 1)
        spectrum = torch.fft.rfft((frames - _PREEMPHASIS * before) * self._window, n=_FFT_SAMPLES)
        energies: Tensor = spectrum.abs().square() @ self._bands
        return energies.clamp(min=_FLOOR).log()


def _make_bands() -> Tensor:
    """Make the triangles, [257, 80]: equally wide in mel, zero at the highest frequency."""
    edges = torch.linspace(_to_mel(_LOWEST_HZ), _to_mel(SPEAKER_RATE / 2), FBANK_BINS + 2, dtype=torch.float64)
    left, centre, right = edges[:-2], edges[1:-1], edges[2:]
    hertz = torch.arange(_FFT_SAMPLES // 2, dtype=torch.float64) * SPEAKER_RATE / _FFT_SAMPLES
    mel = (1127.0 * torch.log1p(hertz / 700.0)).unsqueeze(1)
    bands = torch.minimum((mel - left) / (centre - left), (right - mel) / (right - centre)).clamp(min=0)
    return functional.pad(bands, (0, 0, 0, 1)).float()


def _to_mel(hertz: float) -> float:
    return 1127.0 * math.log1p(hertz / 700.0)
