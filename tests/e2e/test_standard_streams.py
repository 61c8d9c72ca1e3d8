"""What becomes of a command whose stdin, stdout or stderr is closed, full, slow, or has nobody at its other end."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest
from conftest import MURMUR
from scripted_stream import make_tone, write_model
from transcript_samples import make_segment, make_transcript

from murmur_cli.transcript.formats import render_transcript
from murmur_cli.types import Gap

# More than a pipe holds; a gap, so that there is talk on stderr; and letters that no other encoding has.
TALK = make_transcript(
    [make_segment(i, i + 0.5, f"Sätze, 文 {i}. " + "word " * 250) for i in range(120)],
    duration=120.0,
    gaps=(Gap(1.0, 2.0, "a loop"),),
)
TEXT = render_transcript(TALK, "txt", word_times=False).encode()
CONVERT = ("convert", "talk.json")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder with one transcript."""
    monkeypatch.chdir(tmp_path)
    Path("talk.json").write_text(render_transcript(TALK, "json", word_times=True), encoding="utf-8")
    return tmp_path


def shell(line: str, *, env: dict[str, str] | None = None) -> tuple[int, bytes, str]:
    """Run a line of bash in which ``$m`` is the command."""
    done = subprocess.run(
        ["bash", "-c", line],
        env=os.environ | {"m": str(MURMUR)} | (env or {}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr.decode()


UNBUFFERED = {"PYTHONUNBUFFERED": "1"}  # with which Python's own stdout takes a part of a text for the whole


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("$m convert talk.json -q > /dev/full", "no space left"),
        ("$m convert talk.json -q >&-", "closed"),
        ("ulimit -f 100; $m convert talk.json -q > part.txt", "too large"),  # some of it has room
        ("export PYTHONUNBUFFERED=1; ulimit -f 100; $m convert talk.json -q > part.txt", "too large"),
        ("$m models list > /dev/full", "no space left"),
    ],
)
def test_what_stdout_does_not_take_is_one_line_and_1(command: str, said: str) -> None:
    code, _, stderr = shell(command)
    lines = stderr.splitlines()
    assert (code, len(lines)) == (1, 1), stderr
    assert lines[0].startswith("murmur: stdout: cannot be written: ")
    assert said in lines[0]


def test_a_reader_that_goes_away_is_no_failure() -> None:
    code, stdout, stderr = shell("$m convert talk.json -q | head -c 3; exit ${PIPESTATUS[0]}", env=UNBUFFERED)
    assert (code, stdout, stderr) == (0, TEXT[:3], "")


def test_a_pipe_that_does_not_wait_gets_every_byte() -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with subprocess.Popen(
        [MURMUR, *CONVERT], stdout=writer, stderr=subprocess.DEVNULL, env=os.environ | UNBUFFERED
    ) as it:
        os.close(writer)
        time.sleep(0.5)  # the pipe is full by then
        with open(reader, "rb") as file:  # noqa: PTH123 - it is no path
            assert file.read() == TEXT
    assert it.returncode == 0


@pytest.mark.parametrize("stderr", ["2>&-", "2> >(exit)"])
def test_nobody_who_listens_to_stderr_is_no_reason_to_stop(stderr: str) -> None:
    code, stdout, _ = shell(f"$m convert talk.json -f txt,json -o out/ {stderr}")
    assert (code, stdout) == (0, b"")
    assert Path("out/talk.txt").read_bytes() == TEXT
    assert Path("out/talk.json").read_bytes() == Path("talk.json").read_bytes()  # and no talk in it


@pytest.mark.parametrize("command", ["batch -", "convert -", "stream - --model model"])
def test_a_closed_stdin_is_said(command: str) -> None:
    write_model(Path("model"))
    code, stdout, stderr = shell(f"$m {command} <&-")
    assert (code, stdout, stderr.count("\n")) == (1 if "convert" in command else 2, b"", 1)
    assert "stdin is closed" in stderr


def test_text_is_utf8_whatever_the_locale_says() -> None:
    Path("talk.json").rename("Gespräch 文.json")
    env = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    code, stdout, stderr = shell("$m convert 'Gespräch 文.json'", env=env)
    assert (code, stdout) == (0, TEXT)
    assert stderr.count("\n") == 1


def test_a_live_session_ends_with_its_stdout() -> None:
    write_model(Path("model"))
    Path("tone").write_bytes(make_tone(5.0))
    code, _, stderr = shell("$m stream - --model model < tone > /dev/full")
    assert (code, stderr.count("\n")) == (1, 1), stderr
    assert "stdout: cannot be written" in stderr
