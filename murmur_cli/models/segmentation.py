"""Segmentation 3.0: which of up to three people speak, every 17 ms of a window of 10 s.

Its numbers for people hold within one window only. It runs in float32: in less, filters whose cut-offs
are numbers in Hz would move.

Source: pyannote/segmentation-3.0; arXiv 2310.13025 (powerset training), arXiv 1808.00158 (SincNet).
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from murmur_cli.errors import WeightsError
from murmur_cli.models.bundled import read_bundled
from murmur_cli.speakers.windows import SPEAKER_RATE, BoolArray

__all__ = ["SegmentationNetwork", "load_segmentation"]

# Axes: B windows, T samples or frames, D features.
_FILTERS, _TAPS, _STRIDE = 80, 251, 10
_LEAST_HZ, _LEAST_BAND_HZ = 50.0, 50.0
_HIDDEN = 128

# Classes of the output, in its order: nobody, one of three, two of three.
_CLASSES = ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (1, 0, 1), (0, 1, 1))


class SegmentationNetwork(nn.Module):
    """The network: windows in, log-probabilities of the seven classes out."""

    def __init__(self, weights: dict[str, Tensor]) -> None:
        """Build the network.

        Args:
            weights: The tensors of the checkpoint under their own names.

        Raises:
            RuntimeError: A tensor is missing, of another shape, or too many.
        """
        super().__init__()
        self.sincnet = _SincNet()
        self.lstm = nn.LSTM(60, _HIDDEN, 4, batch_first=True, bidirectional=True)
        self.linear = nn.ModuleList([nn.Linear(2 * _HIDDEN, 128), nn.Linear(128, 128)])
        self.classifier = nn.Linear(128, len(_CLASSES))
        self.load_state_dict(weights)
        self.eval()

    def forward(self, windows: Tensor) -> Tensor:
        """Score the frames of windows of 10 s, [B, T] -> [B, 589, 7]."""
        features: Tensor = self.sincnet(windows.unsqueeze(1))  # [B, D, T]
        features, _ = self.lstm(features.transpose(1, 2))
        for layer in self.linear:
            features = functional.leaky_relu(layer(features))
        return functional.log_softmax(self.classifier(features), -1)

    @torch.inference_mode()
    def find_activity(self, windows: Tensor) -> BoolArray:
        """Say which local speakers are active, [B, T] -> (B, 589, 3)."""
        classes = self(windows).argmax(-1)
        return np.asarray(torch.tensor(_CLASSES, dtype=torch.bool)[classes].numpy())


class _SincNet(nn.Module):
    """Samples to features, [B, 1, T] -> [B, 60, T / 270]."""

    def __init__(self) -> None:
        super().__init__()
        self.wav_norm1d = nn.InstanceNorm1d(1, affine=True)
        self.conv1d = nn.ModuleList([_BandPasses(), nn.Conv1d(_FILTERS, 60, 5), nn.Conv1d(60, 60, 5)])
        self.norm1d = nn.ModuleList([nn.InstanceNorm1d(n, affine=True) for n in (_FILTERS, 60, 60)])

    def forward(self, x: Tensor) -> Tensor:
        x = self.wav_norm1d(x)
        for convolve, norm in zip(self.conv1d, self.norm1d, strict=True):
            x = functional.leaky_relu(norm(functional.max_pool1d(convolve(x), 3, 3)))
        return x


class _BandPasses(nn.Module):
    """Magnitudes of the signal in learned bands."""

    def __init__(self) -> None:
        super().__init__()
        self.filterbank = _FilterBank()

    def forward(self, x: Tensor) -> Tensor:
        return functional.conv1d(x, self.filterbank(), stride=_STRIDE).abs()


class _FilterBank(nn.Module):
    """Band-pass filters kept as their cut-offs: 40 bands, each with a cosine and a sine filter.

    Source: asteroid-filterbanks, ``ParamSincFB``.
    """

    def __init__(self) -> None:
        super().__init__()
        self.low_hz_ = nn.Parameter(torch.zeros(_FILTERS // 2, 1))
        self.band_hz_ = nn.Parameter(torch.zeros(_FILTERS // 2, 1))
        half = _TAPS // 2
        self.register_buffer("window_", torch.from_numpy(np.hamming(_TAPS)[:half]).float())
        self.register_buffer("n_", 2 * math.pi * torch.arange(-half, 0.0).view(1, -1) / SPEAKER_RATE)

    def forward(self) -> Tensor:
        """Give the filters, [80, 1, 251]."""
        window, n = self.get_buffer("window_"), self.get_buffer("n_")
        low = _LEAST_HZ + self.low_hz_.abs()
        high = (low + _LEAST_BAND_HZ + self.band_hz_.abs()).clamp(_LEAST_HZ, SPEAKER_RATE / 2)
        band = high - low
        even = (torch.sin(high @ n) - torch.sin(low @ n)) / (n / 2) * window  # the left half
        odd = (torch.cos(low @ n) - torch.cos(high @ n)) / (n / 2) * window
        cosines = torch.cat([even, 2 * band, even.flip(1)], 1) / (2 * band)
        sines = torch.cat([odd, torch.zeros_like(band), -odd.flip(1)], 1) / (2 * band)
        return torch.cat([cosines, sines]).unsqueeze(1)


def load_segmentation() -> SegmentationNetwork:
    """Load the network that comes with murmur.

    Raises:
        WeightsError: Its file is missing or damaged.
    """
    name = "segmentation-3.0.safetensors"
    try:
        return SegmentationNetwork(read_bundled(name))
    except RuntimeError as error:  # what torch raises for other names and shapes
        raise WeightsError("not a segmentation network of this kind", where=name) from error
