"""The slow, obvious counterpart of the watcher for answers that run away: all is worked out anew at every look."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from murmur_cli.decode.entries import Broken, Entry, OpenEntry, iter_entries


def repeats_plainly(tokens: Sequence[int]) -> int:
    """Try every period; for the first with enough turns, every length that the end of the text may have."""
    for period in range(1, 121):
        least = max(60, 6 * period)
        if len(tokens) >= least and has_period(tokens[-least:], period):
            return max(n for n in range(least, len(tokens) + 1) if has_period(tokens[len(tokens) - n :], period))
    return 0


def has_period(tokens: Sequence[int], period: int) -> bool:
    return all(tokens[i] == tokens[i % period] for i in range(len(tokens)))


def runs_away_plainly(
    looks: Sequence[Sequence[int]], decode: Callable[[Sequence[int]], str], *, duration: float
) -> bool:
    """Tell whether an answer that came in these pieces has run away at the last of them."""
    tokens = [token for look in looks for token in look]
    pieces = list(iter_entries(decode(tokens)))
    return in_tokens(looks, tokens, decode, pieces, duration) or in_entries(pieces, duration)


def in_tokens(
    looks: Sequence[Sequence[int]],
    tokens: Sequence[int],
    decode: Callable[[Sequence[int]], str],
    pieces: Sequence[Entry | Broken | OpenEntry],
    duration: float,
) -> bool:
    n_repeating = repeats_plainly(tokens)
    newest = pieces[-1] if pieces else None
    if not isinstance(newest, OpenEntry) or newest.start is None or newest.end is None:
        return n_repeating > 0
    seconds = max(min(newest.end, duration) - max(newest.start, 0.0), 0.0)
    ends = list(itertools.accumulate(len(look) for look in looks))
    brace = next(end for end in ends if len(decode(tokens[:end])) > newest.first)  # the look that saw it ends here
    n_open = len(tokens) - brace + 1
    if n_open > 15 * seconds + 32:
        return True
    return n_repeating > 12 * min(seconds, 60.0)


def in_entries(pieces: Sequence[Entry | Broken | OpenEntry], duration: float) -> bool:
    def is_sound(piece: object) -> bool:
        return isinstance(piece, Entry) and piece.start <= duration + 1.0 and piece.end >= -1.0

    complete = [piece for piece in pieces if not isinstance(piece, OpenEntry)]
    if any(not any(map(is_sound, complete[i : i + 4])) for i in range(len(complete) - 3)):
        return True
    return any(stand_still(four) for four in fours([piece for piece in complete if is_sound(piece)]))


def fours(entries: Sequence[Entry]) -> list[list[Entry]]:
    """Every four entries with one speaker and one text that follow on each other, but for others between them."""
    found = []
    for own in {(entry.speaker, entry.content) for entry in entries}:
        same = [entry for entry in entries if (entry.speaker, entry.content) == own]
        found += [same[i : i + 4] for i in range(len(same) - 3)]
    return found


def stand_still(entries: Sequence[Entry]) -> bool:
    starts = [entry.start for entry in entries]
    return (max(starts) - min(starts)) * 30 < 3 * len(entries[0].content)


def sound_plainly(entries: Sequence[Entry]) -> int | None:
    """The second of the first four that stand still, first meaning complete first."""
    for n in range(len(entries) + 1):
        for four in fours(entries[:n]):
            if stand_still(four):
                return entries.index(four[1])
    return None
