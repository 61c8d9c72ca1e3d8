"""The tiny trained model on conversations, under the rules of ``eviction.py``.

What it writes, how wrong that is, how long a step takes, and which parts of the audio it looks at.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import soundfile
import torch
from conversations import Talk, load_talks
from digits import RATE, write_digits
from eviction_rules import Meter, Rule
from gpu_model import SHAPES, measure_shape
from torch import Tensor

from murmur_cli.audio.levels import measure_level
from murmur_cli.decode.decoder import Decoder
from murmur_cli.decode.eviction import POLICIES, RowLayout
from murmur_cli.decode.loop import decode_rows
from murmur_cli.decode.parse import parse_answer
from murmur_cli.decode.rows import DecodedRow, Row
from murmur_cli.errors import DeviceError
from murmur_cli.models.vibevoice.checkpoint import Checkpoint, inspect_checkpoint, load_checkpoint
from murmur_cli.models.vibevoice.features import embed_prompt, encode_audio, find_gain
from murmur_cli.models.vibevoice.frames import FRAME_SAMPLES, SAMPLE_RATE
from murmur_cli.models.vibevoice.memory import Free
from murmur_cli.models.vibevoice.plan import plan_rows
from murmur_cli.models.vibevoice.prompt import build_prompt
from murmur_cli.options import ModelOptions, ScoreOptions
from murmur_cli.score import score_pairs
from murmur_cli.score.annotations import Session, Utterance
from murmur_cli.score.counts import WordErrors
from murmur_cli.score.sessions import Pair
from murmur_cli.types import Hypothesis, Speaker

__all__ = ["SECONDS", "Bench", "Chunk", "Run", "count_batches", "load_bench", "make_talks"]

SECONDS = (58.0, 60.0)
"""How long conversations are: the model was trained on chunks of up to a minute, mostly."""

_TOKENS_PER_S = 12  # that an answer may have, as in murmur batch
_FRAMES_PER_S = SAMPLE_RATE / FRAME_SAMPLES
_SHARE = 0.99


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """A conversation as the model reads it, shape [1, n_prompt, H], and what is said in it."""

    embedded: Tensor
    row: RowLayout
    reference: Session
    seconds: float


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """All conversations, decoded under one rule.

    ``words`` and ``speakers`` are the errors of each, ``meters`` say what was held, ``step_s`` are CPU seconds a step.
    """

    rule: str
    answers: tuple[tuple[int, ...], ...]
    words: tuple[WordErrors, ...]
    speakers: tuple[WordErrors, ...]
    meters: tuple[Meter, ...]
    step_s: float

    @property
    def gone(self) -> float:
        """The share of audio that was forgotten when a conversation ended, on average."""
        return statistics.fmean(meter.gone for meter in self.meters)


class _TimedDecoder(Decoder):
    """Counts its steps, and the CPU seconds that reading prompts takes."""

    n_steps = 0
    prompt_s = 0.0

    def read(self, embedded: Tensor, *, positions: Tensor, mask: Tensor | None, cache: object) -> Tensor:
        begin = time.process_time()
        hidden: Tensor = super().read(embedded, positions=positions, mask=mask, cache=cache)
        if mask is None:
            self.prompt_s += time.process_time() - begin
        else:
            self.n_steps += 1
        return hidden


@dataclass(frozen=True, slots=True, eq=False)
class Bench:
    """A model and the conversations that it decodes."""

    checkpoint: Checkpoint
    chunks: tuple[Chunk, ...]

    def run(self, rule: Rule, *, n_slots: int) -> Run:
        """Decode all conversations side by side."""
        network, vocabulary = self.checkpoint.network, self.checkpoint.vocabulary
        decoder = _TimedDecoder(network.model.language_model, network.lm_head)
        meters = [Meter(rule.watch(chunk.row, vocabulary.decode), chunk.row) for chunk in self.chunks]
        rows = [
            Row(key, chunk.row.n_prompt, chunk.row.max_tokens, partial(getattr, chunk, "embedded"), meter)
            for key, (chunk, meter) in enumerate(zip(self.chunks, meters, strict=True))
        ]
        begin = time.process_time()
        decoded = sorted(
            decode_rows(rows, decoder, n_slots=n_slots, stop_token=vocabulary.end), key=lambda row: row.key
        )
        step_s = (time.process_time() - begin - decoder.prompt_s) / decoder.n_steps
        words, speakers = self._score(decoded)
        return Run(rule.name, tuple(row.tokens for row in decoded), words, speakers, tuple(meters), step_s)

    def _score(self, rows: Sequence[DecodedRow]) -> list[tuple[WordErrors, ...]]:
        pairs = []
        for chunk, row in zip(self.chunks, rows, strict=True):
            answer = parse_answer(self.checkpoint.vocabulary.decode(row.tokens), duration=chunk.seconds)
            segments = answer.segments if isinstance(answer, Hypothesis) else ()
            said = tuple(Utterance(s.start, s.end, Speaker(f"S{s.speaker}"), s.text) for s in segments)
            pairs.append(Pair(chunk.reference, Session("hypothesis", said, said, "murmur")))
        # Digits are written in one way only; the English normaliser would draw those of a turn together into a number.
        score = score_pairs(pairs, ScoreOptions(metric=("wer", "cpwer"), normalizer="none"))
        return [tuple(one for one in figure.by_recording if isinstance(one, WordErrors)) for figure in score.figures]

    @torch.inference_mode()
    def measure_attention(self, answers: Iterable[Sequence[int]]) -> list[float]:
        """Say for every layer which share of the audio carries 99 % of the attention that an answer pays to audio.

        It is counted for each token and head, and averaged.
        """
        model = self.checkpoint.network.model.language_model
        model.set_attn_implementation("eager")  # the others do not tell
        shares: list[list[float]] = []
        for chunk, answer in zip(self.chunks, answers, strict=False):
            written = model.get_input_embeddings()(torch.tensor([list(answer)]))
            read = model(inputs_embeds=torch.cat([chunk.embedded, written], dim=1), output_attentions=True)
            audio = slice(chunk.row.audio_start, chunk.row.audio_start + chunk.row.n_frames)
            shares.append([_find_share(layer[0, :, chunk.row.n_prompt :, audio]) for layer in read.attentions])
        model.set_attn_implementation("sdpa")
        return [statistics.fmean(layer) for layer in zip(*shares, strict=True)]


def _find_share(attention: Tensor) -> float:
    """Which share of the frames carries most of the attention, shape [H, tokens, frames]."""
    ordered = attention.sort(dim=-1, descending=True).values.double().cumsum(-1)
    n_needed = (ordered < _SHARE * ordered[..., -1:]).sum(-1) + 1
    return float(n_needed.double().mean()) / attention.shape[-1]


def make_talks(folder: Path, *, data: Path, n_talks: int) -> list[Talk]:
    """Make conversations of one to four people, always the same ones.

    Raises:
        subprocess.CalledProcessError: The tool failed.
    """
    lengths = np.random.default_rng(0).uniform(*SECONDS, n_talks)
    return load_talks(
        write_digits(folder, data=data, seconds=seconds, n_speakers=1 + seed % 4, seed=seed)
        for seed, seconds in enumerate(lengths)
    )


def load_bench(folder: Path, talks: Sequence[Talk], *, n_threads: int) -> Bench:
    """Load a model and let it hear all conversations."""
    torch.set_num_threads(n_threads)
    checkpoint = load_checkpoint(inspect_checkpoint(folder), device=torch.device("cpu"), dtype=torch.float32)
    return Bench(checkpoint, tuple(_hear(checkpoint, talk) for talk in talks))


def _hear(checkpoint: Checkpoint, talk: Talk) -> Chunk:
    samples, rate = soundfile.read(talk.audio, dtype="float32")
    assert rate == RATE == SAMPLE_RATE, "the tool makes no other"
    prompt = build_prompt(checkpoint.vocabulary, n_samples=len(samples), extra_info=None)
    features = encode_audio(checkpoint, np.asarray(samples), gain=find_gain(measure_level([samples])))
    row = RowLayout(
        n_prompt=len(prompt.tokens),
        audio_start=prompt.audio_start,
        n_frames=prompt.n_frames,
        frames_per_s=_FRAMES_PER_S,
        max_tokens=_TOKENS_PER_S * len(samples) // SAMPLE_RATE,
    )
    return Chunk(embed_prompt(checkpoint, prompt, features), row, talk.reference, len(samples) / SAMPLE_RATE)


def count_batches(shape: str, *, n_bytes: int) -> dict[str, int]:
    """Say how many chunks of 300 s go side by side on a GPU with so much memory, under each policy; 0: not one does."""
    size, one = measure_shape(SHAPES[shape]), SHAPES[shape]
    row = RowLayout(
        n_prompt=one.n_prompt,
        audio_start=0,
        n_frames=one.n_samples // FRAME_SAMPLES,
        frames_per_s=_FRAMES_PER_S,
        max_tokens=one.max_tokens,
    )
    free = Free("cuda", n_bytes)
    batches = {}
    for policy in POLICIES:
        try:
            _, batches[policy] = plan_rows(
                size, row, ModelOptions(evict=policy), itemsize=one.dtype.itemsize, free=free
            )
        except DeviceError:
            batches[policy] = 0
    return batches
