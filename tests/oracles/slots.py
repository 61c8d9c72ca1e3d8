"""Slow, obvious counterparts of the slot decoder: one row, no cache, everything read again for every token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor
from transformers import VibeVoiceAsrForConditionalGeneration


@torch.no_grad()
def decode_plainly(
    network: VibeVoiceAsrForConditionalGeneration,
    prompt: Tensor,
    *,
    n_tokens: int,
    stop_token: int,
    blind_from: Mapping[int, int] | None = None,
) -> list[int]:
    """What a row writes, without the token that stops it.

    ``prompt`` has the shape [1, n, H]. ``blind_from`` names, for positions that are forgotten, the first
    position that no longer sees them.
    """
    tokens: list[int] = []
    while len(tokens) < n_tokens:
        embedded = torch.cat([prompt, network.get_input_embeddings()(torch.tensor([tokens], dtype=torch.int64))], dim=1)
        n = embedded.shape[1]
        places = torch.arange(n)
        ends = torch.tensor([(blind_from or {}).get(position, n) for position in range(n)])
        mask = (places[None] <= places[:, None]) & (places[:, None] < ends[None])  # [reader, what it sees]
        read = network.model.language_model(inputs_embeds=embedded, attention_mask=mask[None, None], use_cache=False)
        token = int(network.lm_head(read.last_hidden_state[:, -1]).argmax())
        if token == stop_token:
            break
        tokens.append(token)
    return tokens


def order_plainly(lengths: Sequence[int], *, n_ahead: int) -> list[int]:
    """In which order rows of some lengths get slots, by index: the longest of the ``n_ahead`` oldest that wait.

    The oldest goes first once ``n_ahead`` rows have gone since it came in sight.
    """
    order: list[int] = []
    in_sight_at = [max(0, index - n_ahead + 1) for index in range(len(lengths))]  # rows gone when it came in sight
    while len(order) < len(lengths):
        waiting = [index for index in range(len(lengths)) if index not in order][:n_ahead]
        oldest = waiting[0]
        longest = max(waiting, key=lambda index: (lengths[index], -index))
        order.append(oldest if len(order) - in_sight_at[oldest] >= n_ahead else longest)
    return order
