"""What every benchmark says about itself: where it ran, with what, and its rows, as a table and as JSON.

Absolute times belong to the machine in the header; only ratios of one run can be compared.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import platform
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

__all__ = [
    "Report",
    "Table",
    "describe_run",
    "draw_bars",
    "find_bf16",
    "format_goal",
    "format_report",
    "format_table",
    "write_report",
]

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = (
    "murmur-asr",
    "torch",
    "transformers",
    "silero-vad",
    "av",
    "soundfile",
    "numpy",
    "jiwer",
    "whisper-normalizer",
)

_BAR = 40  # characters
_CPUINFO = Path("/proc/cpuinfo")
_MEMINFO = Path("/proc/meminfo")
_BF16_FLAGS = ("amx_bf16", "avx512_bf16", "bf16")  # as Linux spells them; the last one is ARM's


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells that are already text, under their column names."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Report:
    """One run of one benchmark.

    ``about`` holds names and values for the header, ``verdicts`` one line for each goal.
    """

    title: str
    about: Mapping[str, str]
    table: Table
    verdicts: tuple[str, ...]


def describe_run(more: Mapping[str, str]) -> dict[str, str]:
    """Name the machine, the commit and the versions, then ``more`` in the order given."""
    return {
        "date": dt.datetime.now(dt.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": _find_commit(),
        "hardware": _describe_hardware(),
        "load": " ".join(f"{load:.2f}" for load in os.getloadavg()) + " (1, 5, 15 min; others' work slows wall time)",
        "versions": f"python {platform.python_version()}, " + ", ".join(_iter_versions()),
        **more,
    }


def draw_bars(title: str, bars: Mapping[str, float], *, full: float, spec: str) -> list[str]:
    """Draw values as lines of text under a title, with an empty line behind them.

    Args:
        title: What is drawn.
        bars: What each bar is called, and its value.
        full: The value of a bar of full length; nothing is longer.
        spec: How values are written, as in a format string.
    """
    width = max(map(len, bars), default=0)
    lines = [
        f"{name:{width}}  |{'#' * round(_BAR * value / full):{_BAR}}| {value:{spec}}" for name, value in bars.items()
    ]
    return [title, *lines, ""]


def find_bf16(cpuinfo: Path = _CPUINFO) -> str | None:
    """Name the CPU's bfloat16 instructions, or None if it has none."""
    flags: set[str] = set()
    for line in cpuinfo.read_text(encoding="utf-8").splitlines():
        name, _, value = line.partition(":")
        if name.strip() in ("flags", "Features"):
            flags.update(value.split())
    return next((flag for flag in _BF16_FLAGS if flag in flags), None)


def format_goal(what: str, *, reached: bool) -> str:
    """Say whether a goal is reached, as a verdict of a report."""
    return f"goal reached: {'yes' if reached else 'no'} ({what})"


def format_report(report: Report) -> str:
    """Lay a report out as text: header, table, verdicts."""
    width = max(len(name) for name in report.about)
    header = [f"{name:{width}}  {value}" for name, value in report.about.items()]
    return "\n".join([report.title, "", *header, "", format_table(report.table), "", *report.verdicts])


def format_table(table: Table) -> str:
    """Align a table as Markdown: the first column to the left, the others to the right."""
    lines = [table.columns, *table.rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(table.columns))]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    cells = [
        [line[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True))] for line in lines
    ]
    return "\n".join("| " + " | ".join(row) + " |" for row in (cells[0], rule, *cells[1:]))


def write_report(path: Path, report: Report, details: Sequence[object]) -> None:
    """Write a report as JSON, with the measurements behind it.

    Args:
        path: Where to.
        report: Header, table and verdicts, as they are printed.
        details: One JSON-ready mapping for each measurement, with unrounded numbers.
    """
    content = {
        "title": report.title,
        "about": dict(report.about),
        "table": [dict(zip(report.table.columns, row, strict=True)) for row in report.table.rows],
        "verdicts": list(report.verdicts),
        "details": list(details),
    }
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _find_commit() -> str:
    if shutil.which("git") is None:
        return "none (there is no git)"
    done = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return "none (not a git checkout, or nothing is committed)"
    status = subprocess.run(
        ["git", "-C", str(ROOT), "status", "--porcelain"], capture_output=True, text=True, check=True
    )
    changed = status.stdout.splitlines()
    return done.stdout.strip() + (f", {len(changed)} files changed since" if changed else "")


def _describe_hardware() -> str:
    bf16 = find_bf16()
    cpus = len(os.sched_getaffinity(0))
    precision = f"bf16 ({bf16})" if bf16 else "no bf16"
    return f"{_find_cpu_name()}, {cpus} CPUs, {_find_memory_gib():.0f} GiB, {precision}"


def _find_cpu_name() -> str:
    for line in _CPUINFO.read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _find_memory_gib() -> float:
    total_kib = int(_MEMINFO.read_text(encoding="utf-8").split()[1])  # the first line is MemTotal
    return total_kib / 1024**2


def _iter_versions() -> Iterator[str]:
    for name in PACKAGES:
        try:
            yield f"{name} {metadata.version(name)}"
        except metadata.PackageNotFoundError:
            yield f"{name} (not installed)"
