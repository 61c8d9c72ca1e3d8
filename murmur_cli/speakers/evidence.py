"""What tells who the local speakers of chunks are: how long they talk together with whom, and how they sound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from murmur_cli.speakers.timeline import Floats, Timeline, unite
from murmur_cli.speakers.voices import VoiceVector
from murmur_cli.types import ChunkPart, LocalSpeaker, Speaker, Stretch

__all__ = ["Evidence", "LocalTalk", "to_unit", "weigh"]

# Murmur's study of diarization (held-out sessions in 60-s chunks, AMI meetings in 15-s chunks): weights of 1 to 16
# differ by nothing that matters.
_VOICE_WEIGHT = 4.0  # seconds of common talk that a cosine of 1 is worth ...
_FULL_WEIGHT_S = 10.0  # ... for who talks at least this long in the chunk, and less in proportion below
_TRUSTED_S = 2.0  # shorter voices vote in nothing, and who talks less is mapped last
_SAFE_SHARE = 0.7  # of a local speaker's talk inside the turns of one speaker: surely the same voice
_MOST_TELLING_S = 20.0  # no voice weighs more than this in a mean


@dataclass(frozen=True, slots=True, eq=False)
class LocalTalk:
    """Where in the recording one local speaker of a chunk, or of a part of it, talks, and how that sounds.

    ``vector`` is the mean voice over ``speech_s`` seconds of clean speech; None: it is not known.
    """

    place: ChunkPart
    speaker: LocalSpeaker
    stretches: tuple[Stretch, ...]
    vector: VoiceVector | None = None
    speech_s: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What is known of the local speakers (rows) and of the speakers that the diarization found (columns)."""

    chunks: tuple[tuple[int, ...], ...]  # the rows of each chunk; a part decoded apart is one, too
    seconds: Floats  # [n_rows] of talk
    shared: Floats  # [n_rows, n_known] seconds of common talk
    distances: Floats  # [n_rows, n_known] seconds from the talk to the nearest turn
    vectors: Floats  # [n_rows, n_dimensions], zeros where the voice is not known
    speech_s: Floats  # [n_rows] of clean speech behind the vectors
    centres: Floats  # [n_known, n_dimensions], zeros where the voice is not known

    @property
    def is_brief(self) -> npt.NDArray[np.bool_]:
        """[n_rows]: hardly talks."""
        return self.seconds < _TRUSTED_S

    @property
    def has_vote(self) -> npt.NDArray[np.bool_]:
        """[n_rows]: the voice can be trusted."""
        return self.speech_s >= _TRUSTED_S

    @property
    def worth(self) -> Floats:
        """[n_rows]: the seconds of common talk that a cosine of 1 is worth."""
        return _VOICE_WEIGHT * np.minimum(self.seconds, _FULL_WEIGHT_S) / _FULL_WEIGHT_S

    @property
    def weights(self) -> Floats:
        """[n_rows]: what the voices weigh in an average."""
        return np.minimum(self.speech_s, _MOST_TELLING_S)


def weigh(
    talks: Sequence[LocalTalk], timelines: Mapping[Speaker, Timeline], voices: Mapping[Speaker, VoiceVector]
) -> Evidence:
    """Gather what is known of local speakers.

    Args:
        talks: The rows, those of a chunk together.
        timelines: When the speakers of the recording talk: the columns.
        voices: Voices of these speakers. Who is missing gets the mean voice of the rows that lie safely in
            the speaker's turns.
    """
    rows: dict[ChunkPart, list[int]] = {}
    for i, talk in enumerate(talks):
        rows.setdefault(talk.place, []).append(i)
    stretches = [(i, each) for i, talk in enumerate(talks) for each in unite(talk.stretches)]
    owners = np.array([i for i, _ in stretches], dtype=np.intp)
    starts, ends = np.array([each.start for _, each in stretches]), np.array([each.end for _, each in stretches])

    def add_up(values: Floats) -> Floats:
        total = np.zeros(len(talks))
        np.add.at(total, owners, values)
        return total

    def find_least(values: Floats) -> Floats:
        least = np.full(len(talks), np.inf)
        np.minimum.at(least, owners, values)
        return least

    shared = [add_up(timeline.measure_overlaps(starts, ends)) for timeline in timelines.values()]
    distances = [find_least(timeline.measure_distances(starts, ends)) for timeline in timelines.values()]
    vectors = _stack([talk.vector for talk in talks] + [voices.get(speaker) for speaker in timelines])
    evidence = Evidence(
        chunks=tuple(tuple(each) for each in rows.values()),
        seconds=add_up(ends - starts),
        shared=_to_columns(shared, len(talks)),
        distances=_to_columns(distances, len(talks)),
        vectors=vectors[: len(talks)],
        speech_s=np.array([0.0 if talk.vector is None else talk.speech_s for talk in talks]),
        centres=vectors[len(talks) :],
    )
    is_given = np.array([speaker in voices for speaker in timelines], dtype=bool)
    return replace(evidence, centres=np.where(is_given[:, None], evidence.centres, _average_safe_voices(evidence)))


def _to_columns(columns: Sequence[Floats], n_rows: int) -> Floats:
    """Return [n_rows, n_columns], perhaps without a row or a column."""
    return np.array(columns).reshape(len(columns), n_rows).T


def _stack(vectors: Sequence[VoiceVector | None]) -> Floats:
    """Return [n_voices, n_dimensions], zeros for a voice that is not known."""
    silence = np.zeros_like(next((vector for vector in vectors if vector is not None), np.zeros(1, np.float32)))
    rows = [silence if vector is None else vector for vector in vectors]
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(silence))


def _average_safe_voices(evidence: Evidence) -> Floats:
    """Return [n_known, n_dimensions]: the mean of the voices that lie safely in one speaker's turns."""
    is_safe = (evidence.shared > 0.0) & (evidence.shared >= _SAFE_SHARE * evidence.seconds[:, None])
    weights = np.where(is_safe & evidence.has_vote[:, None], evidence.weights[:, None], 0.0)
    return to_unit(weights.T @ evidence.vectors)


def to_unit(vectors: Floats) -> Floats:
    """Scale the vectors along the last axis to length 1; zeros stay zeros."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    units: Floats = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0.0)
    return units
