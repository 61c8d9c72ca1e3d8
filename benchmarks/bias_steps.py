"""What a list adds to a step of Whisper's decoder, where it runs: windows of real speech side by side.

There everything is slower than alone: at every step the weights drive what the list needs out of the processor's
caches. Clocks around what is done for it tell its share of a run, which others on the machine change little. As a
check, the same tokens are decoded without the list, in turns; that difference is less exact, but leaves nothing out.
The list adds so little to logits that what is written stays the same.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import numpy as np
import torch
from sessions import DATA_DIR, make_session
from torch import Tensor

from murmur_cli.audio.source import open_recording
from murmur_cli.bias.hits import HitFinder
from murmur_cli.bias.index import TokenClasses
from murmur_cli.bias.keywords import KeywordList
from murmur_cli.bias.packed import BiasList
from murmur_cli.bias.store import BiasStore
from murmur_cli.models.whisper import beam
from murmur_cli.models.whisper import sample as sampling
from murmur_cli.models.whisper.checkpoint import Checkpoint, load_checkpoint
from murmur_cli.models.whisper.ear import Ear, Listening
from murmur_cli.models.whisper.precision import choose_precision
from murmur_cli.models.whisper.task import Task
from murmur_cli.types import RecordingId, Span

__all__ = ["N_WINDOWS", "StepCost", "Use", "measure_decoder"]

N_WINDOWS = 8

_CPU = torch.device("cpu")
_WINDOW_S, _RATE = 28, 16_000
_N_TOKENS = 16  # of each window: none has ended by then, so that all steps are of all windows
_N_RUNS = {1: 20, 10: 8}  # beams -> pairs of runs; Whisper follows ten where it listens
_STRENGTH = 1e-4
_MARGIN = 3.0


@dataclass(slots=True)
class Use:
    """Seconds: of the processor, and by the clock."""

    cpu: float = 0.0
    wall: float = 0.0

    @contextmanager
    def measure(self) -> Iterator[None]:
        """Add what happens inside."""
        wall, cpu = time.perf_counter(), time.process_time()
        yield
        self.cpu += time.process_time() - cpu
        self.wall += time.perf_counter() - wall


@dataclass(frozen=True, slots=True)
class StepCost:
    """What a step takes in milliseconds, and what a list adds.

    Attributes:
        n_beams: 1 is greedy.
        cpu: Of the processor, without what is done for the list.
        wall: The same by the clock.
        cpu_share: What is done for the list, by the clocks around it, in percent of that.
        wall_share: The same by the clock.
        difference: By how much more a step takes of the processor than in a run without a list, in percent.
    """

    n_beams: int
    cpu: float
    wall: float
    cpu_share: float
    wall_share: float
    difference: float


class _TimedListening(Listening):
    """Times what is done for a list."""

    def __init__(self, use: Use, ear: Ear, *, n_windows: int, n_hypotheses: int, device: torch.device) -> None:
        self._use = use
        with use.measure():
            super().__init__(ear, n_windows=n_windows, n_hypotheses=n_hypotheses, device=device)

    def raise_logits(self, logits: Tensor, certain: Tensor) -> Tensor:
        with self._use.measure():
            return super().raise_logits(logits, certain)

    def raise_top(
        self, logits: Tensor, certain: Tensor, *, tokens: Tensor, own: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        with self._use.measure():
            return super().raise_top(logits, certain, tokens=tokens, own=own)

    def compare(self, parents: Tensor, tokens: Tensor, gains: Tensor) -> Tensor:
        with self._use.measure():
            return super().compare(parents, tokens, gains)

    def follow(self, parents: Tensor, tokens: Tensor) -> None:
        with self._use.measure():
            super().follow(parents, tokens)

    def retire(self, sources: Sequence[int]) -> None:
        with self._use.measure():
            super().retire(sources)


def measure_decoder(folder: Path, classes: TokenClasses, graph: BiasList) -> list[StepCost]:
    """Decode eight windows side by side with a list and without, greedily and with ten beams, on one thread.

    Args:
        folder: Of a Whisper.
        classes: Of its vocabulary.
        graph: The list.
    """
    torch.set_num_threads(1)
    checkpoint = load_checkpoint(folder, precision=choose_precision("auto", _CPU), device=_CPU)
    store = BiasStore(classes, _CPU)
    list_id = store.add(graph, strength=_STRENGTH)
    ear = Ear(store, list_id, _MARGIN, checkpoint.vocabulary.end, HitFinder(KeywordList(())))
    with torch.inference_mode():
        encoded = _encode(checkpoint)
        return [_compare(checkpoint, encoded, ear, n_beams=n_beams) for n_beams in _N_RUNS]


def _encode(checkpoint: Checkpoint) -> list[Tensor]:
    """Hear windows of a conversation."""
    with tempfile.TemporaryDirectory(prefix="murmur-benchmark-") as folder:
        minutes = N_WINDOWS * _WINDOW_S / 60
        session = make_session(Path(folder), data=DATA_DIR, minutes=minutes, n_speakers=4, seed=0)
        with open_recording(str(session.audio), recording_id=RecordingId(0), sample_rate=_RATE) as recording:
            samples = np.array(recording.samples(Span(0, N_WINDOWS * _WINDOW_S * _RATE)))
    windows = samples.reshape(N_WINDOWS, -1)
    return [checkpoint.encoder.encode(checkpoint.extractor.extract(window)) for window in windows]


def _compare(checkpoint: Checkpoint, encoded: Sequence[Tensor], ear: Ear, *, n_beams: int) -> StepCost:
    steps, shares, without, whole = [], [], [], []
    for _ in range(_N_RUNS[n_beams]):
        plain_texts, plain, _ = _decode(checkpoint, encoded, None, n_beams=n_beams)
        texts, use, listening = _decode(checkpoint, encoded, ear, n_beams=n_beams)
        assert texts == plain_texts, "a list that adds next to nothing changes what is written"
        assert min(map(len, texts)) == _N_TOKENS, "a window ended early"
        own = Use(use.cpu - listening.cpu, use.wall - listening.wall)
        steps.append(own)
        shares.append((listening.cpu / own.cpu, listening.wall / own.wall))
        without.append(plain.cpu)
        whole.append(use.cpu)
    cpu_share, wall_share = (100 * statistics.median(each) for each in zip(*shares, strict=True))
    return StepCost(
        n_beams,
        cpu=1e3 * min(step.cpu for step in steps) / _N_TOKENS,
        wall=1e3 * min(step.wall for step in steps) / _N_TOKENS,
        cpu_share=cpu_share,
        wall_share=wall_share,
        difference=100 * (min(whole) / min(without) - 1),
    )


def _decode(
    checkpoint: Checkpoint, encoded: Sequence[Tensor], ear: Ear | None, *, n_beams: int
) -> tuple[list[tuple[int, ...]], Use, Use]:
    """Decode windows: what is written, the time of all, and what of it is for the list."""
    audio = checkpoint.decoder.memorise(encoded)
    vocabulary, whole, listening = checkpoint.vocabulary, Use(), Use()
    budgets = (_N_TOKENS,) * len(encoded)
    task = Task(vocabulary.prompt("en"), vocabulary.end, checkpoint.not_first, budgets, ear)

    def start(ear: Ear | None, *, n_windows: int, n_hypotheses: int, device: torch.device) -> Listening | None:
        if ear is None:
            return None
        return _TimedListening(listening, ear, n_windows=n_windows, n_hypotheses=n_hypotheses, device=device)

    with mock.patch.object(beam if n_beams > 1 else sampling, "start_listening", start), whole.measure():
        if n_beams > 1:
            readings = beam.search(checkpoint.decoder, audio, task, n_beams=n_beams)
        else:
            readings = sampling.sample(checkpoint.decoder, audio, task, temperature=0.0, seeds=range(len(encoded)))
    return [reading.tokens for reading in readings], whole, listening
