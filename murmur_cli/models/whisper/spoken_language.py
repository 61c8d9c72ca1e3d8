"""Which language a session is in, while it lasts: told from its first half minute of speech."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["SpokenLanguage"]

_ENOUGH_S = 30.0  # what Whisper hears of a recording to tell its language

_ENGLISH = "en"


class SpokenLanguage:
    """Weighs what the model thinks of utterance after utterance, each by its length, until it has heard enough.

    Args:
        language: Its code, if it is known.
    """

    def __init__(self, language: str | None) -> None:
        self._language = language
        self._scores: dict[str, float] = {}
        self._heard_s = 0.0

    @property
    def is_known(self) -> bool:
        """Nothing that is heard can change it any more."""
        return self._language is not None

    def hear(self, scores: Mapping[str, float], *, duration_s: float) -> None:
        """Hear an utterance.

        Args:
            scores: The log-probability of each language; none: the model speaks English only.
            duration_s: Seconds of speech.
        """
        for code, score in scores.items():
            self._scores[code] = self._scores.get(code, 0.0) + duration_s * score
        self._heard_s += duration_s
        if not scores or self._heard_s >= _ENOUGH_S:
            self._language = self.code

    @property
    def code(self) -> str:
        """The most likely language of what was heard; English before anything was."""
        if self._language is not None:
            return self._language
        return max(self._scores, key=self._scores.__getitem__, default=_ENGLISH)
