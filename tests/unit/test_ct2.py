"""Reading CTranslate2 files and writing them in HF layout, against the tiny model that they were written from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tiny_whisper import (
    SUPPRESSED,
    Variables,
    make_model,
    make_tokenizer,
    state_of,
    to_ct2,
    write_ct2,
    write_ct2_folder,
)
from transformers import WhisperForConditionalGeneration, WhisperProcessor

from murmur_cli.errors import WeightsError
from murmur_cli.models.ctranslate2 import read_ct2, to_hf_tensors
from murmur_cli.models.whisper.folder import convert_whisper

SMALL: Variables = {
    "encoder/num_heads": np.array(2, np.int16),
    "encoder/hints": np.array([1, 2], np.int8),
    "encoder/conv1/weight": np.arange(24, dtype=np.float32).reshape(2, 4, 3),
    "encoder/conv1/bias": np.array([0.5, -1.0], np.float16),
}
SMALL_FILE = write_ct2(SMALL)


@pytest.fixture(scope="module")
def variables() -> Variables:
    return to_ct2(state_of(make_model()))


def read(path: Path, content: bytes) -> object:
    path.write_bytes(content)
    return read_ct2(path)


def test_every_variable_is_read_as_it_was_written(tmp_path: Path) -> None:
    (tmp_path / "model.bin").write_bytes(SMALL_FILE)
    model = read_ct2(tmp_path / "model.bin")
    assert model.scalars == {"encoder/num_heads": 2}
    assert model.tensors.keys() == {"encoder/conv1/weight", "encoder/conv1/bias"}
    for name, tensor in model.tensors.items():
        assert tensor.dtype == SMALL[name].dtype
        np.testing.assert_array_equal(tensor, SMALL[name])


def test_a_file_cut_at_any_byte_is_refused(tmp_path: Path) -> None:
    for end in range(len(SMALL_FILE)):
        with pytest.raises(WeightsError, match=r"truncated|empty"):
            read(tmp_path / "model.bin", SMALL_FILE[:end])


@given(position=st.integers(0, len(SMALL_FILE) - 1), byte=st.integers(0, 255))
def test_a_changed_byte_is_refused_or_read_but_never_another_error(
    position: int, byte: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    content = bytearray(SMALL_FILE)
    content[position] = byte
    path = tmp_path_factory.getbasetemp() / "changed.bin"
    path.write_bytes(content)
    try:
        model = read_ct2(path)
    except WeightsError:
        return
    assert sum(tensor.size for tensor in model.tensors.values()) <= 26


@given(content=st.binary(max_size=200))
def test_foreign_bytes_are_refused(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    with pytest.raises(WeightsError):
        read(tmp_path_factory.getbasetemp() / "foreign.bin", content)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (write_ct2(SMALL, version=5), "version 6"),
        (write_ct2(SMALL, spec="TransformerSpec"), "TransformerSpec"),
        (SMALL_FILE + b"\0", "1 bytes after its end"),
        (b"PK\3\4" + SMALL_FILE, "version 6"),
    ],
)
def test_a_file_of_another_kind_says_what_is_wrong(content: bytes, problem: str, tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match=problem):
        read(tmp_path / "model.bin", content)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_tensors_are_those_of_the_model_bit_for_bit(dtype: torch.dtype, tmp_path: Path) -> None:
    state = state_of(make_model(dtype))
    (tmp_path / "model.bin").write_bytes(write_ct2(to_ct2(state)))
    tensors = to_hf_tensors(read_ct2(tmp_path / "model.bin"))
    assert tensors.keys() == state.keys()
    for name, tensor in tensors.items():
        assert tensor.dtype == state[name].dtype
        np.testing.assert_array_equal(tensor, state[name], err_msg=name)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("encoder/conv1/bias", "no float tensor encoder/conv1/bias"),
        ("decoder/layer_1/attention/linear_1/weight", "no float tensor decoder/layer_1/attention/linear_1/weight"),
        ("encoder/num_heads", "no number encoder/num_heads"),
    ],
)
def test_a_missing_variable_is_named(name: str, problem: str, variables: Variables, tmp_path: Path) -> None:
    without = {key: value for key, value in variables.items() if key != name}
    with pytest.raises(WeightsError, match=problem):
        convert(tmp_path, write_ct2(without))


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("encoder/layer_0/extra/weight", np.ones(3, np.float16), "encoder/layer_0/extra/weight that Whisper"),
        ("encoder/layer_0/self_attention/linear_0/bias", np.ones(48, np.float16), "keys with a bias"),
        ("encoder/layer_0/self_attention/linear_0/bias", np.zeros(47, np.float16), r"of shape \(47,\)"),
        ("decoder/layer_0/ffn/linear_0/weight", np.ones((40, 16), np.int8), "no float tensor decoder/layer_0/ffn"),
        ("decoder/embeddings/weight", np.ones((51_864, 16), np.float16), "English-only"),
    ],
)
def test_a_variable_that_whisper_cannot_have_is_refused(
    name: str, value: np.ndarray, problem: str, variables: Variables, tmp_path: Path
) -> None:
    with pytest.raises(WeightsError, match=problem):
        convert(tmp_path, write_ct2(variables | {name: value}))


@pytest.mark.parametrize(
    ("file", "content", "problem"),
    [
        ("config.json", "{}", "suppress_ids"),
        ("config.json", "[]", "not a JSON object"),
        ("config.json", "{", "cannot be read"),
        ("tokenizer.json", "{}", r"<\|endoftext\|>"),
        ("tokenizer.json", None, "cannot be read"),
    ],
)
def test_a_damaged_companion_is_named(
    file: str, content: str | None, problem: str, variables: Variables, tmp_path: Path
) -> None:
    source = write_ct2_folder(tmp_path / "ct2", write_ct2(variables))
    (source / file).unlink() if content is None else (source / file).write_text(content)
    (tmp_path / "hf").mkdir()
    with pytest.raises(WeightsError, match=problem) as caught:
        convert_whisper(source, tmp_path / "hf")
    assert caught.value.where == str(source / file)


@pytest.fixture(scope="module")
def converted(variables: Variables, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return convert(tmp_path_factory.mktemp("converted"), write_ct2(variables))


def convert(folder: Path, content: bytes) -> Path:
    source, target = write_ct2_folder(folder / "ct2", content), folder / "hf"
    target.mkdir()
    convert_whisper(source, target)
    return target


def test_a_converted_folder_loads_and_decodes_the_same_tokens(converted: Path) -> None:
    original = make_model()
    loaded, report = WhisperForConditionalGeneration.from_pretrained(
        converted, local_files_only=True, output_loading_info=True
    )
    assert not any(report[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    assert loaded.dtype == torch.float16
    state = state_of(loaded)
    for name, tensor in state_of(original).items():
        np.testing.assert_array_equal(state[name], tensor, err_msg=name)
    features = torch.randn(1, 80, 3000, generator=torch.Generator().manual_seed(1))
    prompt = torch.tensor([[50258, 50259, 50359]])
    with torch.inference_mode():
        ours, theirs = (model.float()(features, decoder_input_ids=prompt).logits for model in (loaded, original))
    assert torch.equal(ours, theirs)
    assert loaded.proj_out.weight.data_ptr() == loaded.model.decoder.embed_tokens.weight.data_ptr()


def test_generation_settings_survive_loading(converted: Path) -> None:
    settings = WhisperForConditionalGeneration.from_pretrained(converted, local_files_only=True).generation_config
    assert settings.suppress_tokens == SUPPRESSED
    assert settings.begin_suppress_tokens == [220, 50257]
    assert settings.alignment_heads == [[1, 0], [1, 2]]
    assert (settings.eos_token_id, settings.decoder_start_token_id) == (50257, 50258)
    assert (settings.prev_sot_token_id, settings.no_timestamps_token_id) == (50361, 50363)
    assert settings.task_to_id == {"translate": 50358, "transcribe": 50359}
    assert len(settings.lang_to_id) == 99
    assert (settings.lang_to_id["<|en|>"], settings.lang_to_id["<|su|>"]) == (50259, 50357)
    assert settings.is_multilingual


def test_the_processor_loads_and_knows_where_time_begins(converted: Path) -> None:
    processor = WhisperProcessor.from_pretrained(converted, local_files_only=True)
    assert processor.feature_extractor.feature_size == 80
    assert processor.feature_extractor.sampling_rate == 16_000
    text = processor.tokenizer.decode([50258, 50259, 50359, 50364, 5, 50414], decode_with_timestamps=True)
    assert text == "<|startoftranscript|><|en|><|transcribe|><|0.00|>t5<|1.00|>"
    assert processor.tokenizer.decode([50258, 50259, 5, 50257], skip_special_tokens=True) == "t5"
    assert (converted / "tokenizer.json").read_text() == make_tokenizer()
