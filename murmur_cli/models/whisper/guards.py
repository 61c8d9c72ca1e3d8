"""What a reading of a window is worth, decided from numbers alone."""

from __future__ import annotations

import enum

from murmur_cli.models.whisper.task import Reading

__all__ = ["TEMPERATURES", "Verdict", "is_hopeless", "is_sure", "judge", "plan_budget"]

TEMPERATURES = (0.2, 0.4, 0.6, 0.8, 1.0)
"""What is tried in turn where the most likely text is no good."""

# All of openai/whisper@v20240930, whisper/transcribe.py; so are the temperatures.
_UNLIKELY = -1.0
_SILENCE = 0.6
_MOST_TOKENS = 224

_HOPELESS = -1.5  # what is still less likely than this after all retries is noise put into words
_SURE = -0.7  # halfway from what most speech has to what is unlikely
_TOKENS_PER_S = 12.0  # more than any script needs; a loop is not written to the end of a short window
_SPARE_TOKENS = 24


class Verdict(enum.Enum):
    """What became of a window."""

    GOOD = "good"
    SILENT = "nobody speaks"
    UNLIKELY = "unintelligible"
    CUT_OFF = "text too long"
    LOOPING = "repetition loop"


def judge(reading: Reading, *, no_speech: float, loops: bool) -> Verdict:
    """Judge a window's text by itself.

    Args:
        reading: The text in tokens.
        no_speech: The model's probability that nobody speaks in the window.
        loops: It says something over and over that nobody said.
    """
    unlikely = reading.mean_logprob < _UNLIKELY
    if no_speech > _SILENCE and (unlikely or loops):
        return Verdict.SILENT
    if loops:
        return Verdict.LOOPING
    if not reading.ended:
        return Verdict.CUT_OFF
    return Verdict.UNLIKELY if unlikely else Verdict.GOOD


def is_hopeless(reading: Reading) -> bool:
    """Tell whether a text is so unlikely that no text is better."""
    return reading.mean_logprob < _HOPELESS


def is_sure(reading: Reading, *, no_speech: float) -> bool:
    """Tell whether there is no doubt that somebody said something like a text.

    Args:
        reading: The text in tokens.
        no_speech: The model's probability that nobody speaks in the window.
    """
    return reading.mean_logprob > _SURE and no_speech <= _SILENCE


def plan_budget(duration_s: float, *, n_positions: int) -> int:
    """Tell how many tokens a window may have, its end included.

    Args:
        duration_s: Length of the window.
        n_positions: Tokens that the decoder has positions for, apart from the prompt.
    """
    return max(1, min(_MOST_TOKENS, n_positions, int(_TOKENS_PER_S * duration_s) + _SPARE_TOKENS))
