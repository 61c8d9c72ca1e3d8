"""Who said which word, for engines that do not know: words go to the turns of the diarization.

Words in, words out: no word is changed, dropped or moved, and none is torn from its punctuation.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
import numpy.typing as npt

from murmur_cli.speakers.timeline import Timeline, lay_out_turns
from murmur_cli.types import Segment, Speaker, Turn, Word

__all__ = ["attribute"]

# A word this short, alone between words of one other person, is a slip of the turns' edges. Source: murmur's study of
# diarization.
_LONE_S = 0.4


def attribute(segments: Sequence[Segment], turns: Sequence[Turn]) -> tuple[Segment, ...]:
    """Give every word the speaker whose turns cover most of it, or are nearest; cut segments where speakers change.

    Of speakers who cover a word alike, it goes to the one who began to talk first. Words cling to what is
    written with them: punctuation, ``'s``, a second half after a hyphen.

    Args:
        segments: In order. One that has a speaker keeps it. One without words, or whose words do not spell
            its text, goes whole to the speaker with most of it.
        turns: In any order; they may overlap.

    Returns:
        Segments in order of their starts. The parts of a segment that was cut have the times of their
        words. Without turns, the segments as they are.
    """
    timelines = lay_out_turns(turns)
    if not timelines:
        return tuple(segments)
    whole_or_cut = [_find_pieces(segment) for segment in segments]
    pieces = [piece for found in whole_or_cut for piece in found]
    speakers = iter(_choose_speakers(pieces, timelines))
    parts: list[Segment] = []
    for segment, found in zip(segments, whole_or_cut, strict=True):
        named = [(piece, next(speakers)) for piece in found]
        parts.extend(_cut(segment, _join_lone(named)) if named else [segment])
    return tuple(sorted(parts, key=lambda part: part.start))


@dataclass(frozen=True, slots=True)
class _Piece:
    """What has one speaker: a word with what clings to it, or a whole segment. ``words`` is empty for the latter."""

    start: float
    end: float
    words: tuple[Word, ...]


def _find_pieces(segment: Segment) -> list[_Piece]:
    if segment.speaker is not None:
        return []
    spelled = "".join(word.text for word in segment.words)
    if not segment.words or spelled.split() != segment.text.split():
        return [_Piece(segment.start, segment.end, ())]
    return [_to_piece(words) for words in _group_words(segment.words)]


def _group_words(words: Sequence[Word]) -> list[list[Word]]:
    """Put words together that are not to be parted; each group but a lonely one has a letter or digit in it."""
    groups: list[list[Word]] = []
    for word in words:
        if groups and (not _is_spoken(groups[-1]) or _clings_back(groups[-1][-1].text, word.text)):
            groups[-1].append(word)
        else:
            groups.append([word])
    if len(groups) > 1 and not _is_spoken(groups[-1]):
        groups[-2:] = [groups[-2] + groups[-1]]
    return groups


def _to_piece(words: Sequence[Word]) -> _Piece:
    """Time a group by what is spoken of it: times of punctuation mean nothing."""
    spoken = [word for word in words if _is_spoken([word])] or words
    return _Piece(spoken[0].start, max(word.end for word in spoken), tuple(words))


def _is_spoken(words: Sequence[Word]) -> bool:
    return any(_has_letter(word.text) for word in words)


def _clings_back(left: str, right: str) -> bool:
    """Tell whether the word ``right`` is written together with ``left``, the one before it."""
    if not _has_letter(right):
        mark = right.strip()
        return not mark or not all(_opens(character, after_blank=right[0].isspace()) for character in mark)
    if right[0].isspace() or left[-1:].isspace():
        return False
    if not right[0].isalnum():
        return not _opens(right[0], after_blank=False)
    return _joins(left[-1:]) and _writes_blanks(right[0])


def _has_letter(text: str) -> bool:
    return any(character.isalnum() for character in text)


def _opens(character: str, *, after_blank: bool) -> bool:
    """Tell whether ``character`` belongs to what follows, as brackets and quotes do that open."""
    if character in "\"'":
        return after_blank
    return unicodedata.category(character) in ("Ps", "Pi") or character in "¿¡"


def _joins(character: str) -> bool:
    return _writes_blanks(character) or character in "-'’" or unicodedata.category(character) == "Sc"  # noqa: RUF001


def _writes_blanks(character: str) -> bool:
    """Tell whether blanks part the words of this script: true of cased letters, and of digits."""
    return unicodedata.category(character) in ("Lu", "Ll", "Lt", "Nd")


def _choose_speakers(pieces: Sequence[_Piece], timelines: dict[Speaker, Timeline]) -> list[Speaker]:
    """Return the speaker of each piece: most overlap, then nearest, then first to begin, then first of all."""
    starts, ends = np.array([piece.start for piece in pieces]), np.array([piece.end for piece in pieces])
    chosen: npt.NDArray[np.intp] = np.zeros(len(pieces), dtype=np.intp)
    best = np.full((3, len(pieces)), np.inf)
    for number, timeline in enumerate(timelines.values()):
        overlaps = timeline.measure_overlaps(starts, ends)
        rank = np.stack(
            [-overlaps, timeline.measure_distances(starts, ends), timeline.find_beginnings(starts)]
        )  # [3, n_pieces], to be compared from the top
        is_nearer = (rank[1] < best[1]) | ((rank[1] == best[1]) & (rank[2] < best[2]))
        is_better = (rank[0] < best[0]) | ((rank[0] == best[0]) & is_nearer)
        chosen[is_better] = number
        best = np.where(is_better, rank, best)
    names = list(timelines)
    return [names[number] for number in chosen]


def _join_lone(named: Sequence[tuple[_Piece, Speaker]]) -> list[tuple[_Piece, Speaker]]:
    """Give a lone short word to the speaker on both sides of it, from the left."""
    joined = list(named)
    for i in range(1, len(joined) - 1):
        (_, before), (piece, speaker), (_, after) = joined[i - 1 : i + 2]
        if speaker != before == after and piece.end - piece.start < _LONE_S:
            joined[i] = (piece, before)
    return joined


def _cut(segment: Segment, named: Sequence[tuple[_Piece, Speaker]]) -> Iterator[Segment]:
    runs = [(speaker, [piece for piece, _ in run]) for speaker, run in groupby(named, key=lambda each: each[1])]
    if len(runs) == 1:
        yield replace(segment, speaker=runs[0][0])
        return
    for speaker, pieces in runs:
        words = tuple(word for piece in pieces for word in piece.words)
        yield Segment(
            start=words[0].start,
            end=max(word.end for word in words),
            text="".join(word.text for word in words).strip(),
            speaker=speaker,
            words=words,
            language=segment.language,
        )
