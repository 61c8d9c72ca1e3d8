"""The page of all commands and options, docs/cli.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from cli_walk import Command, Parameter, describe, group_parameters, iter_commands, operands, split_help
from typer.core import TyperGroup, TyperOption

from murmur_cli.errors import ExitCode

__all__ = ["render_reference"]

_INTRODUCTION = """\
# Commands

Every command with all its options. `make generate` writes this page from the command line itself;
`murmur COMMAND --help` and `man murmur-COMMAND` say the same. How to do what: [guide](guide.md).
"""


def render_reference(command: TyperGroup, *, find_metavar: Callable[[Parameter], str]) -> str:
    """Write the whole page.

    Args:
        command: ``murmur``.
        find_metavar: Says what stands for the value of an argument or option.
    """
    commands = list(_iter_deep(command, "murmur"))
    contents = [f"- [{path}](#{path.replace(' ', '-')}): {_say(child)}" for path, child in commands[1:]]
    codes = _table(("exit code", "meaning"), [(str(code.value), code.meaning) for code in ExitCode])
    sections = [line for path, child in commands for line in _render_command(path, child, find_metavar)]
    lines = [_INTRODUCTION, *contents, "", "## Exit codes", "", "The same for every command:", "", *codes, *sections]
    return "\n".join(lines) + "\n"


def _say(command: Command) -> str:
    summary = split_help(command).summary
    return summary[:1].lower() + summary[1:]


def _iter_deep(command: Command, path: str) -> Iterator[tuple[str, Command]]:
    yield path, command
    for name, child in iter_commands(command):
        yield from _iter_deep(child, f"{path} {name}")


def _render_command(path: str, command: Command, find_metavar: Callable[[Parameter], str]) -> Iterator[str]:
    text = split_help(command)
    yield from ("", f"## {path}", "", f"`{' '.join([path, *operands(command)])}`")
    for paragraph in text.body:
        yield from ("", paragraph)
    if text.examples:
        yield from ("", "```", *text.examples, "```")
    for title, parameters in group_parameters(command).items():
        rows = [(f"`{_spell(parameter, find_metavar)}`", describe(parameter)) for parameter in parameters]
        yield from ("", *_table((title[:1].upper() + title[1:], "means"), rows))


def _spell(parameter: Parameter, find_metavar: Callable[[Parameter], str]) -> str:
    if not isinstance(parameter, TyperOption):
        return find_metavar(parameter)
    names = ", ".join([*sorted(parameter.opts, key=len), *parameter.secondary_opts])
    return names if parameter.is_flag or parameter.count else f"{names} {find_metavar(parameter)}"


def _table(head: tuple[str, str], rows: Sequence[tuple[str, str]]) -> list[str]:
    cells = [[cell.replace("|", r"\|") for cell in row] for row in (head, *rows)]
    lines = [f"| {left} | {right} |" for left, right in cells]
    return [lines[0], "|---|---|", *lines[1:]]
