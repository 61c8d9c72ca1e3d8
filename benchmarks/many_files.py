#!/usr/bin/env python3
"""What ``murmur batch FOLDER`` costs for each file beside the model: time, memory, and how soon the first is done.

Folders of more and more short recordings go through the installed command with the scripted engine, as a child whose
memory is sampled. Listing, decoding, finding speech, planning and writing are in the figures, loading is taken off.

Examples: python benchmarks/many_files.py · python benchmarks/many_files.py --files 1 10000
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import soundfile
from children import run_child
from long_files import find_murmur, write_script
from report import Report, Table, describe_run, format_goal, format_report, write_report

__all__ = ["ManyRun", "main", "measure_folder"]

FILE_GOAL_S = 0.05  # CPU seconds of a file
FIRST_GOAL_S = 10.0  # wall seconds until the first transcript is there
GROWTH_GOAL = 1.2  # peak memory of the biggest folder against one file
EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "conversation.flac"

_SECONDS = 2.0
_COLUMNS = ("files", "CPU-s", "CPU-ms a file", "wall s", "first transcript s", "peak anonymous MB")


@dataclass(frozen=True, slots=True)
class ManyRun:
    """One folder through the command; ``first_s`` is when the first transcript was there, from the start."""

    n_files: int
    cpu_s: float
    wall_s: float
    first_s: float
    peak_anonymous_bytes: int


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and print its report."""
    args = _parse(arguments)
    runs = []
    with tempfile.TemporaryDirectory() as scratch:
        script = write_script(Path(scratch, "scripted"), 60.0)
        command = [find_murmur(), "batch", "--model", script, "--speakers", "none"]
        for n_files in sorted(set(args.files)):
            print(f"{n_files} files …", file=sys.stderr)
            folder = write_recordings(Path(scratch, f"{n_files}"), n_files)
            runs.append(measure_folder(command, folder, n_files))
            shutil.rmtree(folder)
    report = _make_report(runs)
    print(format_report(report))
    if args.json:
        write_report(args.json, report, [asdict(run) for run in runs])
    return 0


def write_recordings(folder: Path, n_files: int) -> Path:
    """Write the same two seconds of speech so many times; links would do, but nobody has those."""
    folder.mkdir()
    samples, sample_rate = soundfile.read(EXAMPLE, dtype="int16", frames=round(_SECONDS * 16_000))
    soundfile.write(folder / "00000.wav", samples, sample_rate)
    content = (folder / "00000.wav").read_bytes()
    for i in range(1, n_files):
        (folder / f"{i:05}.wav").write_bytes(content)
    return folder


def measure_folder(command: Sequence[str | Path], folder: Path, n_files: int) -> ManyRun:
    """Transcribe a folder.

    Raises:
        RuntimeError: The command did not write every transcript.
    """
    output = folder / "out"
    start = time.time()
    use = run_child([*command, folder, "-o", output, "--progress", "none"], env=os.environ)
    written = [entry.stat().st_mtime for entry in os.scandir(output)] if output.is_dir() else []
    if use.exit_code or len(written) != n_files:
        raise RuntimeError(f"{len(written)} of {n_files} transcripts, exit code {use.exit_code}: {use.stderr[-2000:]}")
    return ManyRun(n_files, use.cpu_s, use.wall_s, min(written) - start, use.peak_anonymous_bytes)


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, nargs="+", default=[1, 200], help="sizes of folders (default: 1 200)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every measurement there")
    return parser.parse_args(arguments)


def _make_report(runs: Sequence[ManyRun]) -> Report:
    about = describe_run(
        {
            "command": "murmur batch FOLDER --model SCRIPTED --speakers none -o FOLDER",
            "recordings": f"{_SECONDS:g} s of speech each, in one folder",
            "CPU-ms a file": "those of the whole process less those of the smallest folder, by each file more",
        }
    )
    rows = tuple(
        (
            f"{run.n_files}",
            f"{run.cpu_s:.1f}",
            f"{_find_file_s(run, runs[0]) * 1000:.1f}" if run is not runs[0] else "-",
            f"{run.wall_s:.1f}",
            f"{run.first_s:.1f}",
            f"{run.peak_anonymous_bytes / 1e6:.0f}",
        )
        for run in runs
    )
    return Report("Many files, scripted engine (all but the model)", about, Table(_COLUMNS, rows), tuple(_judge(runs)))


def _judge(runs: Sequence[ManyRun]) -> list[str]:
    first, last = runs[0], runs[-1]
    if first is last:
        return []
    file_s, growth = _find_file_s(last, first), last.peak_anonymous_bytes / first.peak_anonymous_bytes
    name = f"{last.n_files} files"
    return [
        format_goal(
            f"{name}: {file_s * 1000:.1f} CPU-ms each, below {FILE_GOAL_S * 1000:g}", reached=file_s < FILE_GOAL_S
        ),
        format_goal(f"{name}: the first after {last.first_s:.1f} s", reached=last.first_s < FIRST_GOAL_S),
        format_goal(f"{name}: {growth:.2f}x the memory, below {GROWTH_GOAL}x", reached=growth < GROWTH_GOAL),
    ]


def _find_file_s(run: ManyRun, first: ManyRun) -> float:
    """CPU seconds of each file that ``run`` has more than ``first``."""
    return (run.cpu_s - first.cpu_s) / (run.n_files - first.n_files)


if __name__ == "__main__":
    sys.exit(main())
