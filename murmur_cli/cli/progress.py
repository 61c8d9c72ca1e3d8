"""Show how far a batch run is: a bar on a terminal, plain or JSON lines elsewhere.

Only decoded audio counts: seconds of the files that are open or done. Files that wait are guessed to
be as long as the others on average, for the time left. A file whose channels are recordings of their
own counts once: each is a share of its seconds.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from types import TracebackType
from typing import Protocol, Self

from rich import progress as rich_progress
from rich.console import Console

from murmur_cli.audio.source import Recording
from murmur_cli.cli.render import to_clock
from murmur_cli.engine import Answer
from murmur_cli.options import RunOptions
from murmur_cli.types import Chunk

__all__ = ["BatchProgress", "make_progress"]

_EVERY_S = 10.0  # plain lines come at most this often


class _Display(Protocol):
    def show(self, done_s: float, total_s: float, text: str) -> None: ...

    def close(self) -> None: ...


class BatchProgress:
    """Follows a run (a ``batch.Observer``) and shows it; use it in a ``with`` block."""

    def __init__(self, display: _Display, n_files: int, on_note: Callable[[str], None]) -> None:
        self._display = display
        self._on_note = on_note
        self._n_files = n_files
        self._n_planned = 0
        self._planned_s = 0.0
        self._done_s = 0.0
        self._has_answers = False
        self._started = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._display.close()

    def planned(self, recording: Recording, chunks: tuple[Chunk, ...]) -> None:
        """Count a file in, once; what is not speech needs no decoding and is done."""
        if recording.part.index == 0:
            self._n_planned += 1
            self._planned_s += recording.duration
        speech_s = sum(chunk.span.n_samples for chunk in chunks) / recording.sample_rate
        self._done_s += (recording.duration - speech_s) / recording.part.n_parts
        self._show()

    def answered(self, recording: Recording, chunk: Chunk, answer: Answer) -> None:
        """Count a chunk as done, failed or not."""
        del answer
        self._has_answers = True
        self._done_s += chunk.span.n_samples / recording.sample_rate / recording.part.n_parts
        self._show()

    def noted(self, recording: Recording, text: str) -> None:
        """Pass a note on, with the recording's name."""
        self._on_note(f"{recording.source}: {text}")

    def _show(self) -> None:
        total_s = self._planned_s * self._n_files / self._n_planned
        text = f"file {self._n_planned} of {self._n_files}"
        if self._has_answers:  # before that there is no speed to speak of
            speed = self._done_s / max(time.monotonic() - self._started, 1e-3)
            text = f"{speed:.1f}x real time, {to_clock((total_s - self._done_s) / speed)} left, {text}"
        self._display.show(self._done_s, total_s, text)


class _Bar:
    def __init__(self, console: Console) -> None:
        self._progress = rich_progress.Progress(
            rich_progress.BarColumn(),
            rich_progress.TextColumn("{task.completed:.0f} of {task.total:.0f} s"),
            rich_progress.TextColumn("{task.description}", markup=False),
            console=console,
            transient=True,
        )
        self._progress.start()
        self._task = self._progress.add_task("reading", total=0)

    def show(self, done_s: float, total_s: float, text: str) -> None:
        self._progress.update(self._task, completed=done_s, total=total_s, description=text)

    def close(self) -> None:
        self._progress.stop()


class _Lines:
    def __init__(self, console: Console, *, as_json: bool) -> None:
        self._console = console
        self._as_json = as_json
        self._next = time.monotonic() + _EVERY_S

    def show(self, done_s: float, total_s: float, text: str) -> None:
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _EVERY_S
        line = f"murmur: {done_s:.0f} of {total_s:.0f} s, {text}"
        if self._as_json:
            line = json.dumps({"type": "progress", "v": 1, "done_s": round(done_s, 1), "total_s": round(total_s, 1)})
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def close(self) -> None:
        pass


class _Nothing:
    def show(self, done_s: float, total_s: float, text: str) -> None:
        pass

    def close(self) -> None:
        pass


def make_progress(
    console: Console, options: RunOptions, *, n_files: int, on_note: Callable[[str], None]
) -> BatchProgress:
    """Choose how to show ``n_files`` recordings as ``--progress`` says."""
    how = options.progress
    if how == "auto":
        how = "none" if options.quiet else "bar" if console.is_terminal else "plain"
    displays: dict[str, Callable[[], _Display]] = {
        "none": _Nothing,
        "bar": lambda: _Bar(console),
        "plain": lambda: _Lines(console, as_json=False),
        "json": lambda: _Lines(console, as_json=True),
    }
    return BatchProgress(displays[how](), n_files, on_note)
