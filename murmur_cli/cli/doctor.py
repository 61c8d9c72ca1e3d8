"""``murmur doctor``: what works here, and where options come from."""

from __future__ import annotations

import json as json_format
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated

import typer
from typer.core import TyperGroup

from murmur_cli.cli import options as cli
from murmur_cli.cli.render import printable
from murmur_cli.cli.settings import Setting, find_user_file, load_settings
from murmur_cli.errors import ExitCode

if TYPE_CHECKING:
    from murmur_cli.cli.checkup import Finding

__all__ = ["OPTIONS", "DoctorOptions", "doctor"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorOptions:
    """What is told, and how."""

    config: bool = False
    json: bool = False
    json_errors: bool = False


OPTIONS = (DoctorOptions,)
"""The records that the command builds: their fields are its options."""

_Config = Annotated[
    bool, typer.Option("--config", help="Write what each option is when it is not given, and what says so.")
]
_Json = Annotated[bool, typer.Option("--json", help="Write JSON.")]


def doctor(
    context: typer.Context, config: _Config = False, json: _Json = False, json_errors: cli.JsonErrors = False
) -> int:
    """Tell what works here and what to do about the rest; exit code 0 if 'murmur batch FILE' works.

    \b
    Examples:
      murmur doctor
      murmur doctor --config
      murmur doctor --json
    """
    options = DoctorOptions(config=config, json=json, json_errors=json_errors)
    group = context.find_root().command
    assert isinstance(group, TyperGroup)
    if options.config:
        _show_settings(load_settings(group, os.environ), as_json=options.json)
        return ExitCode.OK
    return _examine(group, as_json=options.json)


def _examine(group: TyperGroup, *, as_json: bool) -> int:
    from murmur_cli.cli.checkup import CHECKS, Check, find_all

    def look_at_settings() -> str:
        n_set = sum(setting.origin is not None for setting in load_settings(group, os.environ))
        return (
            f"{n_set} options are set by ./murmur.toml, {find_user_file() or 'a file in your home folder'} or MURMUR_*"
        )

    findings: list[Finding] = []
    for finding in find_all((*CHECKS, Check("settings", look_at_settings))):
        findings.append(finding)
        if not as_json:
            typer.echo(_to_line(finding))
    faults = [finding.name for finding in findings if finding.is_fatal]
    if as_json:
        checks = [{**asdict(finding), "is_ok": finding.is_ok} for finding in findings]
        typer.echo(json_format.dumps({"works": not faults, "checks": checks}, indent=2))
    else:
        verdict = f"does not work here: see {', '.join(faults)}" if faults else "works here"
        typer.echo(f"'murmur batch FILE' {verdict}")
    return ExitCode.ERROR if faults else ExitCode.OK


def _to_line(finding: Finding) -> str:
    advice = f"; {finding.advice}" if finding.advice else ""
    return f"{'ok' if finding.is_ok else 'problem':9}{printable(f'{finding.name}: {finding.found}{advice}')}"


def _show_settings(settings: Sequence[Setting], *, as_json: bool) -> None:
    rows = [(setting.name, setting.value, setting.origin or "default") for setting in settings]
    if as_json:
        found = [{"name": name, "value": value, "origin": origin} for name, value, origin in rows]
        typer.echo(json_format.dumps(found, indent=2))
        return
    for name, value, origin in rows:
        said = "not given" if value is None else json_format.dumps(value, ensure_ascii=False)
        typer.echo(printable(f"{name} = {said}  ({origin})"))
