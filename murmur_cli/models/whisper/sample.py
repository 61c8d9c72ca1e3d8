"""Sampling: the most likely token at temperature 0, a drawn one above.

It is used where beam search went wrong. What a window draws depends on its own seed only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from murmur_cli.models.whisper.decoder import Decoder
from murmur_cli.models.whisper.ear import Listening, start_listening
from murmur_cli.models.whisper.likeliest import find_likeliest
from murmur_cli.models.whisper.state import Memory
from murmur_cli.models.whisper.task import Reading, Task

__all__ = ["sample"]


def sample(
    decoder: Decoder, audio: Sequence[Memory], task: Task, *, temperature: float, seeds: Sequence[int], n_tries: int = 1
) -> list[Reading]:
    """Write a text for every window, and of several tries take the one with the best mean log-probability.

    Args:
        decoder: The model.
        audio: What the decoder memorised of the windows.
        task: What to write.
        temperature: 0 takes the most likely token; above, logits are divided by it.
        seeds: One per window.
        n_tries: Texts per window.

    Returns:
        One reading per window.

    Source:
        openai/whisper@v20240930, whisper/decoding.py, GreedyDecoder and best_of.
    """
    device = audio[0].keys.device
    generators = [torch.Generator(device).manual_seed(seed) for seed in seeds]
    prompt = torch.tensor([task.prompt] * len(task.budgets), device=device)
    hidden, state = decoder.start(prompt, audio, n_hypotheses=n_tries)
    logits = decoder.logits(hidden[:, -1:])
    logits[..., list(task.not_first)] = -math.inf
    logits = logits.expand(-1, n_tries, -1)
    itself = torch.arange(n_tries, device=device).expand(len(task.budgets), -1)
    listening = start_listening(task.ear, n_windows=len(task.budgets), n_hypotheses=n_tries, device=device)
    draw = partial(_draw, temperature=temperature, generators=generators)
    tokens: list[Tensor] = []
    logprobs: list[Tensor] = []
    changed: list[Tensor] = []
    ended = torch.zeros(logits.shape[:2], dtype=torch.bool, device=device)
    for _ in range(max(task.budgets)):
        scale = logits.logsumexp(dim=-1, keepdim=True)
        chosen = _choose(logits, scale, listening) if temperature == 0.0 else draw(logits, scale, listening)
        token = chosen.tokens.masked_fill(ended, task.end)
        tokens.append(token)
        logprobs.append(chosen.own - scale[:, :, 0])
        if listening is not None:
            changed.append(listening.compare(itself, token, chosen.gains))
            listening.follow(itself, token)
        ended = ended | (token == task.end)
        if bool(ended.all()):
            break
        logits = decoder.logits(decoder.step(token, state))
    changed = changed or [torch.zeros_like(ended)] * len(tokens)
    written = [torch.stack(each, dim=2).tolist() for each in (tokens, logprobs, changed)]
    return [
        max(
            (_read(*text, end=task.end, budget=budget) for text in zip(*texts, strict=True)),
            key=lambda reading: reading.mean_logprob,
        )
        for *texts, budget in zip(*written, task.budgets, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class _Choice:
    """The next token of every text, its own logit, and what a list added to that; each [B, K]."""

    tokens: Tensor
    own: Tensor
    gains: Tensor


def _choose(logits: Tensor, scale: Tensor, listening: Listening | None) -> _Choice:
    """Take the most likely token."""
    tokens = find_likeliest(logits)[:, :, None]
    top = own = logits.gather(2, tokens)
    if listening is not None:
        tokens, top, own = listening.raise_top(logits, scale, tokens=tokens, own=own)
    return _Choice(tokens[:, :, 0], own[:, :, 0], (top - own)[:, :, 0])


def _draw(
    logits: Tensor,
    scale: Tensor,
    listening: Listening | None,
    *,
    temperature: float,
    generators: Sequence[torch.Generator],
) -> _Choice:
    raised = logits if listening is None else listening.raise_logits(logits, scale)
    shares = (raised / temperature).softmax(dim=-1)
    drawn = [torch.multinomial(window, 1, generator=g) for window, g in zip(shares, generators, strict=True)]
    tokens = torch.stack(drawn)
    own = logits.gather(2, tokens)
    return _Choice(tokens[:, :, 0], own[:, :, 0], (raised.gather(2, tokens) - own)[:, :, 0])


def _read(
    tokens: Sequence[int], logprobs: Sequence[float], changed: Sequence[bool], *, end: int, budget: int
) -> Reading:
    text = list(tokens[:budget])
    ended = end in text
    n_spoken = text.index(end) if ended else len(text)
    n_written = n_spoken + ended
    return Reading(tuple(text[:n_spoken]), tuple(logprobs[:n_written]), ended, tuple(changed[:n_written]))
