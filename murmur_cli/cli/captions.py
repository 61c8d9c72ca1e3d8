"""Captions on a terminal: what is committed scrolls away, what is open is drawn again, at most ten times a second.

A thread draws, so that the clock, the level and the lag go on while a model decodes.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event, Lock
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.text import Text

from murmur_cli.audio.backlog import Backlog
from murmur_cli.cli.bottom_rows import BottomRows, wraps_again
from murmur_cli.cli.caption_lines import CaptionLines
from murmur_cli.cli.caption_status import make_status
from murmur_cli.options import CaptionOptions, RunOptions
from murmur_cli.transcript.events import LiveEvent

__all__ = ["Captions", "make_captions"]

_EVERY_S = 0.1


class Captions:
    """Draws a session (a ``LiveWriter``) between ``__enter__`` and ``__exit__``.

    Args:
        lines: What it says.
        rows: Where it is drawn.
        has_status: Whether a last row tells how the session is.
        is_stopped: Whether the session is about to end; then the cursor is there, for a second signal kills.
    """

    def __init__(
        self, lines: CaptionLines, rows: BottomRows, *, has_status: bool, is_stopped: Callable[[], bool]
    ) -> None:
        self._lines = lines
        self._rows = rows
        self._has_status = has_status
        self._is_stopped = is_stopped
        self._backlog: Backlog | None = None
        self._lock = Lock()
        self._is_over = Event()
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="captions")
        self._drawing: Future[None] | None = None

    def __enter__(self) -> Self:
        self._drawing = self._executor.submit(self._draw_on)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over.set()
        self._executor.shutdown()
        if self._has_failed():
            return  # the terminal is gone
        self._lines.finish()
        arranged = self._lines.arrange(self._find_width())
        self._rows.draw((*arranged.fixed, *arranged.loose), ())
        self._rows.show_cursor()

    def listen_to(self, backlog: Backlog) -> None:
        """Show the pulse of a session."""
        self._backlog = backlog

    def write(self, event: LiveEvent) -> None:
        """Show what happened, soon.

        Raises:
            OutputError: The terminal is gone.
        """
        with self._lock:
            self._lines.take(event)
        if self._drawing is not None and self._drawing.done():
            self._drawing.result()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Make room on the terminal for what somebody else writes there."""
        with self._lock:
            if not self._has_failed():
                self._rows.erase()
            yield

    def _has_failed(self) -> bool:
        return self._drawing is not None and self._drawing.done() and self._drawing.exception() is not None

    def _draw_on(self) -> None:
        while not self._is_over.wait(_EVERY_S):
            with self._lock:
                self._draw()

    def _draw(self) -> None:
        width = self._find_width()
        arranged = self._lines.arrange(width)
        self._rows.draw(arranged.fixed, (*arranged.loose, *self._make_status(width)))
        if self._is_stopped():
            self._rows.show_cursor()

    def _make_status(self, width: int) -> tuple[Text, ...]:
        if not self._has_status or self._backlog is None:
            return ()
        return (make_status(self._backlog.feel_pulse(), width=width),)

    def _find_width(self) -> int:
        # The last column stays free: where a terminal and we differ on how wide a sign is, nothing breaks.
        return max(2, self._rows.find_size().columns - 1)


def make_captions(run: RunOptions, options: CaptionOptions, *, is_stopped: Callable[[], bool]) -> Captions:
    """Make captions for the terminal on stdout, with the colours that were asked for."""
    has_no_colours = {"auto": None, "always": False, "never": True}[run.color]  # None: as NO_COLOR says
    # It only renders: what it writes would come between what is drawn.
    console = Console(file=io.StringIO(), force_terminal=True, no_color=has_no_colours, highlight=False, emoji=False)
    rows = BottomRows(sys.stdout, console, wraps_again=wraps_again(os.environ))
    lines = CaptionLines(n_shown=options.captions)
    has_status = options.captions is None and not run.quiet
    return Captions(lines, rows, has_status=has_status, is_stopped=is_stopped)
