"""VibeVoice checkpoints of both layouts: loaded they are what was written, and whatever is wrong is said at once."""

from __future__ import annotations

import json
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from transformers import VibeVoiceAsrForConditionalGeneration
from vibevoice_models import (
    SPECIALS,
    add_geometry,
    make_network,
    make_processor,
    original_state,
    token_id,
    write_original_layout,
    write_transformers_layout,
)

from murmur_cli.errors import DeviceError, MurmurError, UsageError, WeightsError
from murmur_cli.models.vibevoice import checkpoint as checkpoint_module
from murmur_cli.models.vibevoice.checkpoint import Checkpoint, choose_dtype, inspect_checkpoint, load_checkpoint

CPU = torch.device("cpu")
Network = VibeVoiceAsrForConditionalGeneration


def load(folder: Path, dtype: torch.dtype = torch.float32) -> Checkpoint:
    return load_checkpoint(inspect_checkpoint(folder), device=CPU, dtype=dtype)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_transformers_layout(tmp_path_factory.mktemp("saved"))


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_original_layout(tmp_path_factory.mktemp("original"))


# --- what is loaded is what was written


@torch.no_grad()
def assert_same(ours: Network, theirs: Network, folder: Path) -> None:
    """Compare features, logits and greedy tokens."""
    rng = np.random.default_rng(3)
    samples = (0.1 * rng.standard_normal(24_000 * 3)).astype(np.float32)
    inputs = make_processor(folder).apply_transcription_request(samples)
    heard = [
        network.get_audio_features(inputs["input_values"], inputs["padding_mask"], sample=False).pooler_output
        for network in (ours, theirs)
    ]
    assert heard[0].std() > 0.1
    torch.testing.assert_close(heard[0], heard[1], rtol=0, atol=1e-5)
    logits = [network(**inputs, sample=False).logits for network in (ours, theirs)]
    torch.testing.assert_close(logits[0], logits[1], rtol=0, atol=1e-5)
    settings = {"do_sample": False, "max_new_tokens": 12, "pad_token_id": 0, "eos_token_id": -1}
    tokens = [network.generate(**inputs, **settings, sample=False) for network in (ours, theirs)]
    assert torch.equal(tokens[0], tokens[1])
    assert len(set(tokens[0][0, -12:].tolist())) > 3


@pytest.mark.parametrize(("tied", "sharded"), [(False, False), (True, False), (False, True)])
def test_the_transformers_layout_is_what_transformers_loads(tmp_path: Path, *, tied: bool, sharded: bool) -> None:
    folder = write_transformers_layout(tmp_path, make_network(tied=tied), sharded=sharded)
    assert len(list(folder.glob("*.safetensors"))) > 1 or not sharded
    ours = load(folder)
    theirs, report = Network.from_pretrained(folder, dtype=torch.float32, output_loading_info=True)
    assert set(report["missing_keys"]) <= ({"lm_head.weight"} if tied else set())
    if tied:
        theirs.lm_head.weight = theirs.get_input_embeddings().weight  # the class does not do it
    assert (ours.network.lm_head.weight is ours.network.get_input_embeddings().weight) == tied
    assert_same(ours.network, theirs.eval(), folder)


@pytest.mark.parametrize(("tied", "has_head", "n_files"), [(False, True, 3), (True, True, 1), (True, False, 2)])
def test_the_original_layout_is_the_transformers_layout(
    tmp_path: Path, *, tied: bool, has_head: bool, n_files: int
) -> None:
    written = make_network(tied=tied)
    ours = load(write_original_layout(tmp_path / "original", written, shards=n_files, has_head=has_head))
    theirs = load(write_transformers_layout(tmp_path / "saved", written))
    assert_same(ours.network, theirs.network, tmp_path / "saved")
    assert ours.size == theirs.size
    noise = [c.network.config.acoustic_tokenizer_encoder_config.vae_std for c in (ours, theirs)]
    assert noise == [0.625, 0.625]


def test_a_checkpoint_is_ready_to_run(saved: Path) -> None:
    ours = load(saved)
    assert not ours.network.training
    assert ours.network.model.language_model.config._attn_implementation == "sdpa"
    assert {parameter.dtype for parameter in ours.network.parameters()} == {torch.float32}
    assert not any(parameter.requires_grad for parameter in ours.network.parameters())
    assert (ours.device, ours.dtype) == (CPU, torch.float32)


def test_bfloat16_is_what_transformers_makes_of_it(saved: Path) -> None:
    ours = load(saved, torch.bfloat16).network
    theirs = Network.from_pretrained(saved, dtype=torch.bfloat16)
    for (name, parameter), (_, expected) in zip(ours.named_parameters(), theirs.named_parameters(), strict=True):
        assert torch.equal(parameter, expected), name
    angles = ours.model.language_model.rotary_emb.inv_freq
    assert angles.dtype == torch.float32
    assert torch.equal(angles, theirs.model.language_model.rotary_emb.inv_freq)


def test_special_tokens_are_known_by_name(saved: Path) -> None:
    vocabulary = load(saved).vocabulary
    assert vocabulary.end == token_id("<|endoftext|>") != 151_643
    assert vocabulary.pad == token_id("<|image_pad|>")
    assert vocabulary.audio == token_id("<|box_start|>")
    assert (vocabulary.audio_begin, vocabulary.audio_end) == tuple(
        map(token_id, ("<|object_ref_start|>", "<|object_ref_end|>"))
    )
    assert vocabulary.specials == {token_id(name) for name, steers in SPECIALS.items() if steers}
    tokens = vocabulary.encode('<|im_start|>assistant\n[{"Content":"über"}]<|im_end|>')
    assert tokens[0] == token_id("<|im_start|>")
    assert vocabulary.decode(tokens) == 'assistant\n[{"Content":"über"}]'


def test_a_tokenizer_that_would_cut_or_fill_texts_does_not(saved: Path, tmp_path: Path) -> None:
    folder = copy(saved, tmp_path)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(3)
    tokenizer.enable_padding(length=50)
    tokenizer.save(str(folder / "tokenizer.json"))
    text = "This is a long text, longer than three tokens."
    assert load(folder).vocabulary.encode(text) == load(saved).vocabulary.encode(text)


@pytest.mark.models
def test_the_trained_checkpoint_loads_though_it_streams_too(models_dir: Path) -> None:
    folder = models_dir / "tiny-vibevoice-digits"
    ours = load(folder)
    theirs = Network.from_pretrained(folder, dtype=torch.float32)
    for (name, parameter), (_, expected) in zip(
        ours.network.named_parameters(), theirs.named_parameters(), strict=True
    ):
        assert torch.equal(parameter, expected), name


def test_looking_reads_no_weights_and_loading_says_nothing(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    load(add_geometry(copy(saved, tmp_path)))
    assert capfd.readouterr() == ("", "")
    monkeypatch.setattr(checkpoint_module, "iter_tensors", None)
    inspect_checkpoint(saved)


# --- what is wrong is said


def copy(source: Path, target: Path) -> Path:
    return Path(shutil.copytree(source, target, dirs_exist_ok=True))


def change_json(folder: Path, name: str, change: Callable[[dict[str, object]], object]) -> None:
    content = json.loads((folder / name).read_text())
    change(content)
    (folder / name).write_text(json.dumps(content))


def change_weights(folder: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> None:
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def refuse(folder: Path, kind: type[MurmurError]) -> str:
    """See a checkpoint refused before its weights are read, in one line."""
    with pytest.raises(kind) as caught:
        inspect_checkpoint(folder)
    assert type(caught.value) is kind
    assert caught.value.exit_code == {UsageError: 2, WeightsError: 4}[kind]
    assert "\n" not in str(caught.value)
    assert str(folder) in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    "config",
    [
        {"model_type": "whisper", "architectures": ["WhisperForConditionalGeneration"]},
        {"model_type": "vibevoice", "architectures": ["VibeVoiceForConditionalGeneration"]},  # it speaks
        {"model_type": "vibevoice"},
        {"architectures": ["VibeVoiceForASRTraining"]},
        {"model_type": "vibevoice_asr", "architectures": ["SomethingElse"]},
        {},
    ],
)
def test_a_model_of_another_family(saved: Path, tmp_path: Path, config: dict[str, object]) -> None:
    folder = copy(saved, tmp_path)
    (folder / "config.json").write_text(json.dumps(config))
    assert "not a VibeVoice that transcribes" in refuse(folder, UsageError)


def test_a_model_that_only_streams_names_the_command_that_does(tmp_path: Path) -> None:
    folder = write_original_layout(tmp_path, architecture="VibeVoiceForASRStreamingTraining")
    assert "murmur stream FILE" in refuse(add_geometry(folder), UsageError)


@pytest.mark.parametrize("content", ["{", "[]", "\xff"])
def test_a_configuration_that_is_none(saved: Path, tmp_path: Path, content: str) -> None:
    folder = copy(saved, tmp_path)
    (folder / "config.json").write_text(content, encoding="latin-1")
    refuse(folder, WeightsError)


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        ("text_config", None, "text_config"),
        ("text_config.rope_parameters.rope_theta", None, "rope_theta"),
        ("text_config.rope_parameters", None, "rope_theta"),
        ("text_config.num_attention_heads", None, "num_attention_heads"),
        ("text_config.num_key_value_heads", None, "num_key_value_heads"),
        ("text_config.hidden_size", "64", "hidden_size"),
        ("text_config.model_type", "llama", "Qwen2"),
        ("text_config.use_sliding_window", True, "full attention"),
        ("acoustic_tokenizer_encoder_config.downsampling_ratios", [2, 2, 4, 5, 5, 4], "1600"),
        ("semantic_tokenizer_encoder_config", None, "semantic"),
        ("text_config.hidden_act", 7, "hidden_act"),
        ("audio_token_id", 151_648, "audio_token_id"),
    ],
)
def test_a_configuration_that_lacks_or_contradicts(
    saved: Path, tmp_path: Path, path: str, value: object, named: str
) -> None:
    folder = copy(saved, tmp_path)
    change_json(folder, "config.json", lambda content: put(content, path, value))
    assert named in refuse(folder, WeightsError)


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        ("decoder_config.rope_theta", None, "decoder_config.rope_theta"),
        ("decoder_config.vocab_size", None, "vocab_size"),
        ("decoder_config", None, "decoder_config"),
        ("acoustic_tokenizer_config.vae_dim", None, "vae_dim"),
        ("acoustic_tokenizer_config.encoder_depths", "3-x", "encoder_depths"),
        ("semantic_tokenizer_config.encoder_ratios", None, "encoder_ratios"),
        ("semantic_tokenizer_config", [], "semantic_tokenizer_config"),
        ("acoustic_tokenizer_config.layernorm_eps", "small", "layernorm_eps"),
    ],
)
def test_an_original_configuration_that_lacks(
    original: Path, tmp_path: Path, path: str, value: object, named: str
) -> None:
    folder = copy(original, tmp_path)
    change_json(folder, "config.json", lambda content: put(content, path, value))
    assert named in refuse(folder, WeightsError)


def put(content: dict[str, object], path: str, value: object) -> None:
    """Set a field; None takes it away."""
    *tables, key = path.split(".")
    for name in tables:
        content = content[name]  # type: ignore[assignment]
    if value is None:
        del content[key]
    else:
        content[key] = value


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda t: t.pop("lm_head.weight"), "missing, lm_head.weight"),
        (lambda t: t.pop("model.semantic_connector.norm.weight"), "missing, model.multi_modal_projector.semantic_norm"),
        (lambda t: t.update({"model.prediction_head.weight": torch.ones(2)}), "not the model's, model.prediction_head"),
        (lambda t: t.update({"model.language_model.norm.weight": torch.ones(63)}), "[63] instead of [64]"),
        (lambda t: t.update({"model.language_model.norm.weight": torch.ones(64).to(torch.int8)}), "I8"),
        (
            lambda t: t.update({"model.acoustic_tokenizer_encoder.head.conv.bias": torch.ones(8)}),
            "are the same parameter",
        ),
    ],
)
def test_weights_that_are_not_the_models(
    original: Path, tmp_path: Path, change: Callable[[dict[str, torch.Tensor]], object], named: str
) -> None:
    folder = copy(original, tmp_path)
    change_weights(folder, change)
    assert named in refuse(folder, WeightsError)


def test_a_truncated_file(saved: Path, tmp_path: Path) -> None:
    folder = copy(saved, tmp_path)
    content = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(content[:-1])
    assert "cannot be read" in refuse(folder, WeightsError)


def test_a_pickle_is_not_loaded(saved: Path, tmp_path: Path) -> None:
    folder = copy(saved, tmp_path)
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    assert "pickle" in refuse(folder, WeightsError)


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_original_layout(tmp_path_factory.mktemp("parts"), shards=3)


INDEX = "model.safetensors.index.json"
SECOND = "model-00002-of-00003.safetensors"
HEAD_IN_SECOND = {"weight_map": {"lm_head.weight": SECOND}}


def test_a_missing_shard(parts: Path, tmp_path: Path) -> None:
    folder = copy(parts, tmp_path)
    (folder / SECOND).unlink()
    assert SECOND in refuse(folder, WeightsError)


@pytest.mark.parametrize(
    ("index", "named"),
    [
        ("{", "index"),
        ("{}", "weight_map"),
        ('{"weight_map": {}}', "no tensors"),
        ('{"weight_map": {"a": "../model.safetensors"}}', "../model.safetensors"),
        ('{"weight_map": {"a": "model.bin"}}', "model.bin"),
        ('{"weight_map": {"a": 3}}', "3"),
        (json.dumps(HEAD_IN_SECOND), "agree"),
    ],
)
def test_an_index_that_is_wrong(parts: Path, tmp_path: Path, index: str, named: str) -> None:
    save_file({"a": torch.ones(1)}, tmp_path / "model.safetensors")  # outside
    folder = copy(parts, tmp_path / "inside")
    (folder / INDEX).write_text(index)
    assert named in refuse(folder, WeightsError)


def test_a_shard_with_more_than_its_index_says(parts: Path, tmp_path: Path) -> None:
    folder = copy(parts, tmp_path)
    tensors = load_file(folder / SECOND)
    save_file(tensors | {"extra": torch.ones(1)}, folder / SECOND)
    assert "extra" in refuse(folder, WeightsError)


def test_a_head_that_is_stored_beside_tied_embeddings_counts_as_upstream(tmp_path: Path) -> None:
    network = make_network(tied=True)
    original = write_original_layout(tmp_path / "original", network)
    change_weights(original, lambda t: t.update({"lm_head.weight": t["lm_head.weight"] + 1}))
    ours = load(original).network
    assert ours.lm_head.weight is ours.get_input_embeddings().weight
    saved = write_transformers_layout(tmp_path / "saved", network)
    change_weights(saved, lambda t: t.update({"language_model.lm_head.weight": network.lm_head.weight + 1}))
    ours, theirs = load(saved).network, Network.from_pretrained(saved, dtype=torch.float32)
    assert torch.equal(ours.lm_head.weight, theirs.lm_head.weight)
    assert torch.equal(ours.lm_head.weight, network.lm_head.weight + 1)


@pytest.mark.parametrize("content", [None, "", "{}", "[1]"])
def test_no_tokenizer(saved: Path, tmp_path: Path, content: str | None) -> None:
    folder = copy(saved, tmp_path)
    (folder / "tokenizer.json").unlink()
    if content is not None:
        (folder / "tokenizer.json").write_text(content)
    assert "tokenizer" in refuse(folder, WeightsError)


@pytest.mark.parametrize("name", ["<|endoftext|>", "<|im_end|>", "<|box_start|>", "<|image_pad|>"])
def test_a_tokenizer_without_a_special_token(saved: Path, tmp_path: Path, name: str) -> None:
    folder = copy(saved, tmp_path)
    content = (folder / "tokenizer.json").read_text()
    (folder / "tokenizer.json").write_text(content.replace(name, "<|other|>"))
    assert name in refuse(folder, WeightsError)


def test_a_tokenizer_of_a_larger_model(saved: Path, tmp_path: Path) -> None:
    folder = copy(saved, tmp_path)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    n_rows = json.loads((folder / "config.json").read_text())["text_config"]["vocab_size"]
    tokenizer.add_tokens([f"word{i}" for i in range(n_rows - tokenizer.get_vocab_size())])
    tokenizer.save(str(folder / "tokenizer.json"))
    inspect_checkpoint(folder)  # the last row is a token's
    tokenizer.add_tokens(["one-more"])
    tokenizer.save(str(folder / "tokenizer.json"))
    assert f"{n_rows} embeddings" in refuse(folder, WeightsError)


def test_a_file_that_changes_after_the_look(saved: Path, tmp_path: Path) -> None:
    folder = copy(saved, tmp_path)
    blueprint = inspect_checkpoint(folder)
    (folder / "model.safetensors").write_bytes(b"")
    with pytest.raises(WeightsError, match=r"model\.safetensors"):
        load_checkpoint(blueprint, device=CPU, dtype=torch.float32)


@pytest.mark.parametrize("error", [torch.OutOfMemoryError("CUDA"), MemoryError()])
def test_a_device_that_is_too_small(saved: Path, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    blueprint = inspect_checkpoint(saved)

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(checkpoint_module, "fill", fail)
    with pytest.raises(DeviceError, match="do not fit") as caught:
        load_checkpoint(blueprint, device=CPU, dtype=torch.float32)
    assert caught.value.exit_code == 5


def test_precisions() -> None:
    gpu = torch.device("cuda", 0)
    assert choose_dtype("auto", CPU) == choose_dtype("float32", gpu) == torch.float32
    assert choose_dtype("auto", gpu) == choose_dtype("bfloat16", CPU) == torch.bfloat16
    assert choose_dtype("float16", gpu) == torch.float16
    with pytest.raises(UsageError, match="float16"):
        choose_dtype("float16", CPU)


def test_a_checkpoint_of_gigabytes_is_looked_at_in_a_moment(tmp_path: Path) -> None:
    folder = write_original_layout(tmp_path)
    change_json(folder, "config.json", lambda c: put(c, "decoder_config.intermediate_size", 2_000_000))
    state = {
        name: (*tensor.shape[:-1], 2_000_000) if "down_proj" in name else (2_000_000, *tensor.shape[1:])
        for name, tensor in original_state(make_network()).items()
        if ".mlp." in name
    }
    write_sparse(folder / "model.safetensors", state)
    blueprint = inspect_checkpoint(folder)
    assert blueprint.size.n_intermediate == 2_000_000
    assert blueprint.size.n_parameters * 4 > 3_000_000_000


def write_sparse(path: Path, shapes: dict[str, tuple[int, ...]]) -> None:
    """Give tensors of a file other shapes; what they hold takes no room on the disk."""
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, tensor in load_file(path).items():
        shape = shapes.get(name, tuple(tensor.shape))
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [end, end := end + 4 * int(np.prod(shape))]}
    text = json.dumps(header).encode()
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + end)
