"""Which model ``--model auto`` is, on machines of all kinds."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from murmur_cli.errors import DeviceError, ModelUnavailableError, WeightsError
from murmur_cli.models import choice as choice_module
from murmur_cli.models.cache import LocalWeights
from murmur_cli.models.choice import Choice, choose_model, pick_model
from murmur_cli.models.device import measure_gpu
from murmur_cli.options import ModelOptions

GB = 10**9


def never() -> str | None:
    raise AssertionError("the weights were looked for, though they could not be run")


@pytest.mark.parametrize(
    ("gpu_bytes", "find_problem", "model", "reason"),
    [
        (None, never, "whisper-base", "without a GPU"),
        (16 * GB, never, "whisper-base", "16 GB"),
        (22 * 2**30 - 2**29, never, "whisper-base", "23 GB"),
        (22_731 * 2**20, lambda: None, "vibevoice", "24 GB"),  # an A10G, which is sold with 24 GB
        (80 * GB, lambda: None, "vibevoice", "80 GB"),
        (80 * GB, lambda: "they are not here", "whisper-base", "they are not here"),
    ],
)
def test_the_best_model_is_chosen_where_it_fits_and_is_there(
    gpu_bytes: int | None, find_problem: Callable[[], str | None], model: str, reason: str
) -> None:
    choice = pick_model(gpu_bytes, best="vibevoice", find_problem=find_problem)
    assert choice.model == model
    assert reason in choice.reason
    assert "\n" not in choice.reason


def give_gpu(monkeypatch: pytest.MonkeyPatch, n_bytes: int | None) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: n_bytes is not None)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1 if n_bytes is not None else 0)

    class Properties:
        total_memory = n_bytes

    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: Properties)


def test_the_machine_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, bool]] = []

    def pull(name: str, *, offline: bool) -> LocalWeights | None:
        asked.append((name, offline))
        return None

    monkeypatch.setattr(choice_module, "pull_weights", pull)
    give_gpu(monkeypatch, 80 * GB)
    assert choose_model(ModelOptions()).model == "vibevoice"
    assert choose_model(ModelOptions(), is_live=True).model == "vibevoice-streaming-7b"
    assert asked == [("vibevoice", True), ("vibevoice-streaming-7b", True)]  # 17 GB are never fetched unasked
    assert choose_model(ModelOptions(device="cpu")).model == "whisper-base"
    give_gpu(monkeypatch, None)
    assert choose_model(ModelOptions()) == Choice("whisper-base", "the default without a GPU")
    assert len(asked) == 2
    with pytest.raises(DeviceError):
        choose_model(ModelOptions(device="cuda"))


@pytest.mark.parametrize(
    "error", [ModelUnavailableError("the weights are not on this machine"), WeightsError("is altered", where="x")]
)
def test_weights_that_are_not_there_or_damaged_are_said_and_passed_over(
    monkeypatch: pytest.MonkeyPatch, error: ModelUnavailableError
) -> None:
    def pull(name: str, *, offline: bool) -> None:
        raise error

    monkeypatch.setattr(choice_module, "pull_weights", pull)
    give_gpu(monkeypatch, 80 * GB)
    choice = choose_model(ModelOptions())
    assert choice.model == "whisper-base"
    assert error.problem in choice.reason
    assert "murmur models pull vibevoice" in choice.reason


def test_the_memory_of_the_gpu_that_is_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    give_gpu(monkeypatch, 80 * GB)
    assert measure_gpu("auto") == measure_gpu("cuda:0") == 80 * GB
    assert measure_gpu("cpu") is None
