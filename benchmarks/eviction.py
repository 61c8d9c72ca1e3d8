#!/usr/bin/env python3
"""What may be forgotten of a row while it is decoded: how much memory that leaves, and what it costs.

A script of 300 s of audio, written by no model, shows what is held. The tiny trained model transcribes conversations of
58 to 60 s, for which margin and windows are smaller; errors are compared conversation by conversation with those of the
rule that forgets nothing. One talk that is derailed has as many errors as ten others: it takes more than a hundred to
tell half a point. "by steps" is the reference's rule, "no pins" is ours without pins.

Examples: python benchmarks/eviction.py · python benchmarks/eviction.py --talks 4 --runs 1 --json eviction.json
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from digits import DIGITS_MODEL
from eviction_rules import BOTH, NONE, SPEECH, Meter, list_rules, measure_script, write_script
from report import Report, Table, describe_run, draw_bars, format_goal, format_report, write_report
from sessions import DATA_DIR

from murmur_cli.score.counts import WordErrors

if TYPE_CHECKING:
    from eviction_talks import Run

__all__ = ["Difference", "Row", "compare", "draw_shares", "judge", "main", "make_rows", "measure_scripts"]

KEPT_GOALS = {SPEECH: 0.80, BOTH: 0.62}  # of the script, on average
GONE_GOAL = 0.45  # of the audio of a conversation, at its end, under speech
WORD_GOAL, SPEAKER_GOAL = 0.5, 1.0  # more errors than without, in percent of words, under speech
STEP_GOAL = 1.02  # times as long as without, under speech and both

_SCRIPT_S = 300
_N_SCRIPTS = 8
_N_SLOTS = 8
_N_TIMED = 24  # conversations, also those in which attention is measured
_N_RESAMPLES = 10_000
_GPU_GB = (24, 32, 48, 80)

_COLUMNS = (
    "rule", "script: kept %", "at its end", "talks: kept %", "audio gone %", "WER %", "more (95 %)", "cpWER %",
    "more (95 %)", "CPU-ms/step", "times none",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Difference:
    """How many errors more than without, in percent of words: all talks, and where 95 % of resamples lie."""

    point: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.point:+.2f} ({self.low:+.2f} to {self.high:+.2f})"


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """One rule: what it leaves of the scripts, its run over all conversations, and its time.

    ``step_s`` are CPU seconds of a step, round by round; ``slower`` says how many times as long as without that is, the
    median of the rounds.
    """

    name: str
    scripts: tuple[Meter, ...]
    run: Run
    words: Difference
    speakers: Difference
    step_s: tuple[float, ...]
    slower: float

    @property
    def script_kept(self) -> float:
        """The share that is held, on average over all tokens of the scripts."""
        return statistics.fmean(meter.mean for meter in self.scripts)


def main(arguments: Sequence[str] | None = None) -> None:
    args = _parse(arguments)
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as the command does; it is read when torch is imported
    from eviction_talks import count_batches, load_bench, make_talks  # noqa: PLC0415 - torch: after the line above

    rules = list_rules(margin=args.margin, output_window=args.window, step_window=args.window)
    with tempfile.TemporaryDirectory(prefix="murmur-benchmark-") as folder:
        talks = make_talks(Path(folder), data=args.data, n_talks=args.talks)
        bench = load_bench(args.checkpoint, talks, n_threads=args.threads)
    runs = [bench.run(rule, n_slots=_N_SLOTS) for rule in rules]
    timed = replace(bench, chunks=bench.chunks[:_N_TIMED])
    rounds = [[timed.run(rule, n_slots=_N_SLOTS).step_s for rule in rules] for _ in range(args.runs)]
    rows = make_rows(runs, rounds)
    shares = timed.measure_attention(runs[0].answers)
    batches = {size: count_batches("7b", n_bytes=size * 10**9) for size in _GPU_GB}
    report = _make_report(rows, [*draw_shares(shares), *_list_batches(batches)], args)
    print(format_report(report))
    if args.json:
        write_report(args.json, report, [*map(_to_detail, rows), {"attention": shares}, {"batches": batches}])


def measure_scripts() -> dict[str, list[Meter]]:
    """Let every rule, as it is for real models, follow some scripts."""
    scripts = [write_script(_SCRIPT_S, seed=seed) for seed in range(_N_SCRIPTS)]
    rules = list_rules(margin=64, output_window=512, step_window=512)
    return {rule.name: [measure_script(rule, script, seconds=_SCRIPT_S) for script in scripts] for rule in rules}


def make_rows(runs: Sequence[Run], rounds: Sequence[Sequence[float]]) -> list[Row]:
    """Put together what belongs to each rule; the first one is what the others are compared with.

    Args:
        runs: One of each rule.
        rounds: Seconds of a step under each rule, as often as it was measured.
    """
    scripts = measure_scripts()
    without = [times[0] for times in rounds]
    return [
        Row(
            run.rule,
            tuple(scripts[run.rule]),
            run,
            compare(run.words, runs[0].words),
            compare(run.speakers, runs[0].speakers),
            times,
            statistics.median(ours / other for ours, other in zip(times, without, strict=True)),
        )
        for run, times in zip(runs, zip(*rounds, strict=True), strict=True)
    ]


def compare(errors: Sequence[WordErrors], without: Sequence[WordErrors]) -> Difference:
    """Compare errors talk by talk: which talks there are is left to chance, that both had the same is not."""
    more = np.array([one.errors - other.errors for one, other in zip(errors, without, strict=True)])
    n_words = np.array([one.length for one in errors])
    drawn = np.random.default_rng(0).integers(len(more), size=(_N_RESAMPLES, len(more)))
    low, high = np.quantile(100.0 * more[drawn].sum(axis=1) / n_words[drawn].sum(axis=1), (0.025, 0.975))
    return Difference(100.0 * float(more.sum() / n_words.sum()), float(low), float(high))


def draw_shares(shares: Sequence[float]) -> list[str]:
    """Draw what part of the audio carries 99 % of the attention, layer by layer."""
    title = "frames of the audio that carry 99 % of the attention to it (mean over tokens and heads)"
    return draw_bars(title, {f"layer {layer:2}": share for layer, share in enumerate(shares)}, full=1.0, spec=".1%")


def _list_batches(batches: Mapping[int, Mapping[str, int]]) -> Iterator[str]:
    yield "chunks of 300 s side by side that fit beside the 7B model, 32 at most, by what is forgotten"
    for size, by_policy in batches.items():
        yield f"{size} GB  " + ", ".join(f"{policy}: {n_rows}" for policy, n_rows in by_policy.items())
    yield ""


def judge(rows: Sequence[Row]) -> Iterator[str]:
    """Say which goals are reached."""
    by_name = {row.name: row for row in rows}
    for name, goal in KEPT_GOALS.items():
        kept = max(meter.mean for meter in by_name[name].scripts)
        what = f"{name}: of each of {_N_SCRIPTS} scripts {kept:.1%} or less is held on average, at most {goal:.0%}"
        yield format_goal(what, reached=kept <= goal)
    speech = by_name[SPEECH]
    gone = speech.run.gone
    what = f"{SPEECH}: {gone:.1%} of the audio is forgotten when a talk ends, at least {GONE_GOAL:.0%}"
    yield format_goal(what, reached=gone >= GONE_GOAL)
    for metric, more, goal in (("WER", speech.words, WORD_GOAL), ("cpWER", speech.speakers, SPEAKER_GOAL)):
        what = f"{SPEECH}: {metric} {more.point:+.2f} points against {NONE}, at most {goal:+g}"
        yield format_goal(what, reached=more.point <= goal)
    for name in KEPT_GOALS:
        what = f"{name}: a step takes {by_name[name].slower:.3f} times as long as under {NONE}, at most {STEP_GOAL:g}"
        yield format_goal(what, reached=by_name[name].slower <= STEP_GOAL)


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--talks", type=int, default=160, metavar="N", help="conversations (default: %(default)s)")
    parser.add_argument("--margin", type=int, default=32, help="frames behind the text (default: %(default)s)")
    parser.add_argument(
        "--window",
        type=int,
        default=128,
        help="tokens that stay of an answer, and frames under the reference's rule (default: %(default)s)",
    )
    parser.add_argument("--runs", type=int, default=3, help="in which steps are timed (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=1, help="(default: %(default)s)")
    parser.add_argument("--checkpoint", type=Path, default=DIGITS_MODEL, help="(default: %(default)s)")
    parser.add_argument("--data", type=Path, default=DATA_DIR, help="folder of the test data (default: %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report and every talk there")
    return parser.parse_args(arguments)


def _make_report(rows: Sequence[Row], pictures: Sequence[str], args: argparse.Namespace) -> Report:
    plain = rows[0].run
    about = describe_run(
        {
            "script": f"{_N_SCRIPTS} answers to {_SCRIPT_S} s, 6 to 9 tokens a second; sink 32, margin 64, windows 512",
            "talks": f"{len(plain.answers)} conversations, {sum(one.length for one in plain.words)} words",
            "model": f"{args.checkpoint.name}, float32, {args.threads} threads, {_N_SLOTS} chunks side by side; "
            f"sink 32, margin {args.margin}, windows {args.window}",
            "kept": "cells held of those written, on average over all tokens",
            "more": f"errors beyond those of {NONE}, in points; {_N_RESAMPLES} resamples of the talks",
            "time": f"CPU time of a step, reading prompts apart; medians of {args.runs} rounds, taking turns, over the "
            f"first {_N_TIMED} conversations",
        }
    )
    table = Table(_COLUMNS, tuple(map(_format_row, rows)))
    return Report("What is forgotten", about, table, (*pictures, *judge(rows)))


def _format_row(row: Row) -> tuple[str, ...]:
    run = row.run
    return (
        row.name,
        f"{100 * row.script_kept:.1f}",
        f"{100 * statistics.fmean(meter.shares[-1] for meter in row.scripts):.1f}",
        f"{100 * statistics.fmean(meter.mean for meter in run.meters):.1f}",
        f"{100 * run.gone:.1f}",
        f"{_percent(run.words):.2f}",
        str(row.words),
        f"{_percent(run.speakers):.2f}",
        str(row.speakers),
        f"{1000 * statistics.median(row.step_s):.2f}",
        f"{row.slower:.3f}",
    )


def _percent(errors: Sequence[WordErrors]) -> float:
    return 100.0 * sum(one.errors for one in errors) / sum(one.length for one in errors)


def _to_detail(row: Row) -> dict[str, object]:
    run = row.run
    return {
        "rule": row.name,
        "script_kept": [meter.mean for meter in row.scripts],
        "kept": [meter.mean for meter in run.meters],
        "gone": [meter.gone for meter in run.meters],
        "n_tokens": [len(answer) for answer in run.answers],
        "words": [asdict(one) for one in run.words],
        "speakers": [asdict(one) for one in run.speakers],
        "step_s": row.step_s,
    }


if __name__ == "__main__":
    main()
