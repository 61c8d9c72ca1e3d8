"""Captions as a terminal gets them: how often, how wide, with what status, and what the end leaves."""

from __future__ import annotations

import io
import os
import threading
import time
from collections.abc import Callable

import pytest
from rich.console import Console
from rich.text import Text

from murmur_cli.audio.backlog import Pulse
from murmur_cli.cli.bottom_rows import BottomRows, wraps_again
from murmur_cli.cli.caption_lines import CaptionLines
from murmur_cli.cli.caption_status import make_status
from murmur_cli.cli.captions import Captions
from murmur_cli.cli.live_outputs import Display, choose_outputs
from murmur_cli.errors import OutputError, UsageError
from murmur_cli.options import CaptionOptions, OutputOptions
from murmur_cli.transcript.events import Committed, Draft
from murmur_cli.transcript.outputs import plan_outputs

HIDE, SHOW = "\x1b[?25l", "\x1b[?25h"


class Screen(io.StringIO):
    """A terminal of 40 columns that counts how often it is written to."""

    def __init__(self) -> None:
        super().__init__()
        self.n_writes = 0
        self.is_gone = False

    def write(self, text: str) -> int:
        if self.is_gone:
            raise OSError(5, "gone")
        self.n_writes += 1
        return super().write(text)


def make_rows(screen: Screen, *, wraps: bool = True) -> BottomRows:
    console = Console(file=io.StringIO(), force_terminal=True, color_system="standard")
    return BottomRows(screen, console, wraps_again=wraps)


def commit(text: str) -> Committed:
    return Committed(0.0, 1.0, text, None, "model", starts_line=True, latency=None, heard_s=1.0)


# --- the status


@pytest.mark.parametrize(
    ("pulse", "width", "row"),
    [
        (Pulse(65.9, 0.0, 0.0), 79, "1:05  " + "╌" * 12),
        (Pulse(65.0, 0.0, 1.0), 79, "1:05  " + "━" * 12),
        (Pulse(3600.0, 4.2, 0.1), 79, "1:00:00  ━━━━━━━━━━╌╌  behind 4.2 s"),  # -20 dB of -60 to -10
        (Pulse(65.0, 1.9, 1.0), 12, "1:05  ━━━━━━"),
        (Pulse(65.0, 4.2, 1.0), 19, "1:05  behind 4.2 s"),
        (Pulse(65.0, 4.2, 1.0), 9, "1:05  beh"),
    ],
)
def test_the_status_fits(pulse: Pulse, width: int, row: str) -> None:
    assert make_status(pulse, width=width).plain == row


# --- what is drawn


def test_nothing_is_written_where_nothing_changed() -> None:
    screen = Screen()
    rows = make_rows(screen)
    for _ in range(3):
        rows.draw([], [Text("one"), Text("two")])
    assert screen.n_writes == 1
    rows.draw([Text("zero")], [Text("one"), Text("two")])
    assert screen.n_writes == 2
    rows.erase()
    rows.erase()
    assert screen.n_writes == 3


def test_a_key_that_the_terminal_echoed_shifts_nothing() -> None:
    screen = Screen()
    rows = make_rows(screen)
    rows.draw([], [Text("one"), Text("two")])
    n_before = len(screen.getvalue())
    rows.draw([Text("one")], [Text("two")])
    assert screen.getvalue()[n_before:].startswith("\r\x1b[1A\x1b[Kone\r\n")


def test_a_terminal_that_became_narrower_wrapped_what_stood_there(monkeypatch: pytest.MonkeyPatch) -> None:
    for wraps, up in ((True, "\x1b[5A"), (False, "\x1b[1A")):
        screen, size = Screen(), [40]
        rows = make_rows(screen, wraps=wraps)
        monkeypatch.setattr(rows.__class__, "find_size", lambda _, size=size: os.terminal_size((size[0], 10)))
        rows.draw([], [Text("x" * 33), Text("y")])
        size[0] = 7
        rows.draw([], [Text("z")])
        assert screen.getvalue().count(up) == 1


@pytest.mark.parametrize(
    ("environ", "wraps"),
    [
        ({"TERM": "xterm-256color"}, True),
        ({"TERM": "xterm-256color", "XTERM_VERSION": "XTerm(379)"}, False),
        ({"TERM": "linux"}, False),
        ({"TERM": "screen"}, False),
        ({"TERM": "screen", "TMUX": "/tmp/tmux-0/default,1,0"}, True),
    ],
)
def test_who_wraps_again(environ: dict[str, str], wraps: bool) -> None:  # noqa: FBT001 - from a table
    assert wraps_again(environ) is wraps


def open_captions(screen: Screen, *, is_stopped: Callable[[], bool] = lambda: False) -> Captions:
    return Captions(CaptionLines(n_shown=None), make_rows(screen), has_status=True, is_stopped=is_stopped)


def test_ten_drawings_a_second_however_much_happens() -> None:
    screen, start = Screen(), time.monotonic()
    with open_captions(screen) as captions:
        for i in range(2000):
            captions.write(commit(f"Sentence {i}."))
            captions.write(Draft(0.0, f"draft {i}", None))
            threading.Event().wait(0.0001)
        n_writes = screen.n_writes
        seconds = time.monotonic() - start
    assert n_writes <= 10 * seconds + 1
    written = screen.getvalue()
    assert [f"Sentence {i}." in written for i in range(2000)] == [True] * 2000
    assert written.endswith(SHOW)
    assert "draft" not in written.rpartition("Sentence 1999.")[2]


def test_a_session_about_to_end_has_a_cursor_for_a_second_signal_kills() -> None:
    screen, stopped = Screen(), threading.Event()
    with open_captions(screen, is_stopped=stopped.is_set) as captions:
        captions.write(commit("One."))
        wait_for(lambda: HIDE in screen.getvalue())
        stopped.set()
        wait_for(lambda: screen.getvalue().endswith(SHOW))


def wait_for(is_there: Callable[[], bool]) -> None:
    for _ in range(1000):
        if is_there():
            return
        threading.Event().wait(0.005)
    pytest.fail("it did not come")


def test_what_others_say_stands_above_what_is_drawn() -> None:
    screen = Screen()
    with open_captions(screen) as captions:
        captions.write(commit("One."))
        wait_for(lambda: "One." in screen.getvalue())
        with captions.aside():
            screen.write("murmur: a note\n")
    before, _, after = screen.getvalue().partition("murmur: a note\n")
    assert before.endswith("\r\x1b[K\r")
    assert "One." in after


def test_a_terminal_that_is_gone_ends_the_session_once() -> None:
    screen = Screen()
    captions = open_captions(screen)

    def write_on() -> None:
        with captions:
            screen.is_gone = True
            for i in range(1000):
                captions.write(commit(f"Sentence {i}."))
                threading.Event().wait(0.005)

    with pytest.raises(OutputError, match="stdout"):
        write_on()
    with captions.aside():
        pass


# --- where there are captions


@pytest.mark.parametrize(
    ("options", "term", "is_quiet", "formats", "display"),
    [
        ({}, "xterm", False, [], Display.CAPTIONS),
        ({}, "xterm", True, [], Display.CAPTIONS),
        ({}, "dumb", False, ["txt"], Display.LINES),
        ({}, "", False, ["txt"], Display.LINES),
        ({"format": ("txt",)}, "xterm", False, ["txt"], Display.NOTHING),
        ({"format": ("jsonl",)}, "xterm", False, ["jsonl"], Display.NOTHING),
        ({"output": "-"}, "xterm", False, ["txt"], Display.NOTHING),
        ({"output": "a.srt"}, "xterm", False, ["srt"], Display.CAPTIONS),
        ({"output": "a.srt"}, "xterm", True, ["srt"], Display.NOTHING),
        ({"output": "a.srt"}, "dumb", False, ["srt", "txt"], Display.LINES),
    ],
)
def test_what_a_terminal_shows(
    options: dict[str, str],
    term: str,
    is_quiet: bool,  # noqa: FBT001 - from a table
    formats: list[str],
    display: Display,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    output = OutputOptions(**options)
    (plan,) = plan_outputs(["-"], output)
    monkeypatch.setenv("TERM", term)
    in_pipe = choose_outputs(plan, output, CaptionOptions(), is_quiet=is_quiet)
    assert (in_pipe.targets, in_pipe.display) == (plan.targets, Display.NOTHING)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    chosen = choose_outputs(plan, output, CaptionOptions(), is_quiet=is_quiet)
    assert ([target.format_name for target in chosen.targets], chosen.display) == (formats, display)
    assert chosen.shows_drafts is (display is Display.CAPTIONS or "jsonl" in formats)
    if options.get("output") == "a.srt":
        return
    if display is Display.NOTHING:
        with pytest.raises(UsageError, match="stdout"):
            choose_outputs(plan, output, CaptionOptions(captions=2), is_quiet=is_quiet)
