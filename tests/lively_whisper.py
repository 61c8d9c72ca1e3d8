"""A tiny random Whisper that says something else about every window, and comes to an end now and then."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from transformers import GenerationConfig, WhisperConfig, WhisperForConditionalGeneration

N_VOCABULARY = 60
N_MELS = 80
END = 12
PROMPT = (51, 52, 53, 54)
SPECIALS = {
    END: "<|endoftext|>",
    51: "<|startoftranscript|>",
    52: "<|en|>",
    53: "<|transcribe|>",
    54: "<|notimestamps|>",
    55: "<|de|>",
    56: "<|nospeech|>",
    57: "<|fr|>",
}


def make_lively_model() -> WhisperForConditionalGeneration:
    """The same model at every call. Its attention is sharp, so that what was said and heard matters."""
    config = WhisperConfig(
        vocab_size=N_VOCABULARY,
        d_model=32,
        encoder_layers=2,
        decoder_layers=3,
        encoder_attention_heads=2,
        decoder_attention_heads=4,
        encoder_ffn_dim=48,
        decoder_ffn_dim=64,
        max_source_positions=100,
        max_target_positions=80,
        num_mel_bins=N_MELS,
        bos_token_id=END,
        eos_token_id=END,
        pad_token_id=END,
        decoder_start_token_id=PROMPT[0],
        suppress_tokens=None,
        begin_suppress_tokens=None,
    )
    model = WhisperForConditionalGeneration(config)
    generator = torch.Generator().manual_seed(11)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            is_norm = "layer_norm" in name
            scale = 0.1 if is_norm or name.endswith("bias") else 2.5 / parameter.shape[-1] ** 0.5
            parameter.copy_(noise * scale + (1.0 if is_norm and name.endswith("weight") else 0.0))
    model.generation_config = GenerationConfig(
        bos_token_id=END, eos_token_id=END, pad_token_id=END, decoder_start_token_id=PROMPT[0]
    )
    return model.eval()


def write_lively_folder(folder: Path, *, is_multilingual: bool = True) -> Path:
    """Write the model as a folder in HF layout, its text tokens being the words w0, w1 and so on."""
    model = make_lively_model()
    model.generation_config.is_multilingual = is_multilingual
    model.generation_config.suppress_tokens = [7, 8]
    model.generation_config.begin_suppress_tokens = [END, 15]
    model.generation_config.alignment_heads = [[1, 0], [2, 3]]
    model.save_pretrained(folder)
    added = [
        {"id": number, "content": text, "special": True, "single_word": False}
        | {"lstrip": False, "rstrip": False, "normalized": False}
        for number, text in SPECIALS.items()
    ]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    vocabulary = {SPECIALS.get(number, f"\u0120w{number}"): number for number in range(N_VOCABULARY)}
    content = {
        "version": "1.0",
        "added_tokens": added,
        "pre_tokenizer": byte_level,
        "decoder": byte_level,
        "model": {"type": "BPE", "vocab": vocabulary, "merges": []},
    }
    (folder / "tokenizer.json").write_text(json.dumps(content))
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "WhisperTokenizer"}')
    return folder
