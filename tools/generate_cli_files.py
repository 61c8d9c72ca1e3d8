"""Write the completions and the man pages from the command line itself, or check that they are current.

Typer's commands are walked into an argparse parser, which shtab (completions) and argparse-manpage
(man pages) read. The same command line gives the same bytes on every day and every machine.

Usage: python tools/generate_cli_files.py [--check]
"""

from __future__ import annotations

import argparse
import enum
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, TypeAlias

import shtab
import typer
from argparse_manpage.manpage import Manpage
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from murmur_cli.cli.app import app
from murmur_cli.errors import ExitCode
from murmur_cli.models.catalog import load_catalog
from murmur_cli.options import CHANNELS, COLORS, DTYPES, FORMATS, METRICS, NORMALIZERS, PROGRESS
from murmur_cli.version import __version__

__all__ = ["check_files", "main", "render_files"]

_Command: TypeAlias = TyperCommand | TyperGroup
ROOT = Path(__file__).resolve().parent.parent
RELEASED = "2026-11-30"  # the day of the version in version.py: a page must not change with the calendar
_PATH_METAVARS = re.compile(r"\b(PATH|FILE|DIR|LIST|DEV)\b")
_CHOICES = {
    "--channels": CHANNELS,
    "--color": COLORS,
    "--device": ("auto", "cpu", "cuda", "mps"),
    "--dtype": DTYPES,
    "--format": FORMATS,
    "--metric": METRICS,
    "--normalizer": NORMALIZERS,
    "--progress": PROGRESS,
}
_METAVARS = {float: "NUMBER", int: "NUMBER", str: "TEXT"}


def main(argv: list[str]) -> int:
    """Write all files, or with ``--check`` name those that are out of date."""
    files = render_files(typer.main.get_command(app))
    if argv == ["--check"]:
        return check_files(files)
    if argv:
        print(__doc__, file=sys.stderr)
        return 2
    for path, text in files.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return 0


def check_files(files: dict[Path, str]) -> int:
    """Compare with what is there; a page of a command that is gone is out of date too."""
    stale = [path for path, text in files.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    stale += [path for path in sorted((ROOT / "man").iterdir()) if path not in files]
    for path in stale:
        print(f"{path.relative_to(ROOT)}: out of date; run make generate", file=sys.stderr)
    return 1 if stale else 0


def render_files(command: TyperGroup) -> dict[Path, str]:
    """All generated files by path."""
    parser = _to_parser(command, "murmur")
    completions = ROOT / "completions"
    files = {
        completions / "murmur.bash": _own_names(shtab.complete(parser, "bash")),
        completions / "_murmur": _repeat_rest(shtab.complete(parser, "zsh")),
        completions / "murmur.fish": shtab.complete(parser, "fish"),
    }
    for name, page in _iter_pages(command):
        files[ROOT / "man" / f"{name}.1"] = page
    return {path: text.rstrip("\n") + "\n" for path, text in files.items()}


def _own_names(script: str) -> str:
    """Give shtab's helper functions murmur's own names: another program's shtab may be of another version."""
    return (
        re.sub(r"\b_(set_parser_defaults|set_new_action)\b", r"_murmur_\1", script)
        .replace("_shtab_compgen_", "_murmur_compgen_")
        .replace("_shtab_replace_nonword", "_murmur_replace_nonword")
    )


def _repeat_rest(script: str) -> str:
    """Let a positional that takes several values complete every one: shtab's ``(*):`` stops after the first."""
    return re.sub(r'"\(\*\)::?', '"*:', script)


def _to_parser(command: _Command, prog: str, *, is_deep: bool = True) -> argparse.ArgumentParser:
    """Walk a command, and with ``is_deep`` those below it, into an argparse parser."""
    parser = argparse.ArgumentParser(prog=prog, add_help=False)
    _fill_parser(parser, command, is_deep=is_deep)
    return parser


def _fill_parser(parser: argparse.ArgumentParser, command: _Command, *, is_deep: bool) -> None:
    groups: dict[str, argparse._ArgumentGroup] = {}
    for parameter in command.params:
        if parameter.hidden:
            continue
        title = "arguments" if isinstance(parameter, TyperArgument) else f"{parameter.rich_help_panel or ''} options"
        if title not in groups:
            groups[title] = parser.add_argument_group(title.strip())
        _add_parameter(groups[title], parameter)
    parser.add_argument("--help", action="help", help="Show the help and exit.")
    if not is_deep or not isinstance(command, TyperGroup):
        return
    subparsers = parser.add_subparsers(title="commands", dest="command", metavar="COMMAND")
    for name, child in _iter_commands(command):
        prog = f"{parser.prog} {name}"
        usage = _escape_percent(" ".join([prog, *_operands(child)]))
        help_text = _escape_percent(_summarise(child))
        child_parser = subparsers.add_parser(name, prog=prog, usage=usage, help=help_text, add_help=False)
        _fill_parser(child_parser, child, is_deep=True)


def _iter_commands(command: _Command) -> Iterator[tuple[str, _Command]]:
    if isinstance(command, TyperGroup):
        yield from ((name, child) for name, child in command.commands.items() if not child.hidden)


def _add_parameter(group: argparse._ArgumentGroup, parameter: TyperArgument | TyperOption) -> None:
    help_text = _escape_percent(_describe(parameter))
    if isinstance(parameter, TyperOption) and (parameter.is_flag or parameter.count):
        names = [*sorted(parameter.opts, key=len), *parameter.secondary_opts]
        group.add_argument(*names, action="count" if parameter.count else "store_true", help=help_text)
        return
    if isinstance(parameter, TyperArgument):
        metavar = parameter.metavar or parameter.name.upper()
        nargs = None if parameter.nargs == 1 else "+" if parameter.required else "*"
        action = group.add_argument(parameter.name, metavar=metavar, nargs=nargs, help=help_text)
    else:
        metavar = parameter.metavar or _METAVARS.get(parameter.type_descriptor.annotation, parameter.name.upper())
        kind = "append" if parameter.multiple else "store"
        names = sorted(parameter.opts, key=len)
        action = group.add_argument(*names, action=kind, metavar=metavar, help=help_text)
    action.choices = _find_choices(parameter)
    if parameter.type_descriptor.is_path or _PATH_METAVARS.search(metavar):
        action.complete = shtab.FILE


def _find_choices(parameter: TyperArgument | TyperOption) -> tuple[str, ...] | None:
    declared = parameter.type_descriptor.choices
    if declared is not None:
        return tuple(str(choice.value if isinstance(choice, enum.Enum) else choice) for choice in declared)
    if parameter.opts == ["--model"] or (parameter.metavar or "").strip("[…]") == "NAME":
        return tuple(entry.name for entry in load_catalog())
    return _CHOICES.get(parameter.opts[0])


def _describe(parameter: TyperArgument | TyperOption) -> str:
    text = parameter.help or ""
    default = parameter.default
    if isinstance(parameter, TyperArgument) or default in (None, False, 0, (), []):
        return text
    if parameter.secondary_opts:
        return f"{text} Default: {parameter.opts[0] if default else parameter.secondary_opts[0]}."
    return f"{text} Default: {default:g}." if isinstance(default, float) else f"{text} Default: {default}."


def _summarise(command: _Command) -> str:
    return _split_help(command.help or "").summary


def _operands(command: _Command) -> list[str]:
    """What follows the command's name, as the help writes it."""
    if isinstance(command, TyperGroup):
        return ["[OPTION…]", "COMMAND", "[ARGUMENT…]"]
    arguments = [parameter for parameter in command.params if isinstance(parameter, TyperArgument)]
    return ["[OPTION…]", *(argument.metavar or argument.name.upper() for argument in arguments)]


def _escape_percent(text: str) -> str:
    return text.replace("%", "%%")


class _Help(NamedTuple):
    summary: str
    body: tuple[str, ...]
    examples: tuple[str, ...]


def _split_help(text: str) -> _Help:
    """Take a help text apart: its first line, its paragraphs, and the lines below ``Examples:``."""
    paragraphs = [[line.strip() for line in part.strip("\b\n ").splitlines()] for part in text.split("\n\n")]
    commands = tuple(line for lines in paragraphs if lines[:1] == ["Examples:"] for line in lines[1:])
    body = tuple(" ".join(lines) for lines in paragraphs if lines and lines[0] != "Examples:")
    return _Help(body[0].rstrip(".") if body else "", body, commands)


def _iter_pages(command: TyperGroup) -> Iterator[tuple[str, str]]:
    names = ["murmur", *(f"murmur-{name}" for name, _ in _iter_commands(command))]
    yield "murmur", _render_page(command, "murmur", others=names)
    for name, child in _iter_commands(command):
        yield f"murmur-{name}", _render_page(child, f"murmur {name}", others=names)


def _render_page(command: _Command, prog: str, *, others: Sequence[str]) -> str:
    """One man page: of ``murmur`` itself without its commands' options, of any other command with all below it."""
    os.environ["SOURCE_DATE_EPOCH"] = str(int(datetime.fromisoformat(f"{RELEASED}T12:00+00:00").timestamp()))
    help_text = _split_help(command.help or "")
    children = list(_iter_commands(command))
    parser = _to_parser(command, prog, is_deep=prog != "murmur")
    data = {
        "description": help_text.summary,
        "project_name": "murmur",
        "version": __version__,
        "manual_title": "murmur manual",
    }
    page = Manpage(parser, _data=data, format="single-commands-section")
    page.prog = prog.replace(" ", "-")
    page.add_section("synopsis", "=", _render_synopsis(command, prog))
    page.add_section("description", "=", "\n.PP\n".join(_roff(text) for text in help_text.body))
    if prog == "murmur":
        rows = [(f"murmur-{name}(1)", _summarise(child)) for name, child in children]
        page.add_section("commands", "=", _render_rows(rows))
    below = () if prog == "murmur" else [_split_help(child.help or "") for _, child in children]
    examples = [_roff(example) for text in (help_text, *below) for example in text.examples]
    if examples:
        page.add_section("examples", "=", "\n".join([".EX", *examples, ".EE"]))
    page.add_section("exit status", "=", _render_rows([(str(code.value), code.meaning) for code in ExitCode]))
    links = [f".BR {_roff(name)} (1)" for name in others if name != page.prog]
    page.add_section("see also", "=", ",\n".join(links))
    return str(page)


def _render_synopsis(command: _Command, prog: str) -> str:
    usage = " ".join(rf"\fI{_roff(operand)}\fR" for operand in _operands(command))
    return f"\\fB{_roff(prog)}\\fR {usage}\n.br\n\\fB{_roff(prog)}\\fR \\-\\-help"


def _render_rows(rows: Iterable[tuple[str, str]]) -> str:
    return "\n".join(f".TP\n\\fB{_roff(term)}\\fR\n{_roff(text)}" for term, text in rows)


def _roff(text: str) -> str:
    """Write text so that roff prints it as it is."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
