"""Group-average agglomeration of voices: the two groups most alike become one, again and again.

The likeness of two groups is the mean cosine between their members, weighted: the product of the
groups' vector sums, divided by the product of their weights. So a member may itself be a group, given
by its sum and its weight.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from murmur_cli.speakers.windows import BoolArray

__all__ = ["Merge", "agglomerate", "label_groups"]


@dataclass(frozen=True, slots=True)
class Merge:
    """One step: the group of member ``absorbed`` joins that of member ``kept``."""

    kept: int
    absorbed: int
    similarity: float


def agglomerate(
    sums: npt.NDArray[np.float64],
    weights: npt.NDArray[np.float64],
    *,
    least_similarity: float = -math.inf,
    apart: BoolArray | None = None,
) -> list[Merge]:
    """Merge groups until no two are alike enough.

    Time and memory are quadratic in the number of members.

    Args:
        sums: Unit vectors times their weights, shape (n, D).
        weights: Above 0, shape (n,).
        least_similarity: Groups less alike stay apart.
        apart: Which members must never be in one group, symmetric, shape (n, n).

    Returns:
        The merges, most alike first: leaving out the last ones leaves more groups. Of equals, the pair
        with the lowest numbers comes first.
    """
    table = _Table(sums, weights, apart)
    merges: list[Merge] = []
    while (merge := table.find_best()) is not None and merge.similarity >= least_similarity:
        table.apply(merge)
        merges.append(merge)
    return merges


def label_groups(n: int, merges: Sequence[Merge]) -> npt.NDArray[np.intp]:
    """Number the groups of ``n`` members in the order of their first members, shape (n,)."""
    group = np.arange(n)
    for merge in merges:
        group[group == merge.absorbed] = merge.kept
    _, first, inverse = np.unique(group, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


class _Table:
    """The groups, each under the number of one of its members, and for each the one most like it."""

    def __init__(
        self, sums: npt.NDArray[np.float64], weights: npt.NDArray[np.float64], apart: BoolArray | None
    ) -> None:
        n = len(sums)
        self._products = sums @ sums.T
        self._weights = weights.astype(np.float64)
        self._apart = None if apart is None else apart.copy()
        self._alive = np.ones(n, np.bool_)
        self._nearest = np.zeros(n, np.intp)
        self._best = np.full(n, -math.inf)
        for group in range(n):
            self._find_nearest(group)

    def find_best(self) -> Merge | None:
        """Give the pair most alike, None if no two may be merged."""
        if not len(self._best):
            return None
        kept = int(self._best.argmax())
        similarity = float(self._best[kept])
        return Merge(kept, int(self._nearest[kept]), similarity) if similarity > -math.inf else None

    def apply(self, merge: Merge) -> None:
        """Make one group of two."""
        kept, absorbed = merge.kept, merge.absorbed
        self._products[kept] += self._products[absorbed]
        self._products[:, kept] += self._products[:, absorbed]
        self._weights[kept] += self._weights[absorbed]
        if self._apart is not None:
            self._apart[kept] |= self._apart[absorbed]
            self._apart[:, kept] |= self._apart[:, absorbed]
        self._alive[absorbed] = False
        self._best[absorbed] = -math.inf
        # No other group has come closer to this one than to both before: a mean is between what it is of.
        changed = self._alive & ((self._nearest == kept) | (self._nearest == absorbed))
        changed[kept] = True
        for group in np.flatnonzero(changed):
            self._find_nearest(int(group))

    def _find_nearest(self, group: int) -> None:
        row = self._products[group] / (self._weights[group] * self._weights)
        row[~self._alive] = -math.inf
        if self._apart is not None:
            row[self._apart[group]] = -math.inf
        row[group] = -math.inf
        self._nearest[group] = row.argmax()
        self._best[group] = row[self._nearest[group]]
