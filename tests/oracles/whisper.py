"""Slow, obvious counterparts of the Whisper engine's arithmetic: transformers' own loops, and definitions."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from transformers import GenerationMixin, WhisperForConditionalGeneration
from transformers.generation.logits_process import (
    LogitsProcessorList,
    SuppressTokensAtBeginLogitsProcessor,
    SuppressTokensLogitsProcessor,
)
from transformers.modeling_outputs import BaseModelOutput

Costs = npt.NDArray[np.float64]


def generate_plainly(
    model: WhisperForConditionalGeneration,
    encoded: Tensor,
    *,
    prompt: Sequence[int],
    forbidden: Sequence[int],
    not_first: Sequence[int],
    n_tokens: int,
    n_beams: int,
) -> list[int]:
    """The text of one window by transformers' generate(), without prompt and end."""
    output = GenerationMixin.generate(
        model,
        encoder_outputs=BaseModelOutput(last_hidden_state=encoded[None]),
        decoder_input_ids=torch.tensor([list(prompt)]),
        logits_processor=LogitsProcessorList(
            [
                SuppressTokensLogitsProcessor(list(forbidden)),
                SuppressTokensAtBeginLogitsProcessor(list(not_first), begin_index=len(prompt)),
            ]
        ),
        max_new_tokens=n_tokens,
        max_length=None,
        num_beams=n_beams,
        do_sample=False,
        renormalize_logits=True,
    )
    text: list[int] = output[0, len(prompt) :].tolist()
    end = model.config.eos_token_id
    return text[: text.index(end)] if end in text else text


def attend_plainly(
    model: WhisperForConditionalGeneration, encoded: Tensor, tokens: Sequence[int], heads: Sequence[tuple[int, int]]
) -> Tensor:
    """Shares of attention that transformers reports for some heads, (len(heads), n, T)."""
    model.set_attn_implementation("eager")
    try:
        output = model(
            encoder_outputs=BaseModelOutput(last_hidden_state=encoded[None]),
            decoder_input_ids=torch.tensor([list(tokens)]),
            output_attentions=True,
        )
    finally:
        model.set_attn_implementation("sdpa")
    return torch.stack([output.cross_attentions[layer][0, head] for layer, head in heads])


def sharpen_plainly(shares: npt.NDArray[np.float64]) -> Costs:
    """Normalise shares of attention (heads, n, T) over tokens, take medians over frames and the mean over heads."""
    normal = (shares - shares.mean(axis=1, keepdims=True)) / shares.std(axis=1, keepdims=True)
    padded = np.pad(normal, ((0, 0), (0, 0), (3, 3)), mode="reflect")
    medians = [np.median(padded[:, :, frame : frame + 7], axis=2) for frame in range(shares.shape[2])]
    return np.stack(medians, axis=2).mean(axis=0)


def cost_of_path(costs: Costs, starts: Sequence[int]) -> float:
    """The least cost of a path on which tokens start at these frames: the one before ends just before, or there."""
    total = 0.0
    for token, start in enumerate(starts):
        if token + 1 == len(starts):
            total += costs[token, start:].sum()
            continue
        following = starts[token + 1]
        ends = {max(following, start + 1), following + 1}
        total += min(costs[token, start:end].sum() for end in ends)
    return float(total)


def least_cost(costs: Costs) -> float:
    """The least cost of a path, cell by cell."""
    n_tokens, n_frames = costs.shape
    best = np.full((n_tokens + 1, n_frames + 1), np.inf)
    best[0, 0] = 0.0
    for token, frame in itertools.product(range(n_tokens), range(n_frames)):
        before = min(best[token, frame], best[token, frame + 1], best[token + 1, frame])
        best[token + 1, frame + 1] = costs[token, frame] + before
    return float(best[n_tokens, n_frames])


def find_loop_plainly(tokens: Sequence[int], *, least_repeats: int, least_tokens: int, longest: int) -> int:
    """The length of the longest run of a repeated phrase, 0 if there is none."""
    best = 0
    for start, end in itertools.combinations(range(len(tokens) + 1), 2):
        for period in range(1, min(longest, (end - start) // least_repeats) + 1):
            repeats = all(tokens[index] == tokens[index - period] for index in range(start + period, end))
            if repeats and end - start >= least_tokens:
                best = max(best, end - start)
    return best


def says_again_plainly(words: Sequence[str]) -> bool:
    """Two words or more twice in a row, or one three times."""
    n = len(words)
    stretches = [(begin, end) for begin in range(n) for end in range(begin + 1, n + 1)]
    return any(
        list(words[end : 2 * end - begin]) == list(words[begin:end])
        and (end - begin > 1 or list(words[end + 1 : end + 2]) == list(words[begin:end]))
        for begin, end in stretches
    )
