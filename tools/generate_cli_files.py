"""Write the completions, the man pages and docs/cli.md from the command line itself, or check that they are current.

Typer's commands are walked into an argparse parser, which shtab (completions) and argparse-manpage
(man pages) read; ``cli_reference`` makes the page. The same command line gives the same bytes on every
day and every machine.

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

import shtab
import typer
from argparse_manpage.manpage import Manpage
from cli_reference import render_reference
from cli_walk import Command, Parameter, describe, find_title, group_parameters, iter_commands, operands, split_help
from typer.core import TyperArgument, TyperGroup, TyperOption

from murmur_cli.cli.app import app
from murmur_cli.errors import ExitCode
from murmur_cli.models.catalog import load_catalog
from murmur_cli.options import CHANNELS, COLORS, DTYPES, FORMATS, METRICS, NORMALIZERS, PROGRESS
from murmur_cli.version import __version__

__all__ = ["check_files", "main", "render_files"]

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
    files[ROOT / "docs" / "cli.md"] = render_reference(command, find_metavar=_find_metavar)
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


def _to_parser(command: Command, prog: str, *, is_deep: bool = True) -> argparse.ArgumentParser:
    """Walk a command, and with ``is_deep`` those below it, into an argparse parser."""
    parser = argparse.ArgumentParser(prog=prog, add_help=False)
    _fill_parser(parser, command, is_deep=is_deep)
    return parser


def _fill_parser(parser: argparse.ArgumentParser, command: Command, *, is_deep: bool) -> None:
    groups = {title: parser.add_argument_group(title) for title in group_parameters(command)}
    for parameter in command.params:
        if not parameter.hidden:
            _add_parameter(groups[find_title(parameter)], parameter)
    parser.add_argument("--help", action="help", help="Show the help and exit.")
    if not is_deep or not isinstance(command, TyperGroup):
        return
    subparsers = parser.add_subparsers(title="commands", dest="command", metavar="COMMAND")
    for name, child in iter_commands(command):
        prog = f"{parser.prog} {name}"
        usage = _escape_percent(" ".join([prog, *operands(child)]))
        help_text = _escape_percent(split_help(child).summary)
        child_parser = subparsers.add_parser(name, prog=prog, usage=usage, help=help_text, add_help=False)
        _fill_parser(child_parser, child, is_deep=True)


def _add_parameter(group: argparse._ArgumentGroup, parameter: Parameter) -> None:
    help_text = _escape_percent(describe(parameter))
    if isinstance(parameter, TyperOption) and (parameter.is_flag or parameter.count):
        names = [*sorted(parameter.opts, key=len), *parameter.secondary_opts]
        group.add_argument(*names, action="count" if parameter.count else "store_true", help=help_text)
        return
    metavar = _find_metavar(parameter)
    if isinstance(parameter, TyperArgument):
        nargs = None if parameter.nargs == 1 else "+" if parameter.required else "*"
        action = group.add_argument(parameter.name, metavar=metavar, nargs=nargs, help=help_text)
    else:
        kind = "append" if parameter.multiple else "store"
        names = sorted(parameter.opts, key=len)
        action = group.add_argument(*names, action=kind, metavar=metavar, help=help_text)
    action.choices = _find_choices(parameter)
    if parameter.type_descriptor.is_path or _PATH_METAVARS.search(metavar):
        action.complete = shtab.FILE


def _find_metavar(parameter: Parameter) -> str:
    usual = parameter.name.upper()
    if isinstance(parameter, TyperOption):
        usual = _METAVARS.get(parameter.type_descriptor.annotation, usual)
    return parameter.metavar or usual


def _find_choices(parameter: Parameter) -> tuple[str, ...] | None:
    declared = parameter.type_descriptor.choices
    if declared is not None:
        return tuple(str(choice.value if isinstance(choice, enum.Enum) else choice) for choice in declared)
    if parameter.opts == ["--model"] or (parameter.metavar or "").strip("[…]") == "NAME":
        return tuple(entry.name for entry in load_catalog())
    return _CHOICES.get(parameter.opts[0])


def _escape_percent(text: str) -> str:
    return text.replace("%", "%%")


def _iter_pages(command: TyperGroup) -> Iterator[tuple[str, str]]:
    names = ["murmur", *(f"murmur-{name}" for name, _ in iter_commands(command))]
    yield "murmur", _render_page(command, "murmur", others=names)
    for name, child in iter_commands(command):
        yield f"murmur-{name}", _render_page(child, f"murmur {name}", others=names)


def _render_page(command: Command, prog: str, *, others: Sequence[str]) -> str:
    """One man page: of ``murmur`` itself without its commands' options, of any other command with all below it."""
    os.environ["SOURCE_DATE_EPOCH"] = str(int(datetime.fromisoformat(f"{RELEASED}T12:00+00:00").timestamp()))
    help_text = split_help(command)
    children = list(iter_commands(command))
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
        rows = [(f"murmur-{name}(1)", split_help(child).summary) for name, child in children]
        page.add_section("commands", "=", _render_rows(rows))
    below = () if prog == "murmur" else [split_help(child) for _, child in children]
    examples = [_roff(example) for text in (help_text, *below) for example in text.examples]
    if examples:
        page.add_section("examples", "=", "\n".join([".EX", *examples, ".EE"]))
    page.add_section("exit status", "=", _render_rows([(str(code.value), code.meaning) for code in ExitCode]))
    links = [f".BR {_roff(name)} (1)" for name in others if name != page.prog]
    page.add_section("see also", "=", ",\n".join(links))
    return str(page)


def _render_synopsis(command: Command, prog: str) -> str:
    usage = " ".join(rf"\fI{_roff(operand)}\fR" for operand in operands(command))
    return f"\\fB{_roff(prog)}\\fR {usage}\n.br\n\\fB{_roff(prog)}\\fR \\-\\-help"


def _render_rows(rows: Iterable[tuple[str, str]]) -> str:
    return "\n".join(f".TP\n\\fB{_roff(term)}\\fR\n{_roff(text)}" for term, text in rows)


def _roff(text: str) -> str:
    """Write text so that roff prints it as it is."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
