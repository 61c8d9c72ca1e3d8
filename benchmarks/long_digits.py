"""How memory grows with a VibeVoice: with the length of a recording, and with the number of files.

Every recording is made of conversations of spoken digits, transcribed by the installed command with the tiny
checkpoint, in a process of its own. All files of the last row go through one process.

Usage:
python benchmarks/long_digits.py
python benchmarks/long_digits.py --minutes 10 60 --files 20    # quick
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import soundfile
from children import run_child
from digits import DIGITS_MODEL, RATE, make_digits
from long_files import find_murmur
from report import Report, Table, describe_run, format_goal, format_report, write_report
from sessions import DATA_DIR

__all__ = ["Run", "main"]

GROWTH_GOAL = 1.05  # peak memory of four hours against one, and of all files against a tenth of them

_TALK_S = 60.0
_N_TALKS = 8  # different ones, said over and over
_SHORT_S = 20.0


@dataclass(frozen=True, slots=True)
class Run:
    """One process: what it transcribed, and what that took."""

    what: str
    audio_s: float
    exit_code: int
    cpu_s: float
    peak_anonymous_bytes: int


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--minutes", type=int, nargs="+", default=[10, 60, 240], help="(default: 10 60 240)")
    parser.add_argument("--files", type=int, default=100, help="files in one run (default: %(default)s)")
    parser.add_argument("--data", type=Path, default=DATA_DIR, help="folder of the test data (default: %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report and every run there")
    args = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="murmur-benchmark-") as folder:
        scratch = Path(folder)
        talks = [
            make_digits(scratch, data=args.data, seconds=_TALK_S, n_speakers=1 + seed % 4, seed=seed)
            for seed in range(_N_TALKS)
        ]
        long = [_run([_write_long(scratch, talks, minutes)], f"{minutes} min", scratch) for minutes in args.minutes]
        counts = (max(args.files // 10, 1), args.files)
        files = [_run(_write_short(scratch, talks, n), f"{n} files of {_SHORT_S:g} s", scratch) for n in counts]
    rows = tuple(_to_row(run, base) for runs in (long, files) for run in runs for base in runs[:1])
    report = Report(
        title="Memory of a VibeVoice",
        about=describe_run({"model": DIGITS_MODEL.name, "command": "murmur batch --max-chunk-s 60 --speakers none"}),
        table=Table(("what", "exit code", "CPU-s/audio-s", "peak anonymous MB", "peak to first"), rows),
        verdicts=tuple(_judge(runs) for runs in (long[-2:], files)),
    )
    print(format_report(report))
    if args.json:
        write_report(args.json, report, [asdict(run) for run in (*long, *files)])


def _write_long(scratch: Path, talks: Sequence[np.ndarray], minutes: int) -> Path:
    path = scratch / "long.wav"
    with soundfile.SoundFile(path, "w", samplerate=RATE, channels=1, subtype="PCM_16") as file:
        for i in range(minutes):
            file.write(talks[i % len(talks)])
    return path


def _write_short(scratch: Path, talks: Sequence[np.ndarray], n: int) -> list[Path]:
    paths = [scratch / f"short{i}.wav" for i in range(n)]
    for i, path in enumerate(paths):
        soundfile.write(path, talks[i % len(talks)][: round(_SHORT_S * RATE)], RATE)
    return paths


def _run(paths: Sequence[Path], what: str, scratch: Path) -> Run:
    """Transcribe files in one process.

    Raises:
        SystemExit: The command failed; its last lines are in the message.
    """
    command: list[str | Path] = [find_murmur(), "batch", "--no-resume", "--model", DIGITS_MODEL, "--max-chunk-s", "60"]
    command += ["--speakers", "none", "--format", "json", "--output", f"{scratch}/out/", "--overwrite"]
    use = run_child([*command, "--progress", "none", *paths], env=os.environ)
    if use.exit_code not in (0, 3):  # 3: a chunk failed
        raise SystemExit(f"murmur batch failed with exit code {use.exit_code}:\n{use.stderr[-2000:]}")
    audio_s = sum(soundfile.info(path).duration for path in paths)
    return Run(what, audio_s, use.exit_code, use.cpu_s, use.peak_anonymous_bytes)


def _to_row(run: Run, base: Run) -> tuple[str, ...]:
    return (
        run.what,
        str(run.exit_code),
        f"{run.cpu_s / run.audio_s:.4f}",
        f"{run.peak_anonymous_bytes / 1e6:.0f}",
        f"{run.peak_anonymous_bytes / base.peak_anonymous_bytes:.3f}",
    )


def _judge(runs: Sequence[Run]) -> str:
    growth = runs[-1].peak_anonymous_bytes / runs[0].peak_anonymous_bytes
    what = f"{runs[-1].what} against {runs[0].what}: {growth:.3f}x the memory, at most {GROWTH_GOAL:g}x"
    return format_goal(what, reached=growth <= GROWTH_GOAL)


if __name__ == "__main__":
    main()
