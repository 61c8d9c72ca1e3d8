"""What ``gpu_steps.py`` measures: a network on a device, and the ways to decode with it.

All contestants decode the same prompts, greedily, and stop after the same number of tokens. Only steps are timed,
between two moments at which the device has nothing left to do.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import torch
from gpu_model import Shape, make_network, measure_shape
from torch import Tensor
from transformers import StoppingCriteria, StoppingCriteriaList

from murmur_cli.decode.cells import TRASH
from murmur_cli.decode.decoder import Decoder
from murmur_cli.decode.graph import Recorder, StepPlayer
from murmur_cli.decode.loop import decode_rows
from murmur_cli.decode.rows import Row
from murmur_cli.decode.slots import SlotCache, round_capacity
from murmur_cli.decode.step import N_STEPS, StepState, run_step
from murmur_cli.decode.watch import Orders
from murmur_cli.models.vibevoice.memory import ModelSize
from murmur_cli.models.vibevoice.network import Network, hear

__all__ = ["Bench", "Cost", "Run", "describe_device", "load_bench", "measure_bandwidth", "measure_cost", "watch_memory"]

_NEVER = -1  # the token that ends a row


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """Some chunks decoded side by side.

    ``step_s`` are seconds of a step, the average of each block but the first, ``prompts_s`` those until all
    prompts were read (None: a chunk was heard in between). ``tokens`` is what each row wrote. ``used_bytes`` is the
    most memory of the device that was taken, by this process and by whatever else runs there; None on a CPU.
    """

    step_s: tuple[float, ...]
    prompts_s: float | None
    tokens: tuple[tuple[int, ...], ...]
    used_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Cost:
    """What a piece of work takes, and took the first time; ``work_bytes`` came and went, None on a CPU."""

    seconds: float
    first_s: float
    work_bytes: int | None


@dataclass(frozen=True, slots=True, eq=False)
class Bench:
    """A network with random weights on a device."""

    network: Network
    size: ModelSize
    shape: Shape
    device: torch.device

    @property
    def capacity(self) -> int:
        """Cells of a slot."""
        return round_capacity(self.shape.n_prompt + self.shape.max_tokens)

    @property
    def n_steps(self) -> int:
        """Steps of a run. The first token comes of the prompt."""
        return self.shape.n_blocks * N_STEPS

    def draw_prompts(self, n_rows: int) -> Tensor:
        """Draw what rows read, shape [n_rows, n_prompt]; a row is the same in every batch."""
        random = torch.Generator().manual_seed(1)
        n_usual = self.network.lm_head.weight.shape[0] // 2  # the last tokens steer the model
        return torch.randint(n_usual, (n_rows, self.shape.n_prompt), generator=random).to(self.device)

    def make_decoder(self) -> Decoder:
        """Make what the loop decodes with."""
        return Decoder(self.network.model.language_model, self.network.lm_head)

    def draw_sound(self) -> Tensor:
        """Draw a chunk's samples, shape [n_samples]."""
        random = torch.Generator(self.device).manual_seed(2)
        sound = torch.empty(self.shape.n_samples, device=self.device).normal_(std=0.05, generator=random)
        return sound.to(self.shape.dtype)

    @torch.inference_mode()
    def hear(self) -> None:
        """Encode a chunk."""
        hear(self.network, self.draw_sound(), noisy=False)

    def make_reader(self) -> Callable[[], int]:
        """Make what reads a prompt into a slot that is there already."""
        decoder, prompts = self.make_decoder(), self.draw_prompts(1)
        cache = SlotCache(decoder.cache_shape, n_slots=1, capacity=self.capacity, device=self.device)
        return partial(_read_prompt, decoder, cache, 0, prompts)

    @torch.inference_mode()
    def run_steps(self, n_slots: int, recorder: Recorder | None) -> Run:
        """Decode step by step, without the loop around.

        Args:
            n_slots: B.
            recorder: What the step is recorded with; None: it is not.
        """
        decoder = self.make_decoder()
        prompts = self.draw_prompts(n_slots)
        start = _read_clock(self.device)
        cache = SlotCache(decoder.cache_shape, n_slots=n_slots, capacity=self.capacity, device=self.device)
        state = StepState(n_slots, self.device)
        written = [[_read_prompt(decoder, cache, slot, prompts[slot : slot + 1])] for slot in range(n_slots)]
        for slot, (first,) in enumerate(written):
            state.seat(slot, first, self.shape.n_prompt, temperature=0.0)
        prompts_s = _read_clock(self.device) - start
        player = StepPlayer(partial(run_step, decoder, cache, state), recorder)
        step_s = []
        for block in range(self.shape.n_blocks):
            cell = TRASH + 1 + self.shape.n_prompt + block * N_STEPS
            state.begin_block([range(cell, cell + N_STEPS)] * n_slots, None)
            start = _read_clock(self.device)
            player.play(N_STEPS, (*state.tensors, cache.positions))
            step_s.append((_read_clock(self.device) - start) / N_STEPS)
            written = [row + tokens for row, tokens in zip(written, state.read_block(N_STEPS), strict=True)]
        return Run(tuple(step_s[1:]), prompts_s, tuple(map(tuple, written)))

    def run_loop(self, n_slots: int) -> Run:
        """Decode with murmur's loop; while the memory of all slots is there, a chunk is heard once."""
        decoder = self.make_decoder()
        prompts = self.draw_prompts(n_slots)
        clocks = [_Clock(self.n_steps) for _ in range(n_slots)]

        def embed(key: int) -> Tensor:
            if key == 0:
                self.hear()
            return decoder.embed(prompts[key : key + 1])

        rows = [
            Row(key, self.shape.n_prompt, self.shape.max_tokens, partial(embed, key), clocks[key])
            for key in range(n_slots)
        ]
        decoded = {row.key: row for row in decode_rows(rows, decoder, n_slots=n_slots, stop_token=_NEVER)}
        return Run(_average_blocks(clocks[0].times), None, tuple(decoded[key].tokens for key in range(n_slots)))

    @torch.inference_mode()
    def run_generate(self, n_slots: int) -> Run:
        """Decode with transformers."""
        prompts = self.draw_prompts(n_slots)
        ticks = _Ticks(self.device)
        start = _read_clock(self.device)
        written = self.network.generate(
            input_ids=prompts,
            attention_mask=torch.ones_like(prompts),
            do_sample=False,
            max_new_tokens=self.n_steps + 1,
            pad_token_id=0,
            stopping_criteria=StoppingCriteriaList([ticks]),
        )
        rows: list[list[int]] = written[:, self.shape.n_prompt :].tolist()
        step_s = _average_blocks(ticks.times[N_STEPS::N_STEPS])
        return Run(step_s, ticks.times[0] - start, tuple(map(tuple, rows)))


def _average_blocks(times: Sequence[float]) -> tuple[float, ...]:
    """Turn the times between blocks into seconds of a step."""
    return tuple((after - before) / N_STEPS for before, after in pairwise(times))


class _Clock:
    """A watcher that notes the time after every block, and ends its row after some steps."""

    def __init__(self, n_steps: int) -> None:
        self.times: list[float] = []
        self._n_left = n_steps + 1

    def look(self, tokens: Sequence[int]) -> Orders:
        """Note the time: what was written has come from the device, which has nothing left to do."""
        self.times.append(time.perf_counter())
        self._n_left -= len(tokens)
        return Orders(halt="that is enough" if self._n_left <= 0 else None)


class _Ticks(StoppingCriteria):
    """Notes the time after every token, and stops nothing."""

    def __init__(self, device: torch.device) -> None:
        self.times: list[float] = []
        self._device = device

    def __call__(self, input_ids: Tensor, scores: Tensor, **_: object) -> Tensor:
        """Note the time; generate() waits for the device after every token anyway."""
        del scores
        self.times.append(_read_clock(self._device))
        return torch.zeros(input_ids.shape[0], dtype=torch.bool, device=input_ids.device)


def describe_device(device: torch.device) -> str:
    """Name a device, and what it was built for."""
    if device.type != "cuda":
        return f"CPU, {torch.get_num_threads()} threads"
    about = torch.cuda.get_device_properties(device)
    return (
        f"{about.name}, {about.total_memory / 1e9:.0f} GB, {about.multi_processor_count} multiprocessors,"
        f" compute capability {about.major}.{about.minor}, CUDA {torch.version.cuda}"
    )


def load_bench(shape: Shape, device: torch.device) -> Bench:
    """Make a network of a shape on a device."""
    return Bench(make_network(shape, device), measure_shape(shape), shape, device)


def watch_memory(work: Callable[[], Run], device: torch.device) -> Run:
    """Decode, and note the most memory that was taken."""
    _reset_peak(device)
    run = work()
    if device.type != "cuda":
        return run
    free, total = torch.cuda.mem_get_info(device)
    others = total - free - torch.cuda.memory_reserved(device)  # the driver's, libraries', other processes'
    return replace(run, used_bytes=torch.cuda.max_memory_reserved(device) + others)


@torch.inference_mode()
def _read_prompt(decoder: Decoder, cache: SlotCache, slot: int, tokens: Tensor) -> int:
    """Read tokens, shape [1, n], into a slot, as the loop does; returns the first token of the answer."""
    n_prompt = tokens.shape[1]
    positions = torch.arange(n_prompt, device=tokens.device)[None]
    hidden = decoder.read(
        decoder.embed(tokens), positions=positions, mask=None, cache=cache.open_prompt(slot, n_prompt)
    )
    return int(decoder.to_logits(hidden[:, -1]).argmax(-1))


def measure_cost(work: Callable[[], object], device: torch.device) -> Cost:
    """Do a piece of work four times; the median of the last three is its time."""
    before = _reset_peak(device)
    seconds = []
    for _ in range(4):
        start = _read_clock(device)
        work()
        seconds.append(_read_clock(device) - start)
    peak = torch.cuda.max_memory_allocated(device) - before if device.type == "cuda" else None
    return Cost(statistics.median(seconds[1:]), seconds[0], peak)


def measure_bandwidth(device: torch.device, *, n_bytes: int) -> float:
    """Copy on a device: bytes that are read and written in a second, the median of five times ten copies."""
    source = torch.empty(n_bytes // 4, dtype=torch.int32, device=device).random_()
    target = torch.empty_like(source)
    rates = []
    for _ in range(6):
        start = _read_clock(device)
        for _ in range(10):
            target.copy_(source)
        rates.append(10 * 2 * n_bytes / (_read_clock(device) - start))
    return statistics.median(rates[1:])


def _read_clock(device: torch.device) -> float:
    """Read the time once the device has nothing left to do."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


def _reset_peak(device: torch.device) -> int:
    """Forget the memory that was used so far; returns what is used now."""
    if device.type != "cuda":
        return 0
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats(device)
    return torch.cuda.memory_allocated(device)
