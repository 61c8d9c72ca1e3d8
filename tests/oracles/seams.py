"""Seams between readings, found by trying every number of words."""

from __future__ import annotations

from collections.abc import Sequence

from murmur_cli.types import Word

__all__ = ["count_known_plainly", "find_seam_plainly"]


def count_known_plainly(words: Sequence[Word], told: Sequence[Word], *, at: float) -> int:
    """Tell how many words are known: of all numbers the best one, none of the later ones being better."""
    if not told:
        return 0
    by_time = len([word for word in words if word.start + word.end < 2 * at])
    best, most, nearest = by_time, -1, 99
    for n in range(len(words) + 1):
        if abs(n - by_time) > 2:
            continue
        alike = _count_alike([_letters(word) for word in words[:n]], [_letters(word) for word in told])
        if alike > most or (alike == most and abs(n - by_time) < nearest):
            best, most, nearest = n, alike, abs(n - by_time)
    return best


def find_seam_plainly(words: Sequence[Word], *, start: float, end: float) -> tuple[int, float] | None:
    """Tell how many words are sure, and where to cut behind them."""
    n = len(words)
    while n and words[n - 1].end > end - 1.5:
        n -= 1
    if n == 0:
        return None
    following = words[n].start if n < len(words) else words[n - 1].end
    at = (words[n - 1].end + following) / 2
    return None if at < start + 2 else (n, at)


def _count_alike(known: list[str], told: list[str]) -> int:
    for n in (3, 2, 1):
        if n <= len(known) and n <= len(told) and known[-n:] == told[-n:]:
            return 3 if n in (len(known), len(told)) else n
    return 0


def _letters(word: Word) -> str:
    return "".join(filter(str.isalnum, word.text.casefold()))
