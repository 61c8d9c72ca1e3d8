"""What every chunk cost, as JSON lines beside the run, which goes on where they cannot be written."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Self

from murmur_cli.audio.source import Recording
from murmur_cli.batch import Observer
from murmur_cli.engine import Answer
from murmur_cli.errors import MurmurError, OutputError, UsageError
from murmur_cli.transcript.notation import replace_undecodable
from murmur_cli.types import Chunk, DecodeError

__all__ = ["StatsLog"]


class StatsLog:
    """Follows a run (a ``batch.Observer``), writes down what chunks cost, and tells another observer.

    Args:
        path: The file, which must not exist; None writes nothing.
        overwrite: It may exist.
        observer: Hears everything, too.
        on_error: Hears that a line cannot be written, which is then the last one.

    Raises:
        UsageError: The file exists, or cannot be made.
    """

    def __init__(
        self, path: str | None, *, overwrite: bool, observer: Observer, on_error: Callable[[MurmurError], None]
    ) -> None:
        self._path = path
        self._on_error = on_error
        self._observer = observer
        try:
            mode = "w" if overwrite else "x"
            self._file = None if path is None else Path(path).open(mode, encoding="utf-8")  # noqa: SIM115 - see __exit__
        except FileExistsError as error:
            raise UsageError("it exists already", where=path, hint="give --overwrite, or another --stats") from error
        except OSError as error:
            hint = "choose another --stats"
            raise UsageError(f"cannot be made: {error.strerror or error}", where=path, hint=hint) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def planned(self, recording: Recording, chunks: tuple[Chunk, ...]) -> None:
        """Pass it on."""
        self._observer.planned(recording, chunks)

    def answered(self, recording: Recording, chunk: Chunk, answer: Answer) -> None:
        """Write a line."""
        if self._file is not None and answer.stats is not None:
            places = (chunk.span.start / recording.sample_rate, chunk.span.end / recording.sample_rate)
            start, end = (round(recording.part.starts_at + place, 3) for place in places)
            error = answer.result.reason if isinstance(answer.result, DecodeError) else None
            about = {
                "file": replace_undecodable(recording.source),
                "chunk": chunk.index,
                "start": start,
                "end": end,
                "error": error,
            }
            try:
                self._file.write(json.dumps(about | asdict(answer.stats)) + "\n")
                self._file.flush()
            except OSError as failure:
                self._give_up(failure)
        self._observer.answered(recording, chunk, answer)

    def _give_up(self, failure: OSError) -> None:
        problem, hint = f"cannot be written: {failure.strerror or failure}", "free some space, or leave --stats out"
        self._on_error(OutputError(problem, where=self._path, hint=hint))
        self._close()

    def _close(self) -> None:
        if self._file is not None:
            with suppress(OSError):  # every line was flushed, or its failure said
                self._file.close()
            self._file = None

    def noted(self, recording: Recording, text: str) -> None:
        """Pass it on."""
        self._observer.noted(recording, text)
