"""What the tensors of a checkpoint are called, and what the transformers class calls them.

Every name has one meaning: two names of a checkpoint never become the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

__all__ = ["EMBEDDINGS", "HEAD", "rename_original", "rename_saved"]

HEAD = "lm_head.weight"
"""The output projection, as the class calls it."""

EMBEDDINGS = "model.language_model.embed_tokens.weight"
"""The input embeddings, as the class calls them; in a tied checkpoint they are the output projection, too."""

_Rule: TypeAlias = tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]


def rename_saved(name: str) -> str:
    """Translate a name of the transformers layout: files keep names that the class has outgrown.

    Source:
        transformers@v5.24.0, conversion_mapping.py, "vibevoice_asr".
    """
    return _apply(_SAVED, name)


def rename_original(name: str, *, tied: bool) -> str | None:
    """Translate a name of the original layout.

    Args:
        name: In the file.
        tied: The embeddings are the head. Then a head that is stored all the same counts for nothing, as upstream.

    Returns:
        The name in the class; None for a tensor that recognition does not need, as the acoustic decoder's.

    Source:
        microsoft/VibeVoice, vibevoice/modular/modular_vibevoice_tokenizer.py, TokenizerEncoder, and
        modeling_vibevoice_asr.py, tie_weights; transformers@v5.24.0, models/vibevoice_acoustic_tokenizer.
    """
    is_unused = name.startswith(_UNUSED) or (tied and name == HEAD)
    return None if is_unused else _apply(_ORIGINAL, name)


def _apply(rules: Sequence[_Rule], name: str) -> str:
    """Apply the first rule that fits; a name that none fits stays as it is."""
    for pattern, replacement in rules:
        renamed, n_found = pattern.subn(replacement, name)
        if n_found:
            return renamed
    return name


_SAVED: tuple[_Rule, ...] = (
    (re.compile(r"^language_model\.lm_head\."), "lm_head."),
    (re.compile(r"^language_model\.model\."), "model.language_model."),
    (re.compile(r"^(acoustic_tokenizer_encoder|semantic_tokenizer_encoder|multi_modal_projector)\."), r"model.\1."),
)

_UNUSED = "model.acoustic_tokenizer.decoder."


def _enter_stage(match: re.Match[str]) -> str:
    """Name the stage whose stem or strided convolution has the original's number."""
    number = int(match["stage"])
    return f"model.{match['kind']}_tokenizer_encoder.{'stem' if number == 0 else f'conv_layers.{number - 1}'}."


_ENCODER = r"^model\.(?P<kind>acoustic|semantic)_tokenizer\.encoder\."


def _enter_mixer(match: re.Match[str]) -> str:
    return f"{_enter_stage(match)}stage.{match['block']}.mixer.conv."


_ORIGINAL: tuple[_Rule, ...] = (
    (re.compile(_ENCODER + r"downsample_layers\.(?P<stage>\d+)\.0\.conv\."), lambda m: _enter_stage(m) + "conv."),
    (re.compile(_ENCODER + r"stages\.(?P<stage>\d+)\.(?P<block>\d+)\.mixer\.conv\.conv\.conv\."), _enter_mixer),
    (re.compile(_ENCODER + r"stages\.(?P<stage>\d+)\."), lambda m: _enter_stage(m) + "stage."),
    (re.compile(_ENCODER + r"head\.conv\.conv\."), r"model.\g<kind>_tokenizer_encoder.head.conv."),
    (re.compile(r"^model\.(acoustic|semantic)_connector\.fc([12])\."), r"model.multi_modal_projector.\1_linear_\2."),
    (re.compile(r"^model\.(acoustic|semantic)_connector\.norm\."), r"model.multi_modal_projector.\1_norm."),
)
