"""The Whisper engine: a chunk in, timed segments out.

A chunk's answer depends on the chunk alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch

from murmur_cli.bias.cache import ListCache
from murmur_cli.engine import Answer, Extras, Job
from murmur_cli.errors import DeviceError
from murmur_cli.models.device import choose_device
from murmur_cli.models.whisper.checkpoint import Checkpoint, load_checkpoint
from murmur_cli.models.whisper.chunk_reading import read_chunk
from murmur_cli.models.whisper.ears import Ears
from murmur_cli.models.whisper.features import HOP_SAMPLES, SAMPLE_RATE
from murmur_cli.models.whisper.languages import find_language
from murmur_cli.models.whisper.precision import choose_precision
from murmur_cli.types import DecodeError, EngineInfo, Hypothesis, Samples

__all__ = ["WhisperEngine", "load_whisper", "naming_memory", "open_whisper"]


def load_whisper(folder: Path, *, name: str, weights_sha256: str, device: str, dtype: str) -> WhisperEngine:
    """Load a Whisper for recordings; ``open_whisper`` says the rest."""
    return WhisperEngine(*open_whisper(folder, name=name, weights_sha256=weights_sha256, device=device, dtype=dtype))


def open_whisper(
    folder: Path, *, name: str, weights_sha256: str, device: str, dtype: str
) -> tuple[Checkpoint, EngineInfo]:
    """Read a Whisper, and say how it runs.

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
    with naming_memory():
        checkpoint = load_checkpoint(folder, precision=precision, device=place)
    info = EngineInfo(model=name, weights_sha256=weights_sha256, device=str(place), precision=precision.label)
    return checkpoint, info


class WhisperEngine:
    """A Whisper that answers jobs one by one."""

    def __init__(self, checkpoint: Checkpoint, info: EngineInfo) -> None:
        self._checkpoint = checkpoint
        self._info = info
        self._ears = Ears(checkpoint)

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
        """It gives the times of words, and can be given keywords."""
        return Extras(word_times=True, bias=True)

    def keyword_lists(self) -> ListCache:
        """What compiles lists of keywords for it.

        Raises:
            UsageError: Its tokenizer is of a kind that cannot be followed.
        """
        return self._ears.lists()

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
        with torch.inference_mode(), naming_memory():
            encoded = self._checkpoint.encoder.encode(self._checkpoint.extractor.extract(heard))
            return self._checkpoint.language(encoded)

    def decode(self, jobs: Iterable[Job]) -> Iterator[Answer]:
        """Answer every job, in order.

        Raises:
            DeviceError: The device is out of memory.
        """
        for job in jobs:
            with torch.inference_mode(), naming_memory():
                result = self._answer(job)
            yield Answer(job.recording_id, job.chunk.index, result)

    def _answer(self, job: Job) -> Hypothesis | DecodeError:
        if not np.isfinite(job.samples).all():
            return DecodeError("bad signal", "the chunk has samples that are no numbers")
        language = job.language or self.detect_language(job.samples)
        ear = self._ears.make(job.bias)
        return read_chunk(self._checkpoint, job.chunk, job.samples, language=language, ear=ear)


@contextmanager
def naming_memory() -> Iterator[None]:
    """Call what torch runs out of by its name.

    Raises:
        DeviceError: The device is out of memory.
    """
    try:
        yield
    except torch.OutOfMemoryError as error:
        raise DeviceError(
            "the GPU is out of memory", where="--device", hint="try --device cpu, or a smaller --model"
        ) from error
