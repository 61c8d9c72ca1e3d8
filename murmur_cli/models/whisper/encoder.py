"""Whisper's encoder: a log-mel spectrogram in, one vector per 20 ms out.

It runs one window at a time, so that a window's vectors depend on nothing else. The arithmetic is
that of transformers' module; it is written out because that module spends two thirds of its time on a
CPU in attention kernels that do not use the bfloat16 units.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers.models.whisper.modeling_whisper import WhisperAttention, WhisperEncoder, WhisperEncoderLayer

from murmur_cli.models.whisper.precision import Linear, make_linear

__all__ = ["Encoder", "LayerNorm", "fuse_projections", "make_norm"]

LayerNorm = Callable[[Tensor], Tensor]


@dataclass(frozen=True, slots=True)
class _Layer:
    attention_norm: LayerNorm
    project: Linear  # D -> 3 D: queries (scaled), keys, values
    merge: Linear
    feed_norm: LayerNorm
    widen: Linear
    narrow: Linear


class Encoder:
    """The encoder's weights on one device, in one precision.

    Args:
        module: transformers' encoder, in float32; its weights are copied.
        dtype: What the matrix products are made in.
        device: Where they are made.
    """

    def __init__(self, module: WhisperEncoder, *, dtype: torch.dtype, device: torch.device) -> None:
        self._dtype = dtype
        self._device = device
        self._n_heads: int = module.config.encoder_attention_heads
        layers: list[WhisperEncoderLayer] = list(module.layers)  # type: ignore[arg-type]
        self._activate: Callable[[Tensor], Tensor] = layers[0].activation_fn
        self._convolutions = [(_copy(c, dtype, device), c.stride[0]) for c in (module.conv1, module.conv2)]
        self._positions = module.embed_positions.weight.detach().to(device)
        self._layers = [self._copy_layer(layer) for layer in layers]
        self._norm = make_norm(module.layer_norm, device)

    def encode(self, features: Tensor) -> Tensor:
        """Encode one window.

        Args:
            features: Log-mel spectrogram, shape (n_mels, 2 T), float32; T no longer than the encoder hears.

        Returns:
            Shape (T, D), float32.
        """
        x = features[None].to(self._device, self._dtype)
        for (weight, bias), stride in self._convolutions:
            x = functional.gelu(functional.conv1d(x, weight, bias, stride=stride, padding=1))
        hidden = x[0].t().contiguous() + self._positions[: x.shape[2]]  # [T, D], float32 from here on
        for layer in self._layers:
            projected = layer.project(layer.attention_norm(hidden).to(self._dtype))
            hidden += layer.merge(self._attend(projected))  # in place: new memory costs more than the sum
            wide = self._activate(layer.widen(layer.feed_norm(hidden).to(self._dtype)))
            hidden += layer.narrow(wide)
        return self._norm(hidden)

    def _attend(self, projected: Tensor) -> Tensor:
        if self._device.type == "cpu" and self._dtype is torch.bfloat16:
            return _attend_by_head(projected, self._n_heads)
        n_frames, width = projected.shape
        queries, keys, values = projected.view(1, n_frames, 3, self._n_heads, -1).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(queries, keys, values, scale=1.0)
        return mixed[0].transpose(0, 1).reshape(n_frames, width // 3)

    def _copy_layer(self, layer: WhisperEncoderLayer) -> _Layer:
        attention = layer.self_attn
        weight, bias = fuse_projections(attention)

        def copy(weight: Tensor, bias: Tensor) -> Linear:
            return make_linear(weight.detach().to(self._device), bias.detach().to(self._device), dtype=self._dtype)

        return _Layer(
            attention_norm=make_norm(layer.self_attn_layer_norm, self._device),
            project=copy(weight, bias),
            merge=copy(attention.out_proj.weight, attention.out_proj.bias),
            feed_norm=make_norm(layer.final_layer_norm, self._device),
            widen=copy(layer.fc1.weight, layer.fc1.bias),
            narrow=copy(layer.fc2.weight, layer.fc2.bias),
        )


def fuse_projections(attention: WhisperAttention) -> tuple[Tensor, Tensor]:
    """Put the maps to queries (scaled), keys and values into one: weight (3 D, D), bias (3 D,)."""
    scaling: float = attention.scaling
    query_bias = attention.q_proj.bias * scaling
    weight = torch.cat([attention.q_proj.weight * scaling, attention.k_proj.weight, attention.v_proj.weight])
    bias = torch.cat([query_bias, torch.zeros_like(query_bias), attention.v_proj.bias])
    return weight.detach(), bias.detach()


def make_norm(module: nn.LayerNorm, device: torch.device) -> LayerNorm:
    """Copy a layer norm, in float32."""
    weight, bias = module.weight.detach().to(device), module.bias.detach().to(device)
    shape, eps = module.normalized_shape, module.eps

    def apply(x: Tensor) -> Tensor:
        return functional.layer_norm(x, shape, weight, bias, eps)

    return apply


def _copy(module: nn.Conv1d, dtype: torch.dtype, device: torch.device) -> tuple[Tensor, Tensor]:
    assert module.bias is not None, "Whisper's convolutions have a bias"
    return module.weight.detach().to(device, dtype), module.bias.detach().to(device, dtype)


def _attend_by_head(projected: Tensor, n_heads: int) -> Tensor:
    """Attend head by head through two buffers that stay in the processor's cache.

    torch's fused kernel makes bfloat16 products with float32 units: 52 ms a layer of Whisper base on
    a CPU with AVX512_BF16, where this takes 20.

    Args:
        projected: Queries (scaled), keys and values, shape (T, 3 D).
        n_heads: H; head h owns columns [h D/H, (h + 1) D/H) of each.

    Returns:
        Shape (T, D).
    """
    n_frames = projected.shape[0]
    queries, keys, values = projected.chunk(3, dim=1)
    mixed = torch.empty_like(queries, memory_format=torch.contiguous_format)
    size = mixed.shape[1] // n_heads
    scores = projected.new_empty(n_frames, n_frames)
    shares = torch.empty_like(scores)
    for start in range(0, size * n_heads, size):
        head = slice(start, start + size)
        torch.mm(queries[:, head], keys[:, head].t(), out=scores)
        torch.softmax(scores, dim=-1, out=shares)
        mixed[:, head] = shares @ values[:, head]
    return mixed
