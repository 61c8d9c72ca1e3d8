#!/usr/bin/env python3
"""Take a picture of live captions: the installed command plays a file in tmux, and its screen becomes an SVG.

The picture is taken while a draft is shown, once the session is as old as asked. What comes after ``--`` goes to
``murmur stream``.

Example: python tools/picture_captions.py talk.m4a docs/captions.svg --at 12 -- --model whisper-base
"""

from __future__ import annotations

import argparse
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.ansi import AnsiDecoder
from rich.console import Console

__all__ = ["draw_svg", "is_worth_it", "main"]

_MURMUR = Path(sys.executable).parent / "murmur"
_DIM = re.compile(r"\x1b\[(?:[0-9]+;)*2[;m]")
_STATUS = re.compile(r"(?:\x1b\[[0-9;]*m)*(?:(\d+):)?(\d+):(\d\d)\b")
_FONT = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
_WAIT_S = 120.0  # for a model to load, and again for a draft


def main(arguments: Sequence[str] | None = None) -> None:
    words = list(sys.argv[1:] if arguments is None else arguments)
    at = words.index("--") if "--" in words else len(words)  # argparse loses it among options
    args, rest = _parse(words[:at]), words[at + 1 :]
    shown = shlex.join(["murmur", "stream", Path(args.file).name, "--realtime"])
    screen = _watch(args, rest, until=lambda screen: is_worth_it(screen, at_s=args.at))
    Path(args.picture).write_text(draw_svg(screen, title=shown, columns=args.columns), encoding="utf-8")


def is_worth_it(screen: str, *, at_s: float) -> bool:
    """Tell whether the session is old enough, and a draft is shown, by the escape codes that tmux gives."""
    *rows, last = screen.rstrip("\n").splitlines() or [""]
    status = _STATUS.match(last)
    if status is None:
        return False
    hours, minutes, seconds = (int(part or 0) for part in status.groups())
    return 3600 * hours + 60 * minutes + seconds >= at_s and any(map(_DIM.search, rows[-3:]))


def draw_svg(screen: str, *, title: str, columns: int) -> str:
    """Draw a screen, with its escape codes, as an SVG that asks nobody for a font."""
    console = Console(record=True, file=io.StringIO(), force_terminal=True, width=columns, color_system="standard")
    for row in AnsiDecoder().decode(screen.rstrip("\n")):  # a row may go on in the style of the one before
        console.print(row, soft_wrap=True)
    return _FONT.sub("", console.export_svg(title=title, unique_id="captions"))


def _watch(args: argparse.Namespace, rest: Sequence[str], *, until: Callable[[str], bool]) -> str:
    """Run the command in a terminal of its own, and give the screen of the moment."""
    command = shlex.join([str(_MURMUR), "stream", str(Path(args.file).resolve()), "--realtime", *rest])
    size = ["-x", str(args.columns), "-y", str(args.rows)]
    with tempfile.TemporaryDirectory(prefix="murmur-picture-") as folder:
        environ = os.environ | {"TMUX_TMPDIR": folder}

        def tmux(*words: str) -> str:
            done = subprocess.run(["tmux", "-f", "/dev/null", *words], env=environ, capture_output=True, check=True)
            return done.stdout.decode()

        tmux("new-session", "-d", *size, shlex.join(["sh", "-c", f"{command}; echo ended; exec sleep 3600"]))
        try:
            deadline = time.monotonic() + _WAIT_S + args.at
            while not until(screen := tmux("capture-pane", "-p", "-e")):
                if time.monotonic() > deadline or screen.rstrip().endswith("ended"):
                    sys.exit(f"no draft was seen; on the screen there is:\n{screen}")
                time.sleep(0.05)
        finally:
            tmux("kill-server")
    return screen


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        usage="%(prog)s [options] FILE PICTURE [-- OPTIONS OF MURMUR STREAM]",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", help="what is played")
    parser.add_argument("picture", help="the SVG to write")
    parser.add_argument("--at", type=float, default=10.0, help="seconds of the session (10)")
    parser.add_argument("--columns", type=int, default=80, help="of the terminal (80)")
    parser.add_argument("--rows", type=int, default=14, help="of the terminal (14)")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
