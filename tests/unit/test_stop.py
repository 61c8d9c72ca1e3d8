"""Signals unwind the run; the handlers are put back."""

from __future__ import annotations

import os
import signal

import pytest

from murmur_cli.cli.stop import Stopped, stop_signals, stop_wish
from murmur_cli.errors import ExitCode


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, ExitCode.INTERRUPTED), (signal.SIGTERM, ExitCode.TERMINATED)]
)
def test_a_signal_unwinds_and_the_handlers_return(number: signal.Signals, code: ExitCode) -> None:
    before = signal.getsignal(number)
    cleaned = False
    inside: object = None

    def be_stopped() -> None:
        nonlocal cleaned, inside
        with stop_signals():
            try:
                os.kill(os.getpid(), number)
            finally:
                cleaned = True
                inside = signal.getsignal(number)

    with pytest.raises(Stopped) as stopped:
        be_stopped()
    assert stopped.value.exit_code == code
    assert cleaned
    assert inside is signal.SIG_DFL  # a second signal ends the process at once
    assert signal.getsignal(number) is before


def test_an_ignored_signal_stays_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with stop_signals():
            os.kill(os.getpid(), signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGINT, ExitCode.INTERRUPTED),
        (signal.SIGTERM, ExitCode.TERMINATED),
        (signal.SIGHUP, ExitCode.TERMINATED),
    ],
)
def test_a_wish_interrupts_nothing_and_a_second_signal_is_obeyed_at_once(
    number: signal.Signals, code: ExitCode
) -> None:
    before = signal.getsignal(number)
    with stop_signals(), stop_wish() as wish:
        wish.settle()
        os.kill(os.getpid(), number)
        assert wish.is_there()
        assert signal.getsignal(number) is signal.SIG_DFL
    with pytest.raises(Stopped) as stopped:
        wish.settle()
    assert stopped.value.exit_code == code
    assert signal.getsignal(number) is before
