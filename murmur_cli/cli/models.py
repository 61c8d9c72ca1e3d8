"""``murmur models``: the weights on this machine."""

from __future__ import annotations

import json as json_format
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from murmur_cli.cli import options as cli
from murmur_cli.errors import ExitCode, ModelUnavailableError, UsageError, WeightsError
from murmur_cli.options import ErrorOptions, RunOptions

if TYPE_CHECKING:
    from murmur_cli.models.catalog import CatalogEntry
    from murmur_cli.models.manifest import Manifest

__all__ = ["OPTIONS", "ListOptions", "PullOptions", "app", "list_models", "path", "pull", "remove", "verify"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOptions:
    """How the list is written, and what goes wrong."""

    json: bool = False
    json_errors: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PullOptions:
    """How a download behaves towards the person who watches it."""

    quiet: bool = False
    debug: bool = False
    json_errors: bool = False


OPTIONS: dict[str, tuple[type, ...]] = {
    "list": (ListOptions,),
    "pull": (PullOptions,),
    "path": (ErrorOptions,),
    "verify": (ErrorOptions,),
    "rm": (ErrorOptions,),
}
"""The records that each command builds: their fields are its options."""

_Json = Annotated[bool, typer.Option("--json", help="Write JSON, with sources, folder and revision.")]
_Name = Annotated[str, typer.Argument(help="A name (see murmur models list), or a hub id.", metavar="NAME")]
_Names = Annotated[list[str], typer.Argument(help="Names (see murmur models list), or hub ids.", metavar="NAME…")]
_SomeNames = Annotated[
    list[str] | None, typer.Argument(help="Names or hub ids; all that are cached if none is given.", metavar="[NAME…]")
]

app = typer.Typer(no_args_is_help=True, help="See, fetch, check and remove the weights of models.")


@app.command("list")
def list_models(json: _Json = False, json_errors: cli.JsonErrors = False) -> None:
    """List the models that murmur knows, and which are on this machine.

    \b
    Examples:
      murmur models list
      murmur models list --json
    """
    del json_errors  # heeded where errors end, in cli/app.py
    from murmur_cli.models.cache import list_cached
    from murmur_cli.models.catalog import load_catalog

    cached = list_cached()
    known = load_catalog()
    others = cached.keys() - {entry.name for entry in known}
    found = [(entry, cached.get(entry.name)) for entry in (*known, *map(_resolve, sorted(others)))]
    if json:
        typer.echo(json_format.dumps([_to_json(entry, record) for entry, record in found], indent=2))
        return
    rows: list[tuple[str, ...]] = [("NAME", "SIZE", "LICENCE", "LANGUAGES", "CACHED")]
    rows += [_to_row(entry, record, cached=entry.name in cached) for entry, record in found]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        typer.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


@app.command()
def pull(
    names: _Names, quiet: cli.Quiet = False, debug: cli.Debug = False, json_errors: cli.JsonErrors = False
) -> None:
    """Fetch weights; what is there already is checked, byte for byte.

    \b
    Examples:
      murmur models pull whisper-base
      murmur models pull openai/whisper-small.en
    """
    from murmur_cli.cli.pull import PullDisplay
    from murmur_cli.cli.render import Talk, make_console
    from murmur_cli.models.weights import pull_weights

    run = RunOptions(quiet=quiet, debug=debug, json_errors=json_errors)
    console = make_console(run)
    talk = Talk(console, run)
    for name in names:
        with PullDisplay(console, quiet=quiet) as display:
            weights = pull_weights(name, offline=False, on_progress=display.show, thorough=True)
        origin = f", {weights.licence}, from {weights.source} at {weights.revision}" if weights.source else ""
        talk.note(f"{name}: {_megabytes(weights.n_bytes)}{origin}, sha256 {weights.sha256}")


@app.command()
def path(name: _Name, json_errors: cli.JsonErrors = False) -> None:
    """Print the folder that holds a model's weights; exit code 4 if they are not on this machine.

    \b
    Examples:
      ls "$(murmur models path whisper-base)"
    """
    del json_errors  # heeded where errors end, in cli/app.py
    from murmur_cli.models.cache import find_weights

    weights = find_weights(_resolve(name).name)
    if weights is None:
        raise ModelUnavailableError("not on this machine", where=name, hint=f"'murmur models pull {name}' fetches it")
    typer.echo(str(weights.folder))


@app.command()
def verify(names: _SomeNames = None, json_errors: cli.JsonErrors = False) -> None:
    """Hash all files of cached weights; exit code 1 if one is not as it was when it was fetched.

    \b
    Examples:
      murmur models verify
      murmur models verify whisper-base
    """
    del json_errors  # heeded where errors end, in cli/app.py
    from murmur_cli.models.cache import find_weights, list_cached

    n_bad = 0
    for name in names or list_cached():
        try:
            found = find_weights(_resolve(name).name, thorough=True)
        except WeightsError as error:
            n_bad += 1
            typer.echo(f"{name}: {error}")
            continue
        if found is None:
            hint = f"'murmur models pull {name}' fetches it"
            raise ModelUnavailableError("not on this machine", where=name, hint=hint)
        typer.echo(f"{name}: ok, sha256 {found.sha256}")
    if n_bad:
        raise typer.Exit(ExitCode.ERROR)


@app.command("rm")
def remove(names: _Names, json_errors: cli.JsonErrors = False) -> None:
    """Delete cached weights; what the hub's own cache holds stays there.

    \b
    Examples:
      murmur models rm whisper-base
    """
    del json_errors  # heeded where errors end, in cli/app.py
    from murmur_cli.models.cache import remove_weights

    for name in [_resolve(given).name for given in names]:
        typer.echo(f"murmur: {name}: removed, {_megabytes(remove_weights(name))} freed", err=True)


def _resolve(name: str) -> CatalogEntry:
    from murmur_cli.models.catalog import LocalFolder, resolve_model

    model = resolve_model(name)
    if isinstance(model, LocalFolder):
        raise UsageError("a folder of yours, not a model in the cache", where=name, hint="give a name or a hub id")
    return model


def _to_row(entry: CatalogEntry, record: Manifest | None, *, cached: bool) -> tuple[str, ...]:
    size = record.n_bytes if record else entry.size
    licence = record.licence if record else entry.licence
    count = entry.languages
    languages = "?" if count is None else str(count) if isinstance(count, int) else ", ".join(count)
    state = "yes" if record else "damaged" if cached else "no"
    return entry.name, _megabytes(size) if size else "?", licence or "?", languages, state


def _to_json(entry: CatalogEntry, record: Manifest | None) -> dict[str, object]:
    from murmur_cli.models.cache import folder_of

    return {
        "name": entry.name,
        "task": entry.task,
        "engine": entry.engine,
        "size_bytes": record.n_bytes if record else entry.size,
        "licence": record.licence if record else entry.licence,
        "languages": entry.languages,
        "sources": [str(source) for source in entry.sources],
        "cached": record is not None,
        "folder": str(folder_of(entry.name)) if record else None,
        "source": record.source if record else None,
        "revision": record.revision if record else None,
    }


def _megabytes(n_bytes: int) -> str:
    return f"{n_bytes / 1e6:.0f} MB"
