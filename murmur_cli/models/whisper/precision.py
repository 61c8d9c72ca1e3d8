"""The arithmetic of the Whisper engine: what runs in which precision.

This is the only module that knows how weights are quantised. Layer norms and the residual stream are
float32 everywhere; a precision names what the matrix products are made in.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional

from murmur_cli.errors import UsageError
from murmur_cli.models.hardware import multiplies_bfloat16

__all__ = ["Linear", "Precision", "choose_precision", "make_linear"]

Linear: TypeAlias = Callable[[Tensor], Tensor]
"""An affine map of the last axis."""

_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}

_INT8_ENGINES = frozenset({"x86", "fbgemm", "onednn"})  # the ones that quantise per channel


@dataclass(frozen=True, slots=True)
class Precision:
    """What the matrix products are made in.

    ``memory`` is the type of the keys and values that the decoder keeps. With ``quantised`` the
    decoder's weights are int8, one scale per output channel, and ``decoder`` is the type of what
    goes in and comes out.
    """

    encoder: torch.dtype
    decoder: torch.dtype
    memory: torch.dtype
    quantised: bool

    @property
    def label(self) -> str:
        """One clause for the user and the provenance."""
        encoder = str(self.encoder).removeprefix("torch.")
        decoder = "int8" if self.quantised else str(self.decoder).removeprefix("torch.")
        return encoder if encoder == decoder else f"encoder {encoder}, decoder {decoder}"


def choose_precision(dtype: str, device: torch.device) -> Precision:
    """Choose the arithmetic for a device.

    ``auto`` is, on a CPU, an encoder in bfloat16 where the CPU multiplies it in hardware (float32
    elsewhere) and an int8 decoder; on a GPU bfloat16 where it has that, else float16.

    Args:
        dtype: ``auto``, ``float32``, ``bfloat16`` or ``float16``.
        device: Where the model runs.

    Raises:
        UsageError: The device cannot do it.
    """
    if device.type == "cpu" and dtype == "float16":
        raise UsageError("float16 runs on a GPU only", where="--dtype", hint="choose auto, bfloat16 or float32")
    if dtype != "auto":
        return _make_uniform(_DTYPES[dtype])
    if device.type != "cpu":
        return _make_uniform(torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16)
    fast = torch.bfloat16 if multiplies_bfloat16() else torch.float32
    if torch.backends.quantized.engine not in _INT8_ENGINES:
        return _make_uniform(fast)
    return Precision(encoder=fast, decoder=torch.float32, memory=fast, quantised=True)


def make_linear(weight: Tensor, bias: Tensor | None, *, dtype: torch.dtype, quantised: bool = False) -> Linear:
    """Make an affine map out of weights of any precision.

    Args:
        weight: Shape (n_out, n_in).
        bias: Shape (n_out,). Minus infinity is allowed, and stays that.
        dtype: What the map takes and gives, and computes in unless ``quantised``.
        quantised: Keep the weights as int8, and quantise inputs as they come (float32 only).
    """
    if quantised:
        return _quantise(weight, bias)
    weight = weight.to(dtype).contiguous()
    bias = None if bias is None else bias.to(dtype)

    def apply(x: Tensor) -> Tensor:
        return functional.linear(x, weight, bias)

    return apply


def _make_uniform(dtype: torch.dtype) -> Precision:
    return Precision(encoder=dtype, decoder=dtype, memory=dtype, quantised=False)


def _quantise(weight: Tensor, bias: Tensor | None) -> Linear:
    module = nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None)
    with torch.no_grad():
        module.weight.copy_(weight)
        if bias is not None:
            module.bias.copy_(bias)
    with warnings.catch_warnings():
        # torch.ao says that it will move to torchao, which is slower than this in eager mode on CPUs.
        warnings.simplefilter("ignore")
        container = torch.ao.quantization.quantize_dynamic(  # type: ignore[no-untyped-call]
            nn.Sequential(module), {nn.Linear: torch.ao.quantization.per_channel_dynamic_qconfig}
        )
    quantised: Linear = container[0]
    return quantised
