"""Word errors that add up: counts, never ratios, with the Whisper English normaliser and jiwer.

References are read here, after the recogniser has answered; it never sees them.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path

import jiwer
from whisper_normalizer.english import EnglishTextNormalizer

__all__ = [
    "NORMALISER",
    "SpokenTurn",
    "Utterance",
    "WordErrors",
    "count_errors",
    "load_call",
    "load_stm",
    "load_utterances",
    "normalise",
]

NORMALISER = f"Whisper English normaliser (whisper-normalizer {metadata.version('whisper-normalizer')})"


@dataclass(frozen=True, slots=True)
class WordErrors:
    """What must be changed in the hypothesis; ``n_words`` counts the reference, after normalising."""

    n_words: int = 0
    n_substitutions: int = 0
    n_deletions: int = 0
    n_insertions: int = 0

    @property
    def n_errors(self) -> int:
        """All changes together."""
        return self.n_substitutions + self.n_deletions + self.n_insertions

    @property
    def wer(self) -> float:
        """Errors per reference word, in percent.

        Raises:
            ZeroDivisionError: The reference is empty: no rate can be given.
        """
        return 100.0 * self.n_errors / self.n_words

    def __add__(self, other: WordErrors) -> WordErrors:
        return WordErrors(
            self.n_words + other.n_words,
            self.n_substitutions + other.n_substitutions,
            self.n_deletions + other.n_deletions,
            self.n_insertions + other.n_insertions,
        )


@dataclass(frozen=True, slots=True)
class Utterance:
    """A recording of one sentence, and what was said in it."""

    name: str
    audio: Path
    text: str


@dataclass(frozen=True, slots=True)
class SpokenTurn:
    """What one speaker says in one go; ``start`` and ``end`` are seconds of the recording."""

    start: float
    end: float
    speaker: str
    text: str

    def delay(self, offset: float) -> SpokenTurn:
        """The same turn in a recording in which it comes ``offset`` seconds later."""
        return replace(self, start=self.start + offset, end=self.end + offset)


@functools.cache
def _load_normaliser() -> EnglishTextNormalizer:
    return EnglishTextNormalizer()


def normalise(text: str) -> str:
    """Spell a text as it is scored."""
    spelled: str = _load_normaliser()(text)
    return spelled


def count_errors(reference: str, hypothesis: str) -> WordErrors:
    """Align two texts, both normalised, with the fewest changes."""
    words = normalise(reference).split()
    said = normalise(hypothesis).split()
    if not words:  # jiwer aligns nothing with nothing by raising an error
        return WordErrors(n_insertions=len(said))
    aligned = jiwer.process_words(" ".join(words), " ".join(said))
    return WordErrors(len(words), aligned.substitutions, aligned.deletions, aligned.insertions)


def load_utterances(folder: Path) -> list[Utterance]:
    """Read ``refs.jsonl`` of a folder of single utterances."""
    lines = (folder / "refs.jsonl").read_text(encoding="utf-8").splitlines()
    refs = [json.loads(line) for line in lines if line]
    return [Utterance(ref["utt"], folder / ref["audio"], ref["text"]) for ref in refs]


def load_call(path: Path) -> str:
    """Read the text of all turns of a call, in order, from its JSON file."""
    segments = json.loads(path.read_text(encoding="utf-8"))["segments"]
    return " ".join(segment["text"] for segment in segments)


def load_stm(path: Path) -> list[SpokenTurn]:
    """Read the turns of an STM file, in order of time.

    Source:
        NIST sctk, doc/infmts.htm: recording, channel, speaker, start, end, an optional <label>, text.
    """
    turns: list[SpokenTurn] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.strip() or line.startswith(";;"):
            continue
        fields = line.split(maxsplit=5)
        text = fields[5] if len(fields) > 5 else ""
        if text.startswith("<"):
            text = text.partition(">")[2]
        turns.append(SpokenTurn(float(fields[3]), float(fields[4]), fields[2], text.strip()))
    return sorted(turns, key=lambda turn: turn.start)
