"""What options are when the command line does not say it: who wins, and what is refused."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from typer.core import TyperGroup, TyperOption

from murmur_cli.cli import app as app_module
from murmur_cli.cli.app import app, run
from murmur_cli.cli.render import error_line
from murmur_cli.cli.settings import load_settings, to_default_map
from murmur_cli.errors import AudioError, UsageError

GROUP = typer.main.get_command(app)
assert isinstance(GROUP, TyperGroup)


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Work in a folder with these settings, as a user with those."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

    def write(project: str | bytes = "", user: str = "") -> None:
        (tmp_path / "config" / "murmur").mkdir(parents=True)
        (tmp_path / "config" / "murmur" / "config.toml").write_text(user)
        (tmp_path / "murmur.toml").write_bytes(project if isinstance(project, bytes) else project.encode())

    return write


def _parse(arguments: list[str], environment: dict[str, str] | None = None) -> dict[str, object]:
    """What a command is called with."""
    settings = load_settings(GROUP, environment or {})
    with GROUP.make_context("murmur", list(arguments), default_map=to_default_map(settings)) as context:
        name, command, rest = GROUP.resolve_command(context, [*context._protected_args, *context.args])
        with command.make_context(name, rest, parent=context) as below:
            return dict(below.params)


# --- who wins

SAYERS = ("option", "variable", "project", "user")


@pytest.mark.parametrize("sayers", [some for n in range(5) for some in itertools.combinations(SAYERS, n)], ids="-".join)
def test_the_nearest_sayer_wins(sayers: tuple[str, ...], write: Callable[..., None]) -> None:
    """All 16 ways in which an option can be said, against the order as it is documented."""
    write(*(f'[batch]\nmodel = "{sayer}"\n' if sayer in sayers else "" for sayer in ("project", "user")))
    arguments = ["batch", *(["--model", "option"] if "option" in sayers else [])]
    environment = {"MURMUR_BATCH_MODEL": "variable"} if "variable" in sayers else {}
    expected = next((sayer for sayer in SAYERS if sayer in sayers), "auto")
    assert _parse(arguments, environment)["model"] == expected


def test_every_kind_of_value_reaches_the_command(write: Callable[..., None]) -> None:
    write(
        '[batch]\nformat = ["srt", "json"]\nmax-lines = 3\nmax-chunk-s = 120\nquiet = true\nword-times = false\n'
        'speakers = "2"\nstart = "1:00"\n'
    )
    found = _parse(["batch"])
    expected = {"format": ["srt", "json"], "max_lines": 3, "max_chunk_s": 120.0, "quiet": True, "word_times": False}
    assert {name: found[name] for name in expected} == expected
    assert (found["speakers"], found["start"]) == ("2", "1:00")


def test_every_kind_of_variable_reaches_the_command() -> None:
    given = {"FORMAT": "srt,json", "MAX_LINES": "3", "MAX_CHUNK_S": "120", "QUIET": "yes", "WORD_TIMES": "0"}
    found = _parse(["batch"], {f"MURMUR_BATCH_{name}": text for name, text in given.items()})
    expected = {"format": ["srt,json"], "max_lines": 3, "max_chunk_s": 120.0, "quiet": True, "word_times": False}
    assert {name: found[name] for name in expected} == expected


def test_a_variable_turns_off_what_a_file_turns_on(write: Callable[..., None]) -> None:
    write("[batch]\nquiet = true\n")
    assert _parse(["batch"], {"MURMUR_BATCH_QUIET": "0"})["quiet"] is False


def test_a_command_below_a_command_has_a_table_of_its_own(write: Callable[..., None]) -> None:
    write("[bias.compile]\nstrict = true\n[bias.test]\njson = true\n")
    settings = {setting.name: setting for setting in load_settings(GROUP, {"MURMUR_BIAS_TUNE_JSON": "1"})}
    assert settings["bias.compile.strict"].value is True
    assert settings["bias.test.json"].origin == "./murmur.toml"
    assert settings["bias.tune.json"].origin == "MURMUR_BIAS_TUNE_JSON"
    assert settings["bias.compile.json"].origin is None


def test_without_settings_nothing_changes() -> None:
    assert to_default_map(load_settings(GROUP, {})) == {}


def test_every_option_can_be_set() -> None:
    names = {setting.name for setting in load_settings(GROUP, {})}
    for path in ("batch", "stream", "convert", "score"):
        options = [one for one in GROUP.commands[path].params if isinstance(one, TyperOption)]
        keys = {max(option.opts, key=len)[2:] for option in options} - {"debug", "json-errors"}
        assert keys == {name.partition(".")[2] for name in names if name.startswith(f"{path}.")}


# --- what is refused


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("[batch]\nmodle = 'x'\n", "batch.modle"),
        ("[bath]\nmodel = 'x'\n", "bath"),
        ("model = 'x'\n", "model"),
        ("batch = 3\n", "batch"),
        ("[batch.model]\nname = 'x'\n", "batch.model"),
        ("[bias]\nstrict = true\n", "bias.strict"),
        ("[doctor]\njson = true\n", "doctor"),
        ("[batch]\ndebug = true\n", "batch.debug"),
        ("[batch]\njson-errors = true\n", "batch.json-errors"),
        ("[batch]\nmodel = 3\n", "batch.model"),
        ("[batch]\nmax-lines = 2.0\n", "batch.max-lines"),
        ("[batch]\nmax-lines = '2'\n", "batch.max-lines"),
        ("[batch]\nmax-lines = true\n", "batch.max-lines"),
        ("[batch]\nmax-chunk-s = '120'\n", "batch.max-chunk-s"),
        ("[batch]\nquiet = 1\n", "batch.quiet"),
        ("[batch]\nquiet = 'yes'\n", "batch.quiet"),
        ("[batch]\nformat = 'srt'\n", "batch.format"),
        ("[batch]\nformat = ['srt', 3]\n", "batch.format"),
        ("[batch]\nstart = 1979-05-27\n", "batch.start"),
        ("[batch\n", None),
        (b"[batch]\nmodel = '\xff'\n", None),
    ],
)
def test_what_a_file_cannot_say_is_named_with_file_and_key(
    text: str | bytes, where: str | None, write: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    write(text)
    assert run(["models", "list", "--json-errors"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    error = json.loads(said.err)["error"]
    assert error["file"] == "./murmur.toml" + (f": {where}" if where else "")
    assert error["hint"]


def test_the_users_file_is_named_as_the_user_would(
    tmp_path: Path, write: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    write("", "[batch]\nnull = 0\n")
    assert run(["batch", "x.wav"]) == 2
    assert f"{tmp_path}/config/murmur/config.toml: batch.null: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("MURMUR_BATCH_MODLE", "x"),
        ("MURMUR_BATCH_DEBUG", "1"),
        ("MURMUR_BATCH_MAX_LINES", "2.0"),
        ("MURMUR_BATCH_MAX_LINES", "many"),
        ("MURMUR_BATCH_MAX_CHUNK_S", "long"),
        ("MURMUR_BIAS_TEST_JSON", "perhaps"),
    ],
)
def test_what_a_variable_cannot_say_is_named(name: str, text: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_settings(GROUP, {name: text})
    assert caught.value.where == name


def test_variables_of_others_are_let_be() -> None:
    load_settings(
        GROUP, {"MURMUR_CACHE_DIR": "/x", "MURMUR_VERSION": "7", "MURMUR_BATCHES": "3", "MURMUR_BATCH_MODEL": ""}
    )


def test_a_file_that_cannot_be_read_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "murmur.toml").mkdir()
    assert run(["batch", "x.wav"]) == 2
    assert "./murmur.toml: cannot be read" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "origin"),
    [
        (["batch", "x.wav"], "./murmur.toml: "),
        (["batch", "x.wav", "--max-lines", "98"], ""),
        (["batch", "x.wav", "--max-lines=98"], ""),
        (["convert", "x.json", "--max-lines", "98"], ""),
    ],
)
def test_a_value_that_a_command_refuses_is_said_to_be_from_the_file(
    arguments: list[str], origin: str, write: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    write("[batch]\nmax-lines = 99\n")
    assert run(arguments) == 2
    assert capsys.readouterr().err.startswith(f"murmur: {origin}--max-lines: 9")


@pytest.mark.parametrize("arguments", [["--version"], ["--help"]])
def test_what_is_wrong_with_the_settings_does_not_keep_murmur_from_telling_about_itself(
    arguments: list[str], write: Callable[..., None]
) -> None:
    write("[bath]\n")
    assert run(arguments) == 0


def test_a_setting_reaches_what_the_command_does(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "murmur.toml").write_text('[batch]\nmodel = "no such model"\n')
    (tmp_path / "x.wav").touch()
    seen: list[str | None] = []
    monkeypatch.setattr(app_module, "error_line", lambda error, is_json: seen.append(error.where) or "")
    assert run(["batch", "x.wav"]) == 2
    assert seen == ["no such model"]


# --- the documentation


def test_the_example_of_the_documentation_says_what_it_says(write: Callable[..., None]) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "settings.md").read_text(encoding="utf-8")
    ((example,), (error,)) = (re.findall(rf"```{kind}\n(.*?)```", page, re.DOTALL) for kind in ("toml", "json"))
    write(example)
    found = {setting.name: setting.value for setting in load_settings(GROUP, {}) if setting.origin}
    expected = {"batch.model": "whisper-small", "batch.format": ("srt", "json"), "batch.max-chunk-s": 120.0}
    expected |= {"batch.quiet": True, "batch.word-times": False, "batch.speakers": "2"}
    assert found == expected | {"stream.language": "de", "bias.compile.strict": True}
    failure = AudioError("no such file", where="talk.wav", hint="check the name")
    assert json.loads(error) == json.loads(error_line(failure, is_json=True))
