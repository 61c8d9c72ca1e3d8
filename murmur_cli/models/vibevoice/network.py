"""The transformers class, behind typed functions: nothing else here calls what has no types.

A network is first an outline, shapes without memory, and then filled tensor by tensor: it never holds a
number that did not come from the checkpoint.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from huggingface_hub.errors import StrictDataclassError
from torch import Tensor, nn
from transformers import (
    Qwen2Config,
    VibeVoiceAcousticTokenizerEncoderConfig,
    VibeVoiceAsrConfig,
    VibeVoiceAsrForConditionalGeneration,
)
from transformers.models.qwen2.modeling_qwen2 import Qwen2RotaryEmbedding
from transformers.utils import logging

from murmur_cli.errors import WeightsError
from murmur_cli.models.vibevoice.keymap import EMBEDDINGS
from murmur_cli.models.vibevoice.layout import Json
from murmur_cli.models.vibevoice.memory import ModelSize

__all__ = ["Network", "embed", "fill", "hear", "list_shapes", "make_outline", "measure_size"]

_FIRST_KEYS = "model.language_model.layers.0.self_attn.k_proj.weight"

Network = VibeVoiceAsrForConditionalGeneration
"""The class that runs: both encoders, the projector, the language model and its head."""


def make_outline(config: Json, *, where: Path) -> Network:
    """Make a network without numbers.

    Args:
        config: The configuration of the class.
        where: The file that it comes from, for messages.

    Raises:
        WeightsError: The class does not take this configuration.
    """
    try:
        # sdpa by name: eager attention adds a mask of booleans instead of applying it.
        with _quiet(), torch.device("meta"):
            made: Network = Network._from_config(  # type: ignore[no-untyped-call]  # noqa: SLF001 - no other way
                VibeVoiceAsrConfig.from_dict(config), attn_implementation={"text_config": "sdpa"}
            )
    except (StrictDataclassError, ValueError, TypeError, KeyError, AttributeError) as error:
        summary = (str(error).strip() or repr(error)).splitlines()[0]
        raise WeightsError(f"is not the configuration of a VibeVoice: {summary}", where=str(where)) from error
    made.train(mode=False)
    return made


def list_shapes(network: Network) -> dict[str, tuple[int, ...]]:
    """Name the parameters of a network, with their shapes."""
    return {name: tuple(parameter.shape) for name, parameter in network.named_parameters()}


def measure_size(network: Network, *, has_head: bool) -> ModelSize:
    """Count what the memory of an outline will depend on; without a head of its own, its embeddings are the head."""
    text, language_model = _text_config(network), network.model.language_model
    n_step = sum(p.numel() for p in (*language_model.layers.parameters(), *language_model.norm.parameters()))
    n_head = network.lm_head.weight.numel()
    return ModelSize(
        n_parameters=sum(p.numel() for p in network.parameters()) - (0 if has_head else n_head),
        n_step_parameters=n_step + n_head,
        n_layers=text.num_hidden_layers,
        n_key=network.get_parameter(_FIRST_KEYS).shape[0],
        n_hidden=text.hidden_size,
        n_intermediate=text.intermediate_size,
        n_sound_channels=max(e.num_filters * (2 * e.ffn_expansion + 4) for e in _encoder_configs(network)),
    )


def fill(network: Network, tensors: Iterable[tuple[str, Tensor]], *, device: torch.device, dtype: torch.dtype) -> None:
    """Give an outline its numbers.

    Args:
        network: An outline; it is changed.
        tensors: Every parameter by its name, with its numbers. Without a head, the embeddings are the head.
        device: Where it will run.
        dtype: What it will compute in.
    """
    for name, tensor in tensors:
        path, _, leaf = name.rpartition(".")
        parameter = nn.Parameter(tensor.to(device=device, dtype=dtype), requires_grad=False)
        setattr(network.get_submodule(path), leaf, parameter)
    if network.lm_head.weight.is_meta:
        network.lm_head.weight = network.get_parameter(EMBEDDINGS)
    text = _text_config(network)
    # The only numbers that no checkpoint holds: the angles of the positions, always in float32.
    network.model.language_model.rotary_emb = Qwen2RotaryEmbedding(text).to(device)
    network.config.dtype = text.dtype = dtype
    empty = [name for name, t in (*network.named_parameters(), *network.named_buffers()) if t.is_meta]
    assert not empty, f"{empty} have no numbers"


def hear(network: Network, samples: Tensor, *, noisy: bool) -> Tensor:
    """Turn sound into what the language model reads, 60 s at a time.

    Args:
        network: The network.
        samples: Shape [n_samples], a positive multiple of a frame, in the network's precision and on its device.
        noisy: Add noise to the acoustic latents, from the device's default generator.

    Returns:
        One vector per frame, shape [n_frames, H].
    """
    heard = network.model.get_audio_features(samples[None, None], sample=noisy)
    features: Tensor = heard.pooler_output
    return features[0]


def embed(network: Network, tokens: Tensor) -> Tensor:
    """Look tokens up, shape [T], in the input embeddings: shape [T, H]."""
    embeddings: Tensor = network.get_input_embeddings()(tokens)
    return embeddings


def _text_config(network: Network) -> Qwen2Config:
    config = network.config.text_config
    assert isinstance(config, Qwen2Config), "the layout names no other"
    return config


def _encoder_configs(network: Network) -> list[VibeVoiceAcousticTokenizerEncoderConfig]:
    configs = [network.config.acoustic_tokenizer_encoder_config, network.config.semantic_tokenizer_encoder_config]
    return [config for config in configs if isinstance(config, VibeVoiceAcousticTokenizerEncoderConfig)]


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep transformers' remarks off the terminal."""
    verbosity = logging.get_verbosity()
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
