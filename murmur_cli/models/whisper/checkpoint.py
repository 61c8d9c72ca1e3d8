"""A Whisper in HF layout, read from a folder into what the engine runs.

Whatever is missing or does not fit is an error here: nothing is filled in with random weights.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError
from torch import Tensor
from transformers import AutoTokenizer, GenerationConfig, WhisperForConditionalGeneration
from transformers.utils import logging

from murmur_cli.errors import WeightsError
from murmur_cli.models.whisper.decoder import Decoder
from murmur_cli.models.whisper.encoder import Encoder
from murmur_cli.models.whisper.features import FeatureExtractor
from murmur_cli.models.whisper.precision import Precision
from murmur_cli.models.whisper.state import Memory
from murmur_cli.models.whisper.vocabulary import Vocabulary, read_vocabulary

__all__ = ["Checkpoint", "load_checkpoint"]

_MULTILINGUAL_VOCABULARY = 51_865  # openai/whisper@v20240930, whisper/model.py, is_multilingual
_MEMORY_BYTES = {"cpu": 256 << 20, "cuda": 4 << 30}  # for the decoder's memory of the audio
_MOST_TOGETHER = 12  # windows of a chunk of 300 s; more gain nothing

_HINT = "give a Whisper model in HF layout, or run: murmur models verify"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A Whisper that is ready to run.

    Attributes:
        extractor: From samples to the encoder's input.
        encoder: The encoder.
        decoder: The decoder.
        vocabulary: Its tokens.
        tokenizer: The file that they are described in.
        not_first: Tokens that no text begins with.
        heads: (layer, head) of the decoder's heads that follow the audio, ascending.
        n_audio: Vectors that the encoder makes of a window: 1500 for 30 s.
        n_together: The most windows that are decoded side by side.
    """

    extractor: FeatureExtractor
    encoder: Encoder
    decoder: Decoder
    vocabulary: Vocabulary
    tokenizer: Path
    not_first: tuple[int, ...]
    heads: tuple[tuple[int, int], ...]
    n_audio: int
    n_together: int

    def no_speech(self, audio: Sequence[Memory]) -> list[float]:
        """Tell how likely it is that nobody speaks.

        Args:
            audio: What the decoder memorised of some windows.
        """
        return self._hear(audio).softmax(dim=-1)[:, self.vocabulary.no_speech].tolist()

    def language(self, encoded: Tensor) -> str:
        """Name the most likely language of a window; it has to be a multilingual model.

        Args:
            encoded: Shape (T, D).
        """
        scores = self.score_languages(encoded)
        return max(scores, key=scores.__getitem__)

    def score_languages(self, encoded: Tensor) -> dict[str, float]:
        """Tell the log-probability of each language in a window; none if the model is English-only.

        Args:
            encoded: Shape (T, D).
        """
        if not self.vocabulary.languages:
            return {}
        logits = self._hear(self.decoder.memorise([encoded]))[0]
        scores = logits[list(self.vocabulary.languages.values())].log_softmax(dim=0).tolist()
        return dict(zip(self.vocabulary.languages, scores, strict=True))

    def _hear(self, audio: Sequence[Memory]) -> Tensor:
        """Score the vocabulary behind the first token of a prompt, shape (windows, V)."""
        first = torch.full((audio[0].keys.shape[0], 1), self.vocabulary.start, device=audio[0].keys.device)
        hidden, _ = self.decoder.start(first, audio, n_hypotheses=1)
        return self.decoder.raw_logits(hidden[:, 0])


def load_checkpoint(folder: Path, *, precision: Precision, device: torch.device) -> Checkpoint:
    """Read a folder: configuration, weights, generation configuration, tokenizer.

    Args:
        folder: Any Whisper, English-only or multilingual, of any size.
        precision: What it will run in.
        device: Where it will run.

    Raises:
        WeightsError: A file is missing or damaged, or it is no Whisper.
    """
    _require_whisper(folder)
    model = _load_model(folder)
    config, generation = model.config, model.generation_config
    vocabulary = _load_vocabulary(folder, config.vocab_size, generation)
    forbidden = {*vocabulary.unspoken, *_known_tokens(generation.suppress_tokens, vocabulary)}
    return Checkpoint(
        extractor=FeatureExtractor(n_mels=config.num_mel_bins, n_frames=2 * config.max_source_positions),
        encoder=Encoder(model.model.encoder, dtype=precision.encoder, device=device),
        decoder=Decoder(model, forbidden=sorted(forbidden - {vocabulary.end}), precision=precision, device=device),
        vocabulary=vocabulary,
        tokenizer=folder / "tokenizer.json",
        not_first=_known_tokens(generation.begin_suppress_tokens, vocabulary),
        heads=_find_heads(model),
        n_audio=config.max_source_positions,
        n_together=_count_together(model, precision, device),
    )


def _require_whisper(folder: Path) -> None:
    path = folder / "config.json"
    try:
        kind = json.loads(path.read_text(encoding="utf-8")).get("model_type")
    except (OSError, ValueError, AttributeError) as error:
        raise WeightsError(f"cannot be read: {error}", where=str(path), hint=_HINT) from error
    if kind != "whisper":
        raise WeightsError(f"is a model of the kind {kind!r}, not whisper", where=str(folder), hint=_HINT)


def _load_model(folder: Path) -> WhisperForConditionalGeneration:
    try:
        with _quiet():
            loaded: tuple[WhisperForConditionalGeneration, Mapping[str, Collection[object]]] = (
                WhisperForConditionalGeneration.from_pretrained(
                    folder, dtype=torch.float32, local_files_only=True, output_loading_info=True
                )  # type: ignore[assignment]
            )
    except (OSError, ValueError, RuntimeError, KeyError, TypeError, SafetensorError) as error:
        # What transformers and safetensors raise on files that are absent, truncated or of other shapes.
        summary = (str(error).strip() or repr(error)).splitlines()[0]
        raise WeightsError(f"cannot be loaded: {summary}", where=str(folder), hint=_HINT) from error
    model, report = loaded
    missing = sorted(str(key) for kind in ("missing_keys", "mismatched_keys") for key in report[kind])
    if missing:
        problem = f"{len(missing)} tensors are missing or misshapen, {missing[0]} among them"
        raise WeightsError(problem, where=str(folder), hint=_HINT)
    return model  # from_pretrained leaves it in eval mode


def _load_vocabulary(folder: Path, n_tokens: int, generation: GenerationConfig) -> Vocabulary:
    try:
        with _quiet():
            tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WeightsError(f"the tokenizer cannot be loaded: {error}", where=str(folder), hint=_HINT) from error
    is_multilingual = getattr(generation, "is_multilingual", None)
    if is_multilingual is None:
        is_multilingual = n_tokens >= _MULTILINGUAL_VOCABULARY
    tokens: Sequence[str | None] = tokenizer.convert_ids_to_tokens(list(range(n_tokens)))
    return read_vocabulary(tokens, is_multilingual=bool(is_multilingual), where=str(folder))


def _known_tokens(tokens: Sequence[int] | None, vocabulary: Vocabulary) -> tuple[int, ...]:
    return tuple(token for token in tokens or () if 0 <= token < len(vocabulary.pieces))


def _find_heads(model: WhisperForConditionalGeneration) -> tuple[tuple[int, int], ...]:
    """Take the heads that the generation configuration names, or else all of the upper half of the layers.

    Source:
        openai/whisper@v20240930, whisper/model.py, alignment_heads.
    """
    heads = getattr(model.generation_config, "alignment_heads", None)
    n_layers, n_heads = model.config.decoder_layers, model.config.decoder_attention_heads
    if heads:
        return tuple(sorted((int(layer), int(head)) for layer, head in heads))
    return tuple((layer, head) for layer in range(n_layers // 2, n_layers) for head in range(n_heads))


def _count_together(model: WhisperForConditionalGeneration, precision: Precision, device: torch.device) -> int:
    """Tell how many windows' audio the decoder remembers within its share of memory."""
    config = model.config
    n_bytes = 2 * config.decoder_layers * config.max_source_positions * config.d_model * precision.memory.itemsize
    return max(1, min(_MOST_TOGETHER, _MEMORY_BYTES[device.type] // n_bytes))


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep transformers' progress bars and remarks off the terminal."""
    verbosity, had_bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if had_bars:
            logging.enable_progress_bar()  # type: ignore[no-untyped-call]
