"""The interleaved decoder: audio and text of one chunk after the other, in one context.

The context is only added to, until it begins anew with some of its chunks. What is still to be read, the prompt or a
chunk's end mark, is put in front of the next chunk's audio: that is the same text at the same positions, and one
forward less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from murmur_cli.decode.bias_filter import RowBias
from murmur_cli.decode.decoder import Decoder
from murmur_cli.decode.growing import GrowingCache
from murmur_cli.models.vibevoice.live_bias import LiveBias
from murmur_cli.models.vibevoice.overrun import cut_overrun, is_overrun
from murmur_cli.models.vibevoice.vocabulary import Vocabulary

__all__ = ["ChunkText", "Interleaver"]

_LOST = "\ufffd"


@dataclass(frozen=True, slots=True)
class ChunkText:
    """What was written for a chunk, and why there is no more of it; None: it is whole.

    ``changed`` tells of every token whether a list had a hand in it; it is empty if there is none.
    """

    tokens: tuple[int, ...]
    fault: str | None = None
    changed: tuple[bool, ...] = ()


class Interleaver:
    """One session's context. Its memory grows with what it holds.

    Args:
        decoder: The language model.
        vocabulary: Its tokens.
        prompt: What it reads before the first chunk.
        chunk_end: The token that ends a chunk.
        seconds: What is heard at once.
    """

    def __init__(
        self, decoder: Decoder, vocabulary: Vocabulary, *, prompt: Sequence[int], chunk_end: int, seconds: float
    ) -> None:
        self._decoder = decoder
        self._vocabulary = vocabulary
        self._chunk_end = chunk_end
        self._stops = (chunk_end, vocabulary.end)  # the end of a text ends the chunk, not the session
        self._seconds = seconds
        self._pending = list(prompt)
        self._n_prompt = len(self._pending)
        self._cache = GrowingCache(decoder.cache_shape, device=decoder.device)
        self._bias = LiveBias(decoder.device)

    @property
    def n_positions(self) -> int:
        """Positions that the context holds."""
        return self._cache.n_held

    @torch.no_grad()
    def read(self, features: Tensor, *, is_silent: bool) -> ChunkText:
        """Hear the next window, and write its chunk.

        Args:
            features: Of the window, shape [n_frames, H].
            is_silent: Nothing was said: the chunk is empty, and the model is not asked.
        """
        lead = self._embed([*self._pending, self._vocabulary.audio_begin])
        self._pending = [self._chunk_end]
        hidden = self._feed(torch.cat([lead, features[None], self._embed([self._vocabulary.audio_end])], dim=1))
        if is_silent:
            return ChunkText(())
        n_before = self._cache.n_held
        tokens = self._write(hidden)
        kept, fault = cut_overrun(tokens, seconds=self._seconds)
        if fault is None:
            return ChunkText(tuple(tokens), changed=self._bias.end_chunk(tokens, is_cut=False))
        kept = self._drop_split(kept)
        self._cache.crop(n_before)
        self._pending = [*kept, self._chunk_end]
        return ChunkText(tuple(kept), fault, self._bias.end_chunk(kept, is_cut=True))

    def listen(self, bias: RowBias | None) -> None:
        """Listen for something else from here on."""
        self._bias.listen(bias)

    @torch.no_grad()
    def begin_again(self, chunks: Sequence[tuple[Tensor, Sequence[int]]]) -> None:
        """Forget all but the prompt, and read some chunks anew.

        Args:
            chunks: Each as it was heard, shape [n_frames, H], and what is written for it.
        """
        assert self._cache.n_held >= self._n_prompt, "something was read"
        self._cache.crop(self._n_prompt)
        self._pending = []
        parts: list[Tensor] = []
        for features, tokens in chunks:
            heard = features.to(self._decoder.device)[None]
            parts += [self._embed([*self._pending, self._vocabulary.audio_begin]), heard]
            parts.append(self._embed([self._vocabulary.audio_end, *tokens]))
            self._pending = [self._chunk_end]
        if parts:
            self._feed(torch.cat(parts, dim=1))

    def close(self) -> None:
        """Give the memory back."""
        self._cache.clear()

    def _write(self, hidden: Tensor) -> list[int]:
        tokens: list[int] = []
        self._bias.begin_chunk()
        while (token := self._choose(hidden)) not in self._stops:
            tokens.append(token)
            self._bias.read(token)
            if is_overrun(tokens, seconds=self._seconds):
                break
            hidden = self._feed(self._embed([token]))
        return tokens

    def _feed(self, embedded: Tensor) -> Tensor:
        """Read some positions, shape [1, n, H]; returns the last hidden vector, [1, H]."""
        positions, mask = self._cache.hold(embedded.shape[1])
        return self._decoder.read(embedded, positions=positions, mask=mask, cache=self._cache)[:, -1]

    def _choose(self, hidden: Tensor) -> int:
        return self._bias.choose(self._decoder.to_logits(hidden))

    def _embed(self, tokens: Sequence[int]) -> Tensor:
        return self._decoder.embed(torch.tensor([tokens], device=self._decoder.device))

    def _drop_split(self, tokens: list[int]) -> list[int]:
        """Leave out the first bytes of a character that was cut in two."""
        while tokens and self._vocabulary.decode(tokens[-4:]).endswith(_LOST):
            tokens = tokens[:-1]
        return tokens
