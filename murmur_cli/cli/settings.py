"""What options are when the command line does not say it: environment, ``./murmur.toml``, the user's file, defaults.

Whatever stands in a file and is not an option of its command, with a value of its type, is an error.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from typer.core import TyperCommand, TyperGroup, TyperOption

from murmur_cli.cli.setting_values import Value, check_value, parse_value
from murmur_cli.errors import UsageError

__all__ = [
    "NOT_SET",
    "PROJECT_FILE",
    "DefaultMap",
    "Setting",
    "find_user_file",
    "load_settings",
    "name_origin",
    "to_default_map",
]

PROJECT_FILE = Path("murmur.toml")
"""In the current folder."""

NOT_SET = ("debug", "help", "json-errors")
"""Options of a command line alone: the first and the last hold for errors of the settings, too."""

DefaultMap: TypeAlias = dict[str, "Value | DefaultMap"]
"""Values by parameter, by command: what Typer takes in place of its defaults."""

_Table: TypeAlias = Mapping[str, object]
_NO_SETTINGS = ("doctor",)  # has to work where the settings are wrong


@dataclass(frozen=True, slots=True)
class Setting:
    """What an option of a command is when it is not given, and which file or variable says so; None: the default.

    ``command`` is its path below ``murmur``; ``parameter`` is Typer's name of the option, ``key`` that in a file.
    """

    command: tuple[str, ...]
    parameter: str
    key: str
    value: Value
    origin: str | None

    @property
    def name(self) -> str:
        """As it would stand in a file: ``batch.max-chunk-s``."""
        return ".".join((*self.command, self.key))


@dataclass(frozen=True, slots=True)
class _Option:
    """An option that can be set."""

    command: tuple[str, ...]
    option: TyperOption

    @property
    def key(self) -> str:
        return max(self.option.opts, key=len).removeprefix("--")

    @property
    def variable(self) -> str:
        return _to_prefix(self.command) + self.option.name.upper()


def load_settings(group: TyperGroup, environment: Mapping[str, str]) -> tuple[Setting, ...]:
    """Find what every option of every command is when it is not given.

    Raises:
        UsageError: A file cannot be read; or a key or value in it, or in the environment, is none that there is.
    """
    options = list(_iter_options(group))
    _refuse_variables(options, environment)
    files = {f"./{PROJECT_FILE}": PROJECT_FILE}
    if (user_file := find_user_file()) is not None:
        files[str(user_file)] = user_file
    known = [(label, _flatten(_read_table(path, label), options, label)) for label, path in files.items()]
    return tuple(_settle(option, environment, known) for option in options)


def find_user_file() -> Path | None:
    """Say where the user's own settings are, on this system; None: the user has no home."""
    from murmur_cli.user_folders import find_config_folder

    folder = find_config_folder()
    return None if folder is None else folder / "config.toml"


def to_default_map(settings: Sequence[Setting]) -> DefaultMap:
    """Give Typer what is set; the other defaults it knows."""
    found: DefaultMap = {}
    for setting in settings:
        if setting.origin is None:
            continue
        table = found
        for name in setting.command:
            below = table.setdefault(name, {})
            assert isinstance(below, dict)
            table = below
        table[setting.parameter] = setting.value
    return found


def name_origin(error: UsageError, settings: Sequence[Setting], arguments: Sequence[str]) -> UsageError | None:
    """Say of an option whose value is refused where that comes from; None: from the command line."""
    option = (error.where or "").partition(" ")[0]
    for setting in settings:
        is_meant = option == f"--{setting.key}" and tuple(arguments[: len(setting.command)]) == setting.command
        if is_meant and setting.origin and not any(given.partition("=")[0] == option for given in arguments):
            return UsageError(error.problem, where=f"{setting.origin}: {error.where}", hint=error.hint)
    return None


def _iter_options(group: TyperGroup, path: tuple[str, ...] = ()) -> Iterator[_Option]:
    for name, command in group.commands.items():
        below = (*path, name)
        if isinstance(command, TyperGroup):
            yield from _iter_options(command, below)
        elif isinstance(command, TyperCommand) and name not in _NO_SETTINGS:
            found = (_Option(below, option) for option in command.params if isinstance(option, TyperOption))
            yield from (option for option in found if option.key not in NOT_SET)


def _settle(
    option: _Option, environment: Mapping[str, str], files: Sequence[tuple[str, Mapping[tuple[str, ...], Value]]]
) -> Setting:
    def make(value: Value, origin: str | None) -> Setting:
        return Setting(option.command, option.option.name, option.key, value, origin)

    if given := environment.get(option.variable):
        return make(parse_value(option.option, given, where=option.variable), option.variable)
    for label, table in files:
        if (place := (*option.command, option.key)) in table:
            return make(table[place], label)
    return make(_find_default(option.option), None)


def _find_default(option: TyperOption) -> Value:
    default = option.default
    assert default is None or isinstance(default, str | int | float | bool), f"--{option.name}"
    return () if option.multiple and default is None else default


def _refuse_variables(options: Sequence[_Option], environment: Mapping[str, str]) -> None:
    """No variable that begins with the name of a command may go on with what is no option of it."""
    known = {option.variable for option in options}
    commands = {option.command for option in options}
    for name in environment.keys() - known:
        for command in commands:
            if name.startswith(_to_prefix(command)):
                hint = _suggest(name, known) or f"see 'murmur {' '.join(command)} --help'"
                raise UsageError("no such setting", where=name, hint=hint)


def _to_prefix(command: Sequence[str]) -> str:
    return "_".join(("murmur", *command, "")).upper()


def _read_table(path: Path, label: str) -> _Table:
    import tomllib

    try:
        return tomllib.loads(path.read_bytes().decode())
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror or error}", where=label, hint="make it readable") from error
    except ValueError as error:  # no UTF-8, or no TOML
        raise UsageError(f"is not TOML: {error}", where=label, hint="mend or remove it") from error


def _flatten(table: _Table, options: Sequence[_Option], label: str) -> dict[tuple[str, ...], Value]:
    """Give the values by command and key, each checked."""
    known = {(*option.command, option.key): option.option for option in options}
    tables = {place[:end] for place in known for end in range(1, len(place))}
    found: dict[tuple[str, ...], Value] = {}
    for place, value in _iter_values(table, tables):
        where = f"{label}: {'.'.join(place)}"
        if place in tables:
            raise UsageError(
                f"not a table: {value!r}", where=where, hint=f"write [{'.'.join(place)}] above its settings"
            )
        if place[-1] in NOT_SET:
            raise UsageError("cannot be set in a file", where=where, hint="give it on the command line")
        if place not in known:
            names = {".".join(each) for each in known.keys() | tables}
            hint = _suggest(".".join(place), names) or "'murmur doctor --config' names all settings"
            raise UsageError("no such setting", where=where, hint=hint)
        found[place] = check_value(known[place], value, where=where)
    return found


def _iter_values(
    table: _Table, tables: set[tuple[str, ...]], path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], object]]:
    """Yield what is in a table and those below it; one that no command has is a value."""
    for key, value in table.items():
        place = (*path, key)
        if isinstance(value, dict) and place in tables:
            yield from _iter_values(value, tables, place)
        else:
            yield place, value


def _suggest(name: str, known: set[str]) -> str | None:
    near = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.6)
    return f"did you mean {near[0]}?" if near else None
