"""Answers that run away: the model writes on, and gets nowhere.

People do repeat themselves. What tells a loop from that is time: the model writes when an entry ends before it writes
what is said in it, and nobody says so much in so little time.
"""

from __future__ import annotations

from collections.abc import Sequence

from murmur_cli.decode.entries import Broken, Entry, OpenEntry
from murmur_cli.decode.follow import AnswerFollower, Decode, Reading
from murmur_cli.decode.parse import check_times
from murmur_cli.decode.repetition import FASTEST_TOKENS_PER_S, count_repeating
from murmur_cli.decode.watch import Orders
from murmur_cli.types import LocalSpeaker

__all__ = ["RunawayWatcher", "find_standstill"]

# Source: murmur's page on long recordings.
_MOST_TOKENS_PER_S = 15  # in an entry, beside ...
_MOST_FIXED = 32  # ... those of its header, which has 27 at most in Qwen's tokenizer, and some to spare

_LONGEST_CHANT_S = 60.0  # nobody says the same for longer than this in one entry, whatever its times say
_MOST_CHARACTERS_PER_S = 30  # fluent English has 15
_LEAST_REPEATS = 4  # of an entry whose time stands still, and of entries that cannot be read

_TOO_LONG = "the model wrote more than can be said in the time of a segment"
_LOOP = "the model wrote the same over and over"
_UNREADABLE = "the model wrote one segment after the other that cannot be read"


class RunawayWatcher:
    """Ends a row that has run away.

    There are four signs of it. The open entry has more than 15 tokens for each of its seconds, and 32. The last 60
    tokens or more repeat 6 times or more, and are not in an entry long enough to say them: 12 for each second, of 60 at
    most. A speaker's text comes a fourth time in less time than it takes to be said three times. Four entries in a row
    cannot be read.

    Args:
        decode: Of the tokenizer.
        duration: Of the chunk, in seconds: no entry has more than its share of it, whatever its times say.
    """

    def __init__(self, decode: Decode, *, duration: float) -> None:
        self._answer = AnswerFollower(decode)
        self._duration = duration
        self._tokens: list[int] = []
        self._starts: dict[tuple[LocalSpeaker | None, str], tuple[float, ...]] = {}  # of the last settled entries
        self._n_broken = 0  # of the last settled pieces

    def look(self, tokens: Sequence[int]) -> Orders:
        """Read on, and say whether it goes on."""
        reading = self._answer.read(tokens)
        self._tokens += tokens
        return Orders(halt=self._judge_tokens(reading) or self._judge_entries(reading))

    def _judge_tokens(self, reading: Reading) -> str | None:
        n_open = 0 if reading.open_tokens is None else self._answer.n_tokens - reading.open_tokens.stop + 1
        seconds = self._measure(reading)
        if seconds is not None and n_open > _MOST_TOKENS_PER_S * seconds + _MOST_FIXED:
            return _TOO_LONG
        n_repeating = count_repeating(self._tokens)
        n_sayable = 0.0 if seconds is None else FASTEST_TOKENS_PER_S * min(seconds, _LONGEST_CHANT_S)
        return _LOOP if n_repeating > n_sayable else None

    def _measure(self, reading: Reading) -> float | None:
        """Measure the open entry's time, as far as it lies in the chunk; None if there is none or it is not known."""
        newest = reading.unsettled[-1] if reading.unsettled else None
        if not isinstance(newest, OpenEntry) or newest.start is None or newest.end is None:
            return None
        return max(min(newest.end, self._duration) - max(newest.start, 0.0), 0.0)

    def _judge_entries(self, reading: Reading) -> str | None:
        """Judge all that is new; what is not settled yet is judged again at the next look."""
        starts: dict[tuple[LocalSpeaker | None, str], tuple[float, ...]] = {}
        n_broken, reason = self._n_broken, None
        for i, piece in enumerate((*reading.settled, *reading.unsettled)):
            known = check_times(piece, duration=self._duration)
            if isinstance(known, Entry):
                own = known.speaker, known.content
                starts[own] = (*starts.get(own, self._starts.get(own, ())), known.start)[-_LEAST_REPEATS:]
                reason = _LOOP if _stands_still(starts[own], known.content) else reason
            n_broken = 0 if isinstance(known, Entry) else n_broken + isinstance(known, Broken)
            reason = _UNREADABLE if n_broken >= _LEAST_REPEATS else reason
            if i + 1 == len(reading.settled):
                self._starts.update(starts)
                self._n_broken = n_broken
        return reason


def find_standstill(entries: Sequence[Entry]) -> int | None:
    """Find the first of the entries that only repeat one before, while their time stands still.

    Args:
        entries: In the order in which they were written.

    Returns:
        Its index, or None if there are not as many as end a row.
    """
    indices: dict[tuple[LocalSpeaker | None, str], list[int]] = {}
    for index, entry in enumerate(entries):
        own = indices.setdefault((entry.speaker, entry.content), [])
        own.append(index)
        last = own[-_LEAST_REPEATS:]
        if _stands_still([entries[i].start for i in last], entry.content):
            return last[1]
    return None


def _stands_still(starts: Sequence[float], text: str) -> bool:
    """Tell whether the text came so often, with these starts, that there was no time to say it."""
    n_said = (len(starts) - 1) * len(text)
    return len(starts) == _LEAST_REPEATS and n_said > _MOST_CHARACTERS_PER_S * (max(starts) - min(starts))
