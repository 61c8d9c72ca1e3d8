"""Rows at the bottom of a terminal that are drawn again and again, below those that scroll away for good.

Only what every terminal knows is used: no other screen, no region that scrolls, no question to the terminal. So what
was written above is found in the scrollback, and a process that is killed leaves nothing to put right but the cursor.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TextIO

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from murmur_cli.transcript.writing import reporting

__all__ = ["BottomRows", "wraps_again"]

_HIDE, _SHOW = "\x1b[?25l", "\x1b[?25h"
# Row by row, each before it is written: tmux keeps what an erasure of the whole screen takes away, and it keeps rows
# joined that it has wrapped itself until they are erased as a whole.
_ERASE_REST, _ERASE_BELOW = "\x1b[K", "\x1b[J"
_FALLBACK = os.terminal_size((80, 24))


class BottomRows:
    """Draws on a terminal; from one thread at a time.

    Args:
        file: The terminal.
        console: Renders, with the colours that the terminal has; it writes nothing.
        wraps_again: Whether the terminal wraps the rows that stand there again when it becomes narrower.
    """

    def __init__(self, file: TextIO, console: Console, *, wraps_again: bool) -> None:
        self._file = file
        self._console = console
        self._wraps_again = wraps_again
        self._shown: tuple[Text, ...] = ()
        self._n_columns = 0
        self._is_hidden = False

    def find_size(self) -> os.terminal_size:
        """Ask how large the terminal is now."""
        try:
            size = os.get_terminal_size(self._file.fileno())
        except OSError:
            return _FALLBACK
        return size if size.columns and size.lines else _FALLBACK

    def draw(self, fixed: Sequence[Text], loose: Sequence[Text]) -> None:
        """Write rows for good, and others below them in the place of those before; none of them may be too wide.

        Where the terminal is not high enough, only the last of the loose rows are shown.

        Raises:
            OutputError: The terminal is gone.
        """
        size = self.find_size()
        shown = tuple(loose[-max(1, size.lines - 1) :])
        if not fixed and shown == self._shown and size.columns == self._n_columns:
            return
        if not (fixed or shown):
            self.erase()
            return
        hide = "" if self._is_hidden else _HIDE
        self._is_hidden = True
        # The cursor stands at the begin of the last row, wherever that is after the terminal was resized.
        above = "".join(f"{self._render(row)}\r\n" for row in fixed)
        below = "\r\n".join(map(self._render, shown))
        self._write(f"{hide}{self._go_up(size)}{above}{below}{_ERASE_BELOW}\r")
        self._shown, self._n_columns = shown, size.columns

    def erase(self) -> None:
        """Take the loose rows away, and leave the cursor where they began.

        Raises:
            OutputError: The terminal is gone.
        """
        if self._shown:
            size = self.find_size()
            n_rows = sum(self._count_rows(row, size) for row in self._shown)
            empty = "\r\n".join([_ERASE_REST] * n_rows)
            self._write(f"{self._go_up(size)}{empty}{_up(n_rows - 1)}\r")
            self._shown = ()

    def show_cursor(self) -> None:
        """Show the cursor, until something is drawn."""
        if self._is_hidden:
            self._is_hidden = False
            self._write(_SHOW)

    def _go_up(self, size: os.terminal_size) -> str:
        """Go to where the loose rows begin, even if the terminal has echoed a key."""
        return "\r" + _up(sum(self._count_rows(row, size) for row in self._shown[:-1]))

    def _count_rows(self, row: Text, size: os.terminal_size) -> int:
        if not self._wraps_again:
            return 1
        return max(1, -(-cell_len(row.plain) // size.columns))

    def _render(self, row: Text) -> str:
        with self._console.capture() as captured:
            self._console.print(row, end="", soft_wrap=True)
        return _ERASE_REST + captured.get()

    def _write(self, text: str) -> None:
        with reporting(where="stdout"):
            self._file.write(text)
            self._file.flush()


def _up(n_rows: int) -> str:
    return f"\x1b[{n_rows}A" if n_rows else ""


def wraps_again(environ: Mapping[str, str]) -> bool:
    """Tell whether a terminal wraps anew when it is resized: nearly all do, but for the oldest ones.

    Args:
        environ: What the terminal says of itself.
    """
    if "TMUX" in environ:
        return True
    is_old = environ.get("TERM", "").startswith(("linux", "rxvt", "screen", "vt"))
    return not is_old and "XTERM_VERSION" not in environ
