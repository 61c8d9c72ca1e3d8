"""One set of speakers for a recording whose chunks were named apart: "speaker 1" of each chunk is anybody.

A model's local speakers are the truth inside what it decoded as one, a chunk or a part of it: two of these are never
the same person. The numbers that the model gave them decide nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from murmur_cli.speakers.agglomerate import agglomerate, label_groups
from murmur_cli.speakers.diarize import Voice
from murmur_cli.speakers.evidence import Evidence, LocalTalk, to_unit, weigh
from murmur_cli.speakers.naming import iter_free_names
from murmur_cli.speakers.timeline import Floats, lay_out_turns, unite
from murmur_cli.types import ChunkPart, LocalSpeaker, Speaker, Stretch, Turn

__all__ = ["reconcile"]

# Murmur's study of diarization: join levels of 0.3 to 0.5 differ by nothing that matters, nor do 5 to 20 s for a new
# speaker.
_JOIN = 0.40  # cosine from which two strangers are one person
_NEW_SPEAKER_S = 10.0  # of talk in all that strangers of one voice need to be preferred to somebody who is known

_NOBODY = -1
_NOTHING = 1e-9  # a score that is only rounding
_NEXT_TO_S = 1.0  # from the turns of a speaker to a word too short to have a voice


def reconcile(
    talks: Sequence[LocalTalk], turns: Sequence[Turn] | None, *, voices: Sequence[Voice] = ()
) -> dict[tuple[ChunkPart, LocalSpeaker], Speaker]:
    """Find out who the local speakers of all chunks are.

    In each chunk local speakers are assigned one to one to speakers of the recording, so that common talk
    plus likeness of voice is largest in all. Whoever fits nobody better than a stranger would is one:
    strangers are grouped by voice, and a group with 10 s of talk is a new speaker. The rest, and those who
    talk under 2 s, come last and take the best of whom their chunk has left, if anything speaks for it;
    else they are new speakers, too. A part of a chunk that was decoded apart is like a chunk of its own.

    Args:
        talks: Every local speaker of every chunk and part, once, in any order.
        turns: The diarization of the whole recording, in any order. None: there is none, and no name
            holds beyond its chunk. Empty: nobody was found, so all are strangers.
        voices: Voices of the speakers of ``turns``. Who is missing here gets the mean voice of the local
            speakers that lie safely in the turns.

    Returns:
        Who each local speaker is, by place and number, under the name in ``turns``; new ones take the next
        free S1, S2, … by first appearance. Empty without diarization.

    Raises:
        ValueError: A local speaker stands there twice.

    Source:
        Murmur's study of diarization ("combined"); H. W. Kuhn, The Hungarian method, 1955.
    """
    if turns is None:
        return {}
    ordered = sorted(talks, key=_to_sort_key)
    if len({(talk.place, talk.speaker) for talk in ordered}) < len(ordered):
        raise ValueError("a local speaker stands there twice")
    timelines = lay_out_turns(turns)
    evidence = weigh(ordered, timelines, {voice.speaker: voice.vector for voice in voices})
    cast = _place_rest(evidence, _place_strangers(evidence, _place_known(evidence)))
    names = _name_people(ordered, cast.people, known=list(timelines))
    return {(talk.place, talk.speaker): names[person] for talk, person in zip(ordered, cast.people, strict=True)}


@dataclass(frozen=True, slots=True, eq=False)
class _Cast:
    """Who is who: the person of each row, and the voice of each person; strangers follow the known."""

    people: tuple[int, ...]  # or _NOBODY so far
    centres: Floats  # [n_people, n_dimensions], zeros where the voice is not known
    small_groups: tuple[tuple[int, ...], ...] = ()  # rows that are one stranger with little talk, if they are strangers


def _to_sort_key(talk: LocalTalk) -> tuple[ChunkPart, list[Stretch], list[float], int]:
    """Sort by what is heard; the model's number only orders those who cannot be told apart at all."""
    sound = [] if talk.vector is None else [talk.speech_s, *map(float, talk.vector)]
    return talk.place, unite(talk.stretches), sound, talk.speaker


def _place_known(evidence: Evidence) -> _Cast:
    """Give those who talk enough to the speakers of the diarization, chunk by chunk."""
    votes = np.where(evidence.has_vote[:, None], evidence.vectors, 0.0)
    scores = evidence.shared + evidence.worth[:, None] * (votes @ evidence.centres.T)
    people = [_NOBODY] * len(scores)
    for rows in evidence.chunks:
        chosen = [i for i in rows if not evidence.is_brief[i]]
        for i, person in zip(chosen, _assign(scores[chosen], _JOIN * evidence.worth[chosen]), strict=True):
            people[i] = person
    return _Cast(tuple(people), evidence.centres)


def _place_strangers(evidence: Evidence, cast: _Cast) -> _Cast:
    """Make new people of those who are left and talk enough: one of each group of voices with enough talk."""
    people, centres, small = list(cast.people), list(cast.centres), []
    for rows in _group_strangers(evidence, cast):
        if evidence.seconds[rows].sum() < _NEW_SPEAKER_S:
            small.append(tuple(rows))
            continue
        for i in rows:
            people[i] = len(centres)
        weights = np.where(evidence.has_vote[rows], evidence.weights[rows], 0.0)
        centres.append(to_unit(weights @ evidence.vectors[rows]))
    return _Cast(tuple(people), np.array(centres).reshape(len(centres), evidence.vectors.shape[1]), tuple(small))


def _group_strangers(evidence: Evidence, cast: _Cast) -> list[list[int]]:
    """Group the rows that are nobody so far and not brief; who has no vote is alone."""
    left = [i for i, person in enumerate(cast.people) if person == _NOBODY and not evidence.is_brief[i]]
    chunk_of = {i: number for number, rows in enumerate(evidence.chunks) for i in rows}
    chunks = np.array([chunk_of[i] for i in left])
    is_mute = ~evidence.has_vote[left]
    weights = np.where(is_mute, 1.0, evidence.weights[left])
    apart = (chunks[:, None] == chunks) | is_mute[:, None] | is_mute
    merges = agglomerate(evidence.vectors[left] * weights[:, None], weights, least_similarity=_JOIN, apart=apart)
    groups: dict[int, list[int]] = {}
    for i, group in zip(left, label_groups(len(left), merges), strict=True):
        groups.setdefault(int(group), []).append(i)
    return list(groups.values())


def _place_rest(evidence: Evidence, cast: _Cast) -> _Cast:
    """Give those who are left to whom their chunk has left; whom nothing speaks for is one more person."""
    people, centres = list(cast.people), cast.centres
    group_of = {i: group for group in cast.small_groups for i in group}
    stranger_of: dict[tuple[int, ...], int] = {}
    for rows in evidence.chunks:
        left = [i for i in rows if people[i] == _NOBODY]
        free = sorted(set(range(len(centres))) - {people[i] for i in rows})
        scores = _score_last(evidence, left, centres)[:, free]
        for i, column in zip(left, _assign(scores, np.full(len(left), _NOTHING)), strict=True):
            group = group_of.get(i, (i,))
            if column != _NOBODY:
                people[i] = free[column]
            elif group in stranger_of:
                people[i] = stranger_of[group]
            else:
                people[i] = stranger_of[group] = len(centres)
                # Others may join who is brief, as that is better than one more; a group has been joined by voice.
                voice = evidence.vectors[[i]] if i not in group_of else np.zeros_like(evidence.vectors[[i]])
                centres = np.concatenate([centres, voice])
    return _Cast(tuple(people), centres)


def _score_last(evidence: Evidence, rows: Sequence[int], centres: Floats) -> Floats:
    """Score [n_rows, n_people] by all there is: voices that have no vote, and turns that are near."""
    n_known = evidence.shared.shape[1]
    vectors = evidence.vectors[rows]
    scores = evidence.worth[rows, None] * (vectors @ centres.T)
    scores[:, :n_known] += evidence.shared[rows]
    has_nothing = evidence.is_brief[rows] & ~vectors.any(axis=1) & ~evidence.shared[rows].any(axis=1)
    nearness = np.maximum(0.0, _NEXT_TO_S - evidence.distances[rows])
    scores[:, :n_known] += np.where(has_nothing[:, None], 1e-3 * nearness, 0.0)  # counts where nothing else does
    return scores


def _assign(scores: Floats, stranger_scores: Floats) -> list[int]:
    """Assign rows to columns one to one, largest total first; a row may stay alone for its stranger's score.

    Args:
        scores: Shape (n_rows, n_columns).
        stranger_scores: Shape (n_rows,).

    Returns:
        The column of each row, or -1.
    """
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415 - takes 0.3 s, and one chunk needs it not

    n_rows, n_columns = scores.shape
    alone = np.broadcast_to(stranger_scores[:, None], (n_rows, n_rows))
    _, chosen = linear_sum_assignment(np.concatenate([scores, alone], axis=1), maximize=True)
    return [int(column) if column < n_columns else _NOBODY for column in chosen]


def _name_people(talks: Sequence[LocalTalk], people: Sequence[int], *, known: Sequence[Speaker]) -> dict[int, Speaker]:
    """Return the name of each person; strangers are named by first appearance."""
    first_heard: dict[int, float] = {}
    for talk, person in zip(talks, people, strict=True):
        start = min((each.start for each in talk.stretches), default=math.inf)
        first_heard[person] = min(start, first_heard.get(person, math.inf))
    strangers = sorted(
        (person for person in first_heard if person >= len(known)), key=lambda each: (first_heard[each], each)
    )
    return dict(enumerate(known)) | dict(zip(strangers, iter_free_names(known), strict=False))
