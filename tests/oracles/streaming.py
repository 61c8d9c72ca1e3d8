"""Live decoding written plainly: every window by its place, one context, every token by its own forward."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from transformers import DynamicCache, VibeVoiceAsrForConditionalGeneration

__all__ = ["cut_windows", "read_lines", "stream_plainly"]

_HOP = 3200
_TAG = re.compile(r"\s*\n[ \t]*Speaker[ \t]*([0-9]{1,3})[ \t]*:")

Audio = npt.NDArray[np.float32]


def cut_windows(audio: Audio, *, chunk: int, window: int) -> list[Audio]:
    """[k * chunk, k * chunk + window), with zeros after the end; one for every chunk that has begun."""
    padded = np.concatenate([audio, np.zeros(window, np.float32)])
    n_windows = -(-len(audio) // chunk)
    return [padded[k * chunk : k * chunk + window] for k in range(n_windows)]


@torch.no_grad()
def stream_plainly(
    network: VibeVoiceAsrForConditionalGeneration,
    windows: Sequence[Audio],
    *,
    prompt: Sequence[int],
    names: Callable[[str], int],
    folds: bool,
    cut: Callable[[list[int]], list[int]] = list,
    silent: Collection[int] = (),
) -> list[list[int]]:
    """The tokens of every chunk.

    ``folds`` reads a chunk's end mark with the next chunk's audio, else by itself. ``cut`` shortens what has 256 tokens
    or was written in a circle: then all is read anew. ``silent`` numbers the chunks for which the model is not asked.
    """
    begin, end, stop, chunk_end = map(
        names, ("<|object_ref_start|>", "<|object_ref_end|>", "<|endoftext|>", "<|text_chunk_end|>")
    )
    look_up = network.get_input_embeddings()
    context = look_up(torch.tensor([list(prompt)]))  # all that was read, [1, n, H]
    cache = DynamicCache()
    model = network.model.language_model
    cache_name = "cache" if "cache" in inspect.signature(model.forward).parameters else "past_key_values"

    def read(more: Tensor) -> Tensor:
        nonlocal context
        context = torch.cat([context, more], dim=1)
        n_before = cache.get_seq_length()
        positions = torch.arange(n_before, context.shape[1])[None]
        hidden = model(
            inputs_embeds=context[:, n_before:], position_ids=positions, use_cache=True, **{cache_name: cache}
        ).last_hidden_state
        return network.lm_head(hidden[0, -1])

    answers: list[list[int]] = []
    lead: list[int] = []
    for index, window in enumerate(windows):
        features = network.get_audio_features(torch.from_numpy(window)[None, None], sample=False).pooler_output
        embedded = [look_up(torch.tensor([[*lead, begin]])), features, look_up(torch.tensor([[end]]))]
        logits = read(torch.cat(embedded, dim=1))
        heard = context
        tokens: list[int] = []
        while index not in silent and len(tokens) < 256 and int(logits.argmax()) not in (stop, chunk_end):
            tokens.append(int(logits.argmax()))
            if cut(tokens) != tokens:
                break
            logits = read(look_up(torch.tensor([tokens[-1:]])))
        kept = cut(tokens)
        if kept != tokens:
            context, cache = torch.cat([heard, look_up(torch.tensor([kept], dtype=torch.int64))], dim=1), DynamicCache()
        answers.append(kept)
        lead = [chunk_end]
        if not folds:
            read(look_up(torch.tensor([lead])))
            lead = []
    return answers


def read_lines(text: str) -> list[tuple[int | None, str]]:
    """The lines of a whole session: the speaker's number, and what is said."""
    whole = "\n" + text
    while (left := re.sub(r"<\|\w{1,40}\|>", "", whole)) != whole:
        whole = left
    parts = _TAG.split(whole)
    numbers = [None, *map(int, parts[1::2])]
    lines = [(number, re.sub(r"\s*\n\s*", " ", line).strip()) for number, line in zip(numbers, parts[::2], strict=True)]
    return [line for line in lines if line[1]]
