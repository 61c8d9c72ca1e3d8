"""The rules of the code that no linter knows.

Options: a module of ``murmur_cli.cli`` that defines commands names, in ``OPTIONS``, the options records
that they build: a tuple of records where it has one command, a dict from command name to such a tuple
where it has several. Every option of the command is then a field of one of these records and the other
way round, as ``--the-field-name``, with the same default (a list that was not given counts as empty).
Positional arguments and ``--help`` are not options.
"""

from __future__ import annotations

import ast
import dataclasses
import enum
import importlib
import inspect
import os
import pkgutil
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.core import TyperGroup, TyperOption

import murmur_cli
from murmur_cli import errors
from murmur_cli.cli.app import app

PACKAGE = Path(murmur_cli.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
HEAVY = (
    "torch",
    "transformers",
    "pyannote",
    "av",
    "soundfile",
    "scipy",
    "huggingface_hub",
    "soxr",
    "silero_vad",
    "safetensors",
    "sounddevice",
)
MURMUR = Path(sys.executable).parent / "murmur"


def _name(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


each_module = pytest.mark.parametrize("path", MODULES, ids=_name)


# --- modules


@each_module
def test_modules_are_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400


def _public_names(tree: ast.Module) -> set[str]:
    """The functions, classes and constants that a module defines without an underscore."""
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return {name for name in names if not name.startswith("_")}


def _declared_names(tree: ast.Module) -> list[str] | None:
    for node in tree.body:
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["__all__"]:
            return list(ast.literal_eval(node.value))
    return None


def _sort_key(name: str) -> tuple[bool, bool, str]:
    """Constants, then classes, then the rest, as ruff's RUF022 has it."""
    return (not name.isupper(), not name[0].isupper(), name)


@each_module
def test_public_names_are_declared_and_sorted(path: Path) -> None:
    tree = _tree(path)
    public, declared = _public_names(tree), _declared_names(tree)
    if declared is None:
        assert not public, f"no __all__, but {sorted(public)}"
        return
    assert declared == sorted(declared, key=_sort_key)
    assert len(declared) == len(set(declared))
    assert public <= set(declared), f"neither private nor in __all__: {sorted(public - set(declared))}"


def _iter_public_definitions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef | ast.ClassDef | ast.Module]]:
    yield "the module", tree
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            yield node.name, node
            for member in node.body if isinstance(node, ast.ClassDef) else ():
                if isinstance(member, ast.FunctionDef) and not member.name.startswith("_"):
                    yield f"{node.name}.{member.name}", member


@each_module
def test_public_names_are_documented(path: Path) -> None:
    missing = [name for name, node in _iter_public_definitions(_tree(path)) if not ast.get_docstring(node)]
    assert missing == []


@each_module
def test_only_the_command_line_prints(path: Path) -> None:
    calls = [node for node in ast.walk(_tree(path)) if isinstance(node, ast.Call)]
    prints = [call.lineno for call in calls if isinstance(call.func, ast.Name) and call.func.id == "print"]
    assert path.is_relative_to(PACKAGE / "cli") or prints == []


def test_no_module_is_a_drawer() -> None:
    assert [path for path in MODULES if path.stem in ("utils", "helpers", "common", "misc")] == []


# --- the tree of errors


def _drawn_tree() -> dict[str, tuple[str, int]]:
    """Name -> (parent, exit code), as drawn in the docstring of ``errors``."""
    drawn: dict[str, tuple[str, int]] = {}
    branch: list[str] = []  # the class at each depth
    for line in (errors.__doc__ or "").splitlines():
        row = re.fullmatch(r"    (?P<lines>[│├└─ ]*)(?P<name>\w+)\s+(?P<code>\d+)  .*", line)
        if row is None:
            continue
        depth = len(row["lines"]) // 4
        drawn[row["name"]] = (branch[depth - 1] if depth else "Exception", int(row["code"]))
        branch[depth:] = [row["name"]]
    return drawn


def _error_classes() -> dict[str, type[Exception]]:
    for module in pkgutil.walk_packages([str(PACKAGE)], "murmur_cli."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    found: dict[str, type[Exception]] = {}
    waiting: list[type[Exception]] = [errors.MurmurError]
    while waiting:
        kind = waiting.pop()
        found[kind.__name__] = kind
        waiting += kind.__subclasses__()
    return found


def test_every_error_is_in_the_tree_and_every_leaf_exists() -> None:
    classes = _error_classes()
    assert _drawn_tree() == {name: (kind.__bases__[0].__name__, kind.exit_code.value) for name, kind in classes.items()}
    assert {kind.__module__ for kind in classes.values()} == {"murmur_cli.errors"}


# --- the command line


def test_the_command_line_loads_nothing_heavy() -> None:
    code = "import sys, murmur_cli.cli.app; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "typer" in loaded
    assert [name for name in HEAVY if name in loaded] == []


def test_help_is_quick(capsys: pytest.CaptureFixture[str]) -> None:
    wall: list[float] = []
    cpu: list[float] = []  # asserted on: a busy neighbour does not count, and help waits for nothing
    for _ in range(5):
        before, start = os.times(), time.perf_counter()
        subprocess.run([MURMUR, "--help"], stdout=subprocess.DEVNULL, check=True)
        wall.append(time.perf_counter() - start)
        after = os.times()
        cpu.append(after.children_user - before.children_user + after.children_system - before.children_system)
    with capsys.disabled():
        sys.stdout.write(f"[murmur --help: {min(cpu):.2f} CPU s, {min(wall):.2f} s]")
    assert min(cpu) < 0.3


def _iter_leaves(command: TyperGroup, path: str = "murmur") -> Iterator[tuple[str, typer.core.TyperCommand]]:
    for name, child in command.commands.items():
        if isinstance(child, TyperGroup):
            yield from _iter_leaves(child, f"{path} {name}")
        else:
            yield f"{path} {name}", child


LEAVES = dict(_iter_leaves(typer.main.get_command(app)))


def _records(command: typer.core.TyperCommand) -> tuple[type, ...]:
    assert command.callback is not None
    module = inspect.getmodule(inspect.unwrap(command.callback))
    records = getattr(module, "OPTIONS", None)
    assert records is not None, f"{module} has no OPTIONS"
    return records[command.name] if isinstance(records, dict) else records


def _plain(value: object) -> object:
    """A default as Typer and a record both may say it."""
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, list | tuple):
        return tuple(_plain(item) for item in value)
    return value


@pytest.mark.parametrize("path", LEAVES)
def test_options_are_the_fields_of_the_records(path: str) -> None:
    command = LEAVES[path]
    fields = {
        f"--{field.name.replace('_', '-')}": field.default
        for record in _records(command)
        for field in dataclasses.fields(record)
    }
    options = [parameter for parameter in command.params if isinstance(parameter, TyperOption)]
    names = {name for option in options for name in option.opts if name.startswith("--")}
    assert names == set(fields)
    for option in options:
        name = next(name for name in option.opts if name in fields)
        default = () if option.multiple and option.default is None else _plain(option.default)
        assert default == _plain(fields[name]), name


@pytest.mark.parametrize("path", LEAVES)
def test_every_option_and_argument_has_a_help(path: str) -> None:
    assert [parameter.name for parameter in LEAVES[path].params if not parameter.help] == []
