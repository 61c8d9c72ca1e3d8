"""Windows in, passages out: by beam search, or by sampling where that went wrong.

A passage depends on the window's samples, its place in the recording, and the windows that are read with
it: the caller reads windows of one chunk together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from torch import Tensor

from murmur_cli.models.whisper.align import align_tokens
from murmur_cli.models.whisper.beam import search
from murmur_cli.models.whisper.checkpoint import Checkpoint
from murmur_cli.models.whisper.features import SAMPLE_RATE
from murmur_cli.models.whisper.guards import TEMPERATURES, plan_budget
from murmur_cli.models.whisper.passage import Draft, Passage, make_passage
from murmur_cli.models.whisper.sample import sample
from murmur_cli.models.whisper.task import Reading, Task
from murmur_cli.models.whisper.words import UNSPACED
from murmur_cli.types import Chunk, Samples, Span

__all__ = ["Reader"]

_N_BEAMS = 5  # openai/whisper@v20240930, whisper/transcribe.py, beam_size; and best_of
_N_TRIES = 5
_FRAME_S = 0.02  # of the encoder's vectors
_ROUND_SAMPLES = SAMPLE_RATE // 10  # a whole number of vectors


class Reader:
    """Reads windows of one recording in one language.

    Args:
        checkpoint: The model.
        language: Its code.
        read: Gives the signal of a span of the recording, shape (n_samples,), at ``SAMPLE_RATE``.
        silence_s: Silence that the encoder hears behind the longest window, in seconds; None: as much as it can hear.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        *,
        language: str,
        read: Callable[[Span], Samples],
        silence_s: float | None = None,
    ) -> None:
        self._checkpoint = checkpoint
        self._silence_s = silence_s
        self._read_samples = read
        self._prompt = checkpoint.vocabulary.prompt(language)
        self._is_spaced = language not in UNSPACED

    def read(self, windows: Sequence[Chunk]) -> list[Passage]:
        """Read windows by beam search."""
        passages: list[Passage] = []
        for batch in self._iter_batches(windows):
            encoded = self._encode(batch)
            audio = self._checkpoint.decoder.memorise(encoded)
            silence = self._checkpoint.no_speech(audio)
            readings = search(self._checkpoint.decoder, audio, self._make_task(batch), n_beams=_N_BEAMS)
            passages += map(self._finish, batch, encoded, silence, readings)
        return passages

    def sample(self, windows: Sequence[Chunk]) -> list[Passage]:
        """Read windows at rising temperatures, each until its text can be believed; else take the most likely."""
        passages: list[Passage] = []
        for batch in self._iter_batches(windows):
            encoded = self._encode(batch)
            silence = self._checkpoint.no_speech(self._checkpoint.decoder.memorise(encoded))
            tries: list[list[Passage]] = [[] for _ in batch]
            for attempt, temperature in enumerate(TEMPERATURES, 1):
                pending = [index for index, tried in enumerate(tries) if not (tried and tried[-1].is_good)]
                if not pending:
                    break
                heard = [encoded[index] for index in pending]
                readings = sample(
                    self._checkpoint.decoder,
                    self._checkpoint.decoder.memorise(heard),
                    self._make_task([batch[index] for index in pending]),
                    temperature=temperature,
                    seeds=[batch[index].span.start * (len(TEMPERATURES) + 1) + attempt for index in pending],
                    n_tries=_N_TRIES,
                )
                for index, reading in zip(pending, readings, strict=True):
                    tries[index].append(self._finish(batch[index], encoded[index], silence[index], reading))
            passages += [max(tried, key=lambda p: (p.is_good, p.broken_s is None, p.mean_logprob)) for tried in tries]
        return passages

    def _iter_batches(self, windows: Sequence[Chunk]) -> Iterator[Sequence[Chunk]]:
        """Cut into batches of equal size, as few as can be."""
        n_batches = -(-len(windows) // self._checkpoint.n_together)
        for index in range(n_batches):
            yield windows[index * len(windows) // n_batches : (index + 1) * len(windows) // n_batches]

    def _encode(self, windows: Sequence[Chunk]) -> list[Tensor]:
        extract, encode = self._checkpoint.extractor.extract, self._checkpoint.encoder.encode
        n_heard = self._count_heard(windows)
        return [encode(extract(self._read_samples(window.span), n_samples=n_heard)) for window in windows]

    def _count_heard(self, windows: Sequence[Chunk]) -> int | None:
        """Tell how much of each window, silence included, the encoder hears: the same of all, in whole 0.1 s."""
        if self._silence_s is None:
            return None
        longest = max(window.span.n_samples for window in windows) + int(self._silence_s * SAMPLE_RATE)
        return -(-longest // _ROUND_SAMPLES) * _ROUND_SAMPLES

    def _make_task(self, windows: Sequence[Chunk]) -> Task:
        n_positions = self._checkpoint.decoder.n_positions - len(self._prompt)
        return Task(
            prompt=self._prompt,
            end=self._checkpoint.vocabulary.end,
            not_first=self._checkpoint.not_first,
            budgets=tuple(plan_budget(w.span.n_samples / SAMPLE_RATE, n_positions=n_positions) for w in windows),
        )

    def _finish(self, window: Chunk, encoded: Tensor, silence: float, reading: Reading) -> Passage:
        frames = self._align(window, encoded, reading.tokens) if reading.tokens else [0]
        draft = Draft(
            reading=reading,
            pieces=tuple(self._checkpoint.vocabulary.pieces[token] for token in reading.tokens),
            starts=tuple(frame * _FRAME_S for frame in frames),
            no_speech=silence,
        )
        return make_passage(window, draft, sample_rate=SAMPLE_RATE, spaced=self._is_spaced)

    def _align(self, window: Chunk, encoded: Tensor, tokens: Sequence[int]) -> list[int]:
        return align_tokens(
            self._checkpoint.decoder,
            encoded,
            prompt=self._prompt,
            tokens=tokens,
            heads=self._checkpoint.heads,
            n_frames=min(len(encoded), -(-window.span.n_samples // int(_FRAME_S * SAMPLE_RATE))),
        )
