"""Stop well: SIGINT and SIGTERM become an exception that unwinds the run; a second one ends it at once.

A live session has more to do first: there, and SIGHUP too, they are a wish that it looks for.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType

from murmur_cli.errors import ExitCode

__all__ = ["StopWish", "Stopped", "stop_signals", "stop_wish"]

_CODES = {signal.SIGINT: ExitCode.INTERRUPTED, signal.SIGTERM: ExitCode.TERMINATED}

# A terminal that is closed ends a session as whoever asks for it does.
_WISHES = {**_CODES, signal.SIGHUP: ExitCode.TERMINATED}


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
    with _handling(_stop, _CODES):
        yield


@contextmanager
def _handling(
    handle: Callable[[int, FrameType | None], None], numbers: Mapping[signal.Signals, ExitCode]
) -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in numbers}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, handle)
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


class StopWish:
    """Whether somebody asked a session to stop, and with which exit code it then ends."""

    def __init__(self) -> None:
        self._exit_code: ExitCode | None = None

    def is_there(self) -> bool:
        """Tell whether somebody asked."""
        return self._exit_code is not None

    def settle(self) -> None:
        """Stop, if somebody asked.

        Raises:
            Stopped: Somebody did.
        """
        if self._exit_code is not None:
            raise Stopped(self._exit_code)

    def hear(self, number: int, frame: FrameType | None) -> None:
        """Take a signal for a wish, and let the next one end the process."""
        del frame
        for other in _WISHES:
            signal.signal(other, signal.SIG_DFL)
        self._exit_code = _WISHES[signal.Signals(number)]


@contextmanager
def stop_wish() -> Iterator[StopWish]:
    """Turn the first signal into a wish; a second one ends the process at once. Handlers are restored at the end."""
    wish = StopWish()
    with _handling(wish.hear, _WISHES):
        yield wish
