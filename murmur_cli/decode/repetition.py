"""Loops in a decoder's output: the same tokens over and over, which nobody said.

People do repeat themselves. What tells a loop from that is time: a spoken repetition takes as long as any
other words, a loop is written faster than anybody speaks, or never ends.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

__all__ = [
    "FASTEST_TOKENS_PER_S",
    "Loop",
    "compression_ratio",
    "count_repeating",
    "find_loop",
    "is_spoken",
    "says_again",
]

FASTEST_TOKENS_PER_S = 12.0
"""What is written faster was not said: fluent speech has 3 to 5, in scripts of many tokens a letter up to 10."""

_LEAST_REPEATS = 4
_LEAST_TOKENS = 16  # of all repeats together: "no no no no" is no loop
_LONGEST_PERIOD = 60
_LEAST_SHARE = 0.3  # of the mean repeat that every spoken repeat takes

# While a text is written it may still come to an end by itself: more is needed to say that it does not.
_LEAST_TURNS = 6
_LEAST_TURNING = 60
_LONGEST_TURN = 120


@dataclass(frozen=True, slots=True)
class Loop:
    """Tokens ``start`` to ``end`` repeat with a period; the last repeat may be broken off."""

    start: int
    end: int
    period: int


def find_loop(tokens: Sequence[int]) -> Loop | None:
    """Find the longest run of a repeated phrase; of equally long ones that with the shortest period.

    Args:
        tokens: A text, in tokens or any other numbers.
    """
    best: Loop | None = None
    for period in range(1, min(_LONGEST_PERIOD, len(tokens) // _LEAST_REPEATS) + 1):
        run = 0
        for index in range(period, len(tokens)):
            run = run + 1 if tokens[index] == tokens[index - period] else 0
            n_tokens = run + period
            is_long = n_tokens >= max(_LEAST_REPEATS * period, _LEAST_TOKENS)
            if is_long and (best is None or n_tokens > best.end - best.start):
                best = Loop(index + 1 - n_tokens, index + 1, period)
    return best


def count_repeating(tokens: Sequence[int]) -> int:
    """Count the tokens at the end of a text that is being written, if they repeat: 6 times or more, and 60 or more.

    Where they repeat with several periods, those count that do so with the shortest.

    Args:
        tokens: A text, in tokens or any other numbers.
    """
    last = len(tokens) - 1
    for period in range(1, min(_LONGEST_TURN, len(tokens) // _LEAST_TURNS) + 1):
        n_tokens = period
        while n_tokens <= last and tokens[last - n_tokens] == tokens[last - n_tokens + period]:
            n_tokens += 1
        if n_tokens >= max(_LEAST_TURNS * period, _LEAST_TURNING):
            return n_tokens
    return 0


def is_spoken(loop: Loop | None, starts: Sequence[float]) -> bool:
    """Tell whether a repetitive text was said: it is no faster than speech, and every repeat takes its time.

    Args:
        loop: Where tokens repeat, if they do.
        starts: Seconds at which every token of the text begins, and at the end the one at which the last ends.
    """
    first, last = (0, len(starts) - 1) if loop is None else (loop.start, loop.end)
    if (starts[last] - starts[first]) * FASTEST_TOKENS_PER_S < last - first:
        return False
    moments = [] if loop is None else [starts[index] for index in range(loop.start, loop.end, loop.period)]
    lengths = [later - earlier for earlier, later in pairwise(moments)]
    return not lengths or min(lengths) * len(lengths) >= _LEAST_SHARE * sum(lengths)


def says_again(words: Sequence[str]) -> bool:
    """Tell whether several words are said twice in a row, or one three times, as people do, too, but models more often.

    Args:
        words: Of a text; case and what is no letter or digit make no difference.
    """
    spelled = ["".join(filter(str.isalnum, word.casefold())) for word in words]
    for period in range(1, len(spelled) // 2 + 1):
        n_same = 0
        for one, other in zip(spelled, spelled[period:], strict=False):
            n_same = n_same + 1 if one == other else 0
            if n_same == max(period, 2):
                return True
    return False


def compression_ratio(text: str) -> float:
    """Tell how many times shorter a text becomes when it is packed; 0 for no text.

    Source:
        openai/whisper@v20240930, whisper/utils.py, compression_ratio.
    """
    content = text.encode()
    return len(content) / len(zlib.compress(content))
