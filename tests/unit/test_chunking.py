"""Where chunks are cut, on examples that can be checked by eye."""

from __future__ import annotations

import numpy as np
import pytest

from murmur_cli.speech.chunking import plan_chunks
from murmur_cli.types import Samples, Span

RATE = 100


class Signal:
    """A signal of any length that is loud but for one quiet place, and remembers what was read of it."""

    def __init__(self, quiet: Span | None = None) -> None:
        self.quiet = quiet or Span(0, 0)
        self.reads: list[Span] = []

    def read(self, span: Span) -> Samples:
        self.reads.append(span)
        samples = np.ones(span.n_samples, np.float32)
        samples[max(0, self.quiet.start - span.start) : max(0, self.quiet.end - span.start)] = 0.5
        return samples


def seconds(*spans: tuple[float, float]) -> list[Span]:
    return [Span(round(start * RATE), round(end * RATE)) for start, end in spans]


def cut(speech: list[Span], *, max_chunk_s: float = 10.0, signal: Signal | None = None) -> list[tuple[float, float]]:
    chunks = plan_chunks(speech, sample_rate=RATE, max_chunk_s=max_chunk_s, read=(signal or Signal()).read)
    return [(chunk.span.start / RATE, chunk.span.end / RATE) for chunk in chunks]


def test_no_speech_is_no_chunk() -> None:
    assert cut([]) == []
    assert cut([Span(7, 7)]) == []


def test_speech_within_the_limit_is_one_chunk() -> None:
    assert cut(seconds((1, 3), (4, 11))) == [(1, 11)]


def test_silence_at_the_limit_closes_the_chunk() -> None:
    assert cut(seconds((0, 4), (5, 9.9), (10.5, 12))) == [(0, 9.9), (10.5, 12)]


def test_of_the_silences_in_the_last_fifth_the_longest_closes_the_chunk() -> None:
    speech = seconds((0, 8.2), (8.8, 9.4), (9.6, 15))
    assert cut(speech) == [(0, 8.2), (8.8, 15)]


def test_of_equal_silences_the_last_closes_the_chunk() -> None:
    speech = seconds((0, 8.2), (8.4, 9.4), (9.6, 15))
    assert cut(speech) == [(0, 9.4), (9.6, 15)]


def test_a_silence_before_the_last_fifth_does_not_close_the_chunk() -> None:
    speech = seconds((0, 5), (8, 15))
    chunks = plan_chunks(speech, sample_rate=RATE, max_chunk_s=10, read=Signal(Span(850, 860)).read)
    assert [(chunk.span, chunk.forced_cut) for chunk in chunks] == [(Span(0, 855), True), (Span(855, 1500), False)]


def test_a_silence_that_reaches_into_the_last_fifth_closes_the_chunk() -> None:
    assert cut(seconds((0, 5), (8.01, 15))) == [(0, 5), (8.01, 15)]


def test_a_span_that_just_fits_is_not_cut() -> None:
    assert cut(seconds((0, 10), (10.01, 12))) == [(0, 10), (10.01, 12)]


def test_a_long_span_is_cut_where_it_is_quietest() -> None:
    signal = Signal(quiet=Span(912, 922))
    assert cut(seconds((0, 15)), signal=signal) == [(0, 9.17), (9.17, 15)]


def test_only_the_end_of_a_chunk_counts_as_quiet() -> None:
    signal = Signal(quiet=Span(700, 720))  # before the last fifth
    assert cut(seconds((0, 15)), signal=signal)[0] == (0, 9.95)  # all else is equal: the last 100 ms


def test_of_equally_quiet_places_the_last_is_taken() -> None:
    assert cut(seconds((0, 70)), max_chunk_s=60) == [(0, 59.95), (59.95, 70)]  # 12 s are searched, 10 s at once


def test_overlapping_spans_keep_the_later_end() -> None:
    assert cut(seconds((0, 9), (1, 2), (9, 9.5))) == [(0, 9.5)]


@pytest.mark.parametrize("spans", [[(0, 7), (5, 9.5)], [(0, 6), (6, 9.5)], [(6, 9.5), (0, 6)]])
def test_spans_that_overlap_or_touch_are_one(spans: list[tuple[float, float]]) -> None:
    (chunk,) = plan_chunks(seconds(*spans), sample_rate=RATE, max_chunk_s=10, read=Signal().read)
    assert chunk.speech == (Span(0, 950),)


def test_one_sample_of_speech_is_a_chunk() -> None:
    assert cut([Span(5, 6)]) == [(0.05, 0.06)]
    assert len(cut([Span(0, 5)], max_chunk_s=1 / RATE)) == 5


def test_a_chunk_shorter_than_a_sample_is_refused() -> None:
    with pytest.raises(ValueError, match="shorter than one sample"):
        cut(seconds((0, 1)), max_chunk_s=0.5 / RATE)


def test_many_hours_are_read_only_where_they_must_be_cut() -> None:
    rate, hours = 16_000, 12
    monologue = [Span(0, hours * 1800 * rate)]
    dialogue = [
        Span(start, start + 2 * rate) for start in range(monologue[0].end + rate, hours * 3600 * rate, 3 * rate)
    ]
    signal = Signal()

    chunks = plan_chunks(monologue + dialogue, sample_rate=rate, read=signal.read)

    assert sum(span.n_samples for chunk in chunks for span in chunk.speech) == sum(
        span.n_samples for span in monologue + dialogue
    )
    assert max(read.n_samples for read in signal.reads) < 11 * rate
    assert all(read.start < monologue[0].end for read in signal.reads)
    assert sum(read.n_samples for read in signal.reads) <= 0.26 * monologue[0].n_samples  # a fifth of each 300 s
