"""Spans of speech: what finds them, and the arithmetic on them.

Every list of spans that leaves this module is sorted, and its spans neither overlap nor touch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Protocol

from murmur_cli.options import VadOptions
from murmur_cli.types import SPEECH_RATE, Samples, Span

__all__ = [
    "FRAME_SAMPLES",
    "SAMPLES_PER_MS",
    "VAD_RATE",
    "LiveVad",
    "RunFinder",
    "SpeechScorer",
    "Vad",
    "convert_spans",
    "find_spans",
    "merge_spans",
    "pad_spans",
]

VAD_RATE = SPEECH_RATE
"""Samples per second that a detector hears."""

FRAME_SAMPLES = 512
"""Samples behind one speech probability: 32 ms at ``VAD_RATE``."""

SAMPLES_PER_MS = VAD_RATE // 1000
"""The same, per millisecond."""

_EXIT_MARGIN = 0.15  # how far below the threshold a span closes, and the least that this may come to:
_LEAST_EXIT = 0.01  # silero_vad.get_speech_timestamps, silero-vad 6.2.3


class Vad(Protocol):
    """A detector of speech."""

    def detect(self, blocks: Iterable[Samples]) -> list[Span]:
        """Find the speech of one recording.

        Args:
            blocks: The whole recording in order, in pieces of any size, at ``VAD_RATE``.

        Returns:
            Sorted disjoint spans, in samples at ``VAD_RATE``; how the recording was split into
            blocks makes no difference.
        """
        ...


class SpeechScorer(Protocol):
    """What tells, while a session lasts, how likely somebody speaks."""

    def push(self, samples: Samples) -> list[float]:
        """Hear on.

        Args:
            samples: A block of any size, at ``VAD_RATE``.

        Returns:
            The speech probabilities of the frames that are known with it.
        """
        ...

    def finish(self) -> list[float]:
        """Give the probabilities that are left; the last frame may be partly filled."""
        ...


class LiveVad(Protocol):
    """A detector that can listen while somebody still speaks."""

    def open(self) -> SpeechScorer:
        """Begin a session."""
        ...


def find_spans(probabilities: Sequence[float], n_samples: int, options: VadOptions) -> list[Span]:
    """Turn speech probabilities into spans, with hysteresis.

    A span opens in the first frame at or above ``vad_threshold``. It closes 0.15 lower: where frames
    have been below that, and none at the threshold again, for ``min_silence_ms``. What is shorter
    than ``min_speech_ms`` is dropped; the rest is widened by ``speech_pad_ms`` on both sides, but on
    neither by more than 3/8 of the pause there.

    Args:
        probabilities: One per frame of ``FRAME_SAMPLES``; the last frame may be partly filled.
        n_samples: Length of the recording, which no span passes.
        options: Threshold and durations.

    Raises:
        ValueError: The number of probabilities does not fit ``n_samples``.

    Source:
        silero_vad.get_speech_timestamps_from_probs, silero-vad 6.2.3; there a span of just
        ``min_speech_ms`` is dropped, and padding may fill a pause.
    """
    n_frames = -(-n_samples // FRAME_SAMPLES)
    if len(probabilities) != n_frames:
        raise ValueError(f"{n_samples} samples are {n_frames} frames, but there are {len(probabilities)} probabilities")
    n_min_speech = options.min_speech_ms * SAMPLES_PER_MS
    spoken = [span for span in _iter_runs(probabilities, n_samples, options) if span.n_samples >= n_min_speech]
    return pad_spans(spoken, n_samples=n_samples, n_pad=options.speech_pad_ms * SAMPLES_PER_MS)


class RunFinder:
    """Finds runs of speech frame by frame: spans before short ones are dropped and the rest is widened.

    Args:
        options: Threshold and durations.
    """

    def __init__(self, options: VadOptions) -> None:
        self._enter = options.vad_threshold
        self._exit = max(options.vad_threshold - _EXIT_MARGIN, _LEAST_EXIT)
        self._n_min_silence = options.min_silence_ms * SAMPLES_PER_MS
        self._now = 0  # where the next frame begins
        self._silence: int | None = None  # where the open run may turn out to have ended
        self.start: int | None = None
        """Where the open run began, in samples; None: none is open."""

    @property
    def open(self) -> Span | None:
        """The run that is open, as far as it goes for sure; its last frame may be partly filled."""
        if self.start is None:
            return None
        return Span(self.start, self._now if self._silence is None else self._silence)

    def push(self, probability: float) -> Span | None:
        """Hear the next frame, and give the run that is over with it."""
        now, run = self._now, None
        self._now += FRAME_SAMPLES
        if probability >= self._enter:
            self.start = now if self.start is None else self.start
            self._silence = None
        elif self.start is not None and probability < self._exit:
            self._silence = now if self._silence is None else self._silence
            if now - self._silence >= self._n_min_silence:
                run = Span(self.start, self._silence)
                self.start = self._silence = None
        return run

    def finish(self, n_samples: int) -> Span | None:
        """Give the run that is open at the end of a recording of that length: it lasts until then."""
        run = None if self.start is None else Span(self.start, n_samples)
        self.start = self._silence = None
        return run


def _iter_runs(probabilities: Sequence[float], n_samples: int, options: VadOptions) -> Iterator[Span]:
    finder = RunFinder(options)
    for probability in probabilities:
        if (run := finder.push(probability)) is not None:
            yield run
    if (run := finder.finish(n_samples)) is not None:
        yield run


def pad_spans(spans: Sequence[Span], *, n_samples: int, n_pad: int) -> list[Span]:
    """Widen spans by ``n_pad``, but so that their pauses remain, and remain in the order of their lengths.

    Chunks are cut at pauses, the longest first. Were a pause of less than twice the padding filled, a
    cut in fluent speech could not see it and would go for a quiet moment instead.
    """
    starts = [span.start for span in spans]
    ends = [span.end for span in spans]
    for index, (left, right) in enumerate(pairwise(spans)):
        n_share = min(n_pad, (right.start - left.end) * 3 // 8)
        ends[index] += n_share
        starts[index + 1] -= n_share
    if spans:
        starts[0] = max(0, starts[0] - n_pad)
        ends[-1] = min(n_samples, ends[-1] + n_pad)
    return [Span(start, end) for start, end in zip(starts, ends, strict=True)]


def convert_spans(spans: Iterable[Span], *, from_rate: int, to_rate: int, n_samples: int) -> list[Span]:
    """Express spans at another sample rate, rounding outward.

    Args:
        spans: Spans in samples at ``from_rate``.
        from_rate: Samples per second of ``spans``.
        to_rate: Samples per second of the result.
        n_samples: Length of the recording at ``to_rate``, which no span passes.
    """
    return merge_spans(
        Span(min(span.start * to_rate // from_rate, n_samples), min(-(-span.end * to_rate // from_rate), n_samples))
        for span in spans
        if span.n_samples
    )


def merge_spans(spans: Iterable[Span]) -> list[Span]:
    """Sort spans and join those that overlap or touch; empty ones vanish."""
    merged: list[Span] = []
    for span in sorted(spans):
        if not span.n_samples:
            continue
        if merged and span.start <= merged[-1].end:
            merged[-1] = Span(merged[-1].start, max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return merged
