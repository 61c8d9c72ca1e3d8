"""What a decoding loop is asked for some windows, and what it answers for each."""

from __future__ import annotations

import math
from dataclasses import dataclass

from murmur_cli.models.whisper.ear import Ear

__all__ = ["Reading", "Task"]


@dataclass(frozen=True, slots=True)
class Task:
    """What to write about some windows.

    Attributes:
        prompt: The tokens that every text begins with.
        end: The token that ends a text.
        not_first: Tokens that no text begins with.
        budgets: The most tokens of each window, the end included; at least 1.
        ear: What is listened for.
    """

    prompt: tuple[int, ...]
    end: int
    not_first: tuple[int, ...]
    budgets: tuple[int, ...]
    ear: Ear | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """The text of one window, in tokens.

    Attributes:
        tokens: Neither the prompt nor the end.
        logprobs: One per token, and one for the end if there is one: what the model thinks, whatever a list added.
        ended: The model ended the text; False if the budget did.
        changed: One per log-probability: a list brought the token forward, before the one that the model would have
            chosen. Empty where nothing was listened for.
        is_excused: What a list chose does not count against the text.
    """

    tokens: tuple[int, ...]
    logprobs: tuple[float, ...]
    ended: bool
    changed: tuple[bool, ...] = ()
    is_excused: bool = False

    @property
    def mean_logprob(self) -> float:
        """The mean log-probability of what was written, the end included."""
        counted = self.logprobs
        if self.is_excused:
            counted = tuple(own for own, changed in zip(self.logprobs, self.changed, strict=True) if not changed)
        return sum(counted) / len(counted) if counted else -math.inf
