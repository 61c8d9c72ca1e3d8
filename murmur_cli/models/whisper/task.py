"""What a decoding loop is asked for some windows, and what it answers for each."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Reading", "Task"]


@dataclass(frozen=True, slots=True)
class Task:
    """What to write about some windows.

    Attributes:
        prompt: The tokens that every text begins with.
        end: The token that ends a text.
        not_first: Tokens that no text begins with.
        budgets: The most tokens of each window, the end included; at least 1.
    """

    prompt: tuple[int, ...]
    end: int
    not_first: tuple[int, ...]
    budgets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """The text of one window, in tokens.

    Attributes:
        tokens: Neither the prompt nor the end.
        logprobs: One per token, and one for the end if there is one.
        ended: The model ended the text; False if the budget did.
    """

    tokens: tuple[int, ...]
    logprobs: tuple[float, ...]
    ended: bool

    @property
    def mean_logprob(self) -> float:
        """The mean log-probability of what was written, the end included."""
        return sum(self.logprobs) / len(self.logprobs)
