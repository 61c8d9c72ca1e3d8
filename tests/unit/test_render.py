"""Lines on stderr: one line each, whatever the file is called; no colour in a pipe."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from murmur_cli.cli.render import Talk, error_line, printable
from murmur_cli.errors import MurmurError
from murmur_cli.options import RunOptions


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("plain ü 会議 🎙.wav", "plain ü 会議 🎙.wav"),
        ("new\nline.wav", "new\\nline.wav"),
        ("bell\x07esc\x1b[31m.wav", "bell\\x07esc\\x1b[31m.wav"),
        ("bad\udcff.wav", "bad\\xff.wav"),
    ],
)
def test_printable(name: str, shown: str) -> None:
    assert printable(name) == shown


def test_an_error_says_where_what_and_what_to_do() -> None:
    error = MurmurError("not audio", where="a.wav", hint="try another")
    assert error_line(error) == "murmur: a.wav: not audio; try another"
    assert error_line(MurmurError("not audio")) == "murmur: not audio"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (RunOptions(), ["note", "warn", "error"]),
        (RunOptions(quiet=True), ["warn", "error"]),
        (RunOptions(verbose=True), ["note", "detail", "warn", "error"]),
    ],
)
def test_how_much_is_said(options: RunOptions, said: list[str]) -> None:
    stream = io.StringIO()
    talk = Talk(Console(file=stream, width=20), options)
    talk.note("note")
    talk.detail("detail")
    talk.warn("warn")
    talk.error(MurmurError("error"))
    assert stream.getvalue().splitlines() == [f"murmur: {word}" for word in said]


def test_markup_and_long_names_pass_through_unchanged() -> None:
    stream = io.StringIO()
    text = "[red]brackets[/red] :smile: " + "x" * 300
    Talk(Console(file=stream, width=40), RunOptions()).note(text)
    assert stream.getvalue() == f"murmur: {text}\n"
