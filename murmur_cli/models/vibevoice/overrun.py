"""Chunks whose text is more than can have been said in them: found, and cut.

What is left in the context is what the model reads before the next chunk. A loop that stays there is taken up again.
"""

from __future__ import annotations

from collections.abc import Sequence

from murmur_cli.decode.repetition import FASTEST_TOKENS_PER_S, count_repeating, find_loop

__all__ = ["MOST_TOKENS", "cut_overrun", "is_overrun"]

MOST_TOKENS = 256
"""Of a chunk. Source: microsoft/VibeVoice@1541f59."""

_TOO_LONG = "the model wrote more than can be said in this time; the rest was cut off"
_LOOP = "the model wrote the same over and over; the repeats were cut off"


def is_overrun(tokens: Sequence[int], *, seconds: float) -> bool:
    """Tell whether a chunk that is being written must be ended: it is full, or turns in a circle.

    Args:
        tokens: What was written for it.
        seconds: What was heard for it.
    """
    return len(tokens) >= MOST_TOKENS or count_repeating(tokens) > FASTEST_TOKENS_PER_S * seconds


def cut_overrun(tokens: Sequence[int], *, seconds: float) -> tuple[list[int], str | None]:
    """Cut a chunk's text to what can have been said.

    Of a loop the first turn is left, of a text without end as much as anybody can say.

    Args:
        tokens: The text, whether it has ended by itself or not.
        seconds: What was heard for it.

    Returns:
        The tokens that are left, and why others are not; None: nothing was cut.
    """
    n_sayable = int(FASTEST_TOKENS_PER_S * seconds)
    loop = find_loop(tokens)
    if loop is not None and loop.end - loop.start > n_sayable:
        return list(tokens[: loop.start + loop.period]), _LOOP
    if len(tokens) >= MOST_TOKENS:
        return list(tokens[:n_sayable]), _TOO_LONG
    return list(tokens), None
