"""Windows read once, and what went wrong read again: in parts first, then at rising temperatures.

Beam search ends too early, skips or loops in some windows. What is left of the window, or its halves,
mostly come out right, where sampling the whole window only finds other wrong texts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from murmur_cli.models.whisper.passage import Passage
from murmur_cli.types import Chunk, Span

__all__ = ["Split", "WindowReader", "read_speech"]

_REACH_S = 1.0  # the rest of a window begins at a pause so soon behind its last word
_MOST_CUTS = 2  # of a window: from 28 s to 7
_LEAST_S = 4.0  # a shorter window is not cut
_MARGIN = 0.3  # a window is cut in two no nearer than this share of it to its ends


class WindowReader(Protocol):
    """What reads windows."""

    def read(self, windows: Sequence[Chunk]) -> list[Passage]:
        """Read windows in the best way."""
        ...

    def sample(self, windows: Sequence[Chunk]) -> list[Passage]:
        """Read windows in ways that are worse, but do not go wrong in the same places."""
        ...


Split = Callable[[Chunk, Span], Sequence[Chunk]]
"""Cuts a window into parts, somewhere in a span of it."""


def read_speech(
    reader: WindowReader, windows: Sequence[Chunk], *, split: Split, sample_rate: int, n_cuts: int = _MOST_CUTS
) -> list[list[Passage]]:
    """Read windows, and those that went wrong again.

    Args:
        reader: Reads them.
        windows: In order.
        split: Cuts a window.
        sample_rate: Samples per second of the windows.
        n_cuts: How often a window may be cut.

    Returns:
        For every window its passages in order: one of the whole, or more of its parts where they came out better.
    """
    if not windows:
        return []
    passages = reader.read(windows)
    plans = [_plan_parts(p, split, sample_rate) if n_cuts and p.is_doubtful else [p] for p in passages]
    parts = [part for plan in plans for part in plan if isinstance(part, Chunk)]
    texts = read_speech(reader, parts, split=split, sample_rate=sample_rate, n_cuts=n_cuts - 1)
    read = dict(zip(parts, texts, strict=True))
    stuck = [p.window for p, plan in zip(passages, plans, strict=True) if plan == [p] and not p.is_good]
    sampled = {p.window: [p] for p in (reader.sample(stuck) if stuck else [])}
    results = []
    for passage, plan in zip(passages, plans, strict=True):
        others = [p for part in plan for p in (read[part] if isinstance(part, Chunk) else [part])]
        results.append(_choose([passage], sampled.get(passage.window, others)))
    return results


def _plan_parts(passage: Passage, split: Split, sample_rate: int) -> list[Passage | Chunk]:
    """Tell what to read instead of a doubtful passage, and what of it stays."""
    window = passage.window
    if passage.ends_early:
        last = window.span.start + round(passage.words[-1].end * sample_rate)
        head, *rest = split(window, Span(last, min(last + int(_REACH_S * sample_rate), window.span.end)))
        return [replace(passage, window=head, unread=()), *rest]
    if window.span.n_samples < _LEAST_S * sample_rate:
        return [passage]
    margin = int(_MARGIN * window.span.n_samples)
    return list(split(window, Span(window.span.start + margin, window.span.end - margin)))


def _choose(first: list[Passage], second: list[Passage]) -> list[Passage]:
    return second if _faults(second) < _faults(first) else first


def _faults(passages: Sequence[Passage]) -> tuple[bool, bool, float, float]:
    """Order readings of the same speech, the best first: believed, whole, with no speech left out, likely."""
    n_samples = sum(passage.window.span.n_samples for passage in passages)
    doubt = -sum(passage.mean_logprob * passage.window.span.n_samples for passage in passages) / n_samples
    return (
        not all(passage.is_good for passage in passages),
        any(passage.broken_s is not None for passage in passages),
        sum(stretch.end - stretch.start for passage in passages for stretch in passage.unread),
        doubt,
    )
