"""What a source of weights answers, and how it tells how far it is.

A source that cannot deliver raises ``ModelUnavailableError``; its problem is the reason that the user reads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["Fetched", "PullProgress", "Report"]


@dataclass(frozen=True, slots=True)
class PullProgress:
    """Where a pull is.

    ``doing`` is one clause for the user. ``n_bytes`` of ``total_bytes`` have arrived; None means that
    there is nothing to count.
    """

    name: str
    doing: str
    n_bytes: int = 0
    total_bytes: int | None = None


Report: TypeAlias = Callable[[str, int, int | None], None]
"""Called with what is being done, the bytes that have arrived, and the bytes in all."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """Where weights came from: enough to ask for the same bytes again."""

    source: str
    revision: str
    licence: str
