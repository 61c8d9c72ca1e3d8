"""``--json-errors``: whatever goes wrong, one JSON object on stderr; and ``--version``, which names the backends."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from murmur_cli.cli import app as app_module
from murmur_cli.cli.app import run
from murmur_cli.cli.stop import Stopped
from murmur_cli.cli.versions import BACKENDS
from murmur_cli.errors import DeviceError, ExitCode, MurmurError
from murmur_cli.version import __version__


def _read_error(said: str) -> dict[str, object]:
    (line,) = said.splitlines()
    (key, error), *others = json.loads(line).items()
    assert (key, others) == ("error", [])
    assert list(error) == ["type", "message", "file", "hint", "exit_code"]
    return error


@pytest.mark.parametrize(
    "arguments",
    [
        ["--nonsense"],
        ["nonsense"],
        ["bias", "nonsense"],
        ["batch"],
        ["batch", "x.wav", "--max-lines", "many"],
        ["batch", "x.wav", "--max-lines", "99"],
        ["models", "path", "no such model"],
    ],
)
def test_a_wrong_call_is_one_object(capfd: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    code = run([*arguments, "--json-errors"])
    said = capfd.readouterr()
    assert code == 2
    error = _read_error(said.err)
    assert error["type"] == "UsageError"
    assert error["exit_code"] == 2
    assert error["message"]
    assert error["hint"]


def test_a_file_that_fails_is_one_object_among_lines(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["batch", "/no/such.wav", "--json-errors"]) == 1
    error = _read_error(capsys.readouterr().err)
    assert error == {
        "type": "AudioError",
        "message": "no such file",
        "file": "/no/such.wav",
        "hint": "check the name",
        "exit_code": 1,
    }


def test_any_name_can_be_read_back(capsys: pytest.CaptureFixture[str]) -> None:
    name = os.fsdecode(b"/no/\xff\nodd \xc3\xa9.wav")
    assert run(["batch", name, "--json-errors"]) == 1
    assert os.fsencode(str(_read_error(capsys.readouterr().err)["file"])) == os.fsencode(name)


@pytest.mark.parametrize(
    ("raised", "kind", "code"),
    [
        (DeviceError("no such device", hint="try --device cpu"), "DeviceError", 5),
        (MemoryError(), "DeviceError", 5),
        (Stopped(ExitCode.INTERRUPTED), "Stopped", 130),
        (MurmurError("x"), "MurmurError", 1),
    ],
)
def test_the_code_in_the_object_is_that_of_the_process(
    raised: BaseException, kind: str, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(arguments: list[str]) -> int:
        raise raised

    monkeypatch.setattr(app_module, "_invoke", fail)
    assert run(["batch", "x", "--json-errors"]) == code
    error = _read_error(capsys.readouterr().err)
    assert (error["type"], error["exit_code"]) == (kind, code)


def test_what_nobody_foresaw_is_an_object_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(arguments: list[str]) -> int:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(app_module, "_invoke", fail)
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    with pytest.raises(ZeroDivisionError) as caught:
        run(["batch", "x", "--json-errors"])
    sys.excepthook(caught.type, caught.value, caught.tb)
    error = _read_error(capsys.readouterr().err)
    assert (error["type"], error["exit_code"]) == ("ZeroDivisionError", 1)


def test_a_file_of_that_name_is_no_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["batch", "--", "--json-errors", "--json-errors"]) == 2  # given twice
    assert capsys.readouterr().err.startswith("murmur: ")


# --- --version


def test_the_version_names_the_backends(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    rows = [line.split(" ", 1) for line in capsys.readouterr().out.splitlines()]
    assert rows[0] == ["murmur", __version__]
    assert [name for name, _ in rows] == ["murmur", "python", *BACKENDS]


def test_the_version_as_json_is_that_of_the_modules(capsys: pytest.CaptureFixture[str]) -> None:
    import av

    assert run(["--version", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found) == ["murmur", "python", *BACKENDS]
    assert found["av"] == av.__version__
    assert found["python"] == ".".join(map(str, sys.version_info[:3]))


def test_json_alone_means_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--json"]) == 2
    assert capsys.readouterr().out == ""
