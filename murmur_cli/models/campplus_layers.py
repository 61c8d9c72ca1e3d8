"""The layers of CAM++, for inference on a CPU.

Normalisations are folded into the convolutions before them. Of the dense layers everything is a product
of matrices, of one shape whatever the inputs are: oneDNN makes code for every shape and keeps it, 20 MB
for each.

Source: arXiv 2303.00332; 3D-Speaker, ``speakerlab/models/campplus/layers.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

__all__ = [
    "GAP",
    "ROWS",
    "Affine",
    "Block",
    "Convolution",
    "Head",
    "Layout",
    "Linear",
    "WeightReader",
    "gather_frames",
    "lay_out",
]

# Axes: B inputs, F frequency bands, C channels of the two-dimensional head, T frames or rows, D features.

ROWS = 512
"""Rows of the dense layers, at half the frame rate: 10 s, in one or several inputs."""

GAP = 2
"""Rows of zeros between two inputs, so that they do not hear each other: the largest dilation."""

_CONTEXT_ROWS = 100  # of the local context of a dense layer
_EPSILON = 1e-5  # of every normalisation


@dataclass(frozen=True, slots=True)
class Linear:
    """Weight [D out, D in] and bias [D out]."""

    weight: Tensor
    bias: Tensor

    def __call__(self, x: Tensor) -> Tensor:
        """Apply it to [..., D in]."""
        return functional.linear(x, self.weight, self.bias)


@dataclass(frozen=True, slots=True)
class Convolution:
    """Over frequency and time: weight [C out, C in, 3, 3] and bias [C out]."""

    weight: Tensor
    bias: Tensor

    def __call__(self, x: Tensor, *, stride: int = 1) -> Tensor:
        """Apply it to [B, C in, F, T], with zeros around; ``stride`` is that over F."""
        padding = self.weight.shape[-1] // 2
        return functional.conv2d(x, self.weight, self.bias, (stride, 1), padding)


@dataclass(frozen=True, slots=True)
class Affine:
    """Scale and shift of each feature, [D]."""

    scale: Tensor
    shift: Tensor

    def __call__(self, x: Tensor) -> Tensor:
        """Apply it to [..., D]."""
        return torch.addcmul(self.shift, x, self.scale)


class WeightReader:
    """Takes tensors by their names, each once, and folds normalisations."""

    def __init__(self, weights: dict[str, Tensor], dtype: torch.dtype) -> None:
        self._left = {name: tensor.float() for name, tensor in weights.items() if "num_batches" not in name}
        self._dtype = dtype

    def take_affine(self, name: str) -> Affine:
        """Take a batch normalisation that stands by itself."""
        affine = self._take_norm(name)
        return Affine(affine.scale.to(self._dtype), affine.shift.to(self._dtype))

    def take_linear(self, name: str, *, norm: str | None = None, by_frame: bool = False) -> Linear:
        """Take a convolution over time, [D out, D in, T], as a product with T frames side by side.

        Args:
            name: Of the convolution.
            norm: The normalisation after it, if any.
            by_frame: The product is with whole frames one after the other, not with features.
        """
        weight, bias = self._fold(name, norm)
        order = weight.transpose(1, 2) if by_frame else weight
        return Linear(order.flatten(1).to(self._dtype), bias.to(self._dtype))

    def take_convolution(self, name: str, *, norm: str) -> Convolution:
        """Take a convolution over frequency and time, and the normalisation after it."""
        weight, bias = self._fold(name, norm)
        weight = weight.to(self._dtype, memory_format=torch.channels_last)
        return Convolution(weight, bias.to(self._dtype))

    def finish(self) -> None:
        """Check that all tensors were taken.

        Raises:
            ValueError: One was not.
        """
        if self._left:
            raise ValueError(f"no use for {min(self._left)}")

    def _fold(self, name: str, norm: str | None) -> tuple[Tensor, Tensor]:
        weight = self._left.pop(f"{name}.weight")
        bias = self._left.pop(f"{name}.bias", torch.zeros(len(weight)))
        if norm is None:
            return weight, bias
        affine = self._take_norm(norm)
        return (weight.movedim(0, -1) * affine.scale).movedim(-1, 0), affine(bias)

    def _take_norm(self, name: str) -> Affine:
        """Take a batch normalisation; the last one has no weight and no bias."""
        variance = self._left.pop(f"{name}.running_var")
        scale = self._left.pop(f"{name}.weight", torch.ones(())) / (variance + _EPSILON).sqrt()
        mean = self._left.pop(f"{name}.running_mean")
        return Affine(scale, self._left.pop(f"{name}.bias", torch.zeros(())) - mean * scale)


class Head:
    """Convolutions over frequency and time, [B, T, 80] -> [B, T, D]."""

    def __init__(self, reader: WeightReader) -> None:
        self._first = reader.take_convolution("head.conv1", norm="head.bn1")
        names = [f"head.layer{layer}.{part}" for layer in (1, 2) for part in (0, 1)]
        self._residuals = [_Residual(reader, name) for name in names]
        self._last = reader.take_convolution("head.conv2", norm="head.bn2")

    def __call__(self, features: Tensor) -> Tensor:
        """Run inputs of one length."""
        x = features.transpose(1, 2).unsqueeze(1)  # [B, C, F, T]
        x = self._first(x.contiguous(memory_format=torch.channels_last)).relu_()
        for residual in self._residuals:
            x = residual(x)
        x = self._last(x, stride=2).relu_()
        return x.permute(0, 3, 1, 2).flatten(2)


class _Residual:
    """Two convolutions beside a shortcut; the first of each pair halves the frequency bands."""

    def __init__(self, reader: WeightReader, name: str) -> None:
        self._halves = name.endswith(".0")
        self._first = reader.take_convolution(f"{name}.conv1", norm=f"{name}.bn1")
        self._second = reader.take_convolution(f"{name}.conv2", norm=f"{name}.bn2")
        if self._halves:
            self._shortcut = reader.take_convolution(f"{name}.shortcut.0", norm=f"{name}.shortcut.1")

    def __call__(self, x: Tensor) -> Tensor:
        stride = 2 if self._halves else 1
        inner = self._second(self._first(x, stride=stride).relu_())
        return inner.add_(self._shortcut(x, stride=stride) if self._halves else x).relu_()


class Block:
    """Dense layers, each hearing all before it, and a product that halves what they leave: [T, D] -> [T, D']."""

    def __init__(self, reader: WeightReader, number: int, *, n_layers: int, dilation: int, is_last: bool) -> None:
        assert dilation <= GAP
        names = [f"xvector.block{number}.tdnnd{layer}" for layer in range(1, n_layers + 1)]
        self._layers = [_DenseLayer(reader, name, dilation) for name in names]
        transit = f"xvector.transit{number}"
        self._is_last = is_last
        self._norm = reader.take_affine(f"{transit}.nonlinear.batchnorm")
        after = "xvector.out_nonlinear.batchnorm" if is_last else None
        self._exit = reader.take_linear(f"{transit}.linear", norm=after)

    def __call__(self, x: Tensor, layout: Layout) -> Tensor:
        """Run inputs that are laid out in rows."""
        known = x.new_empty(len(x), self._exit.weight.shape[1])
        n_known = x.shape[1]
        known[:, :n_known] = x
        for layer in self._layers:
            new = layer(known[:, :n_known], layout)
            known[:, n_known : n_known + new.shape[1]] = new
            n_known += new.shape[1]
        x = self._exit(self._norm(known).relu_())
        return x.relu_() if self._is_last else x


class _DenseLayer:
    """New features, masked by what the second around each frame and the whole input say: [T, D] -> [T, 32]."""

    def __init__(self, reader: WeightReader, name: str, dilation: int) -> None:
        self._dilation = dilation
        self._norm = reader.take_affine(f"{name}.nonlinear1.batchnorm")
        self._narrow = reader.take_linear(f"{name}.linear1", norm=f"{name}.nonlinear2.batchnorm")
        self._local = reader.take_linear(f"{name}.cam_layer.linear_local", by_frame=True)
        self._squeeze = reader.take_linear(f"{name}.cam_layer.linear1")
        self._mask = reader.take_linear(f"{name}.cam_layer.linear2")

    def __call__(self, x: Tensor, layout: Layout) -> Tensor:
        x = self._narrow(self._norm(x).relu_()).relu_().mul_(layout.inside)
        n_rows, d = len(x), self._dilation
        padded = functional.pad(x, (0, 0, d, d))
        local = self._local(torch.cat([padded[i : i + n_rows] for i in (0, d, 2 * d)], -1))
        mask = self._mask(self._squeeze(layout.means @ x).relu_()).sigmoid_()
        return local.mul_(mask[layout.stretch])


def gather_frames(x: Tensor, n_frames: int, *, step: int) -> Tensor:
    """Put the frames around every ``step``-th frame side by side, [B, T, D] -> [B, T / step, D * n_frames]."""
    margin = n_frames // 2
    return functional.pad(x, (0, 0, margin, margin)).unfold(1, n_frames, step).flatten(2)


@dataclass(frozen=True, slots=True)
class Layout:
    """Where inputs stand among ``ROWS`` rows, one after the other with a gap between them.

    Shapes here depend on nothing, so that oneDNN makes and keeps its code for them once: 20 MB for each.

    Args:
        starts: The first row of each input.
        inside: 1 in the rows of inputs, 0 in gaps, [rows, 1].
        means: For each stretch of 100 rows of an input, the average over that and over all of the input,
            added, as weights of the rows, [stretches, rows].
        stretch: The stretch that each row is in, [rows]; gaps are in any.
    """

    starts: tuple[int, ...]
    inside: Tensor
    means: Tensor
    stretch: Tensor


def lay_out(lengths: Sequence[int], dtype: torch.dtype) -> Layout:
    """Lay out inputs with so many rows each; there must be room for them."""
    starts: list[int] = []
    inside, stretch = torch.zeros(ROWS, 1, dtype=dtype), torch.zeros(ROWS, dtype=torch.long)
    means: list[Tensor] = []
    end = 0
    for length in lengths:
        start, end = end, end + length
        assert end <= ROWS
        starts.append(start)
        inside[start:end] = 1
        for first in range(start, end, _CONTEXT_ROWS):
            last = min(first + _CONTEXT_ROWS, end)
            stretch[first:last] = len(means)
            weights = torch.zeros(ROWS)
            weights[start:end] = 1 / length
            weights[first:last] += 1 / (last - first)
            means.append(weights)
        end += GAP
    return Layout(tuple(starts), inside, torch.stack(means).to(dtype), stretch)
