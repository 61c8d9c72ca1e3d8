"""What is forgotten, and how many chunks go side by side: on a GPU of a given size, with the published 7B."""

from __future__ import annotations

import pytest

from murmur_cli.decode.eviction import RowLayout
from murmur_cli.errors import DeviceError
from murmur_cli.models.vibevoice.memory import Free, ModelSize
from murmur_cli.models.vibevoice.plan import plan_rows
from murmur_cli.options import ModelOptions

SIZE = ModelSize(
    n_parameters=8_330_000_000,
    n_step_parameters=7_070_000_000,
    n_layers=28,
    n_key=512,
    n_hidden=3584,
    n_intermediate=18_944,
    n_sound_channels=12 * 32,
)
LONGEST = RowLayout(n_prompt=2311, audio_start=33, n_frames=2250, frames_per_s=7.5, max_tokens=3856)  # 300 s


SHORT = RowLayout(n_prompt=136, audio_start=33, n_frames=75, frames_per_s=7.5, max_tokens=376)  # 10 s


def plan(gigabytes: int, longest: RowLayout = LONGEST, **asked: str) -> tuple[str, int]:
    free = Free("cuda", gigabytes * 1_000_000_000)
    eviction, batch_size = plan_rows(SIZE, longest, ModelOptions(**asked), itemsize=2, free=free)  # type: ignore[arg-type]
    return eviction.policy, batch_size


def test_nothing_is_forgotten_where_there_is_room() -> None:
    assert plan(80) == ("none", 32)


def test_audio_is_forgotten_where_that_lets_more_chunks_in() -> None:
    policy, batch_size = plan(24)
    assert policy == "speech"
    assert batch_size > plan(24, evict="none")[1]


def test_of_short_chunks_nothing_is_forgotten_for_nothing() -> None:
    policy, batch_size = plan(21, SHORT)
    assert policy == "none"
    assert batch_size == plan(21, SHORT, evict="speech")[1] < 32


@pytest.mark.parametrize("policy", ["none", "output", "speech", "both"])
def test_what_is_asked_for_is_done(policy: str) -> None:
    assert plan(24, evict=policy)[0] == plan(80, evict=policy)[0] == policy


def test_the_less_is_kept_the_more_goes_side_by_side() -> None:
    sizes = [plan(24, evict=policy)[1] for policy in ("none", "speech", "both")]
    assert sizes == sorted(set(sizes))


def test_a_number_that_fits_only_when_audio_is_forgotten_is_granted() -> None:
    most = plan(24, evict="none")[1]
    assert plan(24, batch_size=str(most)) == ("none", most)
    assert plan(24, batch_size=str(most + 1)) == ("speech", most + 1)
    with pytest.raises(DeviceError, match="--batch-size"):
        plan(24, batch_size="32")


def test_what_does_not_fit_at_all_is_refused() -> None:
    with pytest.raises(DeviceError):
        plan(16)
