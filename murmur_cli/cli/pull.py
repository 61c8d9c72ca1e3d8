"""Show a download: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich import progress as rich_progress
from rich.console import Console

from murmur_cli.cli.render import printable
from murmur_cli.models.sources import PullProgress

__all__ = ["PullDisplay"]


class PullDisplay:
    """Hears of a pull and shows it on stderr; use it in a ``with`` block. Silent while nothing is pulled."""

    def __init__(self, console: Console, *, quiet: bool) -> None:
        self._console = console
        self._quiet = quiet
        self._said = ""
        self._bar: rich_progress.Progress | None = None
        self._task = rich_progress.TaskID(0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def show(self, progress: PullProgress) -> None:
        """Show how far it is; a new step is a new line."""
        if self._quiet:
            return
        line = f"murmur: {printable(f'{progress.name}: {progress.doing}')}"
        if line != self._said:
            self._said = line
            self._console.print(line, markup=False, highlight=False, soft_wrap=True)
        if self._console.is_terminal and progress.total_bytes:
            self._advance(progress.n_bytes, progress.total_bytes)

    def _advance(self, n_bytes: int, total_bytes: int) -> None:
        if self._bar is None:
            self._bar = rich_progress.Progress(
                rich_progress.BarColumn(),
                rich_progress.DownloadColumn(),
                rich_progress.TransferSpeedColumn(),
                rich_progress.TimeRemainingColumn(),
                console=self._console,
                transient=True,
            )
            self._bar.start()
            self._task = self._bar.add_task("pull")
        self._bar.update(self._task, completed=n_bytes, total=total_bytes)
