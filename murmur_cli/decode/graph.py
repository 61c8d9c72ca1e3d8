"""Steps without Python in between: on a GPU the step is recorded once, as a CUDA graph, and played back.

A step of a large model is launched as thousands of small kernels, which takes longer than they run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor

__all__ = ["Recorder", "StepPlayer", "find_recorder", "record_graph"]

Recorder = Callable[[Callable[[], None]], Callable[[], None]]

_WARM_UPS = 3  # as torch.cuda.graph's documentation does: libraries set themselves up on the first calls


class StepPlayer:
    """Runs a step again and again: recorded where there is something to record it with.

    Args:
        step: Reads and writes tensors that stay where they are.
        recorder: Runs a step a few times and gives something that repeats it; None: nothing is recorded.
    """

    def __init__(self, step: Callable[[], None], recorder: Recorder | None) -> None:
        self._step = step
        self._recorder = recorder
        self._play: Callable[[], None] | None = None

    def play(self, n_times: int, changed: Sequence[Tensor]) -> None:
        """Run the step.

        Args:
            n_times: How many times.
            changed: What a step changes for good: it is put back after recording, which runs some steps.
        """
        if self._play is None:
            self._play = self._step if self._recorder is None else _record(self._step, self._recorder, changed)
        for _ in range(n_times):
            self._play()

    def forget(self) -> None:
        """Record anew before the next step: its tensors have moved, or will be gone."""
        self._play = None


def _record(step: Callable[[], None], recorder: Recorder, changed: Sequence[Tensor]) -> Callable[[], None]:
    before = [tensor.clone() for tensor in changed]
    play = recorder(step)
    for tensor, value in zip(changed, before, strict=True):
        tensor.copy_(value)
    return play


def find_recorder(device: torch.device) -> Recorder | None:
    """Name what records steps on a device; None: nothing does, and Python is in between."""
    return partial(record_graph, device=device) if device.type == "cuda" else None


def record_graph(step: Callable[[], None], device: torch.device) -> Callable[[], None]:
    """Record a step that runs on a CUDA device.

    Source:
        PyTorch 2.11, notes/cuda, "CUDA Graphs": warm up on another stream, then capture.
    """
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.device(device):
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(_WARM_UPS):
                step()
        torch.cuda.current_stream().wait_stream(stream)
        with torch.cuda.graph(graph):
            step()
    return graph.replay
