"""Turn a CTranslate2 Whisper folder into one in HF layout, which ``from_pretrained`` loads without network.

The tensors are those of ``model.bin``, bit for bit. What transformers needs beside them is written from the
shapes, from the special tokens of ``tokenizer.json`` and from CTranslate2's ``config.json``.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from safetensors.numpy import save_file

from murmur_cli.errors import WeightsError
from murmur_cli.models.ctranslate2 import Array, Ct2Model, read_ct2, to_hf_tensors

__all__ = ["convert_whisper"]

_Json: TypeAlias = dict[str, object]

_MULTILINGUAL_VOCABULARY = 51_865  # openai/whisper@v20240930, whisper/model.py, is_multilingual
_LANGUAGE = re.compile(r"<\|[a-z]{2,3}\|>")
_MAX_INITIAL_TIMESTAMP = 50  # of 0.02 s each: openai/whisper@v20240930, decoding.py, max_initial_timestamp


def convert_whisper(source: Path, target: Path) -> None:
    """Convert a folder.

    Args:
        source: Holds ``model.bin``, ``config.json`` and ``tokenizer.json`` of CTranslate2.
        target: An empty folder; it gets weights, configuration, tokenizer and feature extractor.

    Raises:
        WeightsError: A file is damaged, or the model is no multilingual Whisper.
    """
    model = read_ct2(source / "model.bin")
    tensors = to_hf_tensors(model)
    if tensors["model.decoder.embed_tokens.weight"].shape[0] < _MULTILINGUAL_VOCABULARY:
        raise WeightsError("is English-only, and only multilingual models are converted", where=str(model.path))
    specials = _read_specials(source / "tokenizer.json")
    generation = _read_json(source / "config.json")
    save_file(dict(tensors), target / "model.safetensors", metadata={"format": "pt"})
    _write_json(target / "config.json", _describe_model(model, tensors, specials))
    _write_json(target / "generation_config.json", _describe_generation(generation, specials, model.path.parent))
    n_mels = tensors["model.encoder.conv1.weight"].shape[1]
    _write_json(target / "preprocessor_config.json", _describe_features(n_mels))
    _write_json(target / "tokenizer_config.json", _describe_tokenizer(specials))
    shutil.copyfile(source / "tokenizer.json", target / "tokenizer.json")
    shutil.copymode(target / "config.json", target / "model.safetensors")  # written for its owner only


@dataclass(frozen=True, slots=True)
class _Specials:
    """The special tokens of a tokenizer, by their text, in the order of their numbers."""

    path: Path
    ids: Mapping[str, int]

    def id(self, text: str) -> int:
        if text not in self.ids:
            raise WeightsError(f"has no token {text}, so it is not Whisper's", where=str(self.path))
        return self.ids[text]


def _describe_model(model: Ct2Model, tensors: Mapping[str, Array], specials: _Specials) -> _Json:
    embeddings = tensors["model.decoder.embed_tokens.weight"]
    end = specials.id("<|endoftext|>")
    n_vocabulary, d_model = embeddings.shape
    return {
        "architectures": ["WhisperForConditionalGeneration"],
        "model_type": "whisper",
        "dtype": str(embeddings.dtype),
        "vocab_size": n_vocabulary,
        "d_model": d_model,
        "num_mel_bins": tensors["model.encoder.conv1.weight"].shape[1],
        "encoder_layers": model.n_layers("encoder"),
        "decoder_layers": model.n_layers("decoder"),
        "encoder_attention_heads": model.scalar("encoder/num_heads"),
        "decoder_attention_heads": model.scalar("decoder/num_heads"),
        "encoder_ffn_dim": tensors["model.encoder.layers.0.fc1.weight"].shape[0],
        "decoder_ffn_dim": tensors["model.decoder.layers.0.fc1.weight"].shape[0],
        "max_source_positions": tensors["model.encoder.embed_positions.weight"].shape[0],
        "max_target_positions": tensors["model.decoder.embed_positions.weight"].shape[0],
        "bos_token_id": end,
        "eos_token_id": end,
        "pad_token_id": end,
        "decoder_start_token_id": specials.id("<|startoftranscript|>"),
        "scale_embedding": bool(model.scalar("decoder/scale_embeddings")),
        "tie_word_embeddings": True,
    }


def _describe_generation(ct2: _Json, specials: _Specials, where: Path) -> _Json:
    """What ``generate`` needs.

    ``_from_model_config`` must be false: ``from_pretrained`` replaces settings that it takes for derived
    from the model configuration.
    """
    for key in ("suppress_ids", "suppress_ids_begin", "alignment_heads"):
        if not isinstance(ct2.get(key), list):
            raise WeightsError(f"has no list {key}", where=str(where / "config.json"))
    end = specials.id("<|endoftext|>")
    return {
        "_from_model_config": False,
        "alignment_heads": ct2["alignment_heads"],
        "begin_suppress_tokens": ct2["suppress_ids_begin"],
        "suppress_tokens": ct2["suppress_ids"],
        "bos_token_id": end,
        "eos_token_id": end,
        "pad_token_id": end,
        "decoder_start_token_id": specials.id("<|startoftranscript|>"),
        "prev_sot_token_id": specials.id("<|startofprev|>"),
        "no_timestamps_token_id": specials.id("<|notimestamps|>"),
        "is_multilingual": True,
        "lang_to_id": {text: token for text, token in specials.ids.items() if _LANGUAGE.fullmatch(text)},
        "task_to_id": {task: specials.id(f"<|{task}|>") for task in ("transcribe", "translate")},
        "max_initial_timestamp_index": _MAX_INITIAL_TIMESTAMP,
        "max_length": 448,
        "return_timestamps": False,
    }


def _describe_features(n_mels: int) -> _Json:
    return {
        "feature_extractor_type": "WhisperFeatureExtractor",
        "processor_class": "WhisperProcessor",
        "feature_size": n_mels,
        "sampling_rate": 16_000,
        "hop_length": 160,
        "n_fft": 400,
        "chunk_length": 30,
        "n_samples": 480_000,
        "nb_max_frames": 3000,
        "padding_side": "right",
        "padding_value": 0.0,
        "return_attention_mask": False,
    }


def _describe_tokenizer(specials: _Specials) -> _Json:
    """All special tokens must be declared: transformers takes the number after the last as time zero."""
    end = "<|endoftext|>"
    return {
        "tokenizer_class": "WhisperTokenizer",
        "processor_class": "WhisperProcessor",
        "add_prefix_space": False,
        "additional_special_tokens": list(specials.ids),
        "model_max_length": 1024,
        "bos_token": end,
        "eos_token": end,
        "pad_token": end,
        "unk_token": end,
    }


def _read_specials(path: Path) -> _Specials:
    added = _read_json(path).get("added_tokens")
    ids: dict[str, int] = {}
    for token in added if isinstance(added, list) else []:
        match token:
            case {"id": int(number), "content": str(text), "special": True}:
                ids[text] = number
    return _Specials(path, dict(sorted(ids.items(), key=lambda item: item[1])))


def _read_json(path: Path) -> _Json:
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise WeightsError(f"cannot be read ({error})", where=str(path)) from error
    if not isinstance(content, dict):
        raise WeightsError("is not a JSON object", where=str(path))
    return content


def _write_json(path: Path, content: _Json) -> None:
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
