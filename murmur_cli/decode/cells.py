"""Which cell of a slot holds which position of its row, in ints.

A row's positions grow by one with every token and are never renumbered; cells are reused. The cells of a
row need no order: keys are turned to their position before they are stored.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable

__all__ = ["TRASH", "RowCells"]

TRASH = 0  # the cell of every slot that takes what nobody needs


class RowCells:
    """The cells of one row, beginning with those of its prompt: cell 1 for position 0, and so on.

    The lowest free cell is always taken first, so that the cells in use stay together.

    Args:
        n_prompt: Positions of the prompt.
    """

    def __init__(self, n_prompt: int) -> None:
        self._cells = list(range(TRASH + 1, TRASH + 1 + n_prompt))  # by position; TRASH where it is forgotten
        self._freed: list[int] = []  # a heap
        self._end = TRASH + 1 + n_prompt

    @property
    def end(self) -> int:
        """The lowest cell that was never taken: those in use are all below it."""
        return self._end

    @property
    def n_positions(self) -> int:
        """Positions that were ever held."""
        return len(self._cells)

    def take(self, n: int) -> list[int]:
        """Take cells for the next ``n`` positions, in their order."""
        taken = []
        for _ in range(n):
            if self._freed:
                taken.append(heapq.heappop(self._freed))
            else:
                taken.append(self._end)
                self._end += 1
        self._cells += taken
        return taken

    def forget(self, positions: Iterable[int]) -> list[int]:
        """Free the cells of some positions; those that are forgotten already are passed over.

        Returns:
            The freed cells.

        Raises:
            ValueError: A position is negative, or was never held.
        """
        freed = []
        for position in positions:
            if not 0 <= position < len(self._cells):
                raise ValueError(f"position {position} was never held: there are {len(self._cells)}")
            cell = self._cells[position]
            if cell != TRASH:
                self._cells[position] = TRASH
                heapq.heappush(self._freed, cell)
                freed.append(cell)
        return freed

    def count_kept(self, n_positions: int) -> int:
        """Count how many of the first ``n_positions`` are still held."""
        return sum(cell != TRASH for cell in self._cells[:n_positions])
