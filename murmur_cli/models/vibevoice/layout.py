"""What kind of checkpoint a folder holds, and its configuration as the transformers class wants it.

Nothing that shapes a result is filled in: what a configuration must say and does not is an error.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeAlias

from murmur_cli.errors import UsageError, WeightsError
from murmur_cli.models.vibevoice.frames import FRAME_SAMPLES, PIECE_SAMPLES
from murmur_cli.models.vibevoice.keymap import rename_original, rename_saved

__all__ = ["KINDS", "Json", "Layout", "read_layout"]

Json: TypeAlias = dict[str, object]
"""A JSON object."""

KINDS = ("vibevoice_asr", "vibevoice")
"""What ``model_type`` may be: the transformers layout, and the original one (of which some only speak)."""

_SAVED = "VibeVoiceAsrForConditionalGeneration"
_ORIGINAL = "VibeVoiceForASRTraining"
_STREAMING = "VibeVoiceForASRStreamingTraining"
_TEXT = ("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads")
_KINDS_OF_AUDIO = ("acoustic", "semantic")
_HINT = "give the configuration that was published with the weights"


@dataclass(frozen=True, slots=True)
class Layout:
    """How a checkpoint is laid out.

    Attributes:
        path: Its config.json.
        config: What the transformers configuration is made of.
        rename: From a tensor's name in the files to that in the class; None for one that is not needed.
        is_tied: The embeddings serve as the output projection too, unless that is stored.
    """

    path: Path
    config: Json
    rename: Callable[[str], str | None]
    is_tied: bool


def read_layout(folder: Path, *, streams: bool = False) -> Layout:
    """Read ``config.json`` of a checkpoint that transcribes.

    Args:
        folder: Holds it.
        streams: Take one that only streams, too.

    Raises:
        UsageError: It is a model of another family, or one that only streams, and that is not wanted.
        WeightsError: It cannot be read, or lacks what must be known.
    """
    table = _Table(folder / "config.json", "", _read_json(folder / "config.json"))
    is_original = _is_original(table, folder, streams=streams)
    config = _convert(table) if is_original else dict(table.fields)
    config["acoustic_tokenizer_chunk_size"] = PIECE_SAMPLES  # what the encoders need grows with it
    text = table.table("decoder_config" if is_original else "text_config")
    _check_text(text)
    _check_hop(_Table(table.path, "", config))
    is_tied = bool(text.fields.get("tie_word_embeddings", False))
    rename = partial(rename_original, tied=is_tied) if is_original else rename_saved
    return Layout(path=table.path, config=config, rename=rename, is_tied=is_tied)


def _is_original(table: _Table, folder: Path, *, streams: bool) -> bool:
    kind = table.fields.get("model_type")
    named = table.fields.get("architectures")
    classes = named if isinstance(named, list) else []
    if kind == KINDS[0] and (not classes or _SAVED in classes):
        return False
    only_streams = kind == KINDS[1] and _STREAMING in classes
    if (kind == KINDS[1] and _ORIGINAL in classes) or (only_streams and streams):
        return True
    if only_streams:
        raise UsageError("this VibeVoice only streams", where=str(folder), hint="run 'murmur stream FILE' with it")
    what = ", ".join(map(str, classes)) or "no architecture"
    problem = f"is a model of the kind {kind!r} ({what}), not a VibeVoice that transcribes"
    raise UsageError(problem, where=str(folder), hint="give a VibeVoice-ASR checkpoint")


@dataclass(frozen=True, slots=True)
class _Table:
    """A JSON object that knows where it stands, for messages."""

    path: Path
    name: str
    fields: Json

    def table(self, key: str) -> _Table:
        value = self.fields.get(key)
        if not isinstance(value, dict):
            raise self._bad(key, "is not an object")
        return _Table(self.path, f"{self.name}{key}.", value)

    def integer(self, key: str) -> int:
        value = self.fields.get(key)
        if not isinstance(value, int) or value <= 0:
            raise self._bad(key, "is not a positive number")
        return value

    def number(self, key: str) -> float:
        value = self.fields.get(key)
        if not isinstance(value, int | float) or not 0 < value < math.inf:
            raise self._bad(key, "is not a positive number")
        return float(value)

    def integers(self, key: str) -> list[int]:
        """Read a list, which may be written as ``3-3-8``."""
        value = self.fields.get(key)
        items = value.split("-") if isinstance(value, str) else value
        if not isinstance(items, list) or not all(re.fullmatch("[0-9]+", str(item)) for item in items):
            raise self._bad(key, "is not a list of numbers")
        return [int(item) for item in items]

    def _bad(self, key: str, problem: str) -> WeightsError:
        found = json.dumps(self.fields[key])[:40] if key in self.fields else "missing"
        return WeightsError(f"{self.name}{key} {problem}: {found}", where=str(self.path), hint=_HINT)


def _check_text(text: _Table) -> None:
    """Refuse what the configuration class would fill in with a default that is wrong here."""
    for key in (*_TEXT, "num_key_value_heads"):
        text.integer(key)
    has_table = "rope_theta" not in text.fields and isinstance(text.fields.get("rope_parameters"), dict)
    (text.table("rope_parameters") if has_table else text).number("rope_theta")  # the class would take 1e4
    if text.fields.get("model_type", "qwen2") != "qwen2" or text.fields.get("use_sliding_window"):
        problem = f"{text.name[:-1]} describes no Qwen2 with full attention, and no other is supported"
        raise WeightsError(problem, where=str(text.path), hint=_HINT)


def _check_hop(config: _Table) -> None:
    for kind in _KINDS_OF_AUDIO:
        encoder = config.table(f"{kind}_tokenizer_encoder_config")
        hop = math.prod(encoder.integers("downsampling_ratios"))
        if hop != FRAME_SAMPLES:
            problem = f"{encoder.name}downsampling_ratios make frames of {hop} samples, not {FRAME_SAMPLES}"
            raise WeightsError(problem, where=str(config.path), hint=_HINT)


def _convert(original: _Table) -> Json:
    """Say in the words of the transformers class what an original configuration says."""
    encoders: Json = {
        f"{kind}_tokenizer_encoder_config": _convert_encoder(original.table(f"{kind}_tokenizer_config"))
        for kind in _KINDS_OF_AUDIO
    }
    text = original.table("decoder_config").fields
    stored = {key: value for key, value in text.items() if key not in ("torch_dtype", "dtype")}
    return {"model_type": KINDS[0], "architectures": [_SAVED], "text_config": stored, **encoders}


def _convert_encoder(encoder: _Table) -> Json:
    """Convert the configuration of one encoder.

    Source:
        microsoft/VibeVoice, vibevoice/modular/modular_vibevoice_tokenizer.py: kernels are 7 wide, strides are listed
        from the decoder's end, and what is sampled is scaled by ``fix_std / 0.8``.
    """
    return {
        "model_type": "vibevoice_acoustic_tokenizer_encoder",
        "channels": encoder.integer("channels"),
        "hidden_size": encoder.integer("vae_dim"),
        "kernel_size": 7,
        "rms_norm_eps": encoder.number("layernorm_eps"),
        "num_filters": encoder.integer("encoder_n_filters"),
        "downsampling_ratios": encoder.integers("encoder_ratios")[::-1],
        "depths": encoder.integers("encoder_depths"),
        "vae_std": encoder.number("fix_std") / 0.8 if encoder.fields.get("fix_std") else 0.0,
    }


def _read_json(path: Path) -> Json:
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise WeightsError(f"cannot be read: {error}", where=str(path), hint=_HINT) from error
    if not isinstance(content, dict):
        raise WeightsError("is not a JSON object", where=str(path), hint=_HINT)
    return content
