"""What a run needs, against the sizes of the published checkpoints, and how many chunks go side by side."""

from __future__ import annotations

import functools
import os
from pathlib import Path

import pytest
import torch

from murmur_cli.errors import DeviceError, UsageError
from murmur_cli.models.vibevoice.geometry import Geometry
from murmur_cli.models.vibevoice.memory import Free, MemoryPlan, ModelSize, measure_free, plan_batch_size, refuse_slow
from murmur_cli.models.vibevoice.network import make_outline, measure_size
from murmur_cli.models.vibevoice.session_size import check_fit, count_chunks

GB = 10**9
ENCODER = {
    "model_type": "vibevoice_acoustic_tokenizer_encoder",
    "num_filters": 32,
    "downsampling_ratios": [2, 2, 4, 5, 5, 8],
    "depths": [3, 3, 3, 3, 3, 3, 8],
}


@functools.cache
def published(kind: str) -> ModelSize:
    """The real shapes, as an outline without numbers; 1.5B has a head in its files, though it is tied."""
    return measure_size(make_outline(describe(kind), where=Path("config.json")), has_head=True)


def describe(kind: str) -> dict[str, object]:
    """The configuration that is published."""
    text: dict[str, object] = {"model_type": "qwen2", "rope_theta": 1e6, "num_hidden_layers": 28}
    if kind == "7B":
        text |= {"hidden_size": 3584, "intermediate_size": 18_944, "num_attention_heads": 28}
        text |= {"num_key_value_heads": 4, "vocab_size": 152_064}
    else:
        text |= {"hidden_size": 1536, "intermediate_size": 8960, "num_attention_heads": 12}
        text |= {"num_key_value_heads": 2, "vocab_size": 151_936}
    encoders = {
        "acoustic_tokenizer_encoder_config": ENCODER | {"hidden_size": 64},
        "semantic_tokenizer_encoder_config": ENCODER | {"hidden_size": 128},
    }
    return {"model_type": "vibevoice_asr", "text_config": text, **encoders}


@pytest.mark.parametrize(
    ("kind", "weights_gb", "step_gb", "kv_token", "kv_minute_mb"),
    [("7B", 16.66, 14.1, 57_344, 25.8), ("1.5B", 4.94, 3.1, 28_672, 12.9)],
)
def test_the_published_checkpoints_have_their_published_sizes(
    kind: str, weights_gb: float, step_gb: float, kv_token: int, kv_minute_mb: float
) -> None:
    size = published(kind)
    assert size.n_parameters * 2 / GB == pytest.approx(weights_gb, abs=0.005)
    assert size.n_step_parameters * 2 / GB == pytest.approx(step_gb, abs=0.05)
    assert size.kv_bytes(1, itemsize=2) == kv_token
    assert size.kv_bytes(450, itemsize=2) / 1e6 == pytest.approx(kv_minute_mb, abs=0.05)


def test_a_head_that_is_the_embeddings_takes_no_room() -> None:
    outline = make_outline(describe("1.5B"), where=Path("config.json"))
    both, one = (measure_size(outline, has_head=has_head) for has_head in (True, False))
    assert both.n_parameters - one.n_parameters == 151_936 * 1536
    assert both.n_step_parameters == one.n_step_parameters


def test_a_row_of_300_s_has_its_published_size() -> None:
    row = published("7B").kv_bytes(5040, itemsize=2)
    assert [round(n * row / GB, 1) for n in (1, 8, 32)] == [0.3, 2.3, 9.2]


def plan(free: Free, requested: int | None = None, *, kind: str = "7B", capacity: int = 5040) -> MemoryPlan:
    return plan_batch_size(
        published(kind), capacity=capacity, n_prompt=2311, itemsize=2, free=free, requested=requested
    )


def test_a_plan_is_the_sum_of_its_parts() -> None:
    found = plan(Free("cuda", 80 * GB), 8)
    assert found.weights == published("7B").n_parameters * 2
    assert found.kv == 8 * 5040 * 57_344
    assert found.reserve == 1_500_000_000
    # a layer of the prompt, and its keys and values; the encoders' first stage needs less, 10 s at 24 kHz: 32 channels,
    # four times widened, twice; and four times as they are
    assert found.work == 2311 * ((3 * 18_944 + 6 * 3584) * 2 + 57_344)
    assert published("7B").work_bytes(1, itemsize=2) == 10 * 24_000 * 32 * (4 + 4 + 4) * 2 < found.work
    assert found.total == found.weights + found.kv + found.work + found.reserve
    assert plan(Free("cpu", 80 * GB), 8).reserve == 0


def test_a_long_prompt_needs_more_than_the_encoders() -> None:
    n_prompt = 27_061  # an hour
    work = published("7B").work_bytes(n_prompt, itemsize=2)
    assert work == n_prompt * ((3 * 18_944 + 6 * 3584) * 2 + 57_344)
    assert work > published("7B").work_bytes(2311, itemsize=2)


@pytest.mark.parametrize(
    ("free", "rows"),
    [
        (Free("cuda", 141 * GB), 32),  # H200: more than 32 gain nothing
        (Free("cuda", 40 * GB), 32),
        (Free("cuda", 25 * GB), 13),
        (Free("cpu", 1000 * GB), 8),
        (Free("cpu", 64 * GB), 8),
        (Free("cpu", 21 * GB), 6),
    ],
)
def test_auto_fills_nine_tenths_of_the_memory(free: Free, rows: int) -> None:
    found = plan(free)
    assert found.batch_size == rows
    usable = free.n_bytes * 9 // 10
    row = 5040 * 57_344
    assert found.total <= usable
    assert found.is_limited == (found.total + row > usable)
    assert found.is_limited == (rows < {"cuda": 32, "cpu": 8}[free.kind])


def test_a_gpu_that_holds_just_32_rows_limits_nothing() -> None:
    needed = plan(Free("cuda", 141 * GB)).total
    just = Free("cuda", -(-needed * 10 // 9))
    assert (plan(just).batch_size, plan(just).is_limited) == (32, False)
    less = Free("cuda", just.n_bytes - 10)
    assert (plan(less).batch_size, plan(less).is_limited) == (31, True)


def test_rows_that_were_asked_for_are_kept_or_refused() -> None:
    assert plan(Free("cuda", 141 * GB), 100).batch_size == 100
    assert plan(Free("cuda", 25 * GB), 13).batch_size == 13
    with pytest.raises(DeviceError, match=r"22\.\d GB are needed .* 22\.5 GB can be used") as caught:
        plan(Free("cuda", 25 * GB), 14)
    assert caught.value.exit_code == 5
    assert caught.value.where == "--batch-size"
    assert "13" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("free", "capacity", "option"),
    [
        (Free("cuda", 16 * GB), 5040, "--model"),
        (Free("cpu", 12 * GB), 5040, "--model"),
        (Free("cuda", 24 * GB), 60_000, "--max-chunk-s"),
        (Free("cpu", 0), 5040, "--model"),
    ],
)
@pytest.mark.parametrize("requested", [None, 1, 4])
def test_where_not_even_one_row_fits_the_option_to_change_is_named(
    free: Free, capacity: int, option: str, requested: int | None
) -> None:
    with pytest.raises(DeviceError, match="GB are needed") as caught:
        plan(free, requested, capacity=capacity)
    assert caught.value.where == option
    assert ("cpu" in str(caught.value.hint)) == (free.kind == "cuda" and option == "--model")


def test_a_model_of_7b_is_too_slow_for_a_cpu_and_one_of_1_5b_is_not() -> None:
    for itemsize in (2, 4):
        refuse_slow(published("1.5B").n_step_parameters * itemsize, where="m")
        with pytest.raises(DeviceError, match=r"times as long .* GB are read") as caught:
            refuse_slow(published("7B").n_step_parameters * itemsize, where="m")
        assert caught.value.exit_code == 5
        assert "--force" in str(caught.value)


def test_free_memory_is_what_the_system_says(tmp_path: Path) -> None:
    (tmp_path / "meminfo").write_text("MemTotal:       16000000 kB\nMemFree:  1 kB\nMemAvailable:    8000000 kB\n")
    cpu = torch.device("cpu")
    assert measure_free(cpu, meminfo=tmp_path / "meminfo") == Free("cpu", 8_000_000 * 1024)
    everything = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert measure_free(cpu, meminfo=tmp_path / "none") == Free("cpu", everything)
    assert 0 < measure_free(cpu).n_bytes <= everything


def test_free_memory_of_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (7 * GB + device.index, 80 * GB))
    assert measure_free(torch.device("cuda", 1)) == Free("cuda", 7 * GB + 1)


# --- live, with a context

LONG, SHORT = Geometry(22, 4), Geometry(15, 4)


@pytest.mark.parametrize(
    ("minutes", "geometry", "n_chunks"),
    [(6, LONG, 122), (2, LONG, 40), (6, SHORT, 180), (1, LONG, 20), (60, LONG, 1227)],
)
def test_a_context_holds_whole_chunks(minutes: float, geometry: Geometry, n_chunks: int) -> None:
    assert count_chunks(minutes, geometry) == n_chunks
    assert n_chunks * geometry.chunk_samples <= minutes * 60 * 24_000 < (n_chunks + 1) * geometry.chunk_samples


def test_a_context_that_is_too_short_for_its_chunks() -> None:
    with pytest.raises(UsageError, match="--context-minutes") as caught:
        count_chunks(2.0, Geometry(75, 4))  # 10 s
    assert "2.7" in str(caught.value.hint)
    count_chunks(2.7, Geometry(75, 4))


def fit(free: Free, *, kind: str = "7B", minutes: float = 6.0) -> None:
    check_fit(published(kind), LONG, n_prompt=31, most=count_chunks(minutes, LONG), itemsize=2, free=free)


def test_what_fits_on_a_gpu_of_24_gb_and_what_does_not() -> None:
    fit(Free("cuda", 24 * GB))
    fit(Free("cuda", 24 * GB), minutes=10)
    fit(Free("cuda", 10 * GB), kind="1.5B")
    with pytest.raises(DeviceError, match=r"2\d\.\d GB are needed .* 21\.6 GB can be used") as caught:
        fit(Free("cuda", 24 * GB), minutes=60)
    assert (caught.value.exit_code, caught.value.where) == (5, "--context-minutes")


@pytest.mark.parametrize("free", [Free("cuda", 16 * GB), Free("cpu", 16 * GB)])
def test_a_model_that_fits_with_no_context_is_refused_for_itself(free: Free) -> None:
    with pytest.raises(DeviceError) as caught:
        fit(free)
    assert caught.value.where == "--model"
    assert ("--device cpu" in str(caught.value.hint)) == (free.kind == "cuda")


def test_a_context_is_as_large_as_what_can_be_said_in_it() -> None:
    """122 chunks of 26 frames, 3 marks and 12 tokens a second, and a quarter more; 32 of them are read at once."""
    n_chunk = 26 + 3 + 41
    context, work = (
        (31 + 122 * n_chunk) * 125 // 100 * 57_344,
        (31 + 32 * n_chunk) * ((3 * 18_944 + 6 * 3584) * 2 + 57_344),
    )
    needed = published("7B").n_parameters * 2 + context + work + 1_500_000_000
    fit(Free("cuda", -(-needed * 10 // 9)))
    with pytest.raises(DeviceError):
        fit(Free("cuda", -(-needed * 10 // 9) - 10))
