"""Which pieces of a live text go on in the line before."""

from __future__ import annotations

import pytest

from murmur_cli.engine import StreamSegment
from murmur_cli.models.whisper.live_lines import LineJoiner
from murmur_cli.types import Speaker, Word


def piece(start: float, end: float, text: str, speaker: str | None = "S1") -> StreamSegment:
    who = None if speaker is None else Speaker(speaker)
    words = (Word(start, end, text, 0.9),)
    return StreamSegment(start, end, text.strip(), who, "model", starts_line=True, words=words)


@pytest.mark.parametrize(
    ("first", "second", "text", "starts_line"),
    [
        (piece(0, 2, " It goes on and"), piece(2, 4, " on."), " on.", False),
        (piece(0, 2, " It ends here."), piece(2, 4, " Here"), "Here", True),
        (piece(0, 2, " It ends\u201d?\u201d"), piece(2, 4, " Here"), "Here", True),
        (piece(0, 2, " Ann stops"), piece(2, 4, " Bob goes on", "S2"), "Bob goes on", True),
        (piece(0, 2, " It goes on"), piece(3.1, 4, " later"), "later", True),
        (piece(0, 2, " nobody", None), piece(2.5, 4, " knows", None), " knows", False),
        (piece(0, 2, "東京"), piece(2, 4, "です"), "です", False),
    ],
)
def test_a_sentence_goes_on_in_its_line(
    first: StreamSegment, second: StreamSegment, text: str, *, starts_line: bool
) -> None:
    joiner = LineJoiner()
    assert list(joiner.join([first])) == [first]
    (joined,) = joiner.join([second])
    assert (joined.text, joined.starts_line) == (text, starts_line)
    assert (joined.start, joined.words) == (second.start, second.words)
