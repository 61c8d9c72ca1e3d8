"""Rows that wait for a slot: the longest goes first, and none waits for ever.

Long rows that begin last leave slots idle at the end. Rows are pulled when a slot is free and no sooner,
since pulling one may mean to decode the next file.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from murmur_cli.decode.rows import Row

__all__ = ["LookAhead"]


@dataclass(frozen=True, slots=True)
class _Waiting:
    row: Row
    latest: int  # the number of rows after which it is its turn, however long others are


class LookAhead:
    """Looks a bounded number of rows ahead.

    Args:
        rows: In any order.
        n_rows: How many may wait. A row is passed over by as many at most.
    """

    def __init__(self, rows: Iterable[Row], *, n_rows: int) -> None:
        self._rows = iter(rows)
        self._n_rows = n_rows
        self._waiting: list[_Waiting] = []  # oldest first
        self._n_gone = 0

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def n_cells(self) -> int:
        """What the longest of the waiting rows needs; 0 if none waits."""
        return max((waiting.row.n_cells for waiting in self._waiting), default=0)

    def pull(self) -> None:
        """Pull rows until as many wait as may wait, or there are no more."""
        while len(self._waiting) < self._n_rows:
            row = next(self._rows, None)
            if row is None:
                return
            self._waiting.append(_Waiting(row, self._n_gone + self._n_rows))

    def pop(self) -> Row | None:
        """Hand out the longest row, or the oldest if it has waited long enough; None if there is none."""
        self.pull()
        if not self._waiting:
            return None
        index = 0
        if self._waiting[0].latest > self._n_gone:
            index = max(range(len(self._waiting)), key=lambda i: self._waiting[i].row.n_cells)
        self._n_gone += 1
        return self._waiting.pop(index).row
