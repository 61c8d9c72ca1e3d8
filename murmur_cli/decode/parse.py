"""From the text that a model wrote about a chunk to a hypothesis.

Nothing is invented: every word of a segment stands in the answer, and every time was written by the model or is
an end of the chunk. Nothing is dropped without a gap, but what is no speech.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from murmur_cli.decode.entries import Broken, Entry, OpenEntry, iter_entries
from murmur_cli.types import DecodeError, HypGap, Hypothesis, HypSegment, LocalSpeaker

__all__ = ["check_times", "find_pieces", "parse_answer", "to_hypothesis"]

# What the model was taught to write where nobody speaks: VibeVoice-ASR, arXiv:2601.18184, on long recordings.
_SOUND = re.compile(r"\[(?:music|human sounds|environmental sounds|noise|silence)\]", re.IGNORECASE)
_UNCLEAR = re.compile(r"\[unintelligible speech\]", re.IGNORECASE)  # likewise, but somebody speaks
_CONTROL_TOKEN = re.compile(r"<\|[^\s|<>]{1,64}+\|>")
_BLANKS = re.compile(r"[ \x00-\x1f\x7f-\x9f\u2028\u2029]+")  # other spaces are text
_SPEAKER_TAG = re.compile(r"[\r\n][ \t]*+Speaker ([0-9]{1,4})[ \t]*+:")  # as the streaming checkpoints write it

# Written times are rounded, and the last frame (0.13 s) may be padding. What begins longer after the chunk's end
# than this, or ends longer before its start, cannot have been heard in it.
_SLACK_S = 1.0

_MOST_QUOTED = 80  # characters of an answer that cannot be read


def parse_answer(text: str, *, duration: float) -> Hypothesis | DecodeError:
    """Read an answer, as far as it can be read.

    Segments come in the order of their starts, in which a model need not write people who speak at once. Where it
    wrote two speakers into one entry, the second one's name on a line of its own, both have the entry's times. What
    cannot be read becomes a gap: at the times that are written with it, or between those of its neighbours.

    Args:
        text: The answer, with control tokens or without.
        duration: Length of the chunk in seconds.

    Returns:
        A hypothesis, without segments where the model says that nobody speaks; an error, where not one entry of
        the answer can be read.
    """
    pieces = find_pieces(text, duration=duration)
    entries = [piece for piece in pieces if isinstance(piece, Entry)]
    if not entries:
        quoted = f"{len(text)} characters: {text[:_MOST_QUOTED]!r}"
        return Hypothesis(()) if _is_empty_list(text) else DecodeError(_explain(pieces), quoted)
    truncated = isinstance(pieces[-1], OpenEntry) or "]" not in text[entries[-1].past :]
    return replace(to_hypothesis(pieces, duration=duration), truncated=truncated)


def find_pieces(text: str, *, duration: float) -> list[Entry | Broken | OpenEntry]:
    """Find what an answer about a chunk of ``duration`` seconds consists of, in the order of the text."""
    return [check_times(piece, duration=duration) for piece in iter_entries(text)]


def to_hypothesis(pieces: Sequence[Entry | Broken | OpenEntry], *, duration: float) -> Hypothesis:
    """Make segments and gaps of the pieces of an answer.

    Args:
        pieces: As ``find_pieces`` gives them, or some of these.
        duration: Length of the chunk in seconds.
    """
    entries = [piece for piece in pieces if isinstance(piece, Entry)]
    segments = [segment for entry in entries for segment in _iter_segments(entry, duration)]
    return Hypothesis(
        segments=tuple(sorted(segments, key=lambda segment: segment.start)),
        gaps=tuple(dict.fromkeys(_iter_gaps(pieces, duration))),
    )


def check_times(piece: Entry | Broken | OpenEntry, *, duration: float) -> Entry | Broken | OpenEntry:
    """Take an entry for broken that lies outside of the chunk: neither its times nor its text can be right."""
    if isinstance(piece, OpenEntry):
        return replace(piece, end=None)  # behind it, too, everything is missing
    if isinstance(piece, Entry) and (piece.start > duration + _SLACK_S or piece.end < -_SLACK_S):
        return Broken(piece.first, piece.past, None, None, "the model wrote a segment outside of the chunk")
    return piece


def _is_empty_list(text: str) -> bool:
    return "".join(_CONTROL_TOKEN.sub("", text).split()).removeprefix("assistant") == "[]"


def _explain(pieces: Sequence[Entry | Broken | OpenEntry]) -> str:
    """Say why not one entry of an answer can be read."""
    broken = [piece.reason for piece in pieces if isinstance(piece, Broken)]
    if broken:
        return broken[0]
    return "the model's answer broke off in its first segment" if pieces else "the model wrote no segment"


@dataclass(frozen=True, slots=True)
class _Part:
    """What one speaker says in an entry; ``said`` is clean, with at most the mark of what could not be understood."""

    speaker: LocalSpeaker | None
    said: str
    has_sound: bool

    @property
    def is_spoken(self) -> bool:
        """There is text in it."""
        return bool(_UNCLEAR.sub("", self.said).strip())


def _iter_parts(entry: Entry) -> Iterator[_Part]:
    """Yield an entry's text by speaker, most often whole."""
    first, speaker = 0, entry.speaker
    for tag in _SPEAKER_TAG.finditer(entry.content):
        yield _to_part(entry.content[first : tag.start()], speaker)
        first, speaker = tag.end(), LocalSpeaker(int(tag[1]))
    yield _to_part(entry.content[first:], speaker)


def _to_part(content: str, speaker: LocalSpeaker | None) -> _Part:
    written = _CONTROL_TOKEN.sub(" ", content)
    said, n_sounds = _SOUND.subn(" ", written)
    return _Part(speaker, _BLANKS.sub(" ", said).strip(), n_sounds > 0)


def _iter_segments(entry: Entry, duration: float) -> Iterator[HypSegment]:
    start = _clamp(entry.start, duration)
    end = max(start, _clamp(entry.end, duration))
    for part in _iter_parts(entry):
        if part.is_spoken:
            yield HypSegment(start, end, part.said, part.speaker, words=(), language=None)


def _iter_gaps(pieces: Sequence[Entry | Broken | OpenEntry], duration: float) -> Iterator[HypGap]:
    """Yield what is lost: at its own times where they are known, else between the entries around it."""
    next_starts: list[float] = []
    next_start = duration
    for piece in reversed(pieces):
        next_starts.append(next_start)
        if isinstance(piece, Entry):
            next_start = _clamp(piece.start, duration)
    last_end = 0.0
    for piece, next_start in zip(pieces, reversed(next_starts), strict=True):
        for reason in _iter_losses(piece):
            start = _place(piece.start, duration, otherwise=last_end)
            end = _place(piece.end, duration, otherwise=next_start)
            yield HypGap(min(start, end), max(start, end), reason)
        if isinstance(piece, Entry):
            last_end = _clamp(piece.end, duration)


def _iter_losses(piece: Entry | Broken | OpenEntry) -> Iterator[str]:
    """Say what of a piece is in no segment, and is not the mark of a sound."""
    if isinstance(piece, OpenEntry):
        yield "the model's answer broke off in a segment"
    elif isinstance(piece, Broken):
        yield piece.reason
    else:
        parts = list(_iter_parts(piece))
        if any(part.said and not part.is_spoken for part in parts):
            yield "the model heard speech that it did not understand"
        elif not any(part.said or part.has_sound for part in parts):
            yield "the model wrote a segment without its text"


def _place(seconds: float | None, duration: float, *, otherwise: float) -> float:
    """A written time, if it is one of the chunk, else what is known from elsewhere."""
    if seconds is None or not -_SLACK_S <= seconds <= duration + _SLACK_S:
        return otherwise
    return _clamp(seconds, duration)


def _clamp(seconds: float, duration: float) -> float:
    return min(max(seconds, 0.0), duration)
