"""The text of a session while it is written: who speaks, and what can be shown for good.

The model writes a line break and ``Speaker 0:`` where the speaker changes; whoever speaks goes on in the next chunk.
What may still turn out to be part of a character, of such a tag or of a control token is held back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from murmur_cli.decode.follow import Decode, TextFollower
from murmur_cli.types import LocalSpeaker

__all__ = ["SpeakerTag", "StreamPiece", "StreamText", "find_tags"]

_TAG = re.compile(r"\s*\n[ \t]*Speaker[ \t]*([0-9]{1,3})[ \t]*:[ \t]*")
_BREAK = re.compile(r"\s*\n\s*")
_CONTROL = re.compile(r"<\|\w{1,40}\|>")

# What a text may end with that more of it can make a tag or a control token, or both: one inside the other. Blanks at
# the end may belong to either.
_STARTS = "|".join("Speaker"[:n] for n in range(1, len("Speaker")))
_OPEN_TAG = rf"\s*\n[ \t]*(?:{_STARTS}|Speaker[ \t]*[0-9]{{0,3}}[ \t]*)?"
_OPEN_CONTROL = r"<(?:\|\w{0,40}\|?)?"
_OPEN = re.compile(rf"(?:{_OPEN_TAG}|\s*)(?:{_OPEN_CONTROL})*\Z")


@dataclass(frozen=True, slots=True)
class StreamPiece:
    """Text of one speaker, by the model's own number.

    ``starts_line`` is False where it goes on in the line before: then it begins with a blank if one belongs there.
    """

    text: str
    speaker: LocalSpeaker | None
    starts_line: bool


@dataclass(frozen=True, slots=True)
class SpeakerTag:
    """Where in a text somebody begins to speak: the tag's place, and how it is written."""

    start: int
    speaker: LocalSpeaker
    spelling: str

    def spell(self, speaker: LocalSpeaker) -> str:
        """Write it for somebody else."""
        return re.sub("[0-9]+", str(speaker), self.spelling)


def find_tags(text: str, *, begins: bool = False) -> list[SpeakerTag]:
    """Find the tags in a chunk's text; ``begins`` says that the session begins with it, and so a line."""
    tags = _TAG.finditer("\n" + text if begins else text)
    return [SpeakerTag(max(tag.start() - begins, 0), LocalSpeaker(int(tag.group(1))), tag.group()) for tag in tags]


class StreamText:
    """Reads the text of one session, token by token; what was given out never changes.

    Args:
        decode: Of the tokenizer; it leaves out the tokens that steer the model.
    """

    def __init__(self, decode: Decode) -> None:
        self._text = TextFollower(decode)
        self._rest = "\n"  # a session begins with a line
        self._speaker: LocalSpeaker | None = None
        self._starts_line = True

    @property
    def speaker(self) -> LocalSpeaker | None:
        """Who speaks at the end of what was given out."""
        return self._speaker

    def read(self, tokens: Sequence[int]) -> list[StreamPiece]:
        """Give the text that is settled with the tokens of the next chunk."""
        self._rest = _strip_control(self._rest + self._text.read(tokens))
        held = _OPEN.search(self._rest)
        assert held is not None, "it matches nothing at the end, too"
        settled, self._rest = self._rest[: held.start()], held.group()
        return list(self._iter_pieces(settled))

    def finish(self) -> list[StreamPiece]:
        """Give what was held back as it stands: no more comes."""
        rest, self._rest = self._rest, ""
        return list(self._iter_pieces(rest.rstrip()))

    def _iter_pieces(self, text: str) -> Iterator[StreamPiece]:
        at = 0
        for tag in _TAG.finditer(text):
            yield from self._make_piece(text[at : tag.start()])
            self._speaker, self._starts_line = LocalSpeaker(int(tag.group(1))), True
            at = tag.end()
        yield from self._make_piece(text[at:])

    def _make_piece(self, text: str) -> Iterator[StreamPiece]:
        flat = _BREAK.sub(" ", text)
        flat = flat.lstrip() if self._starts_line else flat
        if flat.strip():
            yield StreamPiece(flat, self._speaker, self._starts_line)
            self._starts_line = False


def _strip_control(text: str) -> str:
    """Take out control tokens that were spelled; what is left may have come together to a new one."""
    while (shorter := _CONTROL.sub("", text)) != text:
        text = shorter
    return text
