"""Tokens drawn at random, for rows that went wrong when the likeliest was always taken.

What is drawn depends on the row's logits, its temperature and its own random numbers alone.
"""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["TOP_SHARE", "draw_tokens"]

TOP_SHARE = 0.95
"""The probability that the likeliest tokens must have together; less likely ones are never drawn."""


def draw_tokens(logits: Tensor, temperatures: Tensor, uniforms: Tensor) -> Tensor:
    """Draw a token for every row by nucleus sampling; where the temperature is 0, take the likeliest.

    Args:
        logits: Shape [B, V], float32.
        temperatures: Shape [B, 1], float32.
        uniforms: A random number in [0, 1) for every row, shape [B, 1], float32.

    Returns:
        Shape [B, 1], int64.

    Source:
        A. Holtzman et al., arXiv:1904.09751, section 3.1.
    """
    is_greedy = temperatures <= 0.0
    shares = (logits / temperatures.masked_fill(is_greedy, 1.0)).softmax(-1)
    ordered, tokens = shares.sort(dim=-1, descending=True, stable=True)
    before = ordered.cumsum(-1) - ordered  # of the likelier tokens together
    is_kept = before < TOP_SHARE
    ends = ordered.masked_fill(~is_kept, 0.0).cumsum(-1)
    chosen = (ends <= uniforms * ends[:, -1:]).sum(-1, keepdim=True)
    # A product that rounds up to the whole would otherwise choose a token behind the last that is kept.
    drawn = tokens.gather(-1, chosen.minimum(is_kept.sum(-1, keepdim=True) - 1))
    return torch.where(is_greedy, logits.argmax(-1, keepdim=True), drawn)
