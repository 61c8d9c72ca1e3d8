"""What a journal holds, a record a line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from murmur_cli.audio.levels import Level
from murmur_cli.audio.source import Decoded
from murmur_cli.journal.codec import Json, make_reader, to_json
from murmur_cli.options import BatchOptions
from murmur_cli.types import Chunk, EngineInfo, Hypothesis, Speaker, Turn

__all__ = [
    "FORMAT_VERSION",
    "JournalKey",
    "KeptAnswer",
    "KeptDiarization",
    "KeptLine",
    "KeptOutput",
    "KeptPerson",
    "KeptPlan",
    "KeptVoice",
    "KeptVoices",
    "LineReader",
    "to_line",
]

FORMAT_VERSION = 1
"""Of journals; what another version wrote is not read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalKey:
    """All that decides how a file is cut into chunks and what they say.

    ``input_sha256`` is of the file's bytes, ``list_sha256`` of the keywords and how
    eagerly they are heard, if there are any. ``options`` says
    nothing of speakers: who they are is found out later.
    """

    input_sha256: str
    options: BatchOptions
    engine: EngineInfo
    list_sha256: str | None
    murmur_version: str
    format_version: int = FORMAT_VERSION


@dataclass(frozen=True, slots=True)
class KeptPlan:
    """The chunks of a recording, how loud they are together, and its language."""

    part: int
    chunks: tuple[Chunk, ...]
    level: Level
    language: str | None


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """A chunk that is finished."""

    part: int
    index: int
    hypothesis: Hypothesis


@dataclass(frozen=True, slots=True, eq=False)
class KeptVoice:
    """How the local speaker of a part of a chunk sounds; ``vector`` None: that is not known."""

    place: int
    speaker: int
    vector: npt.NDArray[np.float32] | None
    speech_s: float


@dataclass(frozen=True, slots=True, eq=False)
class KeptVoices:
    """How the local speakers of a chunk sound."""

    part: int
    index: int
    voices: tuple[KeptVoice, ...]


@dataclass(frozen=True, slots=True, eq=False)
class KeptPerson:
    """How somebody sounds whom the diarization of a recording found."""

    speaker: Speaker
    vector: npt.NDArray[np.float32]
    speech_s: float


@dataclass(frozen=True, slots=True, eq=False)
class KeptDiarization:
    """Who spoke when in a recording; ``asked`` says what was asked for."""

    part: int
    asked: str
    turns: tuple[Turn, ...]
    people: tuple[KeptPerson, ...]
    forced: bool


@dataclass(frozen=True, slots=True)
class KeptOutput:
    """A file that a run has written. ``made`` stands for all that decided what is in it.

    ``complete`` says that nothing is missing from it: it need not be made again.
    """

    path: str
    sha256: str
    made: str
    complete: bool


KeptLine: TypeAlias = JournalKey | Decoded | KeptPlan | KeptAnswer | KeptVoices | KeptDiarization | KeptOutput
"""One line of a journal; ``part`` is the index of a recording in its file."""

_KINDS: dict[str, type[KeptLine]] = {
    "journal": JournalKey,
    "signal": Decoded,
    "plan": KeptPlan,
    "chunk": KeptAnswer,
    "voices": KeptVoices,
    "diarization": KeptDiarization,
    "output": KeptOutput,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}


def to_line(kept: KeptLine) -> Json:
    """Turn a record into a line."""
    return {_NAMES[type(kept)]: to_json(kept)}


class LineReader:
    """Turns lines back into records; make one for many lines."""

    def __init__(self) -> None:
        self._readers = {name: make_reader(kind) for name, kind in _KINDS.items()}

    def read(self, line: Json) -> KeptLine:
        """Read one line.

        Raises:
            ValueError: It is none that ``to_line`` makes.
        """
        if not isinstance(line, dict) or len(line) != 1 or not line.keys() <= self._readers.keys():
            raise ValueError("not a line of a journal")
        ((name, value),) = line.items()
        return self._readers[name](value)
