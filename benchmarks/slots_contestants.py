"""The contestants of ``slots.py``: they decode the same prompts with the same network, in this process."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import torch
from digits import make_digits
from torch import Tensor
from transformers import AutoProcessor, VibeVoiceAsrForConditionalGeneration

from murmur_cli.decode.decoder import Decoder
from murmur_cli.decode.loop import decode_rows
from murmur_cli.decode.rows import Row

__all__ = ["Bench", "Chunk", "Run", "load_bench"]

_TOKENS_PER_S, _LEAST_TOKENS = 12, 256


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """A prompt: its tokens, shape [1, n], and what stands for its audio, shape [frames, H]."""

    tokens: Tensor
    features: Tensor
    max_tokens: int


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """All chunks decoded once.

    ``answers`` are in the order of the chunks, without the token that ends them. ``n_live`` counts the steps of all
    rows that wrote a token of an answer. ``outside_s`` are CPU seconds in other code than the model's, or None.
    """

    answers: tuple[tuple[int, ...], ...]
    cpu_s: float
    wall_s: float
    n_steps: int
    n_live: int
    outside_s: float | None = None


class _TimedDecoder(Decoder):
    """Counts its steps and the CPU seconds that the model takes."""

    n_steps = 0
    inside_s = 0.0

    def embed(self, tokens: Tensor) -> Tensor:
        return self._time(partial(super().embed, tokens))

    def read(self, embedded: Tensor, *, positions: Tensor, mask: Tensor | None, cache: object) -> Tensor:
        self.n_steps += mask is not None
        return self._time(partial(super().read, embedded, positions=positions, mask=mask, cache=cache))

    def to_logits(self, hidden: Tensor) -> Tensor:
        return self._time(partial(super().to_logits, hidden))

    def _time(self, work: partial[Tensor]) -> Tensor:
        start = time.process_time()
        result = work()
        self.inside_s += time.process_time() - start
        return result


@dataclass(frozen=True, slots=True, eq=False)
class Bench:
    """A network and the chunks that it is to decode."""

    network: VibeVoiceAsrForConditionalGeneration
    chunks: tuple[Chunk, ...]
    stop_token: int

    def run_slots(self, n_slots: int) -> Run:
        """Decode with murmur's loop."""
        decoder = _TimedDecoder(self.network.model.language_model, self.network.lm_head)
        rows = [
            Row(key, chunk.tokens.shape[1], chunk.max_tokens, partial(self._embed, chunk))
            for key, chunk in enumerate(self.chunks)
        ]
        cpu, wall = time.process_time(), time.perf_counter()
        decoded = {row.key: row for row in decode_rows(rows, decoder, n_slots=n_slots, stop_token=self.stop_token)}
        cpu_s, wall_s = time.process_time() - cpu, time.perf_counter() - wall
        answers = tuple(decoded[key].tokens for key in range(len(rows)))
        n_live = sum(row.stats.n_tokens + row.stopped - 1 for row in decoded.values())  # the first comes of the prompt
        return Run(answers, cpu_s, wall_s, decoder.n_steps, n_live, outside_s=cpu_s - decoder.inside_s)

    def run_generate(self, n_slots: int, *, by_length: bool) -> Run:
        """Decode with transformers, a batch after the other, in the order of the chunks or the longest first."""
        order = list(range(len(self.chunks)))
        if by_length:
            order.sort(key=lambda key: -self.chunks[key].tokens.shape[1])
        cpu, wall = time.process_time(), time.perf_counter()
        answers: dict[int, tuple[int, ...]] = {}
        n_steps = 0
        for start in range(0, len(order), n_slots):
            keys = order[start : start + n_slots]
            written = self._generate([self.chunks[key] for key in keys])
            answers |= dict(zip(keys, written, strict=True))
            n_steps += max(map(len, written))
        cpu_s, wall_s = time.process_time() - cpu, time.perf_counter() - wall
        in_order = tuple(answers[key] for key in range(len(self.chunks)))
        return Run(in_order, cpu_s, wall_s, n_steps, sum(map(len, in_order)))

    def _embed(self, chunk: Chunk) -> Tensor:
        embedded: Tensor = self.network.get_input_embeddings()(chunk.tokens)
        embedded[chunk.tokens == self.network.config.audio_token_id] = chunk.features
        return embedded

    @torch.inference_mode()
    def _generate(self, chunks: Sequence[Chunk]) -> list[tuple[int, ...]]:
        longest = max(chunk.tokens.shape[1] for chunk in chunks)
        tokens = torch.full((len(chunks), longest), self.stop_token)  # to the left: whatever is masked
        mask = torch.zeros_like(tokens)
        for row, chunk in enumerate(chunks):
            tokens[row, longest - chunk.tokens.shape[1] :] = chunk.tokens[0]
            mask[row, longest - chunk.tokens.shape[1] :] = 1
        with self._hear(torch.cat([chunk.features for chunk in chunks])):
            written = self.network.generate(
                input_ids=tokens,
                attention_mask=mask,
                input_values=torch.zeros(1, 1, 1),  # asked for, and not looked at
                padding_mask=torch.ones(1, 1, dtype=torch.bool),
                do_sample=False,
                max_new_tokens=max(chunk.max_tokens for chunk in chunks),
                eos_token_id=self.stop_token,
                pad_token_id=self.stop_token,
            )
        rows: list[list[int]] = written[:, longest:].tolist()
        return [tuple(row[: row.index(self.stop_token)] if self.stop_token in row else row) for row in rows]

    @contextmanager
    def _hear(self, features: Tensor) -> Iterator[None]:
        """Let the model take features for audio instead of encoding it."""
        self.network.model.get_audio_features = lambda **_: SimpleNamespace(pooler_output=features)
        try:
            yield
        finally:
            del self.network.model.get_audio_features


def load_bench(checkpoint: Path, lengths_s: Sequence[float], *, data: Path, scratch: Path, n_threads: int) -> Bench:
    """Load the network, make a conversation of each length, and encode it.

    Raises:
        subprocess.CalledProcessError: The conversations cannot be made.
    """
    torch.set_num_threads(n_threads)
    network = VibeVoiceAsrForConditionalGeneration.from_pretrained(
        checkpoint, dtype=torch.float32, attn_implementation={"text_config": "sdpa"}
    ).eval()
    processor = AutoProcessor.from_pretrained(checkpoint)
    chunks = []
    for seed, seconds in enumerate(lengths_s):
        samples = make_digits(scratch, data=data, seconds=seconds, n_speakers=1 + seed % 4, seed=seed)
        inputs = processor.apply_transcription_request(samples)
        with torch.inference_mode():
            heard = network.get_audio_features(inputs["input_values"], inputs["padding_mask"], sample=False)
        max_tokens = max(_LEAST_TOKENS, round(_TOKENS_PER_S * seconds))
        chunks.append(Chunk(inputs["input_ids"], heard.pooler_output, max_tokens))
    return Bench(network, tuple(chunks), processor.tokenizer.convert_tokens_to_ids("<|endoftext|>"))
