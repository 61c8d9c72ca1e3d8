"""Errors as counts that add up over recordings; a rate is one division at the end.

There is no way to average rates: that would weigh a short recording like a long one.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["KeywordCounts", "SpeakerErrors", "WordErrors"]


@dataclass(frozen=True, slots=True)
class WordErrors:
    """What must be changed in the hypothesis; ``length`` counts the words of the reference."""

    length: int = 0
    insertions: int = 0
    deletions: int = 0
    substitutions: int = 0

    @property
    def errors(self) -> int:
        """All changes together."""
        return self.insertions + self.deletions + self.substitutions

    @property
    def rate(self) -> float | None:
        """Errors for each word of the reference; None where it has no words."""
        return self.errors / self.length if self.length else None

    def __add__(self, other: WordErrors) -> WordErrors:
        return WordErrors(
            self.length + other.length,
            self.insertions + other.insertions,
            self.deletions + other.deletions,
            self.substitutions + other.substitutions,
        )


@dataclass(frozen=True, slots=True)
class SpeakerErrors:
    """Seconds in which the wrong people speak; ``length`` is the reference's speech, each speaker counted."""

    length: float = 0.0
    missed: float = 0.0
    false_alarm: float = 0.0
    confusion: float = 0.0

    @property
    def errors(self) -> float:
        """All errors together, in seconds."""
        return self.missed + self.false_alarm + self.confusion

    @property
    def rate(self) -> float | None:
        """Seconds of error for each second of speech in the reference; None where nobody speaks."""
        return self.errors / self.length if self.length else None

    def __add__(self, other: SpeakerErrors) -> SpeakerErrors:
        return SpeakerErrors(
            self.length + other.length,
            self.missed + other.missed,
            self.false_alarm + other.false_alarm,
            self.confusion + other.confusion,
        )


@dataclass(frozen=True, slots=True)
class KeywordCounts:
    """Keywords in the reference, those of them that are right, and those that the hypothesis has for something else."""

    said: int = 0
    right: int = 0
    false: int = 0

    @property
    def precision(self) -> float | None:
        """How many that were heard were said; None where none was heard."""
        heard = self.right + self.false
        return self.right / heard if heard else None

    @property
    def recall(self) -> float | None:
        """How many that were said were heard; None where none was said."""
        return self.right / self.said if self.said else None

    @property
    def f(self) -> float | None:
        """The harmonic mean of precision and recall; None where no keyword was said or heard."""
        both = self.said + self.right + self.false
        return 2 * self.right / both if both else None

    def __add__(self, other: KeywordCounts) -> KeywordCounts:
        return KeywordCounts(self.said + other.said, self.right + other.right, self.false + other.false)
