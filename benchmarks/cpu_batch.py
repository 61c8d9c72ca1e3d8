#!/usr/bin/env python3
"""murmur against faster-whisper on a CPU: the same weights, the same recording, taking turns.

Each run is a process of its own. What is compared is recognition: from the closed file to the last
word, model loaded. Ratios are those of neighbours in time; absolute figures belong to this machine.

Examples: python benchmarks/cpu_batch.py · python benchmarks/cpu_batch.py --minutes 2 --runs 1 ·
python benchmarks/cpu_batch.py talk.flac --reference talk.stm --threads 4
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import platformdirs
from children import ChildUse, run_child
from report import Report, Table, describe_run, find_bf16, format_goal, format_report, write_report
from rivals import FASTER_WHISPER, fetch_rival_weights, make_environment
from scoring import NORMALISER, WordErrors, count_errors, load_stm
from sessions import DATA_DIR, make_session

from murmur_cli.models.weights import pull_weights

__all__ = ["Contestant", "Measurement", "Outcome", "main", "measure", "pair_ratios"]

HERE = Path(__file__).resolve().parent
MURMUR, BATCHED, SEEK = "murmur", "faster-whisper batched", "faster-whisper seek"
RATIO_WITH_BF16, RATIO_WITHOUT = 1.0, 1.3  # CPU seconds against the batched mode

_COLUMNS = (
    "contestant", "runs", "CPU-s", "CPU spread", "CPU-s/audio-s", "wall s", "wall spread", "RTFx", "load CPU-s",
    "process CPU-s", "peak MB", "timed words", "sub", "del", "ins", "WER %",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Contestant:
    """A recogniser, as the command that runs it once and prints an ``Outcome``."""

    name: str
    command: tuple[str | Path, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a contestant says about its run. Times do not include loading, except ``load_cpu_s``."""

    load_cpu_s: float
    recognition_cpu_s: float
    recognition_wall_s: float
    audio_s: float
    text: str
    n_timed_words: int
    gap_s: float
    engine: str


@dataclass(frozen=True, slots=True)
class Measurement:
    """One run of one contestant: what it says, what the kernel counted, and how well it heard.

    ``load_before`` is the machine's load average over one minute when the run began.
    """

    contestant: str
    round: int
    outcome: Outcome
    total_cpu_s: float
    total_wall_s: float
    peak_anonymous_bytes: int
    errors: WordErrors | None
    load_before: float


def main(arguments: Sequence[str] | None = None) -> None:
    args = _parse(arguments)
    pull_weights("whisper-base", offline=False)  # so that no run downloads anything
    with tempfile.TemporaryDirectory(prefix="murmur-benchmark-") as scratch:
        audio, reference = _find_recording(args, Path(scratch))
        contestants = _list_contestants(args)
        measurements = list(
            measure(contestants, audio, reference=reference, n_runs=args.runs, env=_make_env(args.threads))
        )
    report = _make_report(measurements, args)
    print(format_report(report))
    if args.json:
        write_report(args.json, report, [asdict(measurement) for measurement in measurements])


def measure(
    contestants: Sequence[Contestant], audio: Path, *, reference: str | None, n_runs: int, env: dict[str, str]
) -> Iterator[Measurement]:
    """Let the contestants take turns, ``n_runs`` times each, always in the same order.

    Raises:
        SystemExit: A contestant failed; its last lines are in the message.
    """
    for i in range(n_runs):
        for contestant in contestants:
            load = os.getloadavg()[0]
            use = run_child([*contestant.command, audio], env=env)
            outcome = _read_outcome(contestant, use)
            errors = None if reference is None else count_errors(reference, outcome.text)
            peak = use.peak_anonymous_bytes
            yield Measurement(contestant.name, i, outcome, use.cpu_s, use.wall_s, peak, errors, load)


def pair_ratios(numerators: Sequence[float], denominators: Sequence[float]) -> tuple[float, ...]:
    """Divide round by round: what slows the machine for a while slows both."""
    return tuple(a / b for a, b in zip(numerators, denominators, strict=True))


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("audio", nargs="?", type=Path, help="recording (default: a conversation made from LibriSpeech)")
    parser.add_argument("--reference", type=Path, help="STM file of AUDIO, for the word error rate")
    parser.add_argument("--minutes", type=float, default=10.0, help="of the made conversation (default: %(default)s)")
    parser.add_argument("--speakers", type=int, default=4, help="in the made conversation (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the made conversation (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=3, help="of each contestant (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=2, help="of each contestant (default: %(default)s)")
    parser.add_argument("--language", default="en", help="auto: let each detect it (default: %(default)s)")
    parser.add_argument("--dtype", default="auto", help="of murmur, as in murmur batch (default: %(default)s)")
    parser.add_argument("--data", type=Path, default=DATA_DIR, help="folder of the test data (default: %(default)s)")
    parser.add_argument("--cache", type=Path, default=platformdirs.user_cache_path("murmur-benchmarks"),
                        help="folder for the other's environment (default: %(default)s)")  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report and every run there")
    return parser.parse_args(arguments)


def _find_recording(args: argparse.Namespace, scratch: Path) -> tuple[Path, str | None]:
    if args.audio is None:
        session = make_session(scratch, data=args.data, minutes=args.minutes, n_speakers=args.speakers, seed=args.seed)
        return session.audio, session.reference
    if args.reference is None:
        return args.audio, None
    return args.audio, " ".join(turn.text for turn in load_stm(args.reference))


def _list_contestants(args: argparse.Namespace) -> list[Contestant]:
    language = () if args.language == "auto" else ("--language", args.language)
    murmur = (sys.executable, HERE / "contestant_murmur.py", "--model", "whisper-base", "--dtype", args.dtype)
    rival = (
        make_environment(args.cache),
        HERE / "contestant_faster_whisper.py",
        "--model",
        fetch_rival_weights(args.cache),
    )
    common = ("--threads", str(args.threads), *language)
    return [
        Contestant(MURMUR, (*murmur, *language)),
        Contestant(BATCHED, (*rival, "--mode", "batched", *common)),
        Contestant(SEEK, (*rival, "--mode", "seek", *common)),
    ]


def _make_env(n_threads: int) -> dict[str, str]:
    """The same for all: as many threads, idle ones asleep (spinning ones would be counted as work)."""
    threads = {name: str(n_threads) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    return os.environ | threads | {"OMP_WAIT_POLICY": "PASSIVE", "HF_HUB_OFFLINE": "1"}


def _read_outcome(contestant: Contestant, use: ChildUse) -> Outcome:
    if use.exit_code != 0:
        raise SystemExit(f"{contestant.name} failed with exit code {use.exit_code}:\n{use.stderr[-2000:]}")
    return Outcome(**json.loads(use.stdout.splitlines()[-1]))


def _make_report(measurements: Sequence[Measurement], args: argparse.Namespace) -> Report:
    names = list(dict.fromkeys(measurement.contestant for measurement in measurements))
    runs = {name: [m for m in measurements if m.contestant == name] for name in names}
    recording = args.audio or f"made from LibriSpeech, {args.speakers} speakers, seed {args.seed}"
    about = describe_run(
        {
            "recording": f"{recording}, {measurements[0].outcome.audio_s:.1f} s, language {args.language}",
            "run": f"{args.runs} rounds, taking turns in this order; {args.threads} threads each, idle ones asleep",
            **{name: runs[name][0].outcome.engine for name in names},
            "rival": f"{FASTER_WHISPER}, int8, beam 5, its VAD; batched: batch_size 8; weights: the catalogue's",
            "words": "word times on for all (murmur makes its segments from them and cannot do without)",
            "scoring": f"{NORMALISER}, jiwer; errors are summed over the rounds",
            "time": "CPU seconds of all threads and wall seconds: from the closed file to the last word, model loaded; "
            "median and spread (lowest to highest) over the rounds",
        }
    )
    rows = tuple(_format_row(name, runs[name]) for name in names)
    verdicts = [_compare(runs[MURMUR], runs[name]) for name in (BATCHED, SEEK)]
    return Report("murmur batch against faster-whisper", about, Table(_COLUMNS, rows), (*verdicts, _judge(runs)))


def _format_row(name: str, runs: Sequence[Measurement]) -> tuple[str, ...]:
    cpu = [run.outcome.recognition_cpu_s for run in runs]
    wall = [run.outcome.recognition_wall_s for run in runs]
    audio_s = runs[0].outcome.audio_s
    errors = sum((run.errors for run in runs if run.errors is not None), WordErrors())
    return (
        name,
        str(len(runs)),
        f"{statistics.median(cpu):.2f}",
        f"{min(cpu):.2f}-{max(cpu):.2f}",
        f"{statistics.median(cpu) / audio_s:.4f}",
        f"{statistics.median(wall):.2f}",
        f"{min(wall):.2f}-{max(wall):.2f}",
        f"{audio_s / statistics.median(wall):.1f}",
        f"{statistics.median([run.outcome.load_cpu_s for run in runs]):.2f}",
        f"{statistics.median([run.total_cpu_s for run in runs]):.2f}",
        f"{max(run.peak_anonymous_bytes for run in runs) / 1e6:.0f}",
        str(runs[0].outcome.n_timed_words),
        str(errors.n_substitutions),
        str(errors.n_deletions),
        str(errors.n_insertions),
        f"{errors.wer:.2f}" if errors.n_words else "no reference",
    )


def _compare(ours: Sequence[Measurement], theirs: Sequence[Measurement]) -> str:
    cpu = _ratios(ours, theirs)
    wall = pair_ratios([m.outcome.recognition_wall_s for m in ours], [m.outcome.recognition_wall_s for m in theirs])
    return f"{ours[0].contestant} / {theirs[0].contestant}: CPU seconds {_spread(cpu)}; wall seconds {_spread(wall)}"


def _ratios(ours: Sequence[Measurement], theirs: Sequence[Measurement]) -> tuple[float, ...]:
    return pair_ratios([m.outcome.recognition_cpu_s for m in ours], [m.outcome.recognition_cpu_s for m in theirs])


def _spread(ratios: Sequence[float]) -> str:
    each = " ".join(f"{ratio:.3f}" for ratio in ratios)
    return f"{statistics.median(ratios):.3f}x (round by round: {each})"


def _judge(runs: dict[str, list[Measurement]]) -> str:
    bf16 = find_bf16()
    goal = RATIO_WITH_BF16 if bf16 else RATIO_WITHOUT
    ratios = _ratios(runs[MURMUR], runs[BATCHED])
    ratio = statistics.median(ratios)
    reason = f"this CPU has {bf16}" if bf16 else "this CPU has no bf16"
    what = f"median of CPU seconds {ratio:.3f}x the batched mode, at most {goal:.1f}x because {reason}"
    if min(ratios) <= goal < max(ratios):
        what += "; the rounds disagree: take more of them on a quieter machine"
    return format_goal(what, reached=ratio <= goal)


if __name__ == "__main__":
    main()
