"""The models of ``gpu_steps.py``: the shape of a published one, or a tiny one, with random weights.

They are made on the device itself, tensor by tensor; what is measured does not depend on what the numbers are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from murmur_cli.models.vibevoice.frames import FRAME_SAMPLES, PIECE_SAMPLES, SAMPLE_RATE, count_frames
from murmur_cli.models.vibevoice.layout import Json
from murmur_cli.models.vibevoice.memory import ModelSize
from murmur_cli.models.vibevoice.network import Network, fill, list_shapes, make_outline, measure_size

__all__ = ["SHAPES", "Shape", "make_network", "measure_shape"]

_N_TEXT = 61  # tokens of a prompt beside its audio
_RATIOS = (2, 2, 4, 5, 5, 8)
assert math.prod(_RATIOS) == FRAME_SAMPLES


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A model, and the chunks that it decodes.

    Attributes:
        config: Of the class in transformers.
        dtype: What it computes in.
        chunk_s: Seconds of audio in a chunk.
        max_tokens: Tokens that the answer to a chunk may have: 12 for a second, as in ``murmur batch``.
        batch_sizes: Chunks side by side.
        n_blocks: Blocks of steps that are decoded; the first one is not timed.
        n_copied: Bytes of the copy that shows how fast memory is.
    """

    config: Mapping[str, object]
    dtype: torch.dtype
    chunk_s: int
    max_tokens: int
    batch_sizes: tuple[int, ...]
    n_blocks: int
    n_copied: int

    @property
    def n_samples(self) -> int:
        """Samples of a chunk."""
        return self.chunk_s * SAMPLE_RATE

    @property
    def n_prompt(self) -> int:
        """Tokens of a prompt."""
        return count_frames(self.n_samples) + _N_TEXT


def make_network(shape: Shape, device: torch.device) -> Network:
    """Make a network on a device; the same numbers at every call."""
    network = _outline(shape)
    fill(network, _draw(list_shapes(network), shape.dtype, device), device=device, dtype=shape.dtype)
    return network


def measure_shape(shape: Shape) -> ModelSize:
    """Count what the memory of such a network depends on, without making it."""
    return measure_size(_outline(shape), has_head=True)


def _outline(shape: Shape) -> Network:
    return make_outline(dict(shape.config), where=Path(__file__))


def _draw(
    shapes: Mapping[str, Sequence[int]], dtype: torch.dtype, device: torch.device
) -> Iterator[tuple[str, Tensor]]:
    """Draw parameters that neither let what passes through them die away nor grow."""
    random = torch.Generator(device).manual_seed(0)
    for name, size in shapes.items():
        tensor = torch.empty(tuple(size), dtype=dtype, device=device)
        if name.endswith("norm.weight"):
            yield name, tensor.fill_(1.0)
        else:
            n_in = math.prod(size[1:]) if len(size) > 1 else 100
            yield name, tensor.normal_(std=n_in**-0.5, generator=random)


def _describe(text: Json, *, n_filters: int, depths: Sequence[int]) -> Json:
    encoder: Json = {
        "model_type": "vibevoice_acoustic_tokenizer_encoder",
        "channels": 1,
        "kernel_size": 7,
        "rms_norm_eps": 1e-5,
        "num_filters": n_filters,
        "downsampling_ratios": list(_RATIOS),
        "depths": list(depths),
    }
    common: Json = {
        "model_type": "qwen2",
        "max_position_embeddings": 131_072,
        "rms_norm_eps": 1e-6,
        "rope_parameters": {"rope_type": "default", "rope_theta": 1e6},
        "tie_word_embeddings": False,
    }
    vocab_size = text["vocab_size"]
    assert isinstance(vocab_size, int), "a number of tokens"
    return {
        "model_type": "vibevoice_asr",
        "acoustic_tokenizer_chunk_size": PIECE_SAMPLES,
        "acoustic_tokenizer_encoder_config": encoder | {"hidden_size": 64, "vae_std": 0.625},
        "semantic_tokenizer_encoder_config": encoder | {"hidden_size": 128, "vae_std": 0.0},
        "text_config": common | text,
        **{f"audio_{kind}": vocab_size - i for i, kind in enumerate(("token_id", "bos_token_id", "eos_token_id"), 1)},
    }


SHAPES = {
    # Source: config.json of microsoft/VibeVoice-ASR-HF; its weights are 16.7 GB.
    "7b": Shape(
        config=_describe(
            {
                "vocab_size": 152_064,
                "hidden_size": 3584,
                "intermediate_size": 18_944,
                "num_hidden_layers": 28,
                "num_attention_heads": 28,
                "num_key_value_heads": 4,
            },
            n_filters=32,
            depths=(3, 3, 3, 3, 3, 3, 8),
        ),
        dtype=torch.bfloat16,
        chunk_s=300,
        max_tokens=3600,
        batch_sizes=(1, 8, 32),
        n_blocks=9,
        n_copied=4 * 2**30,
    ),
    "tiny": Shape(
        config=_describe(
            {
                "vocab_size": 512,
                "hidden_size": 64,
                "intermediate_size": 128,
                "num_hidden_layers": 2,
                "num_attention_heads": 4,
                "num_key_value_heads": 2,
            },
            n_filters=2,
            depths=(1, 1, 1, 1, 1, 1, 1),
        ),
        dtype=torch.float32,
        chunk_s=4,
        max_tokens=256,
        batch_sizes=(1, 3),
        n_blocks=3,
        n_copied=2**24,
    ),
}
"""Models by their names on the command line. In float32 the tiny one must write the same, however it is decoded."""
