"""Diarization's arithmetic against an oracle that goes pair by pair and frame by frame."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.diarize import agglomerate_plainly, count_people_plainly, vote_plainly
from scipy.cluster.hierarchy import linkage

from murmur_cli.speakers.agglomerate import Merge, agglomerate, label_groups
from murmur_cli.speakers.groups import Cut, choose_cut
from murmur_cli.speakers.limits import SpeakerLimits
from murmur_cli.speakers.slots import iter_slots
from murmur_cli.speakers.votes import find_runs
from murmur_cli.speakers.windows import FRAME_S, FRAMES_PER_WINDOW, HOP_SAMPLES, WINDOW_SAMPLES, iter_windows

Floats = npt.NDArray[np.float64]
seeds = st.integers(0, 2**32 - 1)


def make_voices(seed: int, n: int, size: int = 6) -> tuple[Floats, Floats]:
    """Unit vectors around a few centres, and weights; no two pairs are equally alike."""
    generator = np.random.default_rng(seed)
    centres = generator.standard_normal((3, size))
    vectors = centres[generator.integers(0, 3, n)] + generator.uniform(0.1, 2) * generator.standard_normal((n, size))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True), generator.uniform(0.3, 2, n)


@given(seeds, st.integers(0, 14), st.floats(-1, 1), st.floats(0, 0.6))
def test_merges_are_those_computed_pair_by_pair(seed: int, n: int, least: float, share_apart: float) -> None:
    vectors, weights = make_voices(seed, n)
    generator = np.random.default_rng(seed + 1)
    apart = np.triu(generator.random((n, n)) < share_apart, 1)
    apart |= apart.T
    forbidden = frozenset(frozenset(map(int, pair)) for pair in np.argwhere(apart))

    merges = agglomerate(vectors * weights[:, np.newaxis], weights, least_similarity=least, apart=apart)

    expected = agglomerate_plainly(vectors, weights, least=least, apart=forbidden)
    members = {i: frozenset([i]) for i in range(n)}
    for merge, plain in zip(merges, expected, strict=True):
        assert {members[merge.kept], members[merge.absorbed]} == {plain.left, plain.right}
        assert merge.similarity == pytest.approx(plain.similarity, abs=1e-9)
        members[merge.kept] |= members.pop(merge.absorbed)
    labels = label_groups(n, merges)
    by_first = sorted(members.values(), key=min)
    assert [set(np.flatnonzero(labels == k)) for k in range(len(by_first))] == [set(group) for group in by_first]


@given(seeds, st.integers(2, 40))
def test_of_equal_weights_it_is_average_linkage(seed: int, n: int) -> None:
    vectors, _ = make_voices(seed, n)
    similarities = [merge.similarity for merge in agglomerate(vectors, np.ones(n))]
    expected = linkage(vectors, method="average", metric=lambda a, b: 1 - float(a @ b))[:, 2]
    np.testing.assert_allclose(1 - np.array(similarities), expected, atol=1e-9)


@given(seeds, st.integers(2, 14), st.integers(2, 5))
def test_groups_given_by_their_sums_merge_as_their_members_do(seed: int, n: int, n_first: int) -> None:
    vectors, weights = make_voices(seed, n)
    sums = vectors * weights[:, np.newaxis]
    merges = agglomerate(sums, weights)
    n_first = min(n_first, n - 1)
    labels = label_groups(n, merges[:n_first])
    pooled = np.stack([sums[labels == k].sum(0) for k in range(n - n_first)])
    rest = agglomerate(pooled, np.bincount(labels, weights))
    np.testing.assert_allclose(
        [merge.similarity for merge in rest], [merge.similarity for merge in merges[n_first:]], atol=1e-9
    )


@given(seeds, st.integers(2, 10), st.integers(1, 12), st.none() | st.integers(0, 4), st.sampled_from([1, 6, 60]))
def test_the_cut_is_the_nearest_with_an_allowed_number_of_people(
    seed: int, n: int, least: int, room: int | None, scale: float
) -> None:
    vectors, weights = make_voices(seed, n)
    talk_s = np.random.default_rng(seed).choice([0.11, 0.43, 0.97, 1.03, 3.1], n) * scale
    limits = SpeakerLimits(least, None if room is None else least + room)
    merges = agglomerate(vectors * weights[:, np.newaxis], weights)
    total = sum(talk_s)
    least_s = 1.0 if total > 3 else 0.1 * total
    threshold = 0.38 if total <= 60 else 0.30 if total >= 240 else 0.38 - 0.08 * (total - 60) / 180
    n_natural = sum(merge.similarity >= threshold for merge in merges)

    cut = choose_cut(merges, talk_s, limits)

    def count(n_merges: int) -> int:
        return count_people_plainly([(m.kept, m.absorbed) for m in merges[:n_merges]], talk_s.tolist(), least_s)

    def offence(n_merges: int) -> float:
        """How far the merges that are undone, or made though they should not be, are from the threshold."""
        between = merges[min(n_merges, n_natural) : max(n_merges, n_natural)]
        return max((abs(merge.similarity - threshold) for merge in between), default=0.0)

    allowed = [k for k in range(n) if least <= count(k) <= (limits.most or n)]
    assert cut.forced == (cut.n_merges < n_natural)
    if allowed:
        assert cut.n_merges in allowed
        assert cut.least_s == pytest.approx(least_s)
        assert offence(cut.n_merges) == pytest.approx(min(offence(k) for k in allowed))
    else:
        assert (n - cut.n_merges, cut.least_s) == (min(n, least), 0.0)


@st.composite
def activities(draw: st.DrawFn) -> list[npt.NDArray[np.bool_]]:
    """Windows in which up to three local speakers come and go; some have nobody."""
    generator = np.random.default_rng(draw(seeds))
    windows = []
    for _ in range(draw(st.integers(0, 4))):
        active = np.zeros((FRAMES_PER_WINDOW, 3), np.bool_)
        for local in range(draw(st.integers(0, 3))):
            for _ in range(draw(st.integers(1, 4))):
                start = generator.integers(0, FRAMES_PER_WINDOW)
                active[start : start + generator.integers(1, 250), local] = True
        windows.append(active)
    return windows


@given(activities(), seeds, st.integers(1, 4), st.integers(-300, 20))
def test_frames_go_to_those_with_the_most_votes(
    activity: list[npt.NDArray[np.bool_]], seed: int, n_people: int, beyond: int
) -> None:
    slots = [cut.slot for window, active in enumerate(activity) for cut in iter_slots(active, window)]
    labels = np.random.default_rng(seed).integers(0, n_people, len(slots))
    n_frames = max(0, round((len(activity) - 1) * HOP_SAMPLES / 270) + FRAMES_PER_WINDOW + beyond)

    runs = find_runs(activity, slots, labels, n_frames=n_frames)

    speaking: list[set[int]] = [set() for _ in range(n_frames)]
    for run in runs:
        assert 0 <= run.start < run.end <= n_frames
        for frame in range(run.start, run.end):
            assert run.person not in speaking[frame]
            speaking[frame].add(run.person)
    plain = [(slot.window, slot.local, slot.first, slot.end) for slot in slots]
    assert speaking == vote_plainly(activity, plain, labels.tolist(), n_frames=n_frames)
    assert runs == sorted(runs)
    for person in range(n_people):
        own = [run for run in runs if run.person == person]
        assert all(left.end < right.start for left, right in pairwise(own))


@given(activities())
def test_every_active_frame_is_in_one_slot_of_about_2_s(activity: list[npt.NDArray[np.bool_]]) -> None:
    for number, active in enumerate(activity):
        covered = np.zeros(active.shape, np.int32)
        alone = active.sum(1) == 1
        for cut in iter_slots(active, number):
            slot = cut.slot
            spoken = active[slot.first : slot.end, slot.local]
            covered[slot.first : slot.end, slot.local] += spoken
            assert slot.window == number
            assert 1 <= spoken.sum() <= 3.0 / FRAME_S
            clean = active[:, slot.local] & alone
            pool = clean if clean.sum() * FRAME_S >= 0.4 else active[:, slot.local]
            own = pool[slot.first : slot.end].sum()
            assert slot.own_s == pytest.approx(own * FRAME_S)
            assert not (cut.heard & ~pool).any()
            assert cut.heard.sum() == max(own, min(pool.sum(), 88))  # 88 frames are 1.5 s
            assert (cut.heard[slot.first : slot.end] == pool[slot.first : slot.end]).all()
            if cut.heard.sum() > own:  # borrowed: nothing nearer was passed over
                at = np.arange(FRAMES_PER_WINDOW)
                distance = np.maximum(slot.first - at, at - slot.end + 1).clip(0)
                left = pool & ~cut.heard
                assert not left.any() or distance[cut.heard].max() <= distance[left].min()
        heard_of = active.sum(0) * FRAME_S >= 0.1
        assert (covered == (active & heard_of)).all()


lengths = st.sampled_from([0, 1, HOP_SAMPLES, WINDOW_SAMPLES - 1, WINDOW_SAMPLES, WINDOW_SAMPLES + 1]) | st.integers(
    0, 4 * WINDOW_SAMPLES
)


@given(lengths, st.lists(st.integers(0, 2 * WINDOW_SAMPLES), max_size=12))
def test_windows_do_not_depend_on_blocks_and_cover_the_signal(n_samples: int, cuts: list[int]) -> None:
    signal = np.arange(1, n_samples + 1, dtype=np.float32)
    bounds = [0, *sorted(min(cut, n_samples) for cut in cuts), n_samples]
    blocks = [signal[start:end] for start, end in pairwise(bounds)]

    windows = list(iter_windows(blocks))

    starts = [0]
    while starts[-1] + WINDOW_SAMPLES < n_samples:
        starts.append(starts[-1] + HOP_SAMPLES)
    padded = np.concatenate([signal, np.zeros(WINDOW_SAMPLES, np.float32)])
    assert len(windows) == (len(starts) if n_samples else 0)
    for start, window in zip(starts, windows, strict=False):
        np.testing.assert_array_equal(window.samples, padded[start : start + WINDOW_SAMPLES])
        assert window.n_samples == min(WINDOW_SAMPLES, n_samples - start)
        centres = start + np.arange(FRAMES_PER_WINDOW) * 270 + 495
        np.testing.assert_array_equal(window.inside, centres < n_samples)


def test_the_cut_may_be_on_either_side() -> None:
    """Two are wanted, where there are three at the threshold of 0.38: two make one, or one is not made of two."""
    talk_s = np.array([3.0, 0.6, 0.6, 3.0])
    for made, unmade, expected in ((0.8, 0.35, Cut(2, 1.0, forced=False)), (0.4, 0.1, Cut(0, 1.0, forced=True))):
        merges = [Merge(1, 2, made), Merge(0, 3, unmade), Merge(0, 1, 0.05)]
        assert choose_cut(merges, talk_s, SpeakerLimits(2, 2)) == expected
        assert choose_cut(merges, talk_s, SpeakerLimits()) == Cut(1, 1.0, forced=False)


def test_merges_without_members() -> None:
    assert agglomerate(np.zeros((0, 3)), np.zeros(0)) == []
    assert agglomerate(np.ones((1, 3)), np.ones(1)) == []
    assert agglomerate(np.ones((2, 1)), np.ones(2)) == [Merge(0, 1, 1.0)]
