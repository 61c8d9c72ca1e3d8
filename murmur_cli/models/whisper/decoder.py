"""Whisper's decoder: one token of every hypothesis in, the vocabulary's logits out.

Several windows are decoded side by side, each with K hypotheses (beams or samples) that share the
window's audio. What a hypothesis has said lies in ``DecoderState``. The arithmetic is that of
transformers' module; it is written out because that module copies the memory of every beam at every step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional
from transformers import WhisperForConditionalGeneration
from transformers.models.whisper.modeling_whisper import WhisperDecoderLayer

from murmur_cli.models.whisper.encoder import LayerNorm, fuse_projections, make_norm
from murmur_cli.models.whisper.precision import Linear, Precision, make_linear
from murmur_cli.models.whisper.state import DecoderState, Memory

__all__ = ["Decoder"]


@dataclass(frozen=True, slots=True)
class _Layer:
    self_norm: LayerNorm
    self_project: Linear  # D -> 3 D: queries (scaled), keys, values
    self_merge: Linear
    cross_norm: LayerNorm
    cross_query: Linear  # scaled
    cross_memory: Linear  # D -> 2 D: keys, values; in the encoder's precision
    cross_merge: Linear
    feed_norm: LayerNorm
    widen: Linear
    narrow: Linear


class Decoder:
    """The decoder's weights on one device, in one precision.

    Args:
        model: transformers' model, in float32; its weights are copied.
        forbidden: Tokens that are never written: their logits are minus infinity.
        precision: What the matrix products are made in.
        device: Where they are made.
    """

    def __init__(
        self,
        model: WhisperForConditionalGeneration,
        *,
        forbidden: Sequence[int],
        precision: Precision,
        device: torch.device,
    ) -> None:
        module = model.model.decoder
        self._precision = precision
        self._device = device
        self._n_heads: int = module.config.decoder_attention_heads
        self._activate: Callable[[Tensor], Tensor] = module.layers[0].activation_fn
        self._embedding = module.embed_tokens.weight.detach().to(device)
        self._positions = module.embed_positions.weight.detach().to(device)
        self._layers = [self._copy_layer(layer) for layer in module.layers]
        self._norm = make_norm(module.layer_norm, device)
        self._output = model.proj_out.weight.detach().to(device)
        # Forbidding through the bias costs nothing per step.
        bias = torch.zeros(self._output.shape[0], device=device)
        bias[list(forbidden)] = -math.inf
        self._head = make_linear(self._output, bias, dtype=precision.decoder, quantised=precision.quantised)

    @property
    def device(self) -> torch.device:
        """Where it computes."""
        return self._device

    @property
    def n_layers(self) -> int:
        """Layers of the decoder."""
        return len(self._layers)

    @property
    def n_positions(self) -> int:
        """The most tokens, prompt included, that a hypothesis may have."""
        n_positions: int = self._positions.shape[0]
        return n_positions

    def memorise(self, encoded: Sequence[Tensor]) -> list[Memory]:
        """Make every layer's keys and values of some windows' audio.

        Args:
            encoded: One tensor per window, shape (T, D), float32, all of the same T.

        Returns:
            One memory per layer, shapes [windows, H, T, D / H].
        """
        shape = (len(encoded), self._n_heads, encoded[0].shape[0], encoded[0].shape[1] // self._n_heads)
        memories = []
        for layer in self._layers:
            keys = torch.empty(shape, dtype=self._precision.memory, device=self._device)
            memory = Memory(keys, torch.empty_like(keys))
            for index, vectors in enumerate(encoded):
                projected = layer.cross_memory(vectors[None].to(self._precision.encoder))
                memory.keys[index], memory.values[index] = (part[0] for part in self._split_heads(projected, 2))
            memories.append(memory)
        return memories

    def start(self, prompt: Tensor, audio: Sequence[Memory], *, n_hypotheses: int) -> tuple[Tensor, DecoderState]:
        """Read the prompt of some windows.

        Args:
            prompt: Shape [B, n], int64.
            audio: What ``memorise`` made of the windows.
            n_hypotheses: K, how many hypotheses of a window will go on from here.

        Returns:
            Hidden vectors, shape [B, n, D], and the state to go on from.
        """
        own: list[Memory] = []

        def attend(_layer: int, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
            own.append(Memory(keys, values))
            return _attend_causally(queries, keys, values)

        hidden = self._run(self._embed(prompt, 0), audio, attend)
        return hidden, DecoderState(audio, own, n_hypotheses=n_hypotheses)

    def step(self, tokens: Tensor, state: DecoderState) -> Tensor:
        """Read one more token of every hypothesis.

        Args:
            tokens: Shape [B, K], int64.
            state: What was read before; it grows by the tokens.

        Returns:
            Hidden vectors, shape [B, K, D].
        """
        embedded = self._embedding[tokens] + self._positions[state.position]
        state.grow()
        return self._run(embedded, state.audio, state.attend)

    def logits(self, hidden: Tensor) -> Tensor:
        """Score the vocabulary after hidden vectors, shape (..., D); forbidden tokens have minus infinity."""
        logits: Tensor = self._head(hidden.to(self._precision.decoder))
        return logits.float()

    def raw_logits(self, hidden: Tensor) -> Tensor:
        """Score the vocabulary without forbidding anything, in float32: for the prompt only, it is slow."""
        return functional.linear(hidden, self._output)

    def cross_scores(self, tokens: Tensor, audio: Sequence[Memory], heads: Sequence[tuple[int, int]]) -> Tensor:
        """Read a whole text at once, and tell how some heads attend to the audio, before the softmax.

        Args:
            tokens: Prompt and text of one window, shape (n,), int64.
            audio: What ``memorise`` made of this window alone.
            heads: (layer, head), ascending.

        Returns:
            Shape (len(heads), n, T), float32.
        """
        scores: list[Tensor] = []

        def watch(layer: int, queries: Tensor, keys: Tensor) -> None:
            watched = [head for at, head in heads if at == layer]
            if watched:
                scores.append(queries[0, watched].float() @ keys[0, watched].float().transpose(1, 2))

        def attend(_layer: int, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
            return _attend_causally(queries, keys, values)

        self._run(self._embed(tokens[None], 0), audio, attend, watch=watch)
        return torch.cat(scores)

    def _embed(self, tokens: Tensor, position: int) -> Tensor:
        embedded: Tensor = self._embedding[tokens] + self._positions[position : position + tokens.shape[1]]
        return embedded

    def _run(
        self,
        hidden: Tensor,
        audio: Sequence[Memory],
        attend: Callable[[int, Tensor, Tensor, Tensor], Tensor],
        *,
        watch: Callable[[int, Tensor, Tensor], None] | None = None,
    ) -> Tensor:
        """Run the layers.

        Args:
            hidden: Embedded tokens, shape [B, n, D], float32.
            audio: One memory per layer.
            attend: Mixes what was said: (layer, queries, keys, values), each [B, H, n, D / H].
            watch: Is told (layer, queries to the audio, keys of the audio).
        """
        compute, memory = self._precision.decoder, self._precision.memory
        for index, (layer, heard) in enumerate(zip(self._layers, audio, strict=True)):
            projected = layer.self_project(layer.self_norm(hidden).to(compute)).to(memory)
            mixed = attend(index, *self._split_heads(projected, 3))
            hidden = hidden + layer.self_merge(_join_heads(mixed).to(compute))
            asked = layer.cross_query(layer.cross_norm(hidden).to(compute)).to(memory)
            (queries,) = self._split_heads(asked, 1)
            if watch:
                watch(index, queries, heard.keys)
            shares = torch.softmax(torch.matmul(queries, heard.keys.transpose(2, 3)), dim=-1)
            hidden = hidden + layer.cross_merge(_join_heads(torch.matmul(shares, heard.values)).to(compute))
            wide = self._activate(layer.widen(layer.feed_norm(hidden).to(compute)))
            hidden = hidden + layer.narrow(wide)
        return self._norm(hidden)

    def _split_heads(self, x: Tensor, n_parts: int) -> Sequence[Tensor]:
        """Cut [B, n, parts D] into parts of [B, H, n, D / H]."""
        n_windows, n_tokens, _ = x.shape
        return x.view(n_windows, n_tokens, n_parts, self._n_heads, -1).permute(2, 0, 3, 1, 4).unbind()

    def _copy_layer(self, layer: WhisperDecoderLayer) -> _Layer:
        own, cross = layer.self_attn, layer.encoder_attn

        def copy(weight: Tensor, bias: Tensor) -> Linear:
            return make_linear(
                weight.detach().to(self._device),
                bias.detach().to(self._device),
                dtype=self._precision.decoder,
                quantised=self._precision.quantised,
            )

        memory_weight = torch.cat([cross.k_proj.weight, cross.v_proj.weight]).detach().to(self._device)
        memory_bias = torch.cat([torch.zeros_like(cross.v_proj.bias), cross.v_proj.bias]).detach().to(self._device)
        return _Layer(
            self_norm=make_norm(layer.self_attn_layer_norm, self._device),
            self_project=copy(*fuse_projections(own)),
            self_merge=copy(own.out_proj.weight, own.out_proj.bias),
            cross_norm=make_norm(layer.encoder_attn_layer_norm, self._device),
            cross_query=copy(cross.q_proj.weight * cross.scaling, cross.q_proj.bias * cross.scaling),
            cross_memory=make_linear(memory_weight, memory_bias, dtype=self._precision.encoder),
            cross_merge=copy(cross.out_proj.weight, cross.out_proj.bias),
            feed_norm=make_norm(layer.final_layer_norm, self._device),
            widen=copy(layer.fc1.weight, layer.fc1.bias),
            narrow=copy(layer.fc2.weight, layer.fc2.bias),
        )


def _join_heads(mixed: Tensor) -> Tensor:
    """Put [B, H, n, D / H] back to [B, n, D]."""
    return mixed.transpose(1, 2).flatten(2)


def _attend_causally(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    return functional.scaled_dot_product_attention(queries, keys, values, is_causal=True, scale=1.0)
