"""References and hypotheses of the same recordings, side by side.

Every recording of one side has its partner on the other, by name, or as the only one there is; anything else is
an error, for a recording that is left out of a score looks like one without errors.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from murmur_cli.errors import TranscriptError
from murmur_cli.score.annotations import SUFFIXES, Session, Utterance, load_annotations

__all__ = ["Pair", "load_pairs"]

_MOST_NAMES = 5  # that an error lists


@dataclass(frozen=True, slots=True)
class Pair:
    """One recording, as it was and as it was recognised."""

    reference: Session
    hypothesis: Session

    @property
    def name(self) -> str:
        """The recording's, as the reference has it."""
        return self.reference.name

    @property
    def audio_s(self) -> float:
        """The recording's length where a transcript says it, else the end of the last utterance, in seconds."""
        sides = (self.reference, self.hypothesis)
        known = [side.duration for side in sides if side.duration is not None]
        return max([*known, *(u.end for side in sides for u in _iter_all(side))], default=0.0)


def load_pairs(reference: Path, hypothesis: Path) -> list[Pair]:
    """Read two files, or folders of files, and pair their sessions by name, in the order of names.

    Where either side holds one recording, whatever its name, the two are a pair.

    Raises:
        TranscriptError: A file cannot be read; two say the same; a session has no partner.
    """
    references, hypotheses = _load(reference), _load(hypothesis)
    if len(references) == len(hypotheses) == 1:
        return [Pair(*references.values(), *hypotheses.values())]
    only_reference = sorted(references.keys() - hypotheses.keys())
    only_hypothesis = sorted(hypotheses.keys() - references.keys())
    if only_reference or only_hypothesis:
        lonely = [
            f"only in {path}: {_enumerate(names)}"
            for path, names in ((reference, only_reference), (hypothesis, only_hypothesis))
            if names
        ]
        problem = f"recordings without a partner of the same name; {'; '.join(lonely)}"
        raise TranscriptError(problem, hint="give both sides the same recordings, under the same names")
    return [Pair(references[name], hypotheses[name]) for name in sorted(references)]


def _load(path: Path) -> dict[str, Session]:
    sessions: dict[str, Session] = {}
    for file in _find_files(path):
        for session in load_annotations(file):
            known = sessions.get(session.name)
            sessions[session.name] = session if known is None else _merge(known, session)
    return sessions


def _find_files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.iterdir() if file.suffix.lower() in SUFFIXES and file.is_file())
    if not files:
        hint = f"give one with files that end with {', '.join(SUFFIXES)}"
        raise TranscriptError("nothing in this folder can be scored", where=str(path), hint=hint)
    return files


def _merge(one: Session, other: Session) -> Session:
    """Take the words from one file and the speakers' times from another, an rttm."""
    if (one.utterances is None) == (other.utterances is None):
        problem = f"{one.name} is in {one.origin} as well"
        raise TranscriptError(problem, where=other.origin, hint="keep one of them in the folder, or name one file")
    words, turns = (one, other) if other.utterances is None else (other, one)
    return replace(words, turns=turns.turns, origin=f"{words.origin} and {turns.origin}")


def _iter_all(session: Session) -> Iterable[Utterance]:
    return (*session.turns, *(session.utterances or ()))


def _enumerate(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more
