"""What is known of one recording, from this run and from those before it."""

from __future__ import annotations

from collections.abc import Callable

from murmur_cli.journal.records import KeptAnswer, KeptDiarization, KeptLine, KeptPlan, KeptVoices
from murmur_cli.types import Hypothesis

__all__ = ["PartJournal"]


class PartJournal:
    """The journal of one recording: what is kept is there at once, and in the next run if ``write`` puts it on disk.

    Args:
        part: Which recording of its file it is.
        write: Writes a line. None: nothing outlives the run.
    """

    def __init__(self, part: int = 0, write: Callable[[KeptLine], None] | None = None) -> None:
        self.part = part
        self.plan: KeptPlan | None = None
        self.answers: dict[int, Hypothesis] = {}
        self.voices: dict[int, KeptVoices] = {}
        self._diarization: KeptDiarization | None = None
        self._write = write

    @property
    def is_answered(self) -> bool:
        """Whether every chunk is."""
        return self.plan is not None and all(chunk.index in self.answers for chunk in self.plan.chunks)

    def find_diarization(self, asked: str) -> KeptDiarization | None:
        """Give who spoke when, if that has been found out for the same wishes."""
        found = self._diarization
        return found if found is not None and found.asked == asked else None

    def keep(self, kept: KeptPlan | KeptAnswer | KeptVoices | KeptDiarization) -> None:
        """Keep a record."""
        self.recall(kept)
        if self._write is not None:
            self._write(kept)

    def recall(self, kept: KeptPlan | KeptAnswer | KeptVoices | KeptDiarization) -> None:
        """Take a record from an earlier run."""
        if isinstance(kept, KeptPlan):
            self.plan = kept
        elif isinstance(kept, KeptAnswer):
            self.answers[kept.index] = kept.hypothesis
        elif isinstance(kept, KeptVoices):
            self.voices[kept.index] = kept
        else:
            self._diarization = kept
