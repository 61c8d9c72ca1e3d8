"""Cues for the screen: segments cut to what can be read, at punctuation where possible.

Every word of the transcript is in exactly one cue, no cue overlaps another, and none is empty. Times are
whole milliseconds from here on, so that this holds for what is written, too.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

from murmur_cli.options import SubtitleOptions
from murmur_cli.transcript.layout import Passage, lay_out, measure, partition
from murmur_cli.transcript.line_breaks import display_width
from murmur_cli.transcript.notation import flatten, floor_ms, to_ms, to_one_line
from murmur_cli.types import Segment, Speaker, Transcript, Word

__all__ = ["Cue", "make_cues"]


_DEFAULT_LIMITS = SubtitleOptions()


@dataclass(frozen=True, slots=True)
class Cue:
    """What stands on the screen from ``start_ms`` until ``end_ms``, in lines without markup."""

    start_ms: int
    end_ms: int
    lines: tuple[str, ...]
    speaker: Speaker | None


def make_cues(transcript: Transcript, *, is_labelled: bool, limits: SubtitleOptions = _DEFAULT_LIMITS) -> list[Cue]:
    """Cut a transcript into cues, in order of time.

    A cue is shown longer than it is spoken where it is too short or too fast to read and the next leaves
    room. Where people talk at once, a cue keeps its first ``min_duration_ms``, then the next takes its place.

    Args:
        transcript: Segments may overlap; their cues do not.
        is_labelled: Begin the first line of each cue with its speaker, as in ``S1: …``.
        limits: Widths and durations. Kept, but for a word or label that is wider than a line by itself.
    """
    cues: list[Cue] = []
    for segment in transcript.segments:
        label = f"{to_one_line(segment.speaker)}: " if is_labelled and segment.speaker else ""
        cues.extend(_split(segment, label=label, duration=transcript.duration, limits=limits))
    cues.sort(key=lambda cue: cue.start_ms)
    return _settle(cues, duration_ms=floor_ms(transcript.duration), limits=limits)


def _split(segment: Segment, *, label: str, duration: float, limits: SubtitleOptions) -> list[Cue]:
    """Cut one segment into few cues, at good breaks, none too full or too long, and few too short."""
    pieces = _find_pieces(segment)
    passage = measure("".join(piece.text for piece in pieces), frozenset(piece.end for piece in pieces))
    starts, ends = _time_units(passage, pieces, duration)
    n_units = len(passage.units)
    widths = [limits.max_line_width] * limits.max_lines
    widths[0] -= sum(map(display_width, label))

    def reach(i: int) -> int:
        in_time = bisect_right(ends, starts[i] + limits.max_duration_ms)
        return max(i + 1, min(passage.fit(i, widths), in_time))

    def cost(i: int, j: int) -> float:
        # Weighed by eye: a cue less is worth one bad break, a flash of a cue is worse than either.
        spoken_ms = (ends[-1] if j == n_units else starts[j]) - starts[i]
        too_short = 2.0 if spoken_ms < limits.min_duration_ms else 0.0
        emptiness = max(0.0, 1 - passage.width(i, j) / (limits.max_line_width * limits.max_lines))
        return 2.0 + (0.0 if j == n_units else passage.costs[j - 1]) + too_short + emptiness**2 / 2

    cues = []
    for i, j in pairwise(partition(0, n_units, reach=reach, cost=cost)):
        first, *others = lay_out(passage, i, j, widths=widths)
        cues.append(Cue(starts[i], ends[j - 1], (to_one_line(label + first), *others), segment.speaker))
    return cues


@dataclass(frozen=True, slots=True)
class _Piece:
    """A stretch of a segment's text whose times are known, in seconds.

    ``text`` may begin and end with a blank; ``begin`` and ``end`` count the segment's characters without those.
    """

    text: str
    begin: int
    end: int
    start_s: float
    end_s: float

    def time_at(self, position: int) -> float:
        """Return when the text has come to ``position``: time passes evenly between the characters."""
        share = (position - self.begin) / max(1, self.end - self.begin)
        return self.start_s * (1 - share) + self.end_s * share


def _find_pieces(segment: Segment) -> list[_Piece]:
    """Take the words of a segment, or the whole where there are none, or where they are not its text."""
    whole = Word(segment.start, segment.end, segment.text, 1.0)
    spelled = "".join(word.text for word in segment.words)
    pieces: list[_Piece] = []
    position = 0
    for word in segment.words if to_one_line(spelled) == to_one_line(segment.text) else (whole,):
        text = flatten(word.text)
        begin = position + len(text) - len(text.lstrip(" "))
        position += len(text)
        pieces.append(_Piece(text, begin, begin + len(text.strip(" ")), word.start, word.end))
    return pieces


def _time_units(passage: Passage, pieces: Sequence[_Piece], duration: float) -> tuple[list[int], list[int]]:
    """Return the start and the end of every unit in ms, in order: a word is over when the next one begins."""
    offsets = list(accumulate((len(piece.text) for piece in pieces), initial=0))[:-1]

    def time_at(position: int, *, within: int) -> int:
        piece = pieces[bisect_right(offsets, within) - 1]
        return to_ms(piece.time_at(position), duration=duration)

    starts = list(accumulate((time_at(unit.begin, within=unit.begin) for unit in passage.units), max))
    spoken = [time_at(unit.end, within=unit.end - 1) for unit in passage.units]
    until = [*starts[1:], *spoken[-1:]]
    ends = [max(start, min(end, following)) for start, end, following in zip(starts, spoken, until, strict=True)]
    return starts, ends


def _settle(cues: Sequence[Cue], *, duration_ms: int, limits: SubtitleOptions) -> list[Cue]:
    """Give each cue its place: after the one before, until the one after, long enough to read if there is room."""
    starts = _separate(cues, duration_ms=duration_ms, min_duration_ms=limits.min_duration_ms)
    settled = []
    for cue, start, room_ends in zip(cues, starts, [*starts, duration_ms][1:], strict=True):
        reading_ms = round(sum(map(len, cue.lines)) / limits.max_cps * 1000)
        wanted = max(cue.end_ms, start + max(reading_ms, limits.min_duration_ms))
        end = min(wanted, start + limits.max_duration_ms, room_ends)
        settled.append(replace(cue, start_ms=start, end_ms=end))
    return settled


def _separate(cues: Sequence[Cue], *, duration_ms: int, min_duration_ms: int) -> list[int]:
    """Return starts that leave every cue some time on the screen; cues that do not overlap keep theirs."""
    # A cue without any time is not valid WebVTT. (More cues than milliseconds: no recording of speech is so short.)
    least_ms = min(1, duration_ms // max(1, len(cues)))
    starts: list[int] = []
    free_from = 0
    for cue in cues:
        starts.append(max(cue.start_ms, free_from))
        free_from = starts[-1] + max(least_ms, min(cue.end_ms - cue.start_ms, min_duration_ms))
    latest = duration_ms
    for i in reversed(range(len(starts))):  # what was pushed beyond the end comes back
        starts[i] = latest = min(starts[i], latest - least_ms)
    return starts
