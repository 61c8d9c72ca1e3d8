"""What may be said about a row while it is decoded: what to forget of it, and when to end it early.

A watcher is asked between two blocks of steps, never within one, and sees every token of its row once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

__all__ = ["Orders", "Watcher"]


@dataclass(frozen=True, slots=True)
class Orders:
    """What is to be done with a row.

    ``forget`` are positions of the row, counted from the first of its prompt, whose keys and values are
    dropped; a position that is forgotten already may be named again. ``halt`` says why the row ends now,
    or is None if it goes on.
    """

    forget: Sequence[int] = ()
    halt: str | None = None


class Watcher(Protocol):
    """Follows one row; it holds what it needs to remember of it."""

    def look(self, tokens: Sequence[int]) -> Orders:
        """Judge a row that goes on.

        Args:
            tokens: What it has written since the last look. The last one is not yet held by the cache.
        """
        ...
