"""Compiled lists, and what scoring knows of a vocabulary, in files: a checksum, then arrays.

A file is read whole, and checked in all that could lead astray, before it is used; nothing in it is ever executed.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from murmur_cli.bias.graph import measure_depth
from murmur_cli.bias.index import TokenClasses
from murmur_cli.bias.keywords import Keyword, KeywordList, check_weight, make_form
from murmur_cli.bias.packed import NO_ARC, BiasList
from murmur_cli.bias.states import FIRST_CUT
from murmur_cli.errors import OutputError, UsageError

__all__ = ["FORMAT", "Compiled", "load_compiled", "read_classes", "read_compiled", "save_compiled", "write_classes"]

FORMAT = 1
"""Changes with anything that makes compiled lists of before wrong or unreadable."""

_MAGIC = b"mbias"
_DESCRIBED = ("n_root_level", "depth", "n_phrases", "vocabulary", "sha256")
_ARRAYS = tuple(each.name for each in fields(BiasList) if each.name not in _DESCRIBED)
_Arrays: TypeAlias = Mapping[str, npt.NDArray[np.generic]]


@dataclass(frozen=True, slots=True)
class Compiled:
    """A compiled list, and the keywords that it was compiled from."""

    graph: BiasList
    keywords: KeywordList


def load_compiled(path: str, classes: TokenClasses) -> Compiled:
    """Read a ``.mbias`` file of a user's.

    Args:
        path: Of the file.
        classes: Of the model's vocabulary.

    Raises:
        UsageError: It cannot be read, is damaged, or was compiled for another tokenizer.
    """
    hint = "compile the list again with 'murmur bias compile'"
    try:
        compiled = read_compiled(Path(path), n_tokens=classes.n_tokens, n_cuts=len(classes.likely))
    except OSError as error:
        problem = f"cannot be read: {(error.strerror or str(error)).lower()}"
        raise UsageError(problem, where=path, hint="check the name") from error
    except ValueError as error:
        raise UsageError(f"is no compiled list, or a damaged one: {error}", where=path, hint=hint) from error
    if compiled.graph.vocabulary != classes.sha256:
        raise UsageError("was compiled for the tokenizer of another model", where=path, hint=hint)
    return compiled


def read_compiled(path: Path, *, n_tokens: int, n_cuts: int) -> Compiled:
    """Read a compiled list.

    Args:
        path: Of the file.
        n_tokens: Of the vocabulary.
        n_cuts: Cut characters of the vocabulary.

    Raises:
        OSError: It cannot be read.
        ValueError: It is not what was written.
    """
    arrays, about = _unpack(path.read_bytes())
    real, small, whole, flag = np.float32, np.int16, np.int32, np.bool_
    graph = BiasList(
        links=_take(arrays, "links", whole),
        bases=_take(arrays, "bases", real),
        words=_take(arrays, "words", flag),
        cuts=_take(arrays, "cuts", small),
        debtors=_take(arrays, "debtors", whole),
        debts=_take(arrays, "debts", real),
        bounds=_take(arrays, "bounds", whole),
        tokens=_take(arrays, "tokens", whole),
        values=_take(arrays, "values", real),
        targets=_take(arrays, "targets", whole),
        root_tokens=_take(arrays, "root_tokens", whole),
        root_values=_take(arrays, "root_values", real),
        root_targets=_take(arrays, "root_targets", whole),
        n_root_level=_take_number(about, "n_root_level"),
        depth=_take_number(about, "depth"),
        n_phrases=_take_number(about, "n_phrases"),
        vocabulary=str(about.get("vocabulary")),
        sha256=str(about.get("sha256")),
    )
    fault = _find_fault(graph, n_tokens, n_cuts)
    if fault:
        raise ValueError(fault)
    return Compiled(graph, _read_keywords(about.get("keywords")))


def save_compiled(path: Path, compiled: Compiled) -> None:
    """Write a compiled list, whole or not at all.

    Raises:
        OutputError: It cannot be written.
    """
    graph = compiled.graph
    about = {
        **{name: getattr(graph, name) for name in _DESCRIBED},
        "keywords": [
            [keyword.weight, keyword.where, [[form.text, form.is_open] for form in keyword.forms]]
            for keyword in compiled.keywords.keywords
        ],
    }
    _write(path, _pack({name: getattr(graph, name) for name in _ARRAYS}, about))


def read_classes(path: Path, *, sha256: str) -> TokenClasses:
    """Read what scoring knows of a vocabulary.

    Raises:
        OSError: It cannot be read.
        ValueError: It is not what was written, or of another vocabulary.
    """
    arrays, about = _unpack(path.read_bytes())
    if about.get("sha256") != sha256:
        raise ValueError("of another vocabulary")
    return TokenClasses(
        column=_take(arrays, "column", np.int16),
        after=_take(arrays, "after", np.int16),
        is_tail=_take(arrays, "is_tail", np.bool_),
        outcome=_take(arrays, "outcome", np.int16),
        is_word=_take(arrays, "is_word", np.bool_),
        likely=_take(arrays, "likely", np.bool_),
        sha256=sha256,
    )


def write_classes(path: Path, classes: TokenClasses) -> None:
    """Write what scoring knows of a vocabulary, whole or not at all.

    Raises:
        OutputError: It cannot be written.
    """
    names = [each.name for each in fields(TokenClasses) if each.name != "sha256"]
    _write(path, _pack({name: getattr(classes, name) for name in names}, {"sha256": classes.sha256}))


# --- the container


def _pack(arrays: _Arrays, about: Mapping[str, object]) -> bytes:
    content = io.BytesIO()
    described = np.frombuffer(json.dumps({"format": FORMAT, **about}).encode(), np.uint8)
    with zipfile.ZipFile(content, "w") as archive:
        for name, array in (*arrays.items(), ("about", described)):
            with archive.open(name, "w") as member:
                np.lib.format.write_array(member, np.ascontiguousarray(array), allow_pickle=False)
    payload = content.getvalue()
    return _MAGIC + hashlib.sha256(payload).digest() + payload


def _unpack(content: bytes) -> tuple[_Arrays, Mapping[str, object]]:
    begin = len(_MAGIC) + hashlib.sha256().digest_size
    payload = memoryview(content)[begin:]
    if not content.startswith(_MAGIC) or hashlib.sha256(payload).digest() != content[len(_MAGIC) : begin]:
        raise ValueError("the checksum does not fit")
    arrays: dict[str, npt.NDArray[np.generic]] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(payload)) as archive:
            for name in archive.namelist():
                if archive.getinfo(name).file_size > len(content):  # members are stored as they are
                    raise ValueError("an array is larger than the file")
                with archive.open(name) as member:
                    arrays[name] = np.lib.format.read_array(member, allow_pickle=False)
        about = json.loads(arrays.pop("about").tobytes())
    except (zipfile.BadZipFile, KeyError, NotImplementedError, RuntimeError, RecursionError) as error:
        raise ValueError(str(error)) from error
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise ValueError("another murmur wrote it")
    return arrays, about


def _write(path: Path, content: bytes) -> None:
    """Write beside the file, then put it in its place: a reader never sees half of it, nor do two writers mix."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        problem = f"cannot be written: {(error.strerror or str(error)).lower()}"
        raise OutputError(problem, where=str(path), hint="check the folder and the space on the disk") from error


# --- checks


_Number = TypeVar("_Number", bound=np.generic)


def _take(arrays: _Arrays, name: str, kind: type[_Number]) -> npt.NDArray[_Number]:
    array = arrays.get(name)
    if array is None or array.dtype != np.dtype(kind):
        raise ValueError(f"no array {name} of the right kind")
    return array.astype(kind, copy=False)


def _take_number(about: Mapping[str, object], name: str) -> int:
    number = about.get(name)
    if not isinstance(number, int):
        raise ValueError(f"no number {name}")  # noqa: TRY004 - a file of other content, not a mistake in the code
    return number


def _read_keywords(value: object) -> KeywordList:
    """Read keywords as they were written: by the same checks as in a list."""
    if not isinstance(value, list):
        raise ValueError("no keywords")  # noqa: TRY004 - as above
    try:
        keywords = [
            Keyword(
                tuple(make_form(str(text), "", is_open=bool(is_open)) for text, is_open in forms),
                check_weight(float(weight), ""),
                str(where),
            )
            for weight, where, forms in value
        ]
    except (TypeError, ValueError, UsageError) as error:
        raise ValueError("the keywords are not what they should be") from error
    if not all(keyword.forms for keyword in keywords):
        raise ValueError("a keyword has no form")
    return KeywordList(tuple(keywords))


def _find_fault(graph: BiasList, n_tokens: int, n_cuts: int) -> str | None:
    """Say what could lead outside of an array, or around in circles."""
    shapes = {"links": 1, "words": 1, "cuts": 1, "debtors": 1, "bases": 2, "debts": 1, "bounds": 1}
    if any(getattr(graph, name).ndim != n_axes for name, n_axes in shapes.items()):
        return "an array has another shape"
    n_states, n_roots, n_debts = graph.n_states, len(graph.root_tokens), len(graph.debts)
    n_arcs = len(graph.tokens)
    fits = (
        {len(graph.words), len(graph.cuts), len(graph.debtors), len(graph.bounds) - 1} == {n_states}
        and graph.bases.shape == (2, n_states)
        and graph.tokens.shape == graph.values.shape == graph.targets.shape == (n_arcs,)
        and graph.root_values.shape == graph.root_targets.shape == (2, n_roots)
        and FIRST_CUT < graph.n_root_level <= n_states
    )
    if not fits:
        return "the arrays do not fit each other"
    n_all = n_states + n_debts * (graph.n_root_level - FIRST_CUT)
    within = (
        (graph.links, 0, n_states),
        (graph.cuts, 0, n_cuts),
        (graph.debtors, 0, n_debts + 1),
        (graph.tokens, 0, n_tokens),
        (graph.targets, 0, n_all),
        (graph.root_tokens, 0, n_tokens),
        (graph.root_targets, NO_ARC, n_all),
    )
    numbers = (graph.bases, graph.values, graph.root_values, graph.debts)
    are_finite = all(bool(np.isfinite(array).all()) for array in numbers)
    if not are_finite or not all(bool(((array >= low) & (array < high)).all()) for array, low, high in within):
        return "a number is out of range"
    bounds = np.diff(graph.bounds)
    if graph.bounds[0] != 0 or graph.bounds[-1] != n_arcs or bool((bounds < 0).any()):
        return "the bounds of arcs are no bounds"
    if measure_depth(graph.links) != graph.depth:
        return "the links do not end"
    return None
