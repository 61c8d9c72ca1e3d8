"""Keyword scores the slow way: every stretch, every phrase, one after the other."""

from __future__ import annotations

from collections.abc import Sequence

Pair = tuple[str | None, str | None]


def is_listed(words: Sequence[str | None], phrases: Sequence[tuple[str, bool]]) -> bool:
    """Tell whether words are one of the phrases; an open one may go on in its last word."""
    if None in words:
        return False
    spoken = " ".join(str(word) for word in words).lower()
    for phrase, is_open in phrases:
        rest = spoken.removeprefix(phrase)
        if spoken.startswith(phrase) and (not rest or (is_open and " " not in rest)):
            return True
    return False


def count_plainly(pairs: Sequence[Pair], phrases: Sequence[tuple[str, bool]]) -> tuple[int, int, int]:
    """Count keywords that are said, right and false by NeMo's rule, over all stretches of aligned words."""
    n_said = n_right = n_false = 0
    for begin in range(len(pairs)):
        for end in range(begin + 1, len(pairs) + 1):
            said = [pair[0] for pair in pairs[begin:end]]
            heard = [pair[1] for pair in pairs[begin:end]]
            if is_listed(said, phrases):
                n_said += 1
                n_right += said == heard
            elif is_listed(heard, phrases):
                n_false += 1
    return n_said, n_right, n_false


def mark_plainly(words: Sequence[str], phrases: Sequence[tuple[str, bool]]) -> list[bool]:
    """Mark the words that are in any stretch that is a phrase."""
    stretches = [(b, e) for b in range(len(words)) for e in range(b + 1, len(words) + 1)]
    hits = [(b, e) for b, e in stretches if is_listed(words[b:e], phrases)]
    return [any(b <= i < e for b, e in hits) for i in range(len(words))]


def split_plainly(
    reference: Sequence[str], hypothesis: Sequence[str], pairs: Sequence[Pair], phrases: Sequence[tuple[str, bool]]
) -> dict[bool, list[int]]:
    """Words of the reference, insertions, deletions, substitutions: of listed words (True), and of others."""
    said, heard = mark_plainly(reference, phrases), mark_plainly(hypothesis, phrases)
    found = {True: [0, 0, 0, 0], False: [0, 0, 0, 0]}
    i = j = 0
    for one, other in pairs:
        counts = found[said[i] if one is not None else heard[j]]
        counts[0] += one is not None
        counts[1] += one is None
        counts[2] += other is None
        counts[3] += None not in (one, other) and one != other
        i += one is not None
        j += other is not None
    return found


def edit_distance(reference: Sequence[str], hypothesis: Sequence[str]) -> int:
    """The fewest changes, by their table."""
    row = list(range(len(hypothesis) + 1))
    for i, word in enumerate(reference, start=1):
        before, row = row, [i] + [0] * len(hypothesis)
        for j, other in enumerate(hypothesis, start=1):
            row[j] = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (word != other))
    return row[-1]
