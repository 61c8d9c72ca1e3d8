"""Windows in, passages out: by beam search, or by sampling where that went wrong.

A passage depends on the window's samples, its place in the recording, and the windows that are read with
it: the caller reads windows of one chunk together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from torch import Tensor

from murmur_cli.models.whisper.align import align_tokens
from murmur_cli.models.whisper.beam import search
from murmur_cli.models.whisper.checkpoint import Checkpoint
from murmur_cli.models.whisper.ear import Ear
from murmur_cli.models.whisper.features import SAMPLE_RATE
from murmur_cli.models.whisper.guards import TEMPERATURES, is_sure, plan_budget
from murmur_cli.models.whisper.passage import Draft, Passage, choose_passage, make_passage
from murmur_cli.models.whisper.sample import sample
from murmur_cli.models.whisper.task import Reading, Task
from murmur_cli.models.whisper.words import UNSPACED
from murmur_cli.types import Chunk, Samples, Span

__all__ = ["Reader"]

_N_BEAMS = 5  # openai/whisper@v20240930, whisper/transcribe.py, beam_size; and best_of
_N_BEAMS_LISTENING = 10  # with keywords: what begins one earns little before more of it follows, and must last so long
_N_TRIES = 5
_FRAME_S = 0.02  # of the encoder's vectors
_ROUND_SAMPLES = SAMPLE_RATE // 10  # a whole number of vectors


@dataclass(frozen=True, slots=True)
class _Heard:
    """A window, what the encoder made of it, (T, D), and the probability that nobody speaks in it."""

    window: Chunk
    encoded: Tensor
    silence: float


class Reader:
    """Reads windows of one recording in one language.

    Args:
        checkpoint: The model.
        language: Its code.
        read: Gives the signal of a span of the recording, shape (n_samples,), at ``SAMPLE_RATE``.
        silence_s: Silence that the encoder hears behind the longest window, in seconds; None: as much as it can hear.
        ear: What is listened for.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        *,
        language: str,
        read: Callable[[Span], Samples],
        silence_s: float | None = None,
        ear: Ear | None = None,
    ) -> None:
        self._checkpoint = checkpoint
        self._ear = ear
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
            task, n_beams = self._make_task(batch, self._ear), _N_BEAMS_LISTENING if self._ear else _N_BEAMS
            readings = search(self._checkpoint.decoder, audio, task, n_beams=n_beams)
            heard = list(map(_Heard, batch, encoded, silence))
            passages += self._check(heard, readings) if self._ear else map(self._finish, heard, readings)
        return passages

    def _check(self, heard: Sequence[_Heard], readings: Sequence[Reading]) -> list[Passage]:
        """Finish readings with a list; where one is not sure, compare it with what is read without the list."""
        passages = list(map(self._finish, heard, readings))
        doubtful = [
            index
            for index, (window, passage) in enumerate(zip(heard, passages, strict=True))
            if not passage.is_good or not is_sure(readings[index], no_speech=window.silence)
        ]
        if doubtful:
            audio = self._checkpoint.decoder.memorise([heard[index].encoded for index in doubtful])
            task = self._make_task([heard[index].window for index in doubtful], None)
            plain = search(self._checkpoint.decoder, audio, task, n_beams=_N_BEAMS)
            for index, other in zip(doubtful, plain, strict=True):
                excused = self._finish(heard[index], replace(readings[index], is_excused=True))
                passages[index] = choose_passage(self._finish(heard[index], other), passages[index], excused)
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
                readings = sample(
                    self._checkpoint.decoder,
                    self._checkpoint.decoder.memorise([encoded[index] for index in pending]),
                    self._make_task([batch[index] for index in pending], self._ear),
                    temperature=temperature,
                    seeds=[batch[index].span.start * (len(TEMPERATURES) + 1) + attempt for index in pending],
                    n_tries=_N_TRIES,
                )
                for index, reading in zip(pending, readings, strict=True):
                    heard = _Heard(batch[index], encoded[index], silence[index])
                    tries[index].append(self._finish(heard, reading))
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

    def _make_task(self, windows: Sequence[Chunk], ear: Ear | None) -> Task:
        n_positions = self._checkpoint.decoder.n_positions - len(self._prompt)
        return Task(
            prompt=self._prompt,
            end=self._checkpoint.vocabulary.end,
            not_first=self._checkpoint.not_first,
            budgets=tuple(plan_budget(w.span.n_samples / SAMPLE_RATE, n_positions=n_positions) for w in windows),
            ear=ear,
        )

    def _finish(self, heard: _Heard, reading: Reading) -> Passage:
        frames = self._align(heard.window, heard.encoded, reading.tokens) if reading.tokens else [0]
        draft = Draft(
            reading=reading,
            pieces=tuple(self._checkpoint.vocabulary.pieces[token] for token in reading.tokens),
            starts=tuple(frame * _FRAME_S for frame in frames),
            no_speech=heard.silence,
        )
        return make_passage(heard.window, draft, sample_rate=SAMPLE_RATE, spaced=self._is_spaced)

    def _align(self, window: Chunk, encoded: Tensor, tokens: Sequence[int]) -> list[int]:
        return align_tokens(
            self._checkpoint.decoder,
            encoded,
            prompt=self._prompt,
            tokens=tokens,
            heads=self._checkpoint.heads,
            n_frames=min(len(encoded), -(-window.span.n_samples // int(_FRAME_S * SAMPLE_RATE))),
        )
