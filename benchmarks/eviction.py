#!/usr/bin/env python3
"""What may be forgotten of a row while it is decoded: how much memory that leaves, and what it costs.

A script of 300 s of audio, written by no model, shows what is held. The tiny trained model transcribes conversations of
58 to 60 s, for which margin and windows are smaller; errors are compared conversation by conversation with those of the
rule that forgets nothing. "by steps" is the reference's rule, "no pins" is ours without pins.

Examples: python benchmarks/eviction.py · python benchmarks/eviction.py --talks 4 --runs 1 --json eviction.json
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from digits import DIGITS_MODEL
from eviction_rules import BOTH, NONE, SPEECH, Meter, list_rules, measure_script, write_script
from report import Report, Table, describe_run, format_goal, format_report, write_report
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
_N_RESAMPLES = 10_000
_BAR = 40  # characters
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
    """One rule: what it leaves of the scripts, and its runs over the conversations, which all write the same."""

    name: str
    scripts: tuple[Meter, ...]
    runs: tuple[Run, ...]
    words: Difference
    speakers: Difference
    slower: float  # CPU time of a step against none, median of the rounds

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
    rounds = [[bench.run(rule, n_slots=_N_SLOTS) for rule in rules] for _ in range(args.runs)]
    rows = make_rows(rounds)
    shares = bench.measure_attention(rounds[0][0].answers)
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


def make_rows(rounds: Sequence[Sequence[Run]]) -> list[Row]:
    """Put together what belongs to each rule; the first one is what the others are compared with."""
    scripts = measure_scripts()
    plain = [runs[0] for runs in rounds]
    rows = []
    for own in zip(*rounds, strict=True):
        first = own[0]
        rows.append(
            Row(
                first.rule,
                tuple(scripts[first.rule]),
                own,
                compare(first.words, plain[0].words),
                compare(first.speakers, plain[0].speakers),
                statistics.median(run.step_s / other.step_s for run, other in zip(own, plain, strict=True)),
            )
        )
    return rows


def compare(errors: Sequence[WordErrors], without: Sequence[WordErrors]) -> Difference:
    """Compare errors talk by talk: which talks there are is left to chance, that both had the same is not."""
    more = np.array([one.errors - other.errors for one, other in zip(errors, without, strict=True)])
    n_words = np.array([one.length for one in errors])
    drawn = np.random.default_rng(0).integers(len(more), size=(_N_RESAMPLES, len(more)))
    low, high = np.quantile(100.0 * more[drawn].sum(axis=1) / n_words[drawn].sum(axis=1), (0.025, 0.975))
    return Difference(100.0 * float(more.sum() / n_words.sum()), float(low), float(high))


def draw_shares(shares: Sequence[float]) -> Iterator[str]:
    """Draw what part of the audio carries 99 % of the attention, layer by layer."""
    yield "frames of the audio that carry 99 % of the attention to it (mean over tokens and heads)"
    for layer, share in enumerate(shares):
        yield f"layer {layer:2}  |{'#' * round(_BAR * share):{_BAR}}| {share:.1%}"
    yield ""


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
    gone = speech.runs[0].gone
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
    parser.add_argument("--talks", type=int, default=32, metavar="N", help="conversations (default: %(default)s)")
    parser.add_argument("--margin", type=int, default=32, help="frames behind the text (default: %(default)s)")
    parser.add_argument(
        "--window",
        type=int,
        default=128,
        help="tokens that stay of an answer, and frames under the reference's rule (default: %(default)s)",
    )
    parser.add_argument("--runs", type=int, default=3, help="of each rule (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=1, help="(default: %(default)s)")
    parser.add_argument("--checkpoint", type=Path, default=DIGITS_MODEL, help="(default: %(default)s)")
    parser.add_argument("--data", type=Path, default=DATA_DIR, help="folder of the test data (default: %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report and every talk there")
    return parser.parse_args(arguments)


def _make_report(rows: Sequence[Row], pictures: Sequence[str], args: argparse.Namespace) -> Report:
    first = rows[0].runs[0]
    about = describe_run(
        {
            "script": f"{_N_SCRIPTS} answers to {_SCRIPT_S} s, 6 to 9 tokens a second; sink 32, margin 64, windows 512",
            "talks": f"{len(first.answers)} conversations, {sum(one.length for one in first.words)} words",
            "model": f"{args.checkpoint.name}, float32, {args.threads} threads, {_N_SLOTS} chunks side by side; "
            f"sink 32, margin {args.margin}, windows {args.window}",
            "kept": "cells held of those written, on average over all tokens",
            "more": f"errors beyond those of {NONE}, in points; {_N_RESAMPLES} resamples of the talks",
            "time": f"CPU time of a step, reading prompts apart: median of {args.runs} rounds, taking turns",
        }
    )
    table = Table(_COLUMNS, tuple(map(_format_row, rows)))
    return Report("What is forgotten", about, table, (*pictures, *judge(rows)))


def _format_row(row: Row) -> tuple[str, ...]:
    first = row.runs[0]
    return (
        row.name,
        f"{100 * row.script_kept:.1f}",
        f"{100 * statistics.fmean(meter.shares[-1] for meter in row.scripts):.1f}",
        f"{100 * statistics.fmean(meter.mean for meter in first.meters):.1f}",
        f"{100 * first.gone:.1f}",
        f"{_percent(first.words):.2f}",
        str(row.words),
        f"{_percent(first.speakers):.2f}",
        str(row.speakers),
        f"{1000 * statistics.median(run.step_s for run in row.runs):.2f}",
        f"{row.slower:.3f}",
    )


def _percent(errors: Sequence[WordErrors]) -> float:
    return 100.0 * sum(one.errors for one in errors) / sum(one.length for one in errors)


def _to_detail(row: Row) -> dict[str, object]:
    first = row.runs[0]
    return {
        "rule": row.name,
        "script_kept": [meter.mean for meter in row.scripts],
        "kept": [meter.mean for meter in first.meters],
        "gone": [meter.gone for meter in first.meters],
        "n_tokens": [len(answer) for answer in first.answers],
        "words": [asdict(one) for one in first.words],
        "speakers": [asdict(one) for one in first.speakers],
        "step_s": [run.step_s for run in row.runs],
    }


if __name__ == "__main__":
    main()
