"""What ``gpu_steps.py`` says in the end: a row for each contestant and batch size, and verdicts."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict

import torch
from gpu_contestants import Bench, Cost, Run
from gpu_rounds import GENERATE, GRAPH, LOOP, NO_GRAPH, Costs, Measurement, Plans
from report import Report, Table, format_goal

__all__ = ["find_limit_s", "judge", "make_details", "make_report"]

_COLUMNS = (
    "contestant", "B", "ms/step", "spread", "tokens/s", "% of limit", "times generate()", "prompts s", "peak GB",
    "estimate GB",
)  # fmt: skip


def make_report(
    about: Mapping[str, str], bench: Bench, *, costs: Costs, plans: Plans, measurements: Sequence[Measurement]
) -> Report:
    """Lay out what was measured; ``about`` is the header so far."""
    shape, size = bench.shape, bench.size
    more = {
        "model": f"random weights, {str(shape.dtype).removeprefix('torch.')}, {size.n_parameters / 1e9:.3g} B"
        f" parameters; a step reads {size.n_step_parameters * shape.dtype.itemsize / 1e9:.3g} GB of them",
        "chunks": f"{shape.chunk_s} s: {shape.n_prompt} tokens of prompt; {bench.n_steps} steps are decoded, in slots"
        f" of {bench.capacity} cells",
        "time": "wall; medians, and from the lowest to the highest block of steps; prompts: until all of them are read",
        "limit": f"a copy moves {costs.bytes_per_s / 1e9:.4g} GB/s; a step has to read its weights and, of every row,"
        " the keys and values of what was read and written before",
        "memory": "peak: the most that was taken of the device; estimate: what murmur batch counts on",
    }
    rows = [row for n_rows in plans.plans for row in _iter_rows(bench, n_rows, costs, plans, measurements)]
    return Report(
        "Steps of a VibeVoice with random weights",
        {**about, **more},
        Table(_COLUMNS, tuple(rows)),
        tuple(judge(bench, costs=costs, plans=plans, measurements=measurements)),
    )


def make_details(costs: Costs, plans: Plans, measurements: Sequence[Measurement]) -> list[dict[str, object]]:
    """Give everything that was measured, with unrounded numbers."""
    known = {**asdict(costs), "plans": {n_rows: asdict(plan) for n_rows, plan in plans.plans.items()}}
    return [known, *map(asdict, measurements)]


def find_limit_s(bench: Bench, n_rows: int, *, bytes_per_s: float) -> float:
    """Say how long it takes to read what a step has to read, halfway through the steps."""
    n_held = bench.shape.n_prompt + bench.n_steps // 2
    itemsize = bench.shape.dtype.itemsize
    n_bytes = bench.size.n_step_parameters * itemsize + n_rows * bench.size.kv_bytes(n_held, itemsize=itemsize)
    return n_bytes / bytes_per_s


def judge(bench: Bench, *, costs: Costs, plans: Plans, measurements: Sequence[Measurement]) -> Iterator[str]:
    """Say what does not stand in the table, and whether memory is as estimated."""
    shape = bench.shape
    yield f"{shape.chunk_s} s of sound are heard in {_describe(costs.hearing)}"
    yield f"a prompt of {shape.n_prompt} tokens is read in {_describe(costs.reading)}"
    works = [cost.work_bytes for cost in (costs.hearing, costs.reading) if cost.work_bytes is not None]
    if works:
        estimate = bench.size.work_bytes(shape.n_prompt, itemsize=shape.dtype.itemsize)
        what = f"{max(works) / 1e9:.2f} GB come and go, at most {estimate / 1e9:.2f} as estimated"
        yield format_goal(what, reached=max(works) <= estimate)
    for n_rows in plans.plans:
        yield from _judge_memory(n_rows, plans, measurements)
        yield from _judge_loop(n_rows, measurements)
        yield from _judge_tokens(n_rows, measurements, is_exact=shape.dtype == torch.float32)
    yield from plans.left_out
    yield from (f"{one.contestant}, B = {one.batch_size}: {one.reason}" for one in measurements if one.run is None)


def _iter_rows(
    bench: Bench, n_rows: int, costs: Costs, plans: Plans, measurements: Sequence[Measurement]
) -> Iterator[tuple[str, ...]]:
    limit_s = find_limit_s(bench, n_rows, bytes_per_s=costs.bytes_per_s)
    theirs = _select(measurements, GENERATE, n_rows)
    yield "memory bandwidth", str(n_rows), f"{1000 * limit_s:.3g}", "", f"{n_rows / limit_s:.0f}", "100", *[""] * 4
    for name in dict.fromkeys(one.contestant for one in measurements):
        runs = _select(measurements, name, n_rows)
        if not runs:
            yield name, str(n_rows), "none", *[""] * (len(_COLUMNS) - 3)
            continue
        step_s = _median_step(runs)
        blocks_ms = [1000 * second for run in runs for second in run.step_s]
        prompts_s = [run.prompts_s for run in runs if run.prompts_s is not None]
        yield (
            name,
            str(n_rows),
            f"{1000 * step_s:.2f}",
            f"{min(blocks_ms):.2f}-{max(blocks_ms):.2f}",
            f"{n_rows / step_s:.0f}",
            f"{100 * limit_s / step_s:.0f}",
            f"{_median_step(theirs) / step_s:.2f}" if theirs else "",
            f"{statistics.median(prompts_s):.3g}" if prompts_s else "",
            _format_peak(runs),
            f"{plans.plans[n_rows].total / 1e9:.1f}" if name == LOOP else "",
        )


def _judge_memory(n_rows: int, plans: Plans, measurements: Sequence[Measurement]) -> Iterator[str]:
    peak = _find_peak(_select(measurements, LOOP, n_rows))
    if peak is not None:
        plan = plans.plans[n_rows]
        what = f"B = {n_rows}: the loop takes {peak / 1e9:.1f} GB, at most {plan.total / 1e9:.1f} as estimated"
        yield format_goal(what, reached=peak <= plan.total)


def _judge_loop(n_rows: int, measurements: Sequence[Measurement]) -> Iterator[str]:
    loop = _select(measurements, LOOP, n_rows)
    steps = _select(measurements, GRAPH, n_rows) or _select(measurements, NO_GRAPH, n_rows)
    if loop and steps:
        yield f"B = {n_rows}: the loop adds {1000 * (_median_step(loop) - _median_step(steps)):.2f} ms to a step"


def _judge_tokens(n_rows: int, measurements: Sequence[Measurement], *, is_exact: bool) -> Iterator[str]:
    """Compare what was written: only where rounding cannot turn ties must it be the same."""
    runs = [one.run for one in measurements if one.batch_size == n_rows and one.run]
    if len(runs) < 2:
        return
    n_tokens = len(runs[0].tokens[0])
    same = [_count_same(rows) for rows in zip(*(run.tokens for run in runs), strict=True)]
    what = f"B = {n_rows}: {same.count(n_tokens)} of {n_rows} rows have the same {n_tokens} tokens by all"
    if is_exact:
        yield format_goal(what, reached=min(same) == n_tokens)
    else:
        yield f"{what}, and the first {min(same)} or more (median {statistics.median(same):.0f}) before one differs"


def _count_same(rows: Sequence[Sequence[int]]) -> int:
    """Count the tokens that are the same in all rows, before the first that is not."""
    different = (i for i, tokens in enumerate(zip(*rows, strict=True)) if len(set(tokens)) > 1)
    return next(different, len(rows[0]))


def _describe(cost: Cost) -> str:
    work = "" if cost.work_bytes is None else f", while {cost.work_bytes / 1e9:.2f} GB come and go"
    return f"{cost.seconds:.3g} s (the first time {cost.first_s:.3g}){work}"


def _format_peak(runs: Sequence[Run]) -> str:
    peak = _find_peak(runs)
    return "" if peak is None else f"{peak / 1e9:.1f}"


def _find_peak(runs: Sequence[Run]) -> int | None:
    return max((run.used_bytes for run in runs if run.used_bytes is not None), default=None)


def _select(measurements: Sequence[Measurement], contestant: str, n_rows: int) -> list[Run]:
    return [one.run for one in measurements if (one.contestant, one.batch_size) == (contestant, n_rows) and one.run]


def _median_step(runs: Sequence[Run]) -> float:
    """The median over rounds of the median over blocks, in seconds."""
    return statistics.median(statistics.median(run.step_s) for run in runs)
