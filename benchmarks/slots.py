#!/usr/bin/env python3
"""The slot decoder against transformers' generate() in static batches: same model, same chunks, taking turns.

Chunks are of unequal lengths. The audio is encoded beforehand for all, since that is the same work; what is
timed is reading the prompts and writing the answers, which must be the same tokens.

Examples: python benchmarks/slots.py · python benchmarks/slots.py --chunks 16 --runs 2 --json slots.json
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from digits import DIGITS_MODEL
from report import Report, Table, describe_run, format_goal, format_report, write_report
from sessions import DATA_DIR

if TYPE_CHECKING:
    from slots_contestants import Bench, Run

__all__ = ["GENERATE", "SLOTS", "SORTED", "Measurement", "judge", "main", "measure"]

SLOTS, GENERATE, SORTED = "murmur's slots", "generate()", "generate(), longest first"
RATIO_GOALS = {1: 1.0, 8: 1.5}  # batch size -> tokens per second against generate()
OUTSIDE_GOAL_MS = 1.0
LIVE_GOAL = 0.9

_COLUMNS = (
    "contestant", "B", "tokens", "CPU-s", "CPU spread", "tokens/CPU-s", "wall s", "tokens/s", "steps", "live rows %",
    "ms/step outside the model",
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Measurement:
    """One run of one contestant over all chunks."""

    contestant: str
    batch_size: int
    round: int
    run: Run

    @property
    def n_tokens(self) -> int:
        """What was written, the tokens that end a chunk not counted."""
        return sum(map(len, self.run.answers))

    @property
    def live_share(self) -> float:
        """The share of rows, over all steps, that wrote a token of an answer."""
        return self.run.n_live / (self.run.n_steps * self.batch_size)


def main(arguments: Sequence[str] | None = None) -> None:
    args = _parse(arguments)
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as the command does; it is read when torch is imported
    from slots_contestants import load_bench  # noqa: PLC0415 - imports torch: after the line above

    lengths_s = np.random.default_rng(args.seed).uniform(args.shortest, args.longest, args.chunks)
    with tempfile.TemporaryDirectory(prefix="murmur-benchmark-") as folder:
        bench = load_bench(args.checkpoint, lengths_s, data=args.data, scratch=Path(folder), n_threads=args.threads)
    measurements = list(measure(bench, args.batch_sizes, n_runs=args.runs))
    report = _make_report(measurements, args)
    print(format_report(report))
    if args.json:
        write_report(args.json, report, [_to_detail(measurement) for measurement in measurements])


def measure(bench: Bench, batch_sizes: Sequence[int], *, n_runs: int) -> Iterator[Measurement]:
    """Let the contestants take turns, ``n_runs`` times each, always in the same order."""
    for i in range(n_runs):
        for size in batch_sizes:
            yield Measurement(SLOTS, size, i, bench.run_slots(size))
            yield Measurement(GENERATE, size, i, bench.run_generate(size, by_length=False))
            if size > 1:
                yield Measurement(SORTED, size, i, bench.run_generate(size, by_length=True))


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch-sizes", nargs="+", type=int, default=[1, 8], metavar="B", help="(default: 1 8)")
    parser.add_argument("--chunks", type=int, default=48, help="how many (default: %(default)s)")
    parser.add_argument("--shortest", type=float, default=8.0, metavar="S", help="seconds (default: %(default)s)")
    parser.add_argument("--longest", type=float, default=60.0, metavar="S", help="seconds (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of their lengths (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=3, help="of each contestant (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=1, help="(default: %(default)s)")
    parser.add_argument("--checkpoint", type=Path, default=DIGITS_MODEL, help="(default: %(default)s)")
    parser.add_argument("--data", type=Path, default=DATA_DIR, help="folder of the test data (default: %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report and every run there")
    return parser.parse_args(arguments)


def _make_report(measurements: Sequence[Measurement], args: argparse.Namespace) -> Report:
    about = describe_run(
        {
            "chunks": f"{args.chunks} conversations, {args.shortest:g} to {args.longest:g} s, seed {args.seed}",
            "model": f"{args.checkpoint.name}, float32, {args.threads} threads, idle ones asleep",
            "run": f"{args.runs} rounds, taking turns in this order; audio encoded beforehand for all of them",
            "time": "reading prompts and writing answers: CPU seconds of all threads and wall seconds; medians "
            "over the rounds; spread: lowest to highest",
        }
    )
    kinds = list(dict.fromkeys((one.contestant, one.batch_size) for one in measurements))
    rows = tuple(_format_row(_select(measurements, name, size)) for name, size in kinds)
    return Report("Slots against static batches", about, Table(_COLUMNS, rows), tuple(judge(measurements)))


def _select(measurements: Sequence[Measurement], contestant: str, batch_size: int) -> list[Measurement]:
    return [one for one in measurements if (one.contestant, one.batch_size) == (contestant, batch_size)]


def _format_row(runs: Sequence[Measurement]) -> tuple[str, ...]:
    cpu = [one.run.cpu_s for one in runs]
    wall_s = statistics.median(one.run.wall_s for one in runs)
    first = runs[0]
    outside_ms = _outside_ms(runs)
    return (
        first.contestant,
        str(first.batch_size),
        str(first.n_tokens),
        f"{statistics.median(cpu):.2f}",
        f"{min(cpu):.2f}-{max(cpu):.2f}",
        f"{first.n_tokens / statistics.median(cpu):.0f}",
        f"{wall_s:.2f}",
        f"{first.n_tokens / wall_s:.0f}",
        str(first.run.n_steps),
        f"{100 * first.live_share:.1f}",
        "" if outside_ms is None else f"{outside_ms:.3f}",
    )


def _outside_ms(runs: Sequence[Measurement]) -> float | None:
    """Median CPU milliseconds a step in other code than the model's."""
    outside = [1000 * one.run.outside_s / one.run.n_steps for one in runs if one.run.outside_s is not None]
    return statistics.median(outside) if outside else None


def judge(measurements: Sequence[Measurement]) -> Iterator[str]:
    """Say which goals are reached, and whether all wrote the same."""
    answers = [one.run.answers for one in measurements]
    n_same = sum(len(set(chunk)) == 1 for chunk in zip(*answers, strict=True))
    yield format_goal(
        f"{n_same} of {len(answers[0])} chunks: the same tokens by all", reached=n_same == len(answers[0])
    )
    for size in dict.fromkeys(one.batch_size for one in measurements):
        ours = _select(measurements, SLOTS, size)
        for rival in (GENERATE, SORTED):
            if theirs := _select(measurements, rival, size):
                yield _compare(ours, theirs, RATIO_GOALS.get(size) if rival == GENERATE else None)
        outside_ms = _outside_ms(ours)
        assert outside_ms is not None, "slots tell what they spend outside the model"
        yield format_goal(
            f"B = {size}: {outside_ms:.3f} ms a step outside the model, at most {OUTSIDE_GOAL_MS:g}",
            reached=outside_ms <= OUTSIDE_GOAL_MS,
        )
        share = ours[0].live_share
        yield format_goal(f"B = {size}: {share:.1%} of rows live, at least {LIVE_GOAL:.0%}", reached=share >= LIVE_GOAL)


def _compare(ours: Sequence[Measurement], theirs: Sequence[Measurement], goal: float | None) -> str:
    """Compare tokens per second, round by round: what slows the machine for a while slows both."""
    pairs = list(zip(ours, theirs, strict=True))
    cpu = [b.run.cpu_s / a.run.cpu_s for a, b in pairs]
    wall = [b.run.wall_s / a.run.wall_s for a, b in pairs]
    ratio = statistics.median(cpu)
    what = (
        f"B = {ours[0].batch_size}: {ratio:.2f}x the tokens per CPU second of {theirs[0].contestant} "
        f"({min(cpu):.2f}-{max(cpu):.2f}), per second {statistics.median(wall):.2f}x ({min(wall):.2f}-{max(wall):.2f})"
    )
    if goal is None:
        return what
    disagree = min(cpu) < goal <= max(cpu)
    what += f", at least {goal:g}x" + ("; the rounds disagree: take more of them" if disagree else "")
    return format_goal(what, reached=ratio >= goal)


def _to_detail(one: Measurement) -> dict[str, object]:
    return {
        "contestant": one.contestant,
        "batch_size": one.batch_size,
        "round": one.round,
        "n_tokens": one.n_tokens,
        "cpu_s": one.run.cpu_s,
        "wall_s": one.run.wall_s,
        "n_steps": one.run.n_steps,
        "live_share": one.live_share,
        "outside_s": one.run.outside_s,
    }


if __name__ == "__main__":
    main()
