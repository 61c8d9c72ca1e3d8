"""The journal of one file: what earlier runs left of it, and what this one adds.

No run needs it: where it is damaged it is begun anew from there, where it cannot be written the run goes on without.
Both are said.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from murmur_cli.audio.source import Decoded
from murmur_cli.journal.lines import LineFile, read_lines, write_lines
from murmur_cli.journal.part import PartJournal
from murmur_cli.journal.records import (
    JournalKey,
    KeptAnswer,
    KeptDiarization,
    KeptLine,
    KeptOutput,
    LineReader,
    to_line,
)

__all__ = ["FileJournal"]

_LASTING = (KeptAnswer, KeptDiarization, KeptOutput)  # what took long, and what is relied on later


class FileJournal:
    """The journal of one file.

    Args:
        path: Where it is, or will be once there is something to keep.
        key: What it is about.
        on_note: Hears what is wrong with it, as one clause.
        on_failure: Hears why it cannot be written; it is not tried again.

    Raises:
        OSError: It is there, but cannot be read.
    """

    def __init__(
        self, path: Path, key: JournalKey, *, on_note: Callable[[str], None], on_failure: Callable[[OSError], None]
    ) -> None:
        self.decoded: dict[int, Decoded] = {}
        self.outputs: dict[str, KeptOutput] = {}
        self._path = path
        self._key = key
        self._on_failure = on_failure
        self._parts: dict[int, PartJournal] = {}
        self._file: LineFile | None = None
        self._is_writable = True
        self._n_bytes = self._read(on_note)

    def _read(self, on_note: Callable[[str], None]) -> int:
        """Take what is there; give the size of its sound part, in bytes."""
        found = read_lines(self._path, LineReader().read)
        if found.damaged_line is not None:
            on_note(f"its journal is damaged from line {found.damaged_line} on: what follows is decoded again")
        if not found.records or found.records[0] != self._key:
            return 0
        for kept in found.records[1:]:
            self._take(kept)
        return found.n_bytes

    def _take(self, kept: KeptLine) -> None:
        if isinstance(kept, Decoded):
            self.decoded[kept.part.index] = kept
        elif isinstance(kept, KeptOutput):
            self.outputs[kept.path] = kept
        elif not isinstance(kept, JournalKey):
            self.part(kept.part).recall(kept)

    def part(self, index: int) -> PartJournal:
        """Give the journal of one of the recordings of the file."""
        if index not in self._parts:
            self._parts[index] = PartJournal(index, self._write)
        return self._parts[index]

    @property
    def is_answered(self) -> bool:
        """Whether every chunk of every recording of the file is."""
        n_parts = self.decoded[0].part.n_parts if 0 in self.decoded else 0
        answered = [index for index, part in self._parts.items() if part.is_answered and index in self.decoded]
        return 0 < n_parts == len(answered)

    def keep_decoded(self, decoded: Sequence[Decoded]) -> None:
        """Keep what is known of the recordings of the file; where it was something else, nothing else was right."""
        fresh = {about.part.index: about for about in decoded}
        if self.decoded == fresh:
            return
        if self.decoded:
            self._begin_anew()
        self.decoded = fresh
        for about in decoded:
            self._write(about)

    def keep_output(self, output: KeptOutput) -> None:
        """Keep what is going to be written."""
        self.outputs[output.path] = output
        self._write(output)

    def finish(self) -> None:
        """Keep nothing but what was written: it is complete."""
        self.outputs = {path: replace(output, complete=True) for path, output in self.outputs.items()}
        self._begin_anew()

    def _begin_anew(self) -> None:
        """Let go of all but the outputs; a journal without any is removed."""
        self.decoded.clear()
        self._parts.clear()
        self.close()
        if not self._is_writable:
            return
        try:
            if self.outputs:
                write_lines(self._path, map(to_line, (self._key, *self.outputs.values())))
                self._n_bytes = self._path.stat().st_size
            else:
                self._path.unlink(missing_ok=True)
                self._n_bytes = 0
        except OSError as error:
            self._fail(error)

    def _write(self, kept: KeptLine) -> None:
        if not self._is_writable:
            return
        try:
            if self._file is None:
                self._file = LineFile(self._path, n_bytes=self._n_bytes)
                if not self._n_bytes:
                    self._file.append(to_line(self._key), lasting=False)
            self._file.append(to_line(kept), lasting=isinstance(kept, _LASTING))
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError) -> None:
        self.close()
        self._is_writable = False
        self._on_failure(error)

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()
            self._file = None
