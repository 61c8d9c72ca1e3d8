"""What the processor does in hardware."""

from __future__ import annotations

import torch

__all__ = ["multiplies_bfloat16"]


def multiplies_bfloat16() -> bool:
    """Say whether the CPU multiplies bfloat16 faster than float32, not merely emulates it."""
    capabilities = torch.cpu.get_capabilities()
    return bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))
