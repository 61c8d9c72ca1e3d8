"""What earlier runs have written: outputs that are theirs, unchanged, and need not be made again."""

from __future__ import annotations

import enum
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from murmur_cli.audio.stdin import STDIN
from murmur_cli.journal.folder import hash_file, iter_journals
from murmur_cli.journal.lines import read_lines
from murmur_cli.journal.records import KeptOutput, LineReader

__all__ = ["FinishedOutputs", "Standing"]


class Standing(enum.Enum):
    """What outputs that exist are to a run that would write them."""

    OPEN = enum.auto()  # not all of them exist, or not whole; those that do are of runs like this one
    UP_TO_DATE = enum.auto()  # this run would write nothing else
    OTHER = enum.auto()  # one of them is of a run that was asked for something else


class FinishedOutputs:
    """What earlier runs have written of the inputs of this one, as far as that is as they left it.

    Args:
        folder: Where journals are; None: nothing is known.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._outputs: dict[str, list[KeptOutput]] = {}
        self._journals: dict[str, list[Path]] = {}
        self._reader = LineReader()

    def owns(self, source: str, path: Path) -> bool:
        """Tell whether an output is what a run wrote of an input."""
        return any(output.path == os.path.realpath(path) for output in self._find(source))

    def judge(self, source: str, outputs: Sequence[tuple[str, str]]) -> Standing:
        """Say what the outputs of an input are.

        Args:
            source: The input, by the name that ``owns`` was given.
            outputs: The path and ``made`` of each; one that exists is one that ``owns`` knows.
        """
        if not any(Path(path).exists() for path, _ in outputs):
            return Standing.OPEN  # before the input is read for nothing
        known = {(output.path, output.made): output.complete for output in self._find(source)}
        states = [known.get(output) for output in outputs]
        if any(state is None and Path(path).exists() for state, (path, _) in zip(states, outputs, strict=True)):
            return Standing.OTHER
        if not all(states):
            return Standing.OPEN
        self._touch(source)
        return Standing.UP_TO_DATE

    def _find(self, source: str) -> list[KeptOutput]:
        """Read what was written of an input and is still as it was written."""
        if source not in self._outputs:
            self._journals[source] = self._find_journals(source)
            outputs = [output for path in self._journals[source] for output in self._read(path)]
            self._outputs[source] = [output for output in outputs if hash_file(Path(output.path)) == output.sha256]
        return self._outputs[source]

    def _find_journals(self, source: str) -> list[Path]:
        if self._folder is None or source == STDIN:  # a file may have that name, too
            return []
        input_sha256 = hash_file(Path(source))
        if input_sha256 is None:
            return []
        return list(iter_journals(self._folder, input_sha256))

    def _read(self, journal: Path) -> list[KeptOutput]:
        with suppress(OSError):  # what cannot be read says nothing, so that its outputs are refused
            return [kept for kept in read_lines(journal, self._reader.read).records if isinstance(kept, KeptOutput)]
        return []

    def _touch(self, source: str) -> None:
        """Keep the records of an input from growing old: somebody still asks for it."""
        for journal in self._journals[source]:
            with suppress(OSError):
                os.utime(journal)
