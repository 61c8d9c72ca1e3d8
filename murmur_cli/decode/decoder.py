"""A decoder-only language model of transformers, as the loop needs it: embeddings in, logits out."""

from __future__ import annotations

import inspect

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from murmur_cli.decode.growing import GrowingCache
from murmur_cli.decode.slots import CacheShape, PromptCache, SlotCache

__all__ = ["Decoder"]


class Decoder:
    """A language model and the head that scores its vocabulary.

    Args:
        language_model: Without its head, such as a ``Qwen2Model``; every layer attends to everything.
        head: H to the size of the vocabulary.

    Raises:
        ValueError: Its attention is not sdpa: the others misread what is passed here, eager adds a bool mask to the
            scores and flash attention takes no mask for each row. Or a layer does not attend to everything.
    """

    def __init__(self, language_model: PreTrainedModel, head: nn.Module) -> None:
        config = language_model.config
        attention = config._attn_implementation  # noqa: SLF001 - it has no public name
        if attention != "sdpa":
            raise ValueError(f"the language model's attention is {attention}, not sdpa")
        if any(kind != "full_attention" for kind in config.layer_types):
            raise ValueError("a layer of the language model does not attend to everything")
        self._language_model = language_model
        self._embedding = language_model.get_input_embeddings()
        self._head = head
        names = inspect.signature(language_model.forward).parameters
        self._cache_name = "cache" if "cache" in names else "past_key_values"  # transformers 5.24 renamed it
        self._shape = CacheShape(
            n_layers=config.num_hidden_layers,
            n_heads=config.num_key_value_heads,
            head_size=getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads,
            dtype=language_model.dtype,
        )

    @property
    def device(self) -> torch.device:
        """Where it runs."""
        return self._language_model.device

    @property
    def cache_shape(self) -> CacheShape:
        """What it keeps of every position."""
        return self._shape

    def embed(self, tokens: Tensor) -> Tensor:
        """Look tokens up, shape [B, n]: [B, n, H]."""
        embedded: Tensor = self._embedding(tokens)
        return embedded

    def read(
        self,
        embedded: Tensor,
        *,
        positions: Tensor,
        mask: Tensor | None,
        cache: SlotCache | PromptCache | GrowingCache,
    ) -> Tensor:
        """Read some positions.

        Args:
            embedded: Shape [B, n, H].
            positions: Shape [B, n]. The model cannot count them: a cache has holes.
            mask: What to attend to, shape [B, 1, n, cells], bool; None: to what is read, causally.
            cache: Takes the keys and values.

        Returns:
            Hidden vectors, shape [B, n, H].
        """
        hidden: Tensor = self._language_model(
            inputs_embeds=embedded,
            position_ids=positions,
            attention_mask=mask,
            use_cache=True,
            **{self._cache_name: cache},
        ).last_hidden_state
        return hidden

    def to_logits(self, hidden: Tensor) -> Tensor:
        """Score the vocabulary after hidden vectors, shape [B, H]: [B, V], float32."""
        logits: Tensor = self._head(hidden)
        return logits.float()
