"""Which frames of a chunk's audio may be forgotten, from the times that the model writes. Ints only.

The front follows the text and never runs ahead of it. It does not go back, whatever times are written later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from murmur_cli.decode.entries import Broken, Entry
from murmur_cli.decode.follow import Piece, Reading
from murmur_cli.types import LocalSpeaker

__all__ = ["FrontierOptions", "SpeechFrontier"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontierOptions:
    """What of the audio stays; in frames.

    Attributes:
        sink: From the first on.
        margin: Between the front and what the text has come to.
        speaker_pin: The first ones of each speaker's speech: the only evidence of who a speaker's number is.
        onset_pin: On each side of every written Start.
        max_jump: A step of the text in time that is longer is believed when the next entry confirms it.

    Raises:
        ValueError: One is negative.

    Source:
        The sink: Murmur, arXiv:2606.01483. The others were found with a small trained model; see
        ``benchmarks/eviction.py``.
    """

    sink: int = 32
    margin: int = 64
    speaker_pin: int = 15
    onset_pin: int = 2
    max_jump: int = 450  # 60 s

    def __post_init__(self) -> None:
        if min(self.sink, self.margin, self.speaker_pin, self.onset_pin, self.max_jump) < 0:
            raise ValueError(f"a number of frames is negative: {self}")


@dataclass(frozen=True, slots=True)
class _Place:
    """What is known after some entries of an answer, in frames.

    ``claimed`` is where the newest entry says that the text is: at its own Start or at the End of the one before,
    whichever is earlier. ``reached`` is the furthest claim that was believed, ``doubted`` the last one if it was not.
    ``ended`` is the End of the last complete entry; ``heard`` are the frames of each speaker in entries.
    """

    claimed: int = 0
    reached: int = 0
    doubted: int | None = None
    ended: int = 0
    heard: Mapping[LocalSpeaker, int] = field(default_factory=dict)

    def begin(self, start: int, max_jump: int) -> _Place:
        """Go on with an entry's Start."""
        claimed = min(start, self.ended)
        if claimed - self.reached <= max_jump:
            return replace(self, claimed=claimed, reached=max(self.reached, claimed), doubted=None)
        if self.doubted is not None and abs(claimed - self.doubted) <= max_jump:
            return replace(self, claimed=claimed, reached=min(claimed, self.doubted), doubted=None)
        return replace(self, claimed=claimed, doubted=claimed)


class SpeechFrontier:
    """Follows one answer.

    Args:
        options: What stays.
        n_frames: Of the chunk's audio.
        frames_per_s: Of the model's.
    """

    def __init__(self, options: FrontierOptions, *, n_frames: int, frames_per_s: float) -> None:
        self._options = options
        self._n_frames = n_frames
        self._frames_per_s = frames_per_s
        self._settled = _Place()
        self._pinned: set[int] = set()
        self._front = options.sink  # all before it are forgotten, but for the sink and what is pinned

    def advance(self, reading: Reading) -> list[int]:
        """Say which frames are forgotten now; each is named once."""
        self._settled = self._pass(self._settled, reading.settled)
        place = self._pass(self._settled, reading.unsettled)
        front = min(place.reached, place.claimed) - self._options.margin
        passed = range(self._front, front)
        self._front = max(self._front, front)
        return [frame for frame in passed if frame not in self._pinned]

    def _pass(self, place: _Place, pieces: Iterable[Piece]) -> _Place:
        """Go on over some pieces, and pin what they name. What is broken or outside of the chunk says nothing."""
        for piece in pieces:
            start = None if isinstance(piece, Broken) else piece.start
            if start is None or not 0 <= (first := self._to_frame(start)) <= self._n_frames:
                continue
            place = place.begin(first, self._options.max_jump)
            self._pin(range(first - self._options.onset_pin, first + self._options.onset_pin))
            if isinstance(piece, Entry):
                place = self._end(place, piece, first)
        return place

    def _end(self, place: _Place, entry: Entry, first: int) -> _Place:
        """Go on with a complete entry's End."""
        past = min(self._to_frame(entry.end) + 1, self._n_frames)
        place = replace(place, ended=past - 1)
        if entry.speaker is None or past <= first:
            return place
        n_heard = place.heard.get(entry.speaker, 0)
        n_pinned = min(self._options.speaker_pin - n_heard, past - first)
        self._pin(range(first, first + n_pinned))
        return replace(place, heard={**place.heard, entry.speaker: n_heard + past - first})

    def _pin(self, frames: range) -> None:
        self._pinned.update(frames)

    def _to_frame(self, seconds: float) -> int:
        return int(seconds * self._frames_per_s)
