"""``--bias-map``: which recording has lists of its own.

Names in it count from its own folder on, so that it means the same wherever murmur is started.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from murmur_cli.errors import UsageError

__all__ = ["MapLine", "find_key", "read_bias_map"]

_HINT = 'write {"path": "a.wav", "lists": ["a.txt"]} on each line'


@dataclass(frozen=True, slots=True)
class MapLine:
    """A line: the paths of a recording's own lists, and its place, ``file:line``."""

    lists: tuple[str, ...]
    where: str


def find_key(path: str) -> str:
    """Give what a recording is known by, however it is named."""
    return os.path.realpath(path)


def read_bias_map(path: str) -> dict[str, MapLine]:
    """Read a map; recordings are by ``find_key``.

    Raises:
        UsageError: It cannot be read, or a line is not what it should be; with the line.
    """
    try:
        content = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        problem = f"cannot be read: {(error.strerror or str(error)).lower()}"
        raise UsageError(problem, where=path, hint="check the name after --bias-map") from error
    except UnicodeDecodeError as error:
        raise UsageError("is no UTF-8 text", where=path, hint="save it as UTF-8") from error
    folder = Path(path).parent
    lines: dict[str, MapLine] = {}
    for number, line in enumerate(content.split("\n"), start=1):
        where = f"{path}:{number}"
        if line.strip():
            name, lists = _read_line(line, where)
            key = find_key(str(folder / name))
            if key in lines:
                raise UsageError(f"{name} is named before, at {lines[key].where}", where=where, hint="join the lines")
            lines[key] = MapLine(tuple(str(folder / each) for each in lists), where)
    if not lines:
        raise UsageError("names no recording", where=path, hint=_HINT)
    return lines


def _read_line(line: str, where: str) -> tuple[str, list[str]]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"is not JSON: {error}", where=where, hint=_HINT) from error
    problem = _find_problem(value)
    if problem is not None:
        raise UsageError(problem, where=where, hint=_HINT)
    return value["path"], value["lists"]


def _find_problem(value: object) -> str | None:
    if not isinstance(value, Mapping) or not isinstance(value.get("path"), str) or not value["path"]:
        return 'has no "path"'
    lists = value.get("lists")
    if not isinstance(lists, list) or not all(isinstance(each, str) and each for each in lists):
        return 'has no "lists", which are names of files'
    unknown = sorted(value.keys() - {"path", "lists"})
    return f"has a field {unknown[0]!r} that is not known" if unknown else None
