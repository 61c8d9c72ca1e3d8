"""Speakers of a live session from everything that was said before, kept whole and compared piece by piece."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from murmur_cli.speakers.voices import VoiceVector


@dataclass(frozen=True)
class Said:
    vector: VoiceVector | None
    speech_s: float


def assign_plainly(utterances: Sequence[Said], *, most: int) -> list[str]:
    """Say who speaks in each utterance; S1 is there from the start, though nobody knows how they sound."""
    people: list[list[Said]] = []  # what each of them has surely said
    answers: list[str] = []
    for now in utterances:
        before = answers[-1] if answers else "S1"
        if now.vector is None or now.speech_s < 1.0:
            answers.append(before)
            continue
        likeness = [mean_cosine(now, own) for own in people]
        best = max(likeness, default=-1.0)
        is_new = not people or (best < 0.42 and len(people) < most)
        if is_new and now.speech_s >= 1.5:
            people.append([now])
            answers.append(f"S{len(people)}")
        elif not people:
            answers.append("S1")
        else:
            nearest = likeness.index(best)
            if best >= 0.50 and not is_new:
                people[nearest].append(now)
            answers.append(f"S{nearest + 1}")
    return answers


def mean_cosine(now: Said, own: Sequence[Said]) -> float:
    """Average the cosines of a voice with each that a person had before, weighted by seconds."""
    total = sum(each.speech_s for each in own)
    return sum(each.speech_s * cosine(now.vector, each.vector) for each in own) / total


def cosine(left: VoiceVector | None, right: VoiceVector | None) -> float:
    assert left is not None
    assert right is not None
    return sum(float(a) * float(b) for a, b in zip(left, right, strict=True))
