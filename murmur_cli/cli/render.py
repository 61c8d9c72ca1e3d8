"""Talk to the person on stderr: notes, warnings, errors.

Every line is one line: control characters in file names are written as escapes.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from rich.console import Console

from murmur_cli.errors import MurmurError
from murmur_cli.options import RunOptions

__all__ = ["Talk", "error_line", "json_error", "make_console", "printable", "to_clock"]


def printable(text: str) -> str:
    r"""Write control characters and undecodable bytes as escapes: ``\n``, ``\xff``."""
    return "".join(character if character.isprintable() else _escape(character) for character in text)


def _escape(character: str) -> str:
    raw = os.fsencode(character) if "\udc80" <= character <= "\udcff" else None
    return f"\\x{raw[0]:02x}" if raw else character.encode("unicode_escape").decode("ascii")


def error_line(error: MurmurError, *, is_json: bool = False) -> str:
    """``murmur: FILE: what is wrong; what to do``, on one line; or the same as a JSON object."""
    if is_json:
        code = int(error.exit_code)
        return json_error(type(error).__name__, error.problem, file=error.where, hint=error.hint, exit_code=code)
    return f"murmur: {printable(str(error))}"


def json_error(kind: str, message: str, *, exit_code: int, file: str | None = None, hint: str | None = None) -> str:
    """Write an error as a JSON object on one line, in ASCII: a byte that is no UTF-8 is a lone surrogate there."""
    error = {"type": kind, "message": message, "file": file, "hint": hint, "exit_code": exit_code}
    return json.dumps({"error": error})


def to_clock(seconds: float) -> str:
    """``1:05``, or ``2:00:00``."""
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02d}:{second:02d}" if hours else f"{minute}:{second:02d}"


def make_console(options: RunOptions, *, stderr: bool = True) -> Console:
    """A console on stderr, or on stdout; colour as ``--color``, NO_COLOR, FORCE_COLOR and TERM say."""
    if options.color == "auto":
        return Console(stderr=stderr, highlight=False)
    if options.color == "always":
        return Console(stderr=stderr, highlight=False, force_terminal=True, no_color=False)
    return Console(stderr=stderr, highlight=False, no_color=True, color_system=None)


class Talk:
    """What a command says while it runs, as much of it as was asked for."""

    def __init__(self, console: Console, options: RunOptions) -> None:
        self._console = console
        self._options = options
        self._aside: Callable[[], AbstractContextManager[None]] = nullcontext

    def step_aside(self, aside: Callable[[], AbstractContextManager[None]]) -> None:
        """Have whatever else draws on the terminal make room while a line is said."""
        self._aside = aside

    def note(self, text: str) -> None:
        """Say something useful; ``--quiet`` silences it."""
        if not self._options.quiet:
            self._line(f"murmur: {printable(text)}")

    def detail(self, text: str) -> None:
        """Say something that only ``--verbose`` asks for."""
        if self._options.verbose:
            self._line(f"murmur: {printable(text)}")

    def warn(self, text: str) -> None:
        """Say that something is not as it should be."""
        self._line(f"murmur: {printable(text)}", style="yellow")

    def error(self, error: MurmurError) -> None:
        """Say what failed, while the rest goes on."""
        if self._options.debug:
            with self._aside():
                self._console.print_exception()
        self._line(error_line(error, is_json=self._options.json_errors), style="red")

    def _line(self, line: str, style: str | None = None) -> None:
        with self._aside():
            sys.stdout.flush()
            self._console.print(line, style=style, markup=False, highlight=False, emoji=False, soft_wrap=True)
