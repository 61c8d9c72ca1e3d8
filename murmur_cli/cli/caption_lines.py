"""What captions say: lines that stand, the one that goes on, the draft below; wrapped to the width of the moment.

A row is given away once, when nothing of it can change any more; what is kept is small, however long a session lasts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text

from murmur_cli.transcript.events import Committed, Draft, LiveEvent
from murmur_cli.transcript.line_breaks import find_units
from murmur_cli.transcript.notation import flatten, to_one_line
from murmur_cli.types import Speaker

__all__ = ["CaptionLines", "CaptionRows"]

# Of the sixteen that every terminal has those that can be read on black and on white; red is for errors.
_COLOURS = ("cyan", "green", "magenta", "blue", "yellow")


@dataclass(frozen=True, slots=True)
class CaptionRows:
    """Rows that stand, each given once, and those below them, which the next ones replace."""

    fixed: tuple[Text, ...]
    loose: tuple[Text, ...]


class CaptionLines:
    """Makes rows of what happens in a session.

    Args:
        n_shown: Only the last so many rows are wanted, and nothing stands; None: all.
    """

    def __init__(self, *, n_shown: int | None) -> None:
        self._n_shown = n_shown
        self._done: deque[Text] = deque(maxlen=n_shown)  # lines; with n_shown those that are shown again and again
        self._open = Text()
        self._draft: Draft | None = None
        self._speaker: Speaker | None = None  # of the last line
        self._colours: dict[Speaker, str] = {}

    def take(self, event: LiveEvent) -> None:
        """Note what happened; what captions do not show is passed over."""
        match event:
            case Committed():
                self._commit(event)
            case Draft():
                self._draft = event if event.text else None
            case _:
                pass

    def arrange(self, width: int) -> CaptionRows:
        """Give the rows that have come to stand, and those that are loose.

        Args:
            width: Of the rows, in cells.
        """
        if self._n_shown is not None:
            return CaptionRows((), self._find_last(self._n_shown, width))
        *before, last = _wrap(self._open, width)
        # What is before the last break of the open line stands too, or a sentence without an end would fill the screen.
        fixed = (*_wrap_all(self._done, width), *before)
        self._done.clear()
        self._open = last
        return CaptionRows(fixed, (*_drop_empty(last), *self._wrap_draft(width)))

    def finish(self) -> None:
        """Let the line that goes on stand."""
        self._done.extend(_drop_empty(self._open))
        self._open, self._draft = Text(), None

    def _commit(self, event: Committed) -> None:
        if event.starts_line or not self._open.plain:
            self._done.extend(_drop_empty(self._open))
            self._open = self._label(event.speaker)
            self._open.append(flatten(event.text).lstrip(" "))
            self._speaker = event.speaker
        else:
            self._open = self._open.copy().append(flatten(event.text))  # what was given away stays as it was drawn

    def _label(self, speaker: Speaker | None) -> Text:
        """Begin a line, with the speaker where another one spoke before."""
        if speaker is None or speaker == self._speaker:
            return Text()
        colour = self._colours.setdefault(speaker, _COLOURS[len(self._colours) % len(_COLOURS)])
        return Text.assemble((f"{to_one_line(speaker)}:", f"bold {colour}"), " ")

    def _find_last(self, n_rows: int, width: int) -> tuple[Text, ...]:
        # A line that never ends is cut where nobody sees it any more: each row holds `width` characters at most.
        self._open = self._open[-(n_rows + 1) * width :]
        lines = (*self._done, *_drop_empty(self._open))
        return (*_wrap_all(lines, width), *self._wrap_draft(width))[-n_rows:]

    def _wrap_draft(self, width: int) -> list[Text]:
        if self._draft is None:
            return []
        line = self._label(self._draft.speaker)
        line.append(to_one_line(self._draft.text))
        line.style = "dim"
        return _wrap(line, width)


def _wrap_all(lines: Iterable[Text], width: int) -> list[Text]:
    return [row for line in lines for row in _wrap(line, width)]


def _wrap(line: Text, width: int) -> list[Text]:
    """Cut a line into rows of at most ``width`` cells where it may be broken; there is at least one."""
    text, rows, begin, end = line.plain, [], 0, 0
    for piece_begin, piece_end in _iter_pieces(text, width):
        if end > begin and cell_len(text[begin:piece_end]) > width:
            rows.append(line[begin:end])
            begin = piece_begin
        end = piece_end
    return [*rows, line[begin:]]


def _iter_pieces(text: str, width: int) -> Iterator[tuple[int, int]]:
    """Yield where the words of a text begin and end; one that is wider than a row is cut anywhere."""
    for unit in find_units(text):
        begin = unit.begin
        for i in range(unit.begin + 1, unit.end):
            if cell_len(text[begin : i + 1]) > width:
                yield begin, i
                begin = i
        yield begin, unit.end


def _drop_empty(line: Text) -> tuple[Text, ...]:
    return (line,) if line.plain.strip() else ()
