"""From slots to people: which slots are of one voice, and how many voices there are.

Slots with enough speech are agglomerated; where the tree of merges is cut, there the people are. The
rest goes to the nearest of them. Long recordings are agglomerated in blocks first, so that time is
linear in the length and memory bounded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from murmur_cli.speakers.agglomerate import Merge, agglomerate, label_groups
from murmur_cli.speakers.limits import SpeakerLimits
from murmur_cli.speakers.slots import SLOT_S, TRUSTED_S, Slot
from murmur_cli.speakers.voices import VoiceVectors, average_voice
from murmur_cli.speakers.windows import HOP_SAMPLES, WINDOW_SAMPLES

__all__ = ["Cut", "Grouping", "choose_cut", "group_slots"]

# Measured on half of the recordings of a study (meetings, calls, simulated conversations of 1 to 12 people), the other
# half kept aside. There is no rule that two local speakers of a window are two people: segmentation splits one person,
# and joins two, too often.
_SIMILARITY = 0.30  # mean cosine at which merging stops, where there is much talk: from
_MUCH_TALK_S = 240.0  # on; one person varies less in a minute than in an hour, so with little,
_LITTLE_TALK_S = 60.0  # it stops at
_BRIEF_SIMILARITY = 0.38  # and with talk in between, at a cosine in between.
_BLOCK = 1500  # slots that are agglomerated at once, about 25 minutes of talk. Inside a block, merging stops at
_BLOCK_SIMILARITY = 0.45
_MOST_GROUPS = 4000  # that the tree is made of: 128 MB of products
_LEAST_S = 1.0  # of speech without which a group is no person, or a share of what there is:
_LEAST_SHARE = 0.1
_SHARE = HOP_SAMPLES / WINDOW_SAMPLES  # every moment is in two windows


@dataclass(frozen=True, slots=True, eq=False)
class Grouping:
    """The group of every slot, shape (n,), and whether more were asked for than the voices tell apart."""

    labels: npt.NDArray[np.intp]
    forced: bool


@dataclass(frozen=True, slots=True)
class Cut:
    """Where the tree is cut: after ``n_merges``. Groups with ``least_s`` of talk are people.

    ``forced`` says that groups stay apart that sound alike.
    """

    n_merges: int
    least_s: float
    forced: bool


@dataclass(frozen=True, slots=True, eq=False)
class _Members:
    """What is agglomerated: sums (n, D), weights (n,), and seconds of talk (n,)."""

    sums: npt.NDArray[np.float64]
    weights: npt.NDArray[np.float64]
    talk_s: npt.NDArray[np.float64]


def group_slots(slots: Sequence[Slot], vectors: VoiceVectors, limits: SpeakerLimits) -> Grouping:
    """Find out which slots are of one person.

    Args:
        slots: Of all windows.
        vectors: Their voices, shape (n, 192).
        limits: How many people there may be.
    """
    if len(slots) < 2 or limits.most == 1:
        return Grouping(np.zeros(len(slots), np.intp), forced=False)
    members = _pool_blocks(_gather(slots, vectors))
    merges = agglomerate(members.sums, members.weights)
    cut = choose_cut(merges, members.talk_s, limits)
    groups = label_groups(len(members.sums), merges[: cut.n_merges])
    centres = _find_centres(members, groups, cut.least_s)
    return Grouping((vectors @ centres.T).argmax(1), forced=cut.forced)


def choose_cut(merges: Sequence[Merge], talk_s: npt.NDArray[np.float64], limits: SpeakerLimits) -> Cut:
    """Choose where to cut the tree.

    Without limits that is where groups stop sounding alike. Else it is the cut nearest to that, in
    similarity, which leaves a number of people within the limits. Where no cut has as many, groups
    with any talk count as people.

    Args:
        merges: The whole tree.
        talk_s: Seconds of talk of each member, shape (n,).
        limits: How many people there may be.
    """
    total_s = float(talk_s.sum())
    least_s = _LEAST_S if total_s > 3 * _LEAST_S else _LEAST_SHARE * total_s
    similarity = float(np.interp(total_s, [_LITTLE_TALK_S, _MUCH_TALK_S], [_BRIEF_SIMILARITY, _SIMILARITY]))
    n_natural = next((i for i, merge in enumerate(merges) if merge.similarity < similarity), len(merges))
    allowed = [
        n_merges
        for n_merges, n_people in enumerate(_count_people(merges, talk_s, least_s))
        if limits.least <= n_people <= (limits.most or n_people)
    ]
    if not allowed:
        n_merges = max(0, len(talk_s) - limits.least)
        return Cut(n_merges, 0.0, n_merges < n_natural)

    def distance(n_merges: int) -> float:
        if n_merges == n_natural:
            return 0.0
        crossed = n_merges if n_merges < n_natural else n_merges - 1  # the merge furthest on the wrong side
        return abs(merges[crossed].similarity - similarity)

    n_merges = min(allowed, key=distance)
    return Cut(n_merges, least_s, n_merges < n_natural)


def _count_people(merges: Sequence[Merge], talk_s: npt.NDArray[np.float64], least_s: float) -> list[int]:
    """Count the groups with enough talk after 0, 1, 2 … merges."""
    talk_s = talk_s.copy()
    counts = [int((talk_s >= least_s).sum())]
    for merge in merges:
        before = int((talk_s[[merge.kept, merge.absorbed]] >= least_s).sum())
        talk_s[merge.kept] += talk_s[merge.absorbed]
        counts.append(counts[-1] + int(talk_s[merge.kept] >= least_s) - before)
    return counts


def _gather(slots: Sequence[Slot], vectors: VoiceVectors) -> _Members:
    """Take the slots whose vectors are to be trusted; all of them where there are hardly any."""
    own_s = np.array([slot.own_s for slot in slots])
    chosen = np.flatnonzero(own_s >= TRUSTED_S)
    if len(chosen) < 2:
        chosen = np.arange(len(slots))
    weights = own_s[chosen].clip(0.3, SLOT_S)
    talk_s = np.maximum(own_s[chosen], 0.1) * _SHARE
    return _Members(vectors[chosen] * weights[:, np.newaxis], weights, talk_s)


def _pool_blocks(members: _Members) -> _Members:
    """Merge within blocks until the groups are few enough for one tree; at the worst, leave out the least."""
    n_most = _BLOCK
    while len(members.sums) > n_most:
        n_before = len(members.sums)
        members = _merge_within(members)
        n_most = _MOST_GROUPS
        if len(members.sums) > 0.9 * n_before:
            break
    kept = np.sort(np.argsort(-members.talk_s, kind="stable")[:_MOST_GROUPS])
    return _Members(members.sums[kept], members.weights[kept], members.talk_s[kept])


def _merge_within(members: _Members) -> _Members:
    n = len(members.sums)
    labels = np.zeros(n, np.intp)
    n_groups = 0
    for rows in np.array_split(np.arange(n), math.ceil(n / _BLOCK)):
        merges = agglomerate(members.sums[rows], members.weights[rows], least_similarity=_BLOCK_SIMILARITY)
        labels[rows] = label_groups(len(rows), merges) + n_groups
        n_groups = int(labels[rows].max()) + 1
    sums = np.zeros((n_groups, members.sums.shape[1]))
    np.add.at(sums, labels, members.sums)
    weights, talk_s = (np.bincount(labels, values).astype(np.float64) for values in (members.weights, members.talk_s))
    return _Members(sums, weights, talk_s)


def _find_centres(members: _Members, groups: npt.NDArray[np.intp], least_s: float) -> VoiceVectors:
    """Give the voice of every group that is a person, shape (people, 192)."""
    people = np.flatnonzero(np.bincount(groups, members.talk_s) >= least_s)
    weights = [(groups == person).astype(np.float64) for person in people]
    return np.stack([average_voice(members.sums, weight) for weight in weights])
