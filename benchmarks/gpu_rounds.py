"""What ``gpu_steps.py`` measures, in which order, and what becomes of a run that fails.

Contestants take turns. A run that fails costs its own figure and no other.
"""

from __future__ import annotations

import statistics
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from gpu_contestants import Bench, Cost, Run, load_bench, measure_bandwidth, measure_cost, watch_memory
from gpu_messages import say, shorten
from gpu_model import Shape, measure_shape

from murmur_cli.decode.graph import record_graph
from murmur_cli.errors import DeviceError
from murmur_cli.models.vibevoice.memory import MemoryPlan, measure_free, plan_batch_size

__all__ = ["GENERATE", "GRAPH", "LOOP", "NO_GRAPH", "Costs", "Measurement", "Plans", "examine", "measure", "plan"]

GRAPH, NO_GRAPH = "slots, CUDA graph", "slots, no graph"
LOOP, GENERATE = "murmur's loop", "generate()"


@dataclass(frozen=True, slots=True)
class Plans:
    """What memory murmur expects to need, by batch size, and why some batch sizes are left out."""

    plans: Mapping[int, MemoryPlan]
    left_out: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Costs:
    """What does not depend on the number of chunks: a copy, and hearing and reading one chunk."""

    bytes_per_s: float
    hearing: Cost
    reading: Cost


@dataclass(frozen=True, slots=True, eq=False)
class Measurement:
    """One run of one contestant.

    Without a ``run``, ``reason`` says in a line why there is none; ``failure`` is the traceback of what should not
    have happened, and empty where only memory or time was lacking.
    """

    contestant: str
    batch_size: int
    round: int
    run: Run | None
    reason: str = ""
    failure: str = ""


def plan(shape: Shape, batch_sizes: Sequence[int], device: torch.device) -> Plans:
    """Plan the memory of a model that is not yet there.

    Raises:
        DeviceError: No batch fits.
    """
    size, free = measure_shape(shape), measure_free(device)
    plans, errors = {}, []
    for n_rows in batch_sizes:
        try:
            plans[n_rows] = plan_batch_size(
                size,
                capacity=shape.n_prompt + shape.max_tokens,
                n_prompt=shape.n_prompt,
                itemsize=shape.dtype.itemsize,
                free=free,
                requested=n_rows,
            )
        except DeviceError as error:
            errors.append((n_rows, error))
    if not plans:
        raise DeviceError(errors[0][1].problem)
    return Plans(plans, tuple(f"B = {n_rows} is left out: {error.problem}" for n_rows, error in errors))


def examine(shape: Shape, device: torch.device) -> tuple[Bench, Costs]:
    """Make a model on a device, and measure what does not depend on the number of chunks."""
    say(f"making a model of {measure_shape(shape).n_parameters / 1e9:.3g} B parameters on {device}")
    bench = load_bench(shape, device)
    say("copying, hearing and reading")
    costs = Costs(
        bytes_per_s=measure_bandwidth(device, n_bytes=shape.n_copied),
        hearing=measure_cost(bench.hear, device),
        reading=measure_cost(bench.make_reader(), device),
    )
    return bench, costs


def measure(bench: Bench, batch_sizes: Sequence[int], *, n_runs: int, deadline: float) -> Iterator[Measurement]:
    """Let the contestants take turns, ``n_runs`` times each if there is time; who fails is out.

    Args:
        bench: The model.
        batch_sizes: Chunks that are decoded side by side.
        n_runs: Rounds; the second and those after it begin only if they will end in time.
        deadline: Of ``time.monotonic()``. In the first round no run begins after it.
    """
    turns = [turn for size in batch_sizes for turn in _list_contestants(bench, size)]
    longest_s = 0.0
    for i in range(n_runs):
        start = time.monotonic()
        if i and start + longest_s > deadline:
            say(f"there is no time for round {i + 1}")
            return
        done = [turn.play(i, deadline=None if i else deadline) for turn in turns]
        yield from done
        turns = [turn for turn, one in zip(turns, done, strict=True) if one.run]
        longest_s = max(longest_s, time.monotonic() - start)


@dataclass(frozen=True, slots=True, eq=False)
class _Turn:
    name: str
    batch_size: int
    device: torch.device
    work: Callable[[], Run]

    def play(self, i: int, *, deadline: float | None) -> Measurement:
        """Run in a round, if that begins before the deadline."""
        if deadline is not None and time.monotonic() > deadline:
            return self._note(i, reason="there was no time")
        try:
            return self._note(i, run=watch_memory(self.work, self.device))
        except torch.OutOfMemoryError:
            return self._note(i, reason="out of memory")
        except RuntimeError as error:  # what torch raises, of its kernels and of CUDA
            return self._note(i, reason=shorten(error), failure=traceback.format_exc())

    def _note(self, i: int, *, run: Run | None = None, reason: str = "", failure: str = "") -> Measurement:
        result = f"{1000 * statistics.median(run.step_s):.2f} ms/step" if run else reason
        say(f"round {i + 1}, B = {self.batch_size}, {self.name}: {result}")  # all that is left if this is stopped
        return Measurement(self.name, self.batch_size, i, run, reason, failure)


def _list_contestants(bench: Bench, size: int) -> Iterator[_Turn]:
    device = bench.device
    if device.type == "cuda":
        yield _Turn(GRAPH, size, device, partial(bench.run_steps, size, partial(record_graph, device=device)))
    yield _Turn(NO_GRAPH, size, device, partial(bench.run_steps, size, None))
    yield _Turn(LOOP, size, device, partial(bench.run_loop, size))
    yield _Turn(GENERATE, size, device, partial(bench.run_generate, size))
