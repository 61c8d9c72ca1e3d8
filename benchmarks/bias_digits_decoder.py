"""The tiny trained model with keywords: murmur's lists, or a constant on the keyword's first tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from digits import DIGITS_MODEL
from torch import Tensor

from murmur_cli.audio.levels import measure_level
from murmur_cli.bias.list_files import parse_phrase
from murmur_cli.decode.decoder import Decoder
from murmur_cli.decode.gate import build_json_gate
from murmur_cli.decode.loop import decode_rows
from murmur_cli.decode.parse import parse_answer
from murmur_cli.decode.rows import Row
from murmur_cli.engine import Bias
from murmur_cli.models.vibevoice.checkpoint import inspect_checkpoint, load_checkpoint
from murmur_cli.models.vibevoice.features import embed_prompt, encode_audio, find_gain
from murmur_cli.models.vibevoice.frames import SAMPLE_RATE
from murmur_cli.models.vibevoice.keywords import KeywordLists
from murmur_cli.models.vibevoice.prompt import build_prompt
from murmur_cli.types import Hypothesis, Samples

__all__ = ["DigitsDecoder"]

_N_SLOTS = 32
_TOKENS_PER_S, _SPARE_TOKENS = 12, 64

Spoken = tuple[str, ...]


class _RaisingDecoder(Decoder):
    """Adds a constant to the logits of some tokens, always."""

    raised: Tensor | None = None

    def to_logits(self, hidden: Tensor) -> Tensor:
        logits = super().to_logits(hidden)
        return logits if self.raised is None else logits + self.raised


@dataclass(frozen=True, slots=True, eq=False)
class _Talk:
    """A conversation that was heard: its prompt, shape (1, n, H), and its length in seconds."""

    prompt: Tensor
    seconds: float


class DigitsDecoder:
    """Hears conversations once, and writes them down as often as is wanted."""

    def __init__(self, *, n_threads: int) -> None:
        torch.set_num_threads(n_threads)
        blueprint = inspect_checkpoint(DIGITS_MODEL)
        self._checkpoint = load_checkpoint(blueprint, device=torch.device("cpu"), dtype=torch.float32)
        network = self._checkpoint.network
        self._decoder = _RaisingDecoder(network.model.language_model, network.lm_head)
        self._lists = KeywordLists(self._checkpoint, build_json_gate)
        self._talks: list[_Talk] = []

    def hear(self, samples: Samples) -> None:
        """Encode a conversation, at 24 kHz, shape (n_samples,)."""
        features = encode_audio(self._checkpoint, samples, gain=find_gain(measure_level([samples])))
        prompt = build_prompt(self._checkpoint.vocabulary, n_samples=len(samples), extra_info=None)
        self._talks.append(_Talk(embed_prompt(self._checkpoint, prompt, features), len(samples) / SAMPLE_RATE))

    def forget(self) -> None:
        """Begin with other conversations."""
        self._talks.clear()

    def write_alone(self) -> list[Spoken]:
        """Write all conversations down, without any bias."""
        return self._decode([None])[0]

    def write(self, keywords: Sequence[str], margin: float) -> dict[str, list[Spoken]]:
        """Write all conversations down with each keyword as murmur's only one; side by side, each with its own list."""
        biases = [Bias(parse_phrase(keyword), margin) for keyword in keywords]
        return dict(zip(keywords, self._decode(biases), strict=True))

    def write_plainly(self, keywords: Sequence[str], constant: float) -> Mapping[str, list[Spoken]]:
        """Write all conversations down with a constant on the first tokens of each keyword."""
        written = {}
        vocabulary = self._checkpoint.vocabulary
        for keyword in keywords:
            self._decoder.raised = torch.zeros(self._checkpoint.network.lm_head.out_features)
            self._decoder.raised[[vocabulary.encode(text)[0] for text in (keyword, " " + keyword)]] = constant
            written[keyword] = self._decode([None])[0]
        self._decoder.raised = None
        return written

    def _decode(self, biases: Sequence[Bias | None]) -> list[list[Spoken]]:
        n_talks = len(self._talks)
        rows = [
            Row(
                key=number * n_talks + index,
                n_prompt=talk.prompt.shape[1],
                max_tokens=_SPARE_TOKENS + int(_TOKENS_PER_S * talk.seconds),
                embed_prompt=partial(_give, talk.prompt),
                bias=None if bias is None else self._lists.listen(bias),
            )
            for number, bias in enumerate(biases)
            for index, talk in enumerate(self._talks)
        ]
        written: dict[int, Spoken] = {}
        vocabulary = self._checkpoint.vocabulary
        for row in decode_rows(rows, self._decoder, n_slots=_N_SLOTS, stop_token=vocabulary.end):
            seconds = self._talks[row.key % n_talks].seconds
            answer = parse_answer(vocabulary.decode(row.tokens), duration=seconds)
            texts = [segment.text for segment in answer.segments] if isinstance(answer, Hypothesis) else []
            written[row.key] = tuple(word for text in texts for word in text.split())
        return [[written[number * n_talks + index] for index in range(n_talks)] for number in range(len(biases))]


def _give(prompt: Tensor) -> Tensor:
    return prompt
