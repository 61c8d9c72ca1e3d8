"""A recogniser for audio that is still coming in."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from murmur_cli.engine.recogniser import Recogniser
from murmur_cli.engine.recordings import Bias
from murmur_cli.options import StreamOptions
from murmur_cli.types import Gap, KeywordHit, Samples, Speaker, Word

__all__ = ["StreamDecoder", "StreamDraft", "StreamEngine", "StreamSegment", "StreamUpdate"]


@dataclass(frozen=True, slots=True)
class StreamSegment:
    """One committed piece of text; ``start`` and ``end`` are seconds from the start of the session.

    ``times`` is ``chunk`` where they are only those of the decoding unit that the text came from, split by text
    length; else ``model``. ``starts_line`` is False where the text goes on in the line of the segment before: same
    speaker, same sentence. Then the text begins with a blank if one belongs there, so that a line is its pieces joined.
    ``words`` are there where the engine knows their times, ``hits`` where keywords were heard.
    """

    start: float
    end: float
    text: str
    speaker: Speaker | None
    times: str
    starts_line: bool
    words: tuple[Word, ...] = ()
    hits: tuple[KeywordHit, ...] = ()


@dataclass(frozen=True, slots=True)
class StreamUpdate:
    """What some more audio has brought.

    ``committed`` are segments that never change from now on, in order of their starts; ``gaps`` is what was not
    transcribed.
    """

    committed: tuple[StreamSegment, ...] = ()
    gaps: tuple[Gap, ...] = ()


@dataclass(frozen=True, slots=True)
class StreamDraft:
    """What is said since ``start``, in seconds from the start of the session, as far as it can be told yet."""

    start: float
    text: str
    speaker: Speaker | None


class StreamDecoder(Protocol):
    """One live session."""

    def push(self, samples: Samples) -> StreamUpdate:
        """Hear on. However the same audio is split, the same segments are committed.

        Args:
            samples: A block of any size, shape (n_samples,), at the engine's rate.

        Raises:
            DeviceError: The device is out of memory.
        """
        ...

    def draft(self) -> StreamDraft | None:
        """Decode what is still open, now; None where nothing is, or where the engine has no drafts.

        It may cost as much as an answer, and changes nothing: what is committed does not depend on it.

        Raises:
            DeviceError: The device is out of memory.
        """
        ...

    def rebias(self, bias: Bias | None) -> None:
        """Listen for something else from here on."""
        ...

    def finish(self) -> StreamUpdate:
        """Transcribe what is left; no draft remains.

        Raises:
            DeviceError: The device is out of memory.
        """
        ...


class StreamEngine(Recogniser, Protocol):
    """A recogniser for audio that is still coming in."""

    def open(self, options: StreamOptions, *, bias: Bias | None = None) -> AbstractContextManager[StreamDecoder]:
        """Begin a session; all that it remembers is forgotten at the end of the ``with`` block.

        Args:
            options: What it is told.
            bias: What to listen for.

        Raises:
            UsageError: There is no such language.
        """
        ...
