#!/usr/bin/env python3
"""How time and memory of finding out who speaks, and nothing else, grow with the length of a recording.

Each recording goes through murmur's own diarizer in a process of its own, whose memory is sampled. Time should be
linear, memory bounded, and the people those who were recorded.

Examples: python benchmarks/diarization.py · python benchmarks/diarization.py --minutes 10 60
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from children import run_child
from report import Report, Table, describe_run, format_goal, format_report, write_report
from sessions import DATA_DIR, Session, make_long_session

from murmur_cli.score.annotations import Utterance
from murmur_cli.score.counts import SpeakerErrors
from murmur_cli.score.turns import count_speaker_errors, version_of_pyannote_metrics
from murmur_cli.types import Speaker

__all__ = ["DiarizedRun", "main", "measure_diarizer"]

HERE = Path(__file__).resolve().parent

COST_GOAL = 0.03  # CPU seconds per audio second, whatever the length
GROWTH_GOAL = 1.3  # peak memory of the longest against the hour
LINEAR_GOAL = 1.1  # CPU seconds per audio second of the longest against the hour: 10 % is what runs differ by
CONFUSION_GOAL = 0.03  # of the speech that is given to somebody else than who speaks

_COLLAR_S = 0.25
_COLUMNS = (
    "minutes", "CPU-s", "CPU-s/audio-s", "time to first", "wall s", "RTFx", "process CPU-s", "peak anonymous MB",
    "peak to first", "people recorded", "people found", "turns", "confusion %",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class DiarizedRun:
    """One recording through the diarizer; ``cpu_s`` and ``wall_s`` are the diarizer's own, model loaded."""

    minutes: float
    cpu_s: float
    wall_s: float
    process_cpu_s: float
    peak_anonymous_bytes: int
    n_recorded: int
    n_found: int
    n_turns: int
    errors: SpeakerErrors

    @property
    def audio_s(self) -> float:
        """Length of the recording."""
        return self.minutes * 60

    @property
    def confusion(self) -> float:
        """The share of the speech that is given to somebody else; what is missed (pauses of the readers) is not in it.

        Raises:
            ZeroDivisionError: Nobody speaks.
        """
        return self.errors.confusion / self.errors.length


def main(arguments: Sequence[str] | None = None) -> None:
    args = _parse(arguments)
    runs = []
    with tempfile.TemporaryDirectory(prefix="murmur-benchmark-", dir=args.scratch) as folder:
        for minutes in args.minutes:
            session = make_long_session(Path(folder), data=args.data, minutes=minutes)
            runs.append(measure_diarizer([sys.executable, HERE / "diarize_once.py"], session))
            session.audio.unlink()
    report = _make_report(runs)
    print(format_report(report))
    if args.json:
        write_report(args.json, report, [asdict(run) for run in runs])


def measure_diarizer(command: Sequence[str | Path], session: Session) -> DiarizedRun:
    """Find out who speaks in one recording, in a process of its own, and count whom it takes for somebody else.

    Raises:
        SystemExit: The process failed; its last lines are in the message.
    """
    use = run_child([*command, session.audio], env=os.environ | {"OMP_WAIT_POLICY": "PASSIVE"})
    if use.exit_code != 0:
        raise SystemExit(f"the diarizer failed with exit code {use.exit_code}:\n{use.stderr[-2000:]}")
    outcome = json.loads(use.stdout.splitlines()[-1])
    found = [Utterance(turn["start"], turn["end"], Speaker(turn["speaker"])) for turn in outcome["turns"]]
    recorded = [Utterance(turn.start, turn.end, Speaker(turn.speaker)) for turn in session.turns]
    return DiarizedRun(
        minutes=session.duration_s / 60,
        cpu_s=outcome["diarization_cpu_s"],
        wall_s=outcome["diarization_wall_s"],
        process_cpu_s=use.cpu_s,
        peak_anonymous_bytes=use.peak_anonymous_bytes,
        n_recorded=len({turn.speaker for turn in recorded}),
        n_found=len({turn.speaker for turn in found}),
        n_turns=len(found),
        errors=count_speaker_errors(recorded, found, collar_s=_COLLAR_S),
    )


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, nargs="+", default=[10.0, 60.0, 240.0], help="(default: 10 60 240)")
    parser.add_argument("--data", type=Path, default=DATA_DIR, help="folder of the test data (default: %(default)s)")
    parser.add_argument(
        "--scratch", type=Path, help="folder for recordings of up to 100 MB an hour (default: the system's)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report and every run there")
    return parser.parse_args(arguments)


def _make_report(runs: Sequence[DiarizedRun]) -> Report:
    about = describe_run(
        {
            "recordings": "LibriSpeech, conversations of six readers one after the other (six orders of 60 sentences)",
            "time": "CPU and wall seconds of the diarizer alone: not of decoding the file and of loading",
            "memory": "highest RssAnon of the process, sampled every 0.2 s",
            "scoring": f"{version_of_pyannote_metrics()}, collar {_COLLAR_S} s on both sides of each border",
        }
    )
    rows = tuple(_format_row(run, runs[0]) for run in runs)
    return Report("Finding out who speaks", about, Table(_COLUMNS, rows), tuple(_judge(runs)))


def _format_row(run: DiarizedRun, first: DiarizedRun) -> tuple[str, ...]:
    return (
        f"{run.minutes:g}",
        f"{run.cpu_s:.1f}",
        f"{run.cpu_s / run.audio_s:.4f}",
        f"{_cpu_growth(run, first):.3f}",
        f"{run.wall_s:.1f}",
        f"{run.audio_s / run.wall_s:.1f}",
        f"{run.process_cpu_s:.1f}",
        f"{run.peak_anonymous_bytes / 1e6:.0f}",
        f"{run.peak_anonymous_bytes / first.peak_anonymous_bytes:.3f}",
        str(run.n_recorded),
        str(run.n_found),
        str(run.n_turns),
        f"{100 * run.confusion:.2f}",
    )


def _cpu_growth(run: DiarizedRun, base: DiarizedRun) -> float:
    return (run.cpu_s / run.audio_s) / (base.cpu_s / base.audio_s)


def _judge(runs: Sequence[DiarizedRun]) -> list[str]:
    cost, confusion = max(run.cpu_s / run.audio_s for run in runs), max(run.confusion for run in runs)
    counts = ", ".join(f"{run.n_found} of {run.n_recorded}" for run in runs)
    verdicts = [
        format_goal(f"at most {cost:.4f} CPU-s/audio-s, {COST_GOAL} allowed", reached=cost <= COST_GOAL),
        format_goal(f"people found: {counts}", reached=all(run.n_found == run.n_recorded for run in runs)),
        format_goal(f"confusion {100 * confusion:.2f} % at most, 3 % allowed", reached=confusion <= CONFUSION_GOAL),
    ]
    hour, longest = next((run for run in runs if run.minutes == 60), None), max(runs, key=lambda run: run.minutes)
    if hour is not None and hour is not longest:
        memory, time = longest.peak_anonymous_bytes / hour.peak_anonymous_bytes, _cpu_growth(longest, hour)
        name = f"{longest.minutes / 60:g} h against 1 h"
        verdicts += [
            format_goal(f"{name}: {memory:.3f}x the memory, below {GROWTH_GOAL}x", reached=memory < GROWTH_GOAL),
            format_goal(f"{name}: {time:.3f}x the CPU-s/audio-s, at most {LINEAR_GOAL}x", reached=time <= LINEAR_GOAL),
        ]
    return verdicts


if __name__ == "__main__":
    main()
