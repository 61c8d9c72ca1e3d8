"""Stop well: SIGINT and SIGTERM become an exception that unwinds the run; a second one ends it at once."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from murmur_cli.errors import ExitCode

__all__ = ["Stopped", "stop_signals"]

_CODES = {signal.SIGINT: ExitCode.INTERRUPTED, signal.SIGTERM: ExitCode.TERMINATED}


class Stopped(BaseException):
    """Somebody asked the process to stop. Not an ``Exception``: nothing on the way may swallow it."""

    def __init__(self, exit_code: ExitCode) -> None:
        super().__init__(exit_code.meaning)
        self.exit_code = exit_code


@contextmanager
def stop_signals() -> Iterator[None]:
    """Raise ``Stopped`` at the first signal, and restore the handlers at the end.

    A signal that the parent set to be ignored stays ignored: shells do that to background jobs.
    """
    before = {number: signal.getsignal(number) for number in _CODES}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, _stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _stop(number: int, frame: FrameType | None) -> None:
    del frame
    for other in _CODES:
        signal.signal(other, signal.SIG_DFL)
    raise Stopped(_CODES[signal.Signals(number)])
