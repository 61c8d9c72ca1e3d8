"""How a run behaves towards the person who watches it."""

from __future__ import annotations

from dataclasses import dataclass

from murmur_cli.options.require import require

__all__ = ["COLORS", "PROGRESS", "ErrorOptions", "RunOptions"]

COLORS = ("auto", "always", "never")
"""When colour is used, as ``--color`` spells it."""

PROGRESS = ("auto", "bar", "plain", "json", "none")
"""How progress is shown, as ``--progress`` spells it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How a run behaves towards the person who watches it; nothing here changes a transcript."""

    stats: str | None = None
    fail_fast: bool = False
    progress: str = "auto"
    color: str = "auto"
    quiet: bool = False
    verbose: bool = False
    dry_run: bool = False
    debug: bool = False
    json_errors: bool = False

    def __post_init__(self) -> None:
        for option, value, choices in (("--progress", self.progress, PROGRESS), ("--color", self.color, COLORS)):
            require(option, f"no such way: {value}", f"choose from {', '.join(choices)}", unless=value in choices)
        require("--quiet", "goes against --verbose", "choose one", unless=not (self.quiet and self.verbose))


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorOptions:
    """How a command that says nothing else says what went wrong; ``RunOptions`` has the same for the others."""

    json_errors: bool = False
