"""What outlives a run."""

from __future__ import annotations

from dataclasses import dataclass

from murmur_cli.options.require import require

__all__ = ["JournalOptions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalOptions:
    """What outlives a run. ``journal_dir`` None is the user's folder for state."""

    journal_dir: str | None = None
    no_resume: bool = False

    def __post_init__(self) -> None:
        require("--journal-dir", "the name is empty", "give a folder", unless=self.journal_dir != "")
        free = self.journal_dir is None or not self.no_resume
        require("--no-resume", "goes against --journal-dir", "choose one", unless=free)
