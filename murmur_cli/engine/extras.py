"""What one engine does and another does not."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Extras"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Extras:
    """What one engine does and another does not, and what a user wants of it.

    Times of words, a text that is read before the audio, noise in what is heard, chunks side by side, and what is
    forgotten of them, statistics, drafts, a context that grows, keywords.
    """

    word_times: bool = False
    context: bool = False
    acoustic_noise: bool = False
    batch_size: bool = False
    evict: bool = False
    stats: bool = False
    step: bool = False
    context_minutes: bool = False
    bias: bool = False
