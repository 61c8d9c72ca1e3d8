"""Tiny VibeVoice models with random weights, written in both layouts.

The original layout is made by the inverse of the map that is tested, written from the published names alone.
Random weights are lively: an answer changes with its audio, and no two parameters of a layer are alike.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from torch import Tensor
from transformers import (
    GenerationConfig,
    PreTrainedTokenizerFast,
    Qwen2Config,
    VibeVoiceAcousticTokenizerEncoderConfig,
    VibeVoiceAcousticTokenizerFeatureExtractor,
    VibeVoiceAsrConfig,
    VibeVoiceAsrForConditionalGeneration,
    VibeVoiceAsrProcessor,
)

__all__ = [
    "CHAT_TEMPLATE",
    "SPECIALS",
    "add_geometry",
    "make_network",
    "make_processor",
    "make_tokenizer",
    "original_config",
    "original_state",
    "to_original",
    "token_id",
    "write_original_layout",
    "write_transformers_layout",
]

# Qwen2.5's, in its order, and the one that streaming adds; True says that it steers the model.
SPECIALS = {
    **dict.fromkeys(("<|endoftext|>", "<|im_start|>", "<|im_end|>"), True),
    **dict.fromkeys(("<|object_ref_start|>", "<|object_ref_end|>", "<|box_start|>", "<|box_end|>"), True),
    **dict.fromkeys(("<|vision_pad|>", "<|image_pad|>", "<|video_pad|>"), True),
    **dict.fromkeys(("<tool_call>", "</tool_call>", "<|fim_prefix|>", "<|file_sep|>"), False),
    "<|text_chunk_end|>": True,
}
_WORDS = r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"""
_WORDS += r"""|\s+(?!\S)|\s+"""  # Qwen2's pre-tokeniser
_TEXTS = (
    "You are a helpful assistant that transcribes audio input into text output in JSON format.",
    "This is a 12.34 seconds audio, please transcribe it with these keys: Start time, End time, Speaker ID, Content",
    'assistant\n[{"Start":0.0,"End":7.56,"Speaker":0,"Content":"seven one five"},{"Start":8.1,"End":9,"Content":"hi"}]',
)

# What is rendered is what the template of microsoft/VibeVoice-ASR-HF renders.
CHAT_TEMPLATE = (
    "{%- set system_prompt = system_prompt | default('You are a helpful assistant that transcribes audio input into"
    " text output in JSON format.') -%}"
    "{{- '<|im_start|>system\n' + system_prompt + '<|im_end|>\n' -}}"
    "{%- for m in messages if m.role == 'user' -%}"
    "{%- set texts = m.content | selectattr('type', 'equalto', 'text') | list -%}"
    "{{- '<|im_start|>user\n' -}}"
    "{%- for item in m.content if item.type == 'audio' -%}"
    "{{- '<|object_ref_start|><|box_start|><|object_ref_end|>\nThis is a <|AUDIO_DURATION|> seconds audio, ' -}}"
    "{%- if texts -%}{{- 'with extra info: ' + texts[0].text + '\n\nPlease' -}}"
    "{%- else -%}{{- 'please' -}}{%- endif -%}"
    "{{- ' transcribe it with these keys: Start time, End time, Speaker ID, Content' -}}"
    "{%- endfor -%}{{- '<|im_end|>\n' -}}{%- endfor -%}"
)


@functools.cache
def make_tokenizer() -> str:
    """A byte-level BPE with the special names of the real one, as ``tokenizer.json``."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_WORDS), behavior="isolated", invert=False),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, initial_alphabet=sorted(alphabet), show_progress=False)
    tokenizer.train_from_iterator([*_TEXTS] * 20, trainer)
    tokenizer.add_tokens([AddedToken(name, special=special, normalized=False) for name, special in SPECIALS.items()])
    return tokenizer.to_str()


def token_id(name: str) -> int:
    """The number of a token of ``make_tokenizer``."""
    number = Tokenizer.from_str(make_tokenizer()).token_to_id(name)
    assert number is not None
    return number


def make_network(
    *, tied: bool = False, seed: int = 0, n_layers: int = 2, n_hidden: int = 64
) -> VibeVoiceAsrForConditionalGeneration:
    """The same model at every call; ``tied`` makes the head and the embeddings one."""
    # depths, filters and constants differ, so that what is taken for the other encoder's does not fit
    ratios = [2, 2, 4, 5, 5, 8]
    acoustic = VibeVoiceAcousticTokenizerEncoderConfig(
        hidden_size=8, num_filters=2, downsampling_ratios=ratios, depths=[1, 0, 1, 1, 0, 1, 2], rms_norm_eps=1e-3
    )
    semantic = VibeVoiceAcousticTokenizerEncoderConfig(
        hidden_size=12, num_filters=3, downsampling_ratios=ratios, depths=[0, 1, 2, 1, 1, 0, 1], rms_norm_eps=2e-3
    )
    text = Qwen2Config(
        vocab_size=Tokenizer.from_str(make_tokenizer()).get_vocab_size() + 6,  # the real one has spare rows, too
        hidden_size=n_hidden,
        intermediate_size=2 * n_hidden,
        num_hidden_layers=n_layers,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=131_072,
        rms_norm_eps=1e-4,
        rope_parameters={"rope_type": "default", "rope_theta": 1e6},
        tie_word_embeddings=tied,
    )
    config = VibeVoiceAsrConfig(
        acoustic_tokenizer_encoder_config=acoustic,
        semantic_tokenizer_encoder_config=semantic,
        text_config=text,
        audio_token_id=token_id("<|box_start|>"),
        audio_bos_token_id=token_id("<|object_ref_start|>"),
        audio_eos_token_id=token_id("<|object_ref_end|>"),
    )
    torch.manual_seed(seed)
    network = VibeVoiceAsrForConditionalGeneration._from_config(config, attn_implementation={"text_config": "sdpa"})
    _enliven(network, tied=tied)
    if tied:
        network.lm_head.weight = network.get_input_embeddings().weight
    network.generation_config = GenerationConfig(
        do_sample=False, eos_token_id=token_id("<|endoftext|>"), pad_token_id=token_id("<|image_pad|>")
    )
    return network.eval()


@torch.no_grad()
def _enliven(network: VibeVoiceAsrForConditionalGeneration, *, tied: bool) -> None:
    for name, parameter in network.named_parameters():
        if name.endswith("norm.weight"):
            parameter.copy_(1 + 0.2 * torch.randn_like(parameter))
        elif parameter.dim() == 1:  # biases and layer scales start alike, where a mix-up would not show
            parameter.copy_(0.1 * torch.randn_like(parameter) + (0.3 if "gamma" in name else 0.0))
        else:
            n_in = parameter[0].numel()
            spread = (0.1 if tied else 0.5) if "embed_tokens" in name else 1.2 / n_in**0.5
            parameter.copy_(spread * torch.randn_like(parameter))


def make_processor(folder: Path) -> VibeVoiceAsrProcessor:
    """The processor of transformers for a folder with a ``tokenizer.json``."""
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=str(folder / "tokenizer.json"), eos_token="<|endoftext|>", pad_token="<|endoftext|>"
    )
    extractor = VibeVoiceAcousticTokenizerFeatureExtractor()
    return VibeVoiceAsrProcessor(extractor, tokenizer, chat_template=CHAT_TEMPLATE)


# --- the transformers layout


def write_transformers_layout(
    folder: Path, network: VibeVoiceAsrForConditionalGeneration | None = None, *, sharded: bool = False
) -> Path:
    """Write a model as ``save_pretrained`` does, in one file or in several with an index."""
    network = network or make_network()
    folder.mkdir(parents=True, exist_ok=True)
    size = sum(parameter.nbytes for parameter in network.parameters())
    state = network.state_dict()
    if network.config.text_config.tie_word_embeddings:
        del state["lm_head.weight"]
    network.save_pretrained(folder, state_dict=state, max_shard_size=size // 3 if sharded else 2 * size)
    (folder / "tokenizer.json").write_text(make_tokenizer(), encoding="utf-8")
    return folder


def add_geometry(folder: Path) -> Path:
    """Say how the model listens when it streams, as the checkpoints do that can."""
    geometry = {"target_sample_rate": 24_000, "speech_tok_compress_ratio": 3200, "normalize_audio": False}
    (folder / "preprocessor_config.json").write_text(json.dumps(geometry | {"chunk_frames": 22, "lookahead_frames": 4}))
    return folder


# --- the original layout


def to_original(name: str) -> str:
    """The name in the original layout of a parameter of the class."""
    for kind in ("acoustic", "semantic"):
        encoder = f"model.{kind}_tokenizer_encoder."
        if name.startswith(encoder):
            return f"model.{kind}_tokenizer.encoder." + _to_original_encoder(name.removeprefix(encoder))
        for theirs, ours in (("fc1", "linear_1"), ("fc2", "linear_2"), ("norm", "norm")):
            projector = f"model.multi_modal_projector.{kind}_{ours}."
            if name.startswith(projector):
                return f"model.{kind}_connector.{theirs}." + name.removeprefix(projector)
    assert name.startswith(("model.language_model.", "lm_head."))
    return name


def _to_original_encoder(name: str) -> str:
    parts = name.split(".")
    if parts[0] == "head":  # head.conv.* -> head.conv.conv.*
        return ".".join(["head", "conv", *parts[1:]])
    number, rest = (0, parts[1:]) if parts[0] == "stem" else (int(parts[1]) + 1, parts[2:])
    if rest[0] == "conv":  # conv.conv.* -> downsample_layers.N.0.conv.conv.*
        return ".".join(["downsample_layers", str(number), "0", *rest])
    block, inner = rest[1], rest[2:]
    if inner[0] == "mixer":  # mixer.conv.* -> mixer.conv.conv.conv.*
        inner = ["mixer", "conv", "conv", *inner[1:]]
    return ".".join(["stages", str(number), block, *inner])


def original_config(
    network: VibeVoiceAsrForConditionalGeneration, *, architecture: str = "VibeVoiceForASRTraining"
) -> dict[str, object]:
    """The ``config.json`` that the original package writes."""
    text = network.config.text_config
    keys = ("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads")
    keys += ("num_key_value_heads", "max_position_embeddings", "rms_norm_eps", "hidden_act", "tie_word_embeddings")
    decoder = {key: getattr(text, key) for key in keys}
    decoder |= {"model_type": "qwen2", "rope_theta": text.rope_parameters["rope_theta"], "torch_dtype": "bfloat16"}
    decoder |= {"use_sliding_window": False, "sliding_window": None, "attention_dropout": 0.0, "use_cache": True}
    return {
        "model_type": "vibevoice",
        "architectures": [architecture],
        "torch_dtype": "bfloat16",
        "transformers_version": "4.51.3",
        "acostic_vae_dim": network.config.acoustic_tokenizer_encoder_config.hidden_size,
        "semantic_vae_dim": network.config.semantic_tokenizer_encoder_config.hidden_size,
        "acoustic_tokenizer_config": _original_encoder(network, "acoustic") | {"fix_std": 0.5},
        "semantic_tokenizer_config": _original_encoder(network, "semantic") | {"fix_std": 0},
        "decoder_config": decoder,
    }


def _original_encoder(network: VibeVoiceAsrForConditionalGeneration, kind: str) -> dict[str, object]:
    encoder = getattr(network.config, f"{kind}_tokenizer_encoder_config")
    return {
        "model_type": f"vibevoice_{kind}_tokenizer",
        "channels": 1,
        "causal": True,
        "vae_dim": encoder.hidden_size,
        "encoder_n_filters": encoder.num_filters,
        "encoder_ratios": list(encoder.downsampling_ratios)[::-1],
        "encoder_depths": "-".join(map(str, encoder.depths)),
        "layernorm_eps": encoder.rms_norm_eps,
        "layer_scale_init_value": 1e-6,
        "weight_init_value": 0.01,
        "std_dist_type": "gaussian" if kind == "acoustic" else "none",
    }


def original_state(network: VibeVoiceAsrForConditionalGeneration) -> dict[str, Tensor]:
    """The tensors as the original package names them, with a piece of the decoder that is not used."""
    state = {to_original(name): tensor.contiguous() for name, tensor in network.state_dict().items()}
    state["model.acoustic_tokenizer.decoder.head.conv.conv.weight"] = torch.ones(1, 2, 7)
    return state


def write_original_layout(
    folder: Path,
    network: VibeVoiceAsrForConditionalGeneration | None = None,
    *,
    shards: int = 1,
    has_head: bool = True,
    architecture: str = "VibeVoiceForASRTraining",
) -> Path:
    """Write a model as the original package does, in one file or in several with an index.

    ``has_head`` False leaves the head out, as a tied checkpoint may.
    """
    network = network or make_network()
    folder.mkdir(parents=True, exist_ok=True)
    state = {name: tensor.clone() for name, tensor in original_state(network).items()}
    if not has_head:
        del state["lm_head.weight"]
    (folder / "config.json").write_text(json.dumps(original_config(network, architecture=architecture)))
    (folder / "tokenizer.json").write_text(make_tokenizer(), encoding="utf-8")
    if shards == 1:
        save_file(state, folder / "model.safetensors", metadata={"format": "pt"})
        return folder
    names = [f"model-{number + 1:05d}-of-{shards:05d}.safetensors" for number in range(shards)]
    places = {name: names[index % shards] for index, name in enumerate(sorted(state))}
    for file in names:
        part = {name: state[name] for name, place in places.items() if place == file}
        save_file(part, folder / file, metadata={"format": "pt"})
    index = {"metadata": {"total_size": sum(t.nbytes for t in state.values())}, "weight_map": places}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return folder
