"""The Whisper engine: a chunk in, timed segments out.

A chunk's answer depends on the chunk alone: its windows are decoded with each other, never with another
chunk's, and what is drawn at random is seeded by its place in the recording.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np
import torch

from murmur_cli.engine import Answer, Extras, Job
from murmur_cli.errors import DeviceError
from murmur_cli.models.device import choose_device
from murmur_cli.models.whisper.checkpoint import Checkpoint, load_checkpoint
from murmur_cli.models.whisper.features import HOP_SAMPLES, SAMPLE_RATE
from murmur_cli.models.whisper.languages import find_language
from murmur_cli.models.whisper.passage import Passage
from murmur_cli.models.whisper.precision import choose_precision
from murmur_cli.models.whisper.reader import Reader
from murmur_cli.models.whisper.rescue import read_speech
from murmur_cli.models.whisper.segments import make_segments
from murmur_cli.models.whisper.windows import plan_windows, split_window
from murmur_cli.types import Chunk, DecodeError, EngineInfo, HypGap, Hypothesis, Samples, Span, Word

__all__ = ["WhisperEngine", "load_whisper"]

_WINDOW_SHARE = 28 / 30  # of what the encoder hears: what follows is silence, which ends a text


def load_whisper(folder: Path, *, name: str, weights_sha256: str, device: str, dtype: str) -> WhisperEngine:
    """Load a Whisper.

    Args:
        folder: Any Whisper in HF layout.
        name: What to call it in a transcript.
        weights_sha256: What its weights are known by.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.
        dtype: ``auto``, ``float32``, ``bfloat16`` or ``float16``.

    Raises:
        WeightsError: A file is missing or damaged, or it is no Whisper.
        DeviceError: There is no such device, or it has too little memory.
        UsageError: The device cannot compute in ``dtype``.
    """
    place = choose_device(device)
    precision = choose_precision(dtype, place)
    with _naming_memory():
        checkpoint = load_checkpoint(folder, precision=precision, device=place)
    info = EngineInfo(model=name, weights_sha256=weights_sha256, device=str(place), precision=precision.label)
    return WhisperEngine(checkpoint, info)


class WhisperEngine:
    """A Whisper that answers jobs one by one."""

    def __init__(self, checkpoint: Checkpoint, info: EngineInfo) -> None:
        self._checkpoint = checkpoint
        self._info = info

    @property
    def sample_rate(self) -> int:
        """Samples per second that jobs must have: 16000."""
        return SAMPLE_RATE

    @property
    def info(self) -> EngineInfo:
        """Which model this is and how it runs."""
        return self._info

    @property
    def extras(self) -> Extras:
        """It gives the times of words."""
        return Extras(word_times=True)

    def resolve_language(self, language: str) -> str:
        """Turn a language's code or English name into its code.

        Raises:
            UsageError: The model does not know the language.
        """
        return find_language(language, codes=self._checkpoint.vocabulary.languages)

    def detect_language(self, samples: Samples) -> str:
        """Name the language of the first 30 s of some speech; English-only models name English.

        Args:
            samples: Shape (n_samples,), at ``sample_rate``.
        """
        if not self._checkpoint.vocabulary.languages:
            return "en"
        heard = samples[: 2 * self._checkpoint.n_audio * HOP_SAMPLES]
        with torch.inference_mode(), _naming_memory():
            encoded = self._checkpoint.encoder.encode(self._checkpoint.extractor.extract(heard))
            return self._checkpoint.language(encoded)

    def decode(self, jobs: Iterable[Job]) -> Iterator[Answer]:
        """Answer every job, in order.

        Raises:
            DeviceError: The device is out of memory.
        """
        for job in jobs:
            with torch.inference_mode(), _naming_memory():
                result = self._answer(job)
            yield Answer(job.recording_id, job.chunk.index, result)

    def _answer(self, job: Job) -> Hypothesis | DecodeError:
        if not np.isfinite(job.samples).all():
            return DecodeError("bad signal", "the chunk has samples that are no numbers")
        start = job.chunk.span.start

        def read(span: Span) -> Samples:
            return job.samples[span.start - start : span.end - start]

        def split(window: Chunk, near: Span) -> Sequence[Chunk]:
            return split_window(window, near=near, sample_rate=SAMPLE_RATE, read=read)

        language = job.language or self.detect_language(job.samples)
        longest_s = _WINDOW_SHARE * 2 * self._checkpoint.n_audio * HOP_SAMPLES / SAMPLE_RATE
        windows = plan_windows(job.chunk.speech, sample_rate=SAMPLE_RATE, max_window_s=longest_s, read=read)
        reader = Reader(self._checkpoint, language=language, read=read)
        passages = list(chain.from_iterable(read_speech(reader, windows, split=split, sample_rate=SAMPLE_RATE)))
        words = [word for passage in passages for word in _shift_words(passage, start)]
        gaps = tuple(_make_gap(passage, start) for passage in passages if passage.broken_s is not None)
        return Hypothesis(segments=tuple(make_segments(words, language=language)), gaps=gaps)


def _shift_words(passage: Passage, origin: int) -> Iterator[Word]:
    """Give a passage's words in seconds from ``origin``, in samples."""
    offset = (passage.window.span.start - origin) / SAMPLE_RATE
    for word in passage.words:
        yield replace(word, start=offset + word.start, end=offset + word.end)


def _make_gap(passage: Passage, origin: int) -> HypGap:
    assert passage.broken_s is not None, "the passage breaks off"
    start = (passage.window.span.start - origin) / SAMPLE_RATE
    return HypGap(start + passage.broken_s, (passage.window.span.end - origin) / SAMPLE_RATE, passage.verdict.value)


@contextmanager
def _naming_memory() -> Iterator[None]:
    try:
        yield
    except torch.OutOfMemoryError as error:
        raise DeviceError(
            "the GPU is out of memory", where="--device", hint="try --device cpu, or a smaller --model"
        ) from error
