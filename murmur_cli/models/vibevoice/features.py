"""From samples to what the language model reads: one gain for a recording, vectors, and the prompt around them.

A chunk's vectors depend on the chunk and on the recording's gain alone, never on what is decoded beside it.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from murmur_cli.audio.levels import Level
from murmur_cli.models.vibevoice.checkpoint import Checkpoint
from murmur_cli.models.vibevoice.frames import FRAME_SAMPLES, count_frames
from murmur_cli.models.vibevoice.network import embed, hear
from murmur_cli.models.vibevoice.prompt import Prompt
from murmur_cli.types import Samples

__all__ = ["embed_prompt", "encode_audio", "find_gain", "seed_noise"]

_TARGET_DBFS = -25.0
_EPSILON = 1e-6


def find_gain(level: Level) -> float:
    """Find what brings a recording to -25 dBFS, or less where its peaks would be cut.

    The model was trained on whole recordings that were brought to this level. A gain of its own for every
    chunk would jump between them, and make noise of a quiet one.

    Source:
        transformers@v5.24.0, models/vibevoice_acoustic_tokenizer/feature_extraction_vibevoice_acoustic_tokenizer.py.
    """
    gain = 10 ** (_TARGET_DBFS / 20) / (level.rms + _EPSILON)
    peak = level.peak * gain
    return gain / (peak + _EPSILON) if peak > 1.0 else float(gain)


def seed_noise(seed: int, *, start: int) -> int:
    """Give a chunk a seed of its own.

    Args:
        seed: The user's, from 0.
        start: Where the chunk begins in its recording, in samples.
    """
    return int(np.random.SeedSequence([seed, start]).generate_state(1, np.uint64)[0] >> 1)


@torch.no_grad()
def encode_audio(checkpoint: Checkpoint, samples: Samples, *, gain: float, noise_seed: int | None = None) -> Tensor:
    """Turn a chunk into vectors, one for every 3200 samples; the last frame is filled up with silence.

    Args:
        checkpoint: The model.
        samples: Shape (n_samples,), at 24 kHz.
        gain: Of the recording, see ``find_gain``.
        noise_seed: Adds noise to the acoustic latents, as upstream does; None adds none.

    Returns:
        Shape [n_frames, H], on the model's device and in its precision.
    """
    n_frames = count_frames(len(samples))
    if not n_frames:
        return torch.empty(0, checkpoint.size.n_hidden, device=checkpoint.device, dtype=checkpoint.dtype)
    padded = np.zeros(n_frames * FRAME_SAMPLES, dtype=np.float32)
    padded[: len(samples)] = samples * np.float32(gain)
    sound = torch.from_numpy(padded).to(device=checkpoint.device, dtype=checkpoint.dtype)
    if noise_seed is None:
        return hear(checkpoint.network, sound, noisy=False)
    gpus = [checkpoint.device] if checkpoint.device.type == "cuda" else []
    with torch.random.fork_rng(gpus):  # leaves the generators as they were
        torch.manual_seed(noise_seed)
        return hear(checkpoint.network, sound, noisy=True)


@torch.no_grad()
def embed_prompt(checkpoint: Checkpoint, prompt: Prompt, features: Tensor) -> Tensor:
    """Put a chunk's vectors in the place of the placeholders.

    Args:
        checkpoint: The model.
        prompt: The prompt.
        features: Shape [n_frames, H].

    Returns:
        What the language model reads, shape [1, n_prompt, H].
    """
    assert features.shape[0] == prompt.n_frames, "a vector for every placeholder"
    tokens = torch.tensor(prompt.tokens, device=checkpoint.device)
    embeddings = embed(checkpoint.network, tokens)  # [n_prompt, H]
    embeddings[prompt.audio_start : prompt.audio_start + prompt.n_frames] = features
    return embeddings[None]
