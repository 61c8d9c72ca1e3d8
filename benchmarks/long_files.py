#!/usr/bin/env python3
"""How time and memory of ``murmur batch`` grow with the length of a recording, without speakers and with them.

Each recording goes through the installed command, as a child whose memory is sampled: first with
``--speakers none``, then as it is by default. Time should be linear and memory flat.

Examples: python benchmarks/long_files.py · python benchmarks/long_files.py --minutes 10 60 --speakers auto ·
python benchmarks/long_files.py --engine scripted
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from children import run_child
from report import Report, Table, describe_run, format_goal, format_report, write_report
from sessions import DATA_DIR, Session, make_long_session

__all__ = ["LongRun", "find_murmur", "main", "measure_file", "write_script"]

PEAK_GOAL_BYTES = 2.5e9  # for one hour
GROWTH_GOALS = {"none": 1.2, "auto": 1.3}  # peak memory of four hours against one, by --speakers
SPEAKERS_GOAL = 0.04  # CPU seconds per audio second that telling speakers apart may add
LINEAR_GOAL = 1.1  # CPU seconds per audio second of the longest against the hour: 10 % is what runs differ by

_SCRIPT_STEP_S = 5.0
_COLUMNS = (
    "minutes", "speakers", "exit code", "CPU-s", "wall s", "RTFx", "CPU-s/audio-s", "time to first",
    "peak anonymous MB", "peak to first", "peak with files MB", "people", "segments", "words found/spoken", "gaps s",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class LongRun:
    """One recording through the command; ``speakers`` is its option, ``stderr_tail`` what it said last."""

    minutes: float
    speakers: str
    exit_code: int
    cpu_s: float
    wall_s: float
    peak_anonymous_bytes: int
    peak_resident_bytes: int
    n_people: int
    n_segments: int
    n_words: int
    n_spoken_words: int
    gap_s: float
    stderr_tail: str

    @property
    def audio_s(self) -> float:
        """Length of the recording."""
        return self.minutes * 60


def main(arguments: Sequence[str] | None = None) -> None:
    args = _parse(arguments)
    with tempfile.TemporaryDirectory(prefix="murmur-benchmark-", dir=args.scratch) as folder:
        scratch = Path(folder)
        model = (
            args.model if args.engine == "whisper" else str(write_script(scratch / "scripted", max(args.minutes) * 60))
        )
        command = [args.murmur, "batch", "--no-resume", "--model", model, "--language", args.language]
        runs = []
        for minutes in args.minutes:
            session = make_long_session(scratch, data=args.data, minutes=minutes)
            runs += [
                measure_file(command, session, scratch / "transcript.json", speakers=speakers)
                for speakers in args.speakers
            ]
            session.audio.unlink()
    report = _make_report(runs, command, engine=args.engine)
    print(format_report(report))
    if args.json:
        write_report(args.json, report, [asdict(run) for run in runs])


def measure_file(command: Sequence[str | Path], session: Session, output: Path, *, speakers: str) -> LongRun:
    """Transcribe one recording with the installed command.

    Args:
        command: ``murmur batch`` with what is the same for all recordings.
        session: The recording.
        output: Where the transcript goes.
        speakers: As in ``murmur batch``.

    Raises:
        SystemExit: The command wrote no transcript; its last lines are in the message.
    """
    arguments: list[str | Path] = [
        session.audio,
        "--format",
        "json",
        "--output",
        output,
        "--overwrite",
        "--progress",
        "none",
        "--speakers",
        speakers,
    ]
    use = run_child([*command, *arguments], env=os.environ)
    if use.exit_code not in (0, 3):  # 3: some chunks failed; the gaps are in the table
        raise SystemExit(f"murmur batch failed with exit code {use.exit_code}:\n{use.stderr[-2000:]}")
    transcript = json.loads(output.read_text(encoding="utf-8"))
    return LongRun(
        minutes=session.duration_s / 60,
        speakers=speakers,
        exit_code=use.exit_code,
        cpu_s=use.cpu_s,
        wall_s=use.wall_s,
        peak_anonymous_bytes=use.peak_anonymous_bytes,
        peak_resident_bytes=use.peak_resident_bytes,
        n_people=len({segment["speaker"] for segment in transcript["segments"]} - {None}),
        n_segments=len(transcript["segments"]),
        n_words=sum(len(segment["text"].split()) for segment in transcript["segments"]),
        n_spoken_words=len(session.reference.split()),
        gap_s=sum(gap["end"] - gap["start"] for gap in transcript["gaps"]),
        stderr_tail=use.stderr[-2000:],
    )


def write_script(folder: Path, duration_s: float) -> Path:
    """Write a model folder whose engine says one line every five seconds, and does no work.

    What is left is murmur without the recogniser: decoding, VAD, chunks, stitching, writing.
    """
    folder.mkdir()
    starts = [i * _SCRIPT_STEP_S for i in range(int(duration_s / _SCRIPT_STEP_S))]
    entries = [{"start": start, "end": start + 4.0, "text": "Nobody said this."} for start in starts]
    script = {"language": "en", "sample_rate": 16_000, "entries": entries}
    (folder / "config.json").write_text(json.dumps({"model_type": "scripted"}), encoding="utf-8")
    (folder / "script.json").write_text(json.dumps(script), encoding="utf-8")
    return folder


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, nargs="+", default=[10.0, 60.0, 240.0], help="(default: 10 60 240)")
    parser.add_argument("--speakers", choices=("none", "auto"), nargs="+", default=["none", "auto"],
                        help="as in murmur batch, one after the other (default: none auto)")  # fmt: skip
    parser.add_argument("--engine", choices=("whisper", "scripted"), default="whisper",
                        help="scripted: all but the model (default: %(default)s)")  # fmt: skip
    parser.add_argument("--model", default="whisper-base", help="as in murmur batch (default: %(default)s)")
    parser.add_argument("--language", default="en", help="as in murmur batch (default: %(default)s)")
    parser.add_argument("--murmur", type=Path, default=find_murmur(), help="the command (default: %(default)s)")
    parser.add_argument("--data", type=Path, default=DATA_DIR, help="folder of the test data (default: %(default)s)")
    parser.add_argument(
        "--scratch", type=Path, help="folder for recordings of up to 100 MB an hour (default: the system's)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report and every run there")
    return parser.parse_args(arguments)


def find_murmur() -> Path:
    beside = Path(sys.executable).parent / "murmur"
    return beside if beside.exists() else Path(shutil.which("murmur") or beside)


def _make_report(runs: Sequence[LongRun], command: Sequence[str | Path], *, engine: str) -> Report:
    about = describe_run(
        {
            "command": " ".join(str(part) for part in command) + " FILE --format json --speakers none|auto",
            "recordings": "LibriSpeech, conversations of six readers one after the other (six orders of 60 sentences)",
            "time": "CPU and wall seconds of the whole process: start, loading, recognition, speakers, writing",
            "memory": "highest RssAnon of the process, sampled every 0.2 s",
        }
    )
    rows = tuple(_format_row(run, _select(runs, run.speakers)[0]) for run in runs)
    title = "Long recordings" if engine == "whisper" else "Long recordings, scripted engine (all but the model)"
    return Report(title, about, Table(_COLUMNS, rows), tuple(_judge(runs)))


def _format_row(run: LongRun, first: LongRun) -> tuple[str, ...]:
    return (
        f"{run.minutes:g}",
        run.speakers,
        str(run.exit_code),
        f"{run.cpu_s:.1f}",
        f"{run.wall_s:.1f}",
        f"{run.audio_s / run.wall_s:.1f}",
        f"{run.cpu_s / run.audio_s:.4f}",
        f"{_cpu_growth(run, first):.3f}",
        f"{run.peak_anonymous_bytes / 1e6:.0f}",
        f"{run.peak_anonymous_bytes / first.peak_anonymous_bytes:.3f}",
        f"{run.peak_resident_bytes / 1e6:.0f}",
        str(run.n_people) if run.speakers != "none" else "",
        str(run.n_segments),
        f"{run.n_words / run.n_spoken_words:.3f}",
        f"{run.gap_s:.1f}",
    )


def _cpu_growth(run: LongRun, base: LongRun) -> float:
    """CPU seconds per audio second against another run's: 1 is linear, below 1 is the fixed cost wearing off."""
    return (run.cpu_s / run.audio_s) / (base.cpu_s / base.audio_s)


def _select(runs: Sequence[LongRun], speakers: str) -> list[LongRun]:
    return [run for run in runs if run.speakers == speakers]


def _judge(runs: Sequence[LongRun]) -> list[str]:
    verdicts = [verdict for speakers in GROWTH_GOALS for verdict in _judge_growth(_select(runs, speakers))]
    for run in _select(runs, "auto"):
        for without in _select(runs, "none"):
            if run.minutes == without.minutes >= 60:
                added = (run.cpu_s - without.cpu_s) / run.audio_s
                what = f"{run.minutes / 60:g} h: speakers add {added:.4f} CPU-s/audio-s, at most {SPEAKERS_GOAL}"
                verdicts.append(format_goal(what, reached=added <= SPEAKERS_GOAL))
    return verdicts


def _judge_growth(runs: Sequence[LongRun]) -> list[str]:
    """Compare runs, alike but for the length, with that of one hour, if there is one."""
    hour = next((run for run in runs if run.minutes == 60), None)
    if hour is None:
        return []
    peak, rtfx, name = hour.peak_anonymous_bytes, hour.audio_s / hour.wall_s, f"--speakers {hour.speakers}, 1 h"
    verdicts = [
        format_goal(f"{name}: {peak / 1e6:.0f} MB, below 2500 MB", reached=peak < PEAK_GOAL_BYTES),
        f"{name}: RTFx {rtfx:.1f} (12 or more is expected on 2 cores that nobody else uses)",
    ]
    longest, growth_goal = max(runs, key=lambda run: run.minutes), GROWTH_GOALS[hour.speakers]
    if longest is not hour:
        memory, time = longest.peak_anonymous_bytes / peak, _cpu_growth(longest, hour)
        name = f"--speakers {hour.speakers}, {longest.minutes / 60:g} h against 1 h"
        verdicts += [
            format_goal(f"{name}: {memory:.3f}x the memory, below {growth_goal}x", reached=memory < growth_goal),
            format_goal(f"{name}: {time:.3f}x the CPU-s/audio-s, at most {LINEAR_GOAL}x", reached=time <= LINEAR_GOAL),
        ]
    return verdicts


if __name__ == "__main__":
    main()
