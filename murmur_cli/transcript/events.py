"""What happens in a live session, in order: what the formats of a session are written from.

Times are seconds from the start of the session. Nothing that was committed is ever taken back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from murmur_cli.types import BiasUse, Gap, KeywordHit, Provenance, Speaker, Word

__all__ = ["Committed", "Draft", "Lag", "LiveEvent", "Missing", "Relisted", "SessionEnd", "SessionStart"]


@dataclass(frozen=True, slots=True)
class SessionStart:
    """A session begins. ``source`` is what is heard, as the user named it; ``sample_rate`` is the engine's.

    ``bias`` is what is listened for, if anything is.
    """

    source: str
    sample_rate: int
    provenance: Provenance
    bias: BiasUse | None = None


@dataclass(frozen=True, slots=True)
class Committed:
    """A piece of text that stands; ``times``, ``starts_line``, ``words``, ``hits`` are as in ``engine.StreamSegment``.

    ``latency`` is how long after its end was heard it came, by the clock; None where nobody waits for it. ``heard_s``
    is how much was decoded by then.
    """

    start: float
    end: float
    text: str
    speaker: Speaker | None
    times: str
    starts_line: bool
    latency: float | None
    heard_s: float
    words: tuple[Word, ...] = ()
    hits: tuple[KeywordHit, ...] = ()


@dataclass(frozen=True, slots=True)
class Relisted:
    """From ``at`` seconds on something else is listened for."""

    at: float
    bias: BiasUse


@dataclass(frozen=True, slots=True)
class Draft:
    """What is said since ``start``, as far as it can be told yet; it takes the place of the draft before.

    Without ``text`` there is none any more: what it showed is committed next, or was no speech.
    """

    start: float
    text: str
    speaker: Speaker | None


@dataclass(frozen=True, slots=True)
class Missing:
    """Something was not transcribed."""

    gap: Gap


@dataclass(frozen=True, slots=True)
class Lag:
    """Decoding has come to ``at`` and is ``behind`` the clock, in seconds."""

    at: float
    behind: float


@dataclass(frozen=True, slots=True)
class SessionEnd:
    """A session is over after ``duration`` seconds of audio.

    ``reason`` is ``input`` where it ended with what was heard, ``lost`` where that broke off, ``duration``, or
    ``stopped``. ``damage`` says what was wrong with what was heard.
    """

    duration: float
    n_segments: int
    n_gaps: int
    reason: str
    damage: str | None


LiveEvent: TypeAlias = SessionStart | Relisted | Committed | Draft | Missing | Lag | SessionEnd
"""Anything that happens in a session."""
