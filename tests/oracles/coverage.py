"""The slow, obvious counterpart of ``decode/coverage.py``: sample by sample."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from murmur_cli.types import Span


def mark(spans: Iterable[Span], n_samples: int) -> list[bool]:
    """Say of every sample whether it is in one of the spans."""
    marks = [False] * n_samples
    for span in spans:
        for sample in range(span.start, min(span.end, n_samples)):
            marks[sample] = True
    return marks


def find_runs(marks: Sequence[bool]) -> list[Span]:
    """The stretches of samples that are marked."""
    runs = [(key, [i for i, _ in group]) for key, group in groupby(enumerate(marks), key=lambda each: each[1])]
    return [Span(samples[0], samples[-1] + 1) for key, samples in runs if key]


def find_unread_plainly(
    speech: Sequence[Span], read: Sequence[Span], n_samples: int, *, n_least: int, n_edge: int
) -> list[Span]:
    is_speech, is_read = mark(speech, n_samples), mark(read, n_samples)
    found = []
    for stretch in find_runs([not each for each in is_read]):
        spoken = [i for i in range(stretch.start, stretch.end) if is_speech[i]]
        if len(spoken) <= n_least:
            continue
        pieces = find_runs([i in set(spoken) for i in range(n_samples)])
        if pieces and stretch.start > 0 and is_speech[stretch.start - 1]:
            pieces = [p for p in pieces if p.start != stretch.start or p.n_samples > n_edge]
        if pieces and stretch.end < n_samples and is_speech[stretch.end]:
            pieces = [p for p in pieces if p.end != stretch.end or p.n_samples > n_edge]
        if pieces:
            found.append(Span(pieces[0].start, pieces[-1].end))
    return found


def split_plainly(speech: Sequence[Span], within: Span) -> list[Span]:
    """Try every pause; the best is long and reaches into the middle half, or else is near the middle."""
    is_speech = mark(speech, within.end)
    quarter, middle = within.n_samples // 4, (within.start + within.end) // 2
    runs = find_runs([not is_speech[i] and i >= within.start for i in range(within.end)])
    pauses = [run for run in runs if run.start > within.start and run.end < within.end]

    def rank(pause: Span) -> tuple[bool, int, int, int]:
        distance = min(abs(edge - middle) for edge in range(pause.start, pause.end + 1))
        is_central = any(middle - quarter <= i < middle + quarter for i in range(pause.start, pause.end))
        return is_central, pause.n_samples if is_central else 0, -distance, -pause.start

    cut = max(pauses, key=rank, default=Span(middle, middle))
    sides = [range(within.start, cut.start), range(cut.end, within.end)]
    spoken = [[i for i in side if is_speech[i]] for side in sides]
    return [Span(samples[0], samples[-1] + 1) for samples in spoken if samples]
