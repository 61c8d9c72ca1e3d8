"""The command line as those who describe it need it: its commands, and what each of them and its parameters say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

__all__ = [
    "Command",
    "Help",
    "Parameter",
    "describe",
    "find_title",
    "group_parameters",
    "iter_commands",
    "operands",
    "split_help",
]

Command: TypeAlias = TyperCommand | TyperGroup
Parameter: TypeAlias = TyperArgument | TyperOption


class Help(NamedTuple):
    """A help text: its first line, its paragraphs, and the lines below ``Examples:``."""

    summary: str
    body: tuple[str, ...]
    examples: tuple[str, ...]


def iter_commands(command: Command) -> Iterator[tuple[str, Command]]:
    """The commands below this one, as the help orders them."""
    if isinstance(command, TyperGroup):
        yield from ((name, child) for name, child in command.commands.items() if not child.hidden)


def split_help(command: Command) -> Help:
    """Take a command's help text apart."""
    parts = (command.help or "").split("\n\n")
    paragraphs = [[line.strip() for line in part.strip("\b\n ").splitlines()] for part in parts]
    commands = tuple(line for lines in paragraphs if lines[:1] == ["Examples:"] for line in lines[1:])
    body = tuple(" ".join(lines) for lines in paragraphs if lines and lines[0] != "Examples:")
    return Help(body[0].rstrip(".") if body else "", body, commands)


def operands(command: Command) -> list[str]:
    """What follows the command's name, as the help writes it."""
    if isinstance(command, TyperGroup):
        return ["[OPTION…]", "COMMAND", "[ARGUMENT…]"]
    arguments = [parameter for parameter in command.params if isinstance(parameter, TyperArgument)]
    return ["[OPTION…]", *(argument.metavar or argument.name.upper() for argument in arguments)]


def group_parameters(command: Command) -> dict[str, list[Parameter]]:
    """A command's parameters by the titles under which the help shows them."""
    groups: dict[str, list[Parameter]] = {}
    for parameter in command.params:
        if not parameter.hidden:
            groups.setdefault(find_title(parameter), []).append(parameter)
    return groups


def find_title(parameter: Parameter) -> str:
    """The title under which the help shows a parameter."""
    if isinstance(parameter, TyperArgument):
        return "arguments"
    return f"{parameter.rich_help_panel or ''} options".strip()


def describe(parameter: Parameter) -> str:
    """What a parameter does, and its default where there is one worth naming."""
    text = parameter.help or ""
    default = parameter.default
    if isinstance(parameter, TyperArgument) or default in (None, False, 0, (), []):
        return text
    if parameter.secondary_opts:
        return f"{text} Default: {parameter.opts[0] if default else parameter.secondary_opts[0]}."
    return f"{text} Default: {default:g}." if isinstance(default, float) else f"{text} Default: {default}."
