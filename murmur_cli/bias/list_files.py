"""Lists of keywords in files, as users write them: plain text, JSON lines, or a column of a table.

What cannot be meant is an error that names its line; what is probably not meant is a warning that does.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from murmur_cli.bias.keywords import Form, Keyword, KeywordList, check_keywords, check_weight, make_form, shorten
from murmur_cli.errors import UsageError

__all__ = ["load_keywords", "parse_phrase"]

_MOST_BYTES = 64 * 2**20
_TABLE_HINT = "the columns are phrase and, if wanted, weight, aliases (a | b) and open (true or false)"
_MOST_ON_LINE = 20_000  # characters
_QUOTED = re.compile(r'"(?P<text>[^"]*)" *(?:(?P<bar>\|)|$)')
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.IGNORECASE | re.ASCII)


def load_keywords(path: str) -> KeywordList:
    """Read a list: JSON lines where the name ends in .jsonl, a table where it ends in .csv, else plain text.

    Raises:
        UsageError: The file cannot be read, is empty, or holds something that cannot be meant; with the line.
    """
    if path.lower().endswith(".mbias"):
        raise UsageError("is a compiled list", where=path, hint="give the list that it was compiled from")
    parse = _PARSERS.get(Path(path).suffix.lower(), _parse_lines)
    keywords = tuple(parse(_read_text(path), path))
    if not keywords:
        raise UsageError("holds no phrase", where=path, hint="write one phrase a line")
    return check_keywords(keywords, where=path)


def parse_phrase(text: str, *, where: str = "--phrase") -> KeywordList:
    """Read one phrase, written as in a line of a plain list.

    Raises:
        UsageError: It cannot be meant.
    """
    return check_keywords((_parse_line(text, where),), where=where)


def _read_text(path: str) -> str:
    try:
        with Path(path).open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except OSError as error:
        problem = f"cannot be read: {(error.strerror or str(error)).lower()}"
        raise UsageError(problem, where=path, hint="check the name") from error
    if len(content) > _MOST_BYTES:
        raise UsageError(f"is larger than {_MOST_BYTES >> 20} MB", where=path, hint="is this a list of phrases?")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = 1 + content.count(b"\n", 0, error.start)
        raise UsageError("is not UTF-8 text", where=f"{path}:{line}", hint="save the list as UTF-8") from error


def _iter_lines(text: str, path: str) -> Iterator[tuple[str, str]]:
    """The lines that hold something, and where they are."""
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip(" \t\r")
        if stripped:
            yield stripped, f"{path}:{number}"


# --- plain text


def _parse_lines(text: str, path: str) -> Iterator[Keyword]:
    for line, where in _iter_lines(text, path):
        if not line.startswith("#"):
            yield _parse_line(line, where)


def _parse_line(line: str, where: str) -> Keyword:
    if len(line) > _MOST_ON_LINE:
        raise UsageError(f"is a line of {len(line)} characters", where=where, hint="write one phrase a line")
    line, weight = _split_weight(line.replace("\t", " "), where)
    return Keyword(tuple(_iter_forms(line, where)), weight, where)


def _split_weight(line: str, where: str) -> tuple[str, float]:
    """Take ``:2`` from the end of a line, if it stands alone there."""
    rest, colon, written = line.rpartition(" :")
    number = written.strip()
    if not colon or '"' in number or not number or " " in number:
        return line, 1.0
    if number != written and not _NUMBER.fullmatch(number):
        return line, 1.0  # a colon between words
    return rest, _parse_weight(number, where)


def _parse_weight(text: str, where: str) -> float:
    if not _NUMBER.fullmatch(text.strip()):
        hint = "write a number from 0 to 100 after the colon, or put the phrase in quotation marks"
        raise UsageError(f"{shorten(text)} is no weight", where=where, hint=hint)
    return check_weight(float(text), where)


def _iter_forms(line: str, where: str) -> Iterator[Form]:
    """Split a line at every ``|`` beside a space; what is in quotation marks, whole, is taken as it is."""
    rest = line
    while True:
        rest = rest.lstrip()
        quoted = _QUOTED.match(rest)
        if quoted:
            yield make_form(quoted["text"], where)
            bar = quoted.end() - 1 if quoted["bar"] else -1
        else:
            bar = _find_bar(rest)
            text = (rest if bar < 0 else rest[:bar]).rstrip()
            yield make_form(text.removesuffix("*"), where, is_open=text.endswith("*"))
        if bar < 0:
            return
        rest = rest[bar + 1 :]


def _find_bar(text: str) -> int:
    padded = f" {text} "
    bars = (i for i, character in enumerate(text) if character == "|")
    return next((i for i in bars if padded[i].isspace() or padded[i + 2].isspace()), -1)


# --- JSON lines and tables


def _parse_json_lines(text: str, path: str) -> Iterator[Keyword]:
    for line, where in _iter_lines(text, path):
        if len(line) > _MOST_ON_LINE:
            raise UsageError(f"is a line of {len(line)} characters", where=where, hint="write one phrase a line")
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UsageError(
                f"is not JSON: {error}", where=where, hint='write {"phrase": "..."} on each line'
            ) from error
        yield _read_object(value, where)


def _read_object(value: object, where: str) -> Keyword:
    hint = 'write {"phrase": "...", "weight": 1, "aliases": ["..."], "open": false}'
    if not isinstance(value, dict) or not isinstance(value.get("phrase"), str):
        raise UsageError('has no "phrase"', where=where, hint=hint)
    unknown = sorted(value.keys() - {"phrase", "weight", "aliases", "open"})
    weight, aliases, is_open = value.get("weight", 1), value.get("aliases", []), value.get("open", False)
    problem = f"has a field {shorten(unknown[0])} that is not known" if unknown else None
    if isinstance(weight, bool) or not isinstance(weight, int | float):
        problem = '"weight" is no number'
    if not isinstance(aliases, list) or not all(isinstance(alias, str) for alias in aliases):
        problem = '"aliases" is no list of texts'
    if not isinstance(is_open, bool):
        problem = '"open" is neither true nor false'
    if problem:
        raise UsageError(problem, where=where, hint=hint)
    first = make_form(value["phrase"], where, is_open=is_open)
    return Keyword((first, *(make_form(alias, where) for alias in aliases)), check_weight(weight, where), where)


def _parse_table(text: str, path: str) -> Iterator[Keyword]:
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        names = [name.strip().lower() for name in next(rows, [])]
        if "phrase" not in names:
            raise UsageError("has no column 'phrase'", where=f"{path}:1", hint="name the columns in the first line")
        for row in rows:
            where = f"{path}:{rows.line_num}"
            if len(row) > len(names):
                raise UsageError(
                    f"has {len(row)} fields, and there are {len(names)} columns", where=where, hint=_TABLE_HINT
                )
            if any(field.strip() for field in row):
                yield _read_row(dict(zip(names, row, strict=False)), where)
    except csv.Error as error:
        raise UsageError(
            f"is no table: {error}", where=f"{path}:{rows.line_num}", hint="quote fields as CSV does"
        ) from error


def _read_row(row: Mapping[str, str], where: str) -> Keyword:
    weight = row.get("weight", "").strip()
    is_open = row.get("open", "").strip().lower()
    if is_open not in _BOOLEANS:
        raise UsageError(
            f"{shorten(is_open)} in column 'open' is neither true nor false", where=where, hint=_TABLE_HINT
        )
    first = make_form(row.get("phrase", ""), where, is_open=_BOOLEANS[is_open])
    aliases = row.get("aliases", "").strip()
    others = [make_form(alias, where) for alias in aliases.split("|")] if aliases else []
    return Keyword((first, *others), _parse_weight(weight, where) if weight else 1.0, where)


_BOOLEANS = {"": False, "false": False, "0": False, "no": False, "true": True, "1": True, "yes": True}
_PARSERS: dict[str, Callable[[str, str], Iterator[Keyword]]] = {".jsonl": _parse_json_lines, ".csv": _parse_table}
