"""CAM++: what a voice sounds like, as 192 numbers.

The network hears every frame of its input, so a signal must never be padded: in the first layers, inputs
of one batch have the same length, and in the others they stand one after the other, apart.

Source: arXiv 2303.00332; 3D-Speaker, ``speakerlab/models/campplus/DTDNN.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from murmur_cli.errors import WeightsError
from murmur_cli.models.bundled import read_bundled
from murmur_cli.models.campplus_layers import GAP, ROWS, Block, Head, Linear, WeightReader, gather_frames, lay_out
from murmur_cli.models.hardware import multiplies_bfloat16
from murmur_cli.speakers.voices import VOICE_SIZE, VoiceVectors

__all__ = ["LEAST_FRAMES", "CampplusNetwork", "embed_features", "load_campplus"]

LEAST_FRAMES = 20
"""Features of fewer frames than this, 0.2 s, are no voice."""

# Axes: B inputs, F frequency bands, C channels of the two-dimensional head, T frames or rows, D features.
_BLOCKS = ((12, 1), (24, 2), (16, 2))  # dense layers, and the dilation of their convolutions
_BATCH = 4  # 16 are no faster on a CPU


class CampplusNetwork:
    """The network: mean-normalised filter bank features in, voices out."""

    def __init__(self, weights: dict[str, Tensor], *, dtype: torch.dtype) -> None:
        """Build the network.

        Args:
            weights: The tensors of the checkpoint under their own names, in any precision.
            dtype: What it computes in.

        Raises:
            KeyError: A tensor is missing.
            ValueError: A tensor is too many.
        """
        reader = WeightReader(weights, dtype)
        self._dtype = dtype
        self._head = Head(reader)
        self._entry = reader.take_linear("xvector.tdnn.linear", norm="xvector.tdnn.nonlinear.batchnorm")
        self._blocks = [
            Block(reader, number, n_layers=n_layers, dilation=dilation, is_last=number == len(_BLOCKS))
            for number, (n_layers, dilation) in enumerate(_BLOCKS, 1)
        ]
        dense = reader.take_linear("xvector.dense.linear", norm="xvector.dense.nonlinear.batchnorm")
        self._exit = Linear(dense.weight.float(), dense.bias.float())
        reader.finish()

    def enter(self, features: Tensor) -> Tensor:
        """Run the first layers on inputs of one length, [B, T, 80] -> [B, T / 2, D]."""
        return self._entry(gather_frames(self._head(features.to(self._dtype)), 5, step=2)).relu_()

    def leave(self, inputs: Sequence[Tensor]) -> Tensor:
        """Run the other layers on what ``enter`` gave for inputs of any lengths, [T / 2, D] each -> [B, 192].

        Together they have at most ``ROWS`` rows, ``GAP`` between any two counted.
        """
        layout = lay_out([len(x) for x in inputs], self._dtype)
        rows = torch.zeros(ROWS, inputs[0].shape[1], dtype=self._dtype)
        for x, start in zip(inputs, layout.starts, strict=True):
            rows[start : start + len(x)] = x
        for block in self._blocks:
            rows = block(rows, layout)
        own = [rows[start : start + len(x)].float() for x, start in zip(inputs, layout.starts, strict=True)]
        statistics = torch.stack([torch.cat([x.mean(0), x.std(0)]) for x in own])
        return functional.normalize(self._exit(statistics), dim=-1)


@torch.inference_mode()
def embed_features(network: CampplusNetwork, features: Sequence[Tensor]) -> VoiceVectors:
    """Embed signals of any length, each by itself.

    Args:
        network: CAM++.
        features: Filter bank features, each [T, 80], T at least ``LEAST_FRAMES`` and at most 10 s. What is over
            a multiple of 0.2 s is not heard, so that signals can share a batch.

    Returns:
        Unit vectors, shape (n, 192).
    """
    by_length: dict[int, list[int]] = {}
    for i, signal in enumerate(features):
        assert LEAST_FRAMES <= len(signal) <= 2 * ROWS
        by_length.setdefault(len(signal) // LEAST_FRAMES * LEAST_FRAMES, []).append(i)
    entered: dict[int, Tensor] = {}
    for length in sorted(by_length, reverse=True):
        rows = by_length[length]
        for start in range(0, len(rows), _BATCH):
            batch = rows[start : start + _BATCH]
            x = torch.stack([features[i][:length] for i in batch])
            entered.update(zip(batch, network.enter(x - x.mean(1, keepdim=True)), strict=True))
    vectors = np.zeros((len(features), VOICE_SIZE), np.float32)
    for batch in _pack({i: len(x) for i, x in entered.items()}):
        vectors[batch] = network.leave([entered[i] for i in batch]).numpy()
    return vectors


def _pack(lengths: Mapping[int, int]) -> list[list[int]]:
    """Put inputs, the longest first, into the first batch that has room among its rows."""
    batches: list[list[int]] = []
    ends: list[int] = []
    for i, length in lengths.items():
        place = next((k for k, end in enumerate(ends) if end + length <= ROWS), len(batches))
        if place == len(batches):
            batches.append([])
            ends.append(0)
        batches[place].append(i)
        ends[place] += length + GAP
    return batches


def load_campplus(dtype: torch.dtype | None = None) -> CampplusNetwork:
    """Load the network that comes with murmur.

    Args:
        dtype: What it computes in; None takes bfloat16 where the CPU multiplies it in hardware, else
            float32. The cosine of two voices is the same within 0.02; bfloat16 takes half the time.

    Raises:
        WeightsError: Its file is missing or damaged.
    """
    name = "campplus.safetensors"
    if dtype is None:
        dtype = torch.bfloat16 if multiplies_bfloat16() else torch.float32
    try:
        return CampplusNetwork(read_bundled(name), dtype=dtype)
    except (KeyError, ValueError) as error:
        raise WeightsError("not a CAM++ network of this kind", where=name) from error
