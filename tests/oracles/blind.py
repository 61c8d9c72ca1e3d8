"""A row read in one pass without a cache, in which positions are blind to what was forgotten before their time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor
from transformers import VibeVoiceAsrForConditionalGeneration


@torch.no_grad()
def read_blindly(
    network: VibeVoiceAsrForConditionalGeneration,
    prompt: Tensor,
    tokens: Sequence[int],
    blind_from: Mapping[int, int],
) -> list[int]:
    """The likeliest token after the prompt, and after each of the tokens but the last.

    ``prompt`` has the shape [1, n, H]. ``blind_from`` names, for positions that are forgotten, the first position that
    no longer sees them.
    """
    written = network.get_input_embeddings()(torch.tensor([tokens[:-1]], dtype=torch.int64))
    embedded = torch.cat([prompt, written], dim=1)
    n = embedded.shape[1]
    places = torch.arange(n)
    ends = torch.tensor([blind_from.get(position, n) for position in range(n)])
    mask = (places[None] <= places[:, None]) & (places[:, None] < ends[None])  # [reader, what it sees]
    read = network.model.language_model(inputs_embeds=embedded, attention_mask=mask[None, None], use_cache=False)
    likeliest: list[int] = network.lm_head(read.last_hidden_state[0, prompt.shape[1] - 1 :]).argmax(-1).tolist()
    return likeliest
