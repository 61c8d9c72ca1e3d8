"""Which pieces of a live text go on in the line before: a sentence may be longer than what is committed at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from murmur_cli.engine import StreamSegment
from murmur_cli.transcript.line_breaks import ends_sentence

__all__ = ["LineJoiner"]

_PAUSE_S = 1.0  # a longer pause ends a line, as it ends a segment


class LineJoiner:
    """Goes through the pieces of one session, each as a line of its own, in order."""

    def __init__(self) -> None:
        self._before: StreamSegment | None = None

    def join(self, pieces: Iterable[StreamSegment]) -> Iterator[StreamSegment]:
        """Mark the pieces that go on, and give them the blank before their text if one belongs there."""
        for piece in pieces:
            before, self._before = self._before, piece
            if before is None or not _goes_on(before, piece):
                yield piece
            else:
                blank = " " if piece.words and piece.words[0].text[:1].isspace() else ""
                yield replace(piece, text=f"{blank}{piece.text}", starts_line=False)


def _goes_on(before: StreamSegment, piece: StreamSegment) -> bool:
    is_same = before.speaker == piece.speaker and not ends_sentence(before.text)
    return is_same and piece.start - before.end < _PAUSE_S
