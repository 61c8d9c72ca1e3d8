"""The installed command on a real terminal: what tmux shows of it, and what it keeps of what scrolled away."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import pytest
from conftest import MURMUR
from scripted_stream import make_tone, write_model

from murmur_cli.models.scripted import ScriptEntry

pytestmark = pytest.mark.program("tmux")

WELCOME = "Good morning everybody, and welcome to a long session about what people watch."
THANKS = "Thank you. A few words, too."
SCRIPT = (
    ScriptEntry(0.5, 3.0, WELCOME, 0, drafts=("Good", "Good morning every buddy,")),
    ScriptEntry(3.2, 6.0, THANKS, 1, drafts=("Thank you.",)),
    ScriptEntry(6.0, 6.5, " And 東京は今日も雨です。", 1),
    ScriptEntry(7.0, 9.0, "The end.", 0, drafts=("The hand",)),
)
LINES = [f"S1: {WELCOME}", f"S2: {THANKS} And 東京は今日も雨です。", "S1: The end."]
SECOND = make_tone(1.0)
COLOUR = re.compile(r"\x1b\[[0-9;]*3[1-7]m")


class Terminal:
    """A window of tmux in which the command hears a pipe."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._environ = os.environ | {"TMUX_TMPDIR": str(folder)}
        self.pipe: BinaryIO | None = None

    def tmux(self, *args: str) -> str:
        done = subprocess.run(["tmux", "-f", "/dev/null", *args], env=self._environ, capture_output=True, check=True)
        return done.stdout.decode()

    def start(self, *args: str | Path, columns: int, lines: int = 10, prefix: str = "") -> None:
        """Run the command, and say how it ended; nothing before it is on the screen but a row."""
        model, fifo = write_model(self._folder / "model", SCRIPT), self._folder / "pipe"
        os.mkfifo(fifo)
        command = shlex.join([str(arg) for arg in (MURMUR, "stream", "-", "--model", model, "--step", "0.1", *args)])
        shell = f"trap : INT; echo begin; {prefix} {command} < {fifo}; echo code $?; exec sleep 60"
        size = ("-x", str(columns), "-y", str(lines))
        self.tmux("new-session", "-d", *size, "-c", str(self._folder), shlex.join(["sh", "-c", shell]))
        self.pipe = fifo.open("wb", buffering=0)

    def hear(self, seconds: int) -> None:
        """Speak so long."""
        assert self.pipe is not None
        for _ in range(seconds):
            self.pipe.write(SECOND)
            time.sleep(0.03)  # a block for each

    def resize(self, columns: int, lines: int = 10) -> None:
        self.tmux("resize-window", "-x", str(columns), "-y", str(lines))

    def read(self, *args: str) -> str:
        """What is on the screen; with ``-e`` how it looks, with ``-S -`` what scrolled away, too."""
        return self.tmux("capture-pane", "-p", *args).rstrip("\n")

    def wait(self, is_there: Callable[[str], bool]) -> str:
        """Read until something is on the screen."""
        deadline = time.monotonic() + 30
        while not is_there(screen := self.read()):
            assert time.monotonic() < deadline, screen
            time.sleep(0.03)
        return screen

    def has_cursor(self) -> bool:
        return self.tmux("display", "-p", "#{cursor_flag}").strip() == "1"

    def end_of_input(self) -> None:
        if self.pipe is not None:
            self.pipe.close()

    def end(self) -> None:
        self.end_of_input()
        self.tmux("kill-server")


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    terminal = Terminal(tmp_path)
    yield terminal
    terminal.end()


def unwrap(screen: str) -> str:
    """Text as it was before it was wrapped to a width."""
    return re.sub(r"\s+", "", screen)


def test_captions_are_drawn_in_place_and_survive_all(terminal: Terminal) -> None:
    terminal.start(columns=50)
    terminal.wait(lambda screen: "0:00" in screen)
    terminal.hear(2)
    screen = terminal.wait(lambda screen: "Good morning every buddy," in screen and "0:02" in screen)
    look = terminal.read("-e").splitlines()
    assert screen.splitlines()[1] == "S1: Good morning every buddy,"
    assert re.search(r"\x1b\[[0-9;]*2m.*Good morning every buddy,", look[1])  # dim
    assert re.fullmatch(r"0:02  [━╌]{12}", screen.splitlines()[2])
    assert not terminal.has_cursor()

    terminal.hear(3)
    screen = terminal.wait(lambda screen: "Thank you." in screen)
    look = terminal.read("-e").splitlines()
    assert screen.splitlines()[1:4] == [f"S1: {WELCOME[:45]}", WELCOME[46:], "S2: Thank you."]
    assert "2m" not in look[2]  # committed: plain
    colours = [COLOUR.findall(row)[0] for row in (look[1], look[3])]
    assert colours[0] != colours[1]

    terminal.resize(columns=20)
    screen = terminal.wait(lambda screen: "S2: Thank you." in screen and "0:05" in screen)
    assert screen.count("Thank you.") == screen.count("0:05") == 1
    terminal.hear(2)
    screen = terminal.wait(lambda screen: "す。" in screen)
    assert max(map(len, screen.splitlines())) <= 20
    terminal.resize(columns=60)
    terminal.hear(1)
    terminal.wait(lambda screen: "S1: The hand" in screen)

    terminal.tmux("send-keys", "C-c")
    screen = terminal.wait(lambda screen: "code" in screen)
    assert screen.splitlines()[-2:] == ["murmur: interrupted, after flushing", "code 130"]
    assert "0:0" not in screen
    assert "hand" not in screen
    assert terminal.has_cursor()
    kept = unwrap(terminal.read("-S", "-"))
    assert all(unwrap(line) in kept for line in LINES[1:])  # rows that were open when tmux narrowed may stand twice
    assert unwrap(WELCOME) in kept


def test_only_the_last_lines_where_no_more_are_wanted_and_no_colour(terminal: Terminal, tmp_path: Path) -> None:
    terminal.start("--captions", "2", "-o", "a.txt", columns=20, prefix="NO_COLOR=1")
    terminal.hear(5)
    screen = terminal.wait(lambda screen: "Thank you." in screen)
    assert screen.splitlines() == ["begin", "what people watch.", "S2: Thank you."]
    look = terminal.read("-e")
    assert not COLOUR.search(look)
    assert re.search(r"\x1b\[[0-9;]*2m.*Thank you.", look)
    terminal.hear(2)
    terminal.wait(lambda screen: screen.splitlines()[1:] == ["東京は今日も雨で", "す。"])
    terminal.hear(1)
    terminal.end_of_input()
    screen = terminal.wait(lambda screen: "code" in screen)
    assert screen.splitlines() == ["begin", "す。", "S1: The end.", "code 0"]
    assert (tmp_path / "a.txt").read_text().count("\n") == 4
    assert terminal.has_cursor()


def test_a_terminal_that_cannot_redraw_gets_plain_lines_and_is_told_so(terminal: Terminal) -> None:
    terminal.start(columns=70, prefix="TERM=dumb")
    terminal.hear(9)
    terminal.end_of_input()
    screen = terminal.wait(lambda screen: "code" in screen)
    begin, note, *lines, code = screen.splitlines()
    assert (begin, code) == ("begin", "code 0")
    assert note.startswith("murmur: ")
    assert "plainly" in note
    assert unwrap("".join(lines)) == unwrap("".join(LINES))
    assert terminal.read("-e") == screen
