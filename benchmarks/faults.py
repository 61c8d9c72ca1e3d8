#!/usr/bin/env python3
"""What happens to ``murmur batch`` when it is killed, and what it costs to be ready for that.

Runs are killed with SIGKILL at random moments, and must end with the bytes of an undisturbed run without decoding a
finished chunk twice. A recording is transcribed with a journal and without, taking turns. And a long recording of which
one chunk failed is taken up again: all but that chunk comes from the journal.

Examples: python benchmarks/faults.py · python benchmarks/faults.py --kills 40 --minutes 10 60 --rounds 2 ·
python benchmarks/faults.py --kills 0 --model whisper-base --minutes 4 60
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import resumable_run
from children import ChildUse, run_child
from long_files import find_murmur
from report import Report, Table, describe_run, format_goal, format_report, write_report
from sessions import DATA_DIR, make_long_session

__all__ = ["Cost", "Killed", "Resumed", "kill_session", "main"]

KILLS_A_SESSION = 20
COST_GOAL = 0.02  # of a run without a journal, in CPU seconds
RESUME_GOAL_S = 10.0  # CPU seconds, for four hours: the wall clock of a shared machine tells of others

_STEP_S = 5.0  # between the entries of the script


@dataclass(frozen=True, slots=True)
class Killed:
    """One command that was killed again and again; the lists name files and chunks."""

    n_killed: int
    exit_code: int
    n_decoded: int
    decoded_again: list[str]
    changed: list[str]


@dataclass(frozen=True, slots=True)
class Cost:
    """One recording with a journal and without, CPU seconds of each round."""

    minutes: float
    without: list[float]
    with_journal: list[float]

    @property
    def share(self) -> float:
        """What a journal adds, as a share of the run."""
        return statistics.median(self.with_journal) / statistics.median(self.without) - 1


@dataclass(frozen=True, slots=True)
class Resumed:
    """A recording whose last chunk had failed, taken up again."""

    minutes: float
    first_s: float
    wall_s: float
    cpu_s: float
    is_same: bool


def main(arguments: Sequence[str] | None = None) -> None:
    args = _parse(arguments)
    with tempfile.TemporaryDirectory(prefix="murmur-benchmark-", dir=args.scratch) as folder:
        killed = _kill(Path(folder), n_kills=args.kills)
        cost = _measure_cost(Path(folder), args)
        resumed = _measure_resume(Path(folder), args)
    report = _make_report(killed, cost, resumed, args)
    print(format_report(report))
    if args.json:
        write_report(args.json, report, [asdict(each) for each in (*killed, cost, resumed)])


def kill_session(folder: Path, names: Sequence[str], expected: Path, *, n_kills: int, seed: int) -> Killed:
    """Kill one command so many times, let it end, and compare.

    Args:
        folder: Holds the recordings; outputs and journals are made in it, under names that the seed makes new.
        names: The recordings.
        expected: The outputs of an undisturbed run.
        n_kills: How often it is killed.
        seed: Decides when.
    """
    outputs, log = folder / f"out{seed}", folder / f"log{seed}"
    program: list[str | Path] = [sys.executable, resumable_run.__file__, log, str(seed), str(n_kills), "batch", *names]
    options = ["--max-chunk-s", "10", "-f", "json,srt", "-o", f"{outputs}/", "--journal-dir", f"journals{seed}"]
    done = subprocess.run([*program, *options], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0 or "Traceback" in done.stderr or "damaged" in done.stderr:
        raise SystemExit(f"a run said what it should not:\n{done.stderr[-2000:]}")
    n_killed, exit_code = map(int, done.stdout.split())
    n_decoded, again = resumable_run.read_log(log)
    changed = [path.name for path in sorted(expected.iterdir()) if _read(outputs / path.name) != path.read_bytes()]
    return Killed(n_killed, exit_code, n_decoded, again, changed)


def _read(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


def _kill(folder: Path, *, n_kills: int) -> list[Killed]:
    names = [f"{i}.wav" for i in range(6)]
    for i, name in enumerate(names):
        resumable_run.write_talk(folder / name, resumable_run.N_CHUNKS, seed=i)
    expected = folder / "out0"
    expected.mkdir()
    kill_session(folder, names, expected, n_kills=0, seed=0)
    sessions: list[Killed] = []
    while sum(session.n_killed for session in sessions) < n_kills:
        seed = len(sessions) + 1
        sessions.append(kill_session(folder, names, expected, n_kills=KILLS_A_SESSION, seed=seed))
    return sessions


def _measure_cost(folder: Path, args: argparse.Namespace) -> Cost:
    minutes = min(args.minutes)
    audio = make_long_session(folder, data=args.data, minutes=minutes).audio
    model = args.model or _write_script(folder / "model", minutes * 60)
    command = [args.murmur, "batch", audio, "--model", model, "-o", folder / "cost.json", "--overwrite"]
    command += ["--progress", "none", "--speakers", args.speakers]
    found: dict[str, list[float]] = {"without": [], "with": []}
    for i in range(args.rounds):
        found["without"].append(_run([*command, "--no-resume"]).cpu_s)
        found["with"].append(_run([*command, "--journal-dir", folder / f"cost{i}"]).cpu_s)
    return Cost(minutes, found["without"], found["with"])


def _measure_resume(folder: Path, args: argparse.Namespace) -> Resumed:
    minutes = max(args.minutes)
    audio = make_long_session(folder, data=args.data, minutes=minutes).audio
    model = _write_script(folder / "failing", minutes * 60, fails=True)
    output = folder / "resumed.json"
    command = [args.murmur, "batch", audio, "--model", model, "-o", output, "--journal-dir", folder / "resume"]
    command += ["--progress", "none", "--speakers", args.speakers, "--max-chunk-s", "60"]
    first, written = _run(command, code=3), output.read_bytes()
    again = _run(command, code=3)
    return Resumed(minutes, first.wall_s, again.wall_s, again.cpu_s, output.read_bytes() == written)


def _run(command: Sequence[str | Path], *, code: int = 0) -> ChildUse:
    use = run_child(command, env=os.environ)
    if use.exit_code != code:
        raise SystemExit(f"murmur batch failed with exit code {use.exit_code}:\n{use.stderr[-2000:]}")
    return use


def _write_script(folder: Path, duration_s: float, *, fails: bool = False) -> Path:
    """Write a model folder whose engine says a line every five seconds; with ``fails``, its last chunk fails."""
    folder.mkdir()
    starts = [i * _STEP_S for i in range(int(duration_s / _STEP_S))]
    entries: list[dict[str, object]] = [{"start": s, "end": s + 4.0, "text": "Nobody said this."} for s in starts]
    if fails:
        entries[-1]["error"] = "as asked"
    script = {"language": "en", "sample_rate": 16_000, "entries": entries}
    (folder / "config.json").write_text(json.dumps({"model_type": "scripted"}), encoding="utf-8")
    (folder / "script.json").write_text(json.dumps(script), encoding="utf-8")
    return folder


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200, help="how many runs are killed (default: %(default)s)")
    parser.add_argument("--minutes", type=float, nargs=2, default=[10.0, 240.0],
                        help="how long the two recordings are: cost, resumed (default: 10 240)")  # fmt: skip
    parser.add_argument("--rounds", type=int, default=3, help="of the cost (default: %(default)s)")
    parser.add_argument("--model", help="for the cost, as in murmur batch (default: a script, which costs nothing)")
    parser.add_argument("--speakers", choices=("none", "auto"), default="none",
                        help="as in murmur batch (default: %(default)s)")  # fmt: skip
    parser.add_argument("--murmur", type=Path, default=find_murmur(), help="the command (default: %(default)s)")
    parser.add_argument("--data", type=Path, default=DATA_DIR, help="folder of the test data (default: %(default)s)")
    parser.add_argument("--scratch", type=Path, help="folder for recordings (default: the system's)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report and every run there")
    return parser.parse_args(arguments)


def _make_report(killed: Sequence[Killed], cost: Cost, resumed: Resumed, args: argparse.Namespace) -> Report:
    n_killed = sum(session.n_killed for session in killed)
    n_again = sum(len(session.decoded_again) for session in killed)
    n_changed = sum(len(session.changed) for session in killed)
    n_failed = sum(session.exit_code != 0 for session in killed)
    name = args.model or "a script"
    rows = (
        ("runs killed", str(n_killed)),
        ("finished chunks decoded again", str(n_again)),
        ("outputs that differ", str(n_changed)),
        ("commands that did not end well", str(n_failed)),
        (f"{cost.minutes:g} min with {name}, CPU-s without a journal", f"{statistics.median(cost.without):.2f}"),
        ("the same with a journal", f"{statistics.median(cost.with_journal):.2f}"),
        (f"{resumed.minutes:g} min with a script, wall s", f"{resumed.first_s:.1f}"),
        ("the same with one chunk left, wall s", f"{resumed.wall_s:.1f}"),
        ("the same, CPU-s", f"{resumed.cpu_s:.1f}"),
    )
    intact = not (n_again or n_changed or n_failed) and resumed.is_same
    verdicts = (
        format_goal(f"{n_killed} runs killed: the same bytes, nothing decoded twice", reached=intact),
        format_goal(
            f"a journal adds {cost.share:.1%} of the run, below {COST_GOAL:.0%}", reached=cost.share < COST_GOAL
        ),
        format_goal(
            f"{resumed.minutes / 60:g} h with one chunk left: {resumed.cpu_s:.1f} CPU-s, below {RESUME_GOAL_S:g}",
            reached=resumed.cpu_s < RESUME_GOAL_S,
        ),
    )
    about = describe_run({"speakers": f"--speakers {args.speakers}", "cost": f"median of {args.rounds} rounds"})
    return Report("Faults", about, Table(("what", "is"), rows), verdicts)


if __name__ == "__main__":
    main()
