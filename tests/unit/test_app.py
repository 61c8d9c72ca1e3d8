"""The one place where an error becomes an exit code."""

from __future__ import annotations

from pathlib import Path

import pytest

from murmur_cli.cli import app as app_module
from murmur_cli.cli.app import run
from murmur_cli.cli.stop import Stopped
from murmur_cli.errors import (
    AudioError,
    DeviceError,
    ExitCode,
    ModelUnavailableError,
    MurmurError,
    OutputError,
    UsageError,
    WeightsError,
)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (MurmurError("x"), 1),
        (AudioError("x"), 1),
        (OutputError("x"), 1),
        (UsageError("x"), 2),
        (ModelUnavailableError("x"), 4),
        (WeightsError("x"), 4),
        (DeviceError("x"), 5),
        (MemoryError(), 5),
        (Stopped(ExitCode.INTERRUPTED), 130),
        (Stopped(ExitCode.TERMINATED), 143),
        (BrokenPipeError(), 0),
    ],
)
def test_every_error_has_its_code_and_one_line(
    error: BaseException, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(arguments: list[str]) -> int:
        raise error

    monkeypatch.setattr(app_module, "_invoke", fail)
    monkeypatch.setattr(app_module.os, "dup2", lambda old, new: new)
    assert run(["batch", "x"]) == code
    said = capsys.readouterr()
    assert said.out == ""
    assert len(said.err.splitlines()) == (0 if code == 0 else 1)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--nonsense"],
        ["nonsense"],
        ["batch"],
        ["batch", "--nonsense", "x.wav"],
        ["batch", "x.wav", "--format", "docx"],
        ["batch", "x.wav", "--dtype", "int3"],
        ["batch", "x.wav", "--device", "abacus"],
        ["batch", "x.wav", "--max-chunk-s", "5"],
        ["batch", "x.wav", "--max-chunk-s", "long"],
        ["batch", "x.wav", "--vad-threshold", "1.5"],
        ["batch", "x.wav", "--channels", "left and right"],
        ["batch", "x.wav", "--channels", "speakers", "--speakers", "none"],
        ["batch", "x.wav", "--channels", "speakers", "--speakers", "2"],
        ["batch", "x.wav", "--channels", "speakers", "--min-speakers", "2"],
        ["batch", "x.wav", "--channels", "speakers", "--max-speakers", "2"],
        ["batch", "x.wav", "--channels", "speakers", "--diarizer", "pyannote/speaker-diarization-community-1"],
        ["batch", "x.wav", "--progress", "loud"],
        ["batch", "x.wav", "--color", "pink"],
        ["batch", "x.wav", "-q", "-v"],
        ["batch", "x.wav", "--enrol", "Ann"],
        ["batch", "x.wav", "--enrol", "Ann=a.wav", "--enrol", "Ann=b.wav"],
        ["batch", "x.wav", "--enrol", "Ann=a.wav", "--speakers", "none"],
        ["batch", "x.wav", "--enrol", "Ann=a.wav", "--channels", "speakers"],
        ["batch", "x.wav", "--speaker-names", "S1"],
        ["batch", "x.wav", "--speaker-names", "S1=Ann", "--no-speakers"],
        ["batch", "x.wav", "--no-speakers", "-f", "rttm"],
        ["models", "nonsense"],
    ],
)
def test_a_wrong_call_is_2_with_one_line_and_an_empty_stdout(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    (line,) = said.err.splitlines()
    assert line.startswith("murmur: ")


def test_a_file_alone_names_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "talk.wav"
    path.touch()
    assert run([str(path)]) == 2
    assert f"murmur batch {path}" in capsys.readouterr().err


def test_without_arguments_the_help_is_shown_and_the_code_is_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 2
    said = capsys.readouterr()
    assert "batch" in said.out
    assert "models" in said.out
    assert said.err.splitlines() == ["murmur: a command is missing; see 'murmur --help'"]


def test_help_is_data_and_names_every_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["batch", "--help"]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    words = " ".join(said.out.split())
    for code in ExitCode:
        assert f"{code.value} {code.meaning.split(';')[0].split(',')[0]}" in words


def test_debug_shows_the_traceback(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(arguments: list[str]) -> int:
        raise AudioError("not audio")

    monkeypatch.setattr(app_module, "_invoke", fail)
    assert run(["batch", "x.wav", "--debug"]) == 1
    assert "Traceback" in capsys.readouterr().err
