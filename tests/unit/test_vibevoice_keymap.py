"""Names of tensors in both layouts, against the inverse map and against the names of the class."""

from __future__ import annotations

import pytest
from vibevoice_models import make_network, to_original

from murmur_cli.models.vibevoice.keymap import EMBEDDINGS, HEAD, rename_original, rename_saved

NAMES = [name for name, _ in make_network().named_parameters()]


def test_the_original_layout_is_translated_back() -> None:
    originals = [to_original(name) for name in NAMES]
    assert len(set(originals)) == len(NAMES)
    assert [rename_original(name, tied=False) for name in originals] == NAMES
    assert {HEAD, EMBEDDINGS} <= set(NAMES)


@pytest.mark.parametrize(
    ("original", "name"),
    [
        ("downsample_layers.0.0.conv.conv.bias", "stem.conv.conv.bias"),
        ("downsample_layers.6.0.conv.conv.weight", "conv_layers.5.conv.conv.weight"),
        ("stages.0.2.mixer.conv.conv.conv.weight", "stem.stage.2.mixer.conv.weight"),
        ("stages.0.1.ffn.linear1.bias", "stem.stage.1.ffn.linear1.bias"),
        ("stages.6.7.ffn_gamma", "conv_layers.5.stage.7.ffn_gamma"),
        ("stages.12.10.norm.weight", "conv_layers.11.stage.10.norm.weight"),
        ("head.conv.conv.weight", "head.conv.weight"),
    ],
)
@pytest.mark.parametrize("kind", ["acoustic", "semantic"])
def test_the_published_names(kind: str, original: str, name: str) -> None:
    ours = rename_original(f"model.{kind}_tokenizer.encoder.{original}", tied=False)
    assert ours == f"model.{kind}_tokenizer_encoder.{name}"


def test_the_acoustic_decoder_and_a_tied_head_are_left_out_and_nothing_else() -> None:
    for tied in (False, True):
        assert rename_original("model.acoustic_tokenizer.decoder.stages.0.1.gamma", tied=tied) is None
        assert rename_original(HEAD, tied=tied) == (None if tied else HEAD)
        for name in ("model.semantic_tokenizer.decoder.x", "model.prediction_head.x", "x", EMBEDDINGS):
            assert rename_original(name, tied=tied) == name


def test_names_of_saved_files_and_of_the_class_are_both_understood() -> None:
    saved = {
        "language_model.lm_head.weight": HEAD,
        "language_model.model.embed_tokens.weight": EMBEDDINGS,
        "acoustic_tokenizer_encoder.stem.conv.conv.bias": "model.acoustic_tokenizer_encoder.stem.conv.conv.bias",
        "semantic_tokenizer_encoder.head.conv.bias": "model.semantic_tokenizer_encoder.head.conv.bias",
        "multi_modal_projector.semantic_norm.weight": "model.multi_modal_projector.semantic_norm.weight",
    }
    assert {name: rename_saved(name) for name in saved} == saved
    assert [rename_saved(name) for name in NAMES] == NAMES
