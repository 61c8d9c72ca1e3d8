"""What a live session keeps when its context is full: when it begins anew, and with which chunks.

A speaker's number stands for a voice as long as the model can see who had it. So for every number that was given a
chunk is kept in which that voice is heard alone, and these chunks come in the order of the numbers, as the people came.

Source:
    A window that slides names 45-75 % of the speakers rightly where all of the context names 100 %: sessions of two
    minutes with the tiny trained model.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

__all__ = ["LEAST_CHUNKS", "ChunkNote", "Rollover", "Turn", "count_most_kept"]

LEAST_CHUNKS = 16
"""A context of fewer chunks could hardly keep anybody."""

_RECENT = 5  # chunks: what was said last
_PAUSE_SHARE = 8  # the last eighth of a context waits for a pause
_KEPT_SHARE = 2  # half of a new context is free
_MOST_KEPT = 32  # chunks, however long a context may be: they are read at once
_ENOUGH_LETTERS = 9  # more of them tell no more about a voice; two or three English words


@dataclass(frozen=True, slots=True)
class Turn:
    """Letters of one speaker, by the model's own number, without blanks."""

    speaker: int
    n_letters: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkNote:
    """What is known of a chunk after it was decoded.

    Attributes:
        index: Of the chunk, from 0.
        turns: Who says how much in it, in order.
        begins_turn: Its first speaker begins to speak in it.
        is_silent: The model was not asked.
        is_empty: The model wrote nothing.
        is_faulty: What was written for it was cut, or cannot be read by itself.
    """

    index: int
    turns: tuple[Turn, ...]
    begins_turn: bool
    is_silent: bool
    is_empty: bool
    is_faulty: bool

    @property
    def speakers(self) -> frozenset[int]:
        """All who speak in it."""
        return frozenset(turn.speaker for turn in self.turns)


@dataclass(frozen=True, slots=True, order=True)
class _Clearness:
    """How well a chunk shows whose number a number is; the first thing in which two differ decides.

    A turn that begins where another voice has ended is what the model learns a number from: where chunks were chosen by
    the length of their text alone, one session in five lost its numbers.

    Attributes:
        is_own_turn: The speaker's turn begins in it, and it has nothing else in it.
        is_alone: It has only this speaker in it.
        is_in_order: Nobody with a higher number is in it, who would seem to have come before.
        n_letters: Of the speaker, as far as they count.
        is_undisturbed: The next chunk does not begin with anybody else, who might be heard in this one's look-ahead.
    """

    is_own_turn: bool
    is_alone: bool
    is_in_order: bool
    n_letters: int
    is_undisturbed: bool


class Rollover:
    """Follows a session, and says when to begin a new context, and with what.

    What it remembers does not grow with the session, only with the number of speakers.

    Args:
        most: Chunks that the context may hold.
    """

    def __init__(self, most: int) -> None:
        assert most >= LEAST_CHUNKS, "checked where the options are"
        self._most = most
        self._n_held = 0
        self._recent: deque[int] = deque(maxlen=_RECENT)
        self._last_text: int | None = None
        self._newest: ChunkNote | None = None
        self._exemplars: dict[int, tuple[_Clearness, int]] = {}  # by speaker
        self._heard: dict[int, int] = {}  # the newest chunk of every speaker

    @property
    def n_held(self) -> int:
        """Chunks that the context holds."""
        return self._n_held

    @property
    def needed(self) -> frozenset[int]:
        """The chunks that a new context may still be built of."""
        exemplars = (index for _, index in self._exemplars.values())
        return frozenset([*exemplars, *self._list_recent()])

    def is_due(self, *, is_silent: bool) -> bool:
        """Tell whether to begin a new context before the next chunk is read.

        Args:
            is_silent: Nothing is said in that chunk.
        """
        waits = self._most - self._most // _PAUSE_SHARE
        return self._n_held >= self._most or (is_silent and self._n_held >= waits)

    def note(self, chunk: ChunkNote) -> None:
        """Hear of the next chunk that the context holds."""
        self._n_held += 1
        if not chunk.is_silent:
            self._recent.append(chunk.index)
        if not chunk.is_empty:
            self._last_text = chunk.index
        if self._newest is not None:
            self._compare(self._newest, following=chunk)
        self._newest = chunk
        self._heard |= dict.fromkeys(chunk.speakers, chunk.index)
        self._compare(chunk, following=None)

    def _compare(self, chunk: ChunkNote, *, following: ChunkNote | None) -> None:
        """Take a chunk for an exemplar if it is a better one; of equals the first stays, when less could go wrong."""
        for speaker in chunk.speakers & self._heard.keys():
            clearness = _judge(chunk, speaker, following=following)
            if speaker not in self._exemplars or clearness > self._exemplars[speaker][0]:
                self._exemplars[speaker] = clearness, chunk.index

    def begin_again(self) -> list[int]:
        """Begin a new context.

        Returns:
            The chunks that it holds, in this order: one for each speaker, in the order of their numbers, and the last
            ones. Where there are more speakers than half of the context takes, those who were silent longest are
            forgotten. A chunk may be there twice.
        """
        recent = self._list_recent()
        n_speakers = count_most_kept(self._most) - len(recent)
        for speaker in sorted(self._heard, key=self._heard.__getitem__, reverse=True)[n_speakers:]:
            del self._heard[speaker], self._exemplars[speaker]
        kept = [self._exemplars[speaker][1] for speaker in sorted(self._exemplars)] + recent
        self._n_held = len(kept)
        return kept

    def _list_recent(self) -> list[int]:
        """List the last chunks in which somebody may have spoken; the last text is in one: who speaks goes on in it."""
        if self._last_text is None or self._last_text in self._recent:
            return list(self._recent)
        return [self._last_text, *self._recent]


def count_most_kept(most: int) -> int:
    """Say how many chunks a new context begins with at most, of the ``most`` that it may hold."""
    return min(most // _KEPT_SHARE, _MOST_KEPT)


def _judge(chunk: ChunkNote, speaker: int, *, following: ChunkNote | None) -> _Clearness:
    is_alone = chunk.speakers == {speaker} and not chunk.is_faulty
    n_letters = sum(turn.n_letters for turn in chunk.turns if turn.speaker == speaker)
    return _Clearness(
        is_own_turn=is_alone and chunk.begins_turn,
        is_alone=is_alone,
        is_in_order=max(chunk.speakers) == speaker and not chunk.is_faulty,
        n_letters=min(n_letters, _ENOUGH_LETTERS),
        is_undisturbed=following is not None and (not following.turns or following.turns[0].speaker == speaker),
    )
