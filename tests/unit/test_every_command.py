"""What holds for every command alike: unknown options, the generated files, and the examples of its help."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.core import TyperCommand, TyperGroup

from murmur_cli.cli.app import app, run

ROOT = Path(__file__).resolve().parents[2]
BASH, ZSH, FISH = (
    (ROOT / "completions" / name).read_text("utf-8") for name in ("murmur.bash", "_murmur", "murmur.fish")
)
OPTION = re.compile(r"(?<![\w-])--?[a-z][a-z-]*(?![\w-])")
GROUP = typer.main.get_command(app)
assert isinstance(GROUP, TyperGroup)


def _iter_commands(command: TyperCommand | TyperGroup, path: str = "murmur") -> Iterator[tuple[str, TyperCommand]]:
    yield path, command
    for name, child in getattr(command, "commands", {}).items():
        yield from _iter_commands(child, f"{path} {name}")


COMMANDS = dict(_iter_commands(GROUP))
each_command = pytest.mark.parametrize("path", COMMANDS)


# --- unknown options


@each_command
@pytest.mark.parametrize("flag", ["--no-such-flag", "--no-such-flag=3", "-Z"])
def test_an_unknown_flag_is_2_and_one_line(path: str, flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*path.split()[1:], flag]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    (line,) = said.err.splitlines()
    assert line.startswith("murmur: ")
    assert flag.partition("=")[0] in line
    assert f"'{path} --help'" in line


@each_command
def test_an_unknown_flag_is_one_object_where_json_is_asked_for(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*path.split()[1:], "--json-errors", "--no-such-flag"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    error = json.loads(said.err)["error"]
    assert (error["type"], error["exit_code"], error["file"]) == ("UsageError", 2, None)
    assert error["hint"] == f"see '{path} --help'"


# --- the flags of the help


def _flags_in_help(path: str, capsys: pytest.CaptureFixture[str]) -> set[str]:
    """The flags that the tables of the help begin a row with."""
    assert run([*path.split()[1:], "--help"]) == 0
    rows = re.findall(r"^│ +(?:\* +)?((?:-\S+[ ,]+)+)", capsys.readouterr().out, re.MULTILINE)
    return {flag for row in rows for flag in OPTION.findall(row)}


def _flags_in_bash(path: str) -> set[str]:
    names = re.search(rf"^_shtab_{path.replace(' ', '_')}_option_strings=\((.*)\)$", BASH, re.MULTILINE)
    return set(names[1].split()) if names else set()


def _flags_in_zsh(path: str) -> set[str]:
    block = re.search(rf"^_shtab_{path.replace(' ', '_')}_options=\((.*?)^\)$", ZSH, re.MULTILINE | re.DOTALL)
    rows = block[1].splitlines() if block else []
    return {flag for row in rows for flag in OPTION.findall(row.partition("[")[0])}


def _flags_in_fish(path: str) -> set[str]:
    below = " ".join(["_shtab_murmur_using", *path.split()[1:]])
    rows = re.findall(rf"^complete -c murmur -n '?{below}'? (.*?)(?: -d .*)?$", FISH, re.MULTILINE)
    named = [flag for row in rows for flag in re.findall(r"-([ls]) (\S+)", row)]
    return {("--" if kind == "l" else "-") + name for kind, name in named}


def _flags_in_man(path: str) -> set[str]:
    name = "-".join(path.split()[:2])
    page = (ROOT / "man" / f"{name}.1").read_text("utf-8").replace("\\-", "-")
    if path.count(" ") == 2:
        (page,) = re.findall(rf"^\.SS \\fB{path}\\fR$(.*?)(?=^\.S[SH] )", page, re.MULTILINE | re.DOTALL)
    rows = re.findall(r"^\\fB(-.*)$", page, re.MULTILINE)
    return {flag for row in rows for flag in OPTION.findall(row.replace("\\fB", " ").replace("\\fR", " "))}


@each_command
def test_every_flag_of_the_help_is_in_man_and_completions(
    path: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    flags = _flags_in_help(path, capsys)
    options = {name for parameter in COMMANDS[path].params for name in getattr(parameter, "opts", ())}
    assert {"--help", *(name for name in options if name.startswith("-"))} <= flags, "the help is not read whole"
    assert flags <= _flags_in_bash(path), "bash"
    assert flags <= _flags_in_zsh(path), "zsh"
    assert flags <= _flags_in_fish(path), "fish"
    assert flags - {"--help"} <= _flags_in_man(path), "man"


# --- the examples of the help


def _iter_examples() -> Iterator[tuple[str, list[str]]]:
    """Yield each line of an example with the arguments of each murmur in it."""
    for path, command in COMMANDS.items():
        lines = (command.help or "").partition("Examples:")[2].splitlines()
        assert lines or isinstance(command, TyperGroup), f"{path} has no examples"
        for line in filter(None, map(str.strip, lines)):
            inner = re.findall(r"\$\((murmur [^)]*)\)", line) or [line]
            yield from ((line, words) for text in inner for words in _split(text))


def _split(text: str) -> Iterator[list[str]]:
    lexer = shlex.shlex(text, posix=True, punctuation_chars="|>")
    lexer.whitespace_split = True
    words = [*lexer, "|"]
    while words:
        end = words.index("|")
        call, words = words[:end], words[end + 1 :]
        call = call[: call.index(">")] if ">" in call else call
        if call[:1] == ["murmur"]:
            yield call[1:]


EXAMPLES = list(_iter_examples())


@pytest.mark.parametrize(("line", "words"), EXAMPLES, ids=[line for line, _ in EXAMPLES])
def test_the_examples_of_the_help_can_be_parsed(line: str, words: list[str]) -> None:
    """As the command line parses them, without doing anything."""
    context, left = GROUP.make_context("murmur", list(words)), list(words)
    command: TyperCommand | TyperGroup = GROUP
    while isinstance(command, TyperGroup):
        name, command, left = command.resolve_command(context, [*context._protected_args, *context.args])
        context = command.make_context(name, left, parent=context)
    assert context.args == []


def test_every_command_has_an_example_of_its_own() -> None:
    shown = {" ".join(words) for _, words in EXAMPLES}
    leaves = [path for path, command in COMMANDS.items() if not isinstance(command, TyperGroup)]
    lacking = [path for path in leaves if not any(f"{words} ".startswith(f"{path[7:]} ") for words in shown)]
    assert lacking == []
