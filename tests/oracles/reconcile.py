"""Reconciliation by trying every assignment, and by comparing every pair of voices: slow, and in plain steps."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from murmur_cli.speakers.diarize import Voice
from murmur_cli.speakers.evidence import LocalTalk
from murmur_cli.types import ChunkPart, LocalSpeaker, Speaker, Stretch, Turn

Key = tuple[ChunkPart, LocalSpeaker]
Person = str | int  # a speaker of the turns, or the number of a stranger


def measure_common_talk(stretches: Sequence[Stretch], turns: Sequence[Turn], speaker: str) -> float:
    """Seconds in which both talk, summed over the pieces between all edges."""
    own = [turn for turn in turns if turn.speaker == speaker]
    edges = sorted({time for each in (*stretches, *own) for time in (each.start, each.end)})
    total = 0.0
    for start, end in itertools.pairwise(edges):
        middle = (start + end) / 2
        if any(s.start < middle < s.end for s in stretches) and any(t.start < middle < t.end for t in own):
            total += end - start
    return total


def measure_talk(stretches: Sequence[Stretch]) -> float:
    return measure_common_talk(stretches, [Turn(s.start, s.end, Speaker("x")) for s in stretches], "x")


def cosine(left: Sequence[float], right: Sequence[float]) -> float:
    norm = math.sqrt(sum(a * a for a in left)) * math.sqrt(sum(b * b for b in right))
    return sum(a * b for a, b in zip(left, right, strict=True)) / norm if norm else 0.0


def mean_voice(talks: Sequence[LocalTalk]) -> list[float]:
    """The weighted mean of the talks' voices, of any length; nothing where there is none."""
    voiced = [(talk.vector, min(talk.speech_s, 20.0)) for talk in talks if talk.vector is not None]
    if not voiced:
        return []
    return [sum(float(vector[d]) * weight for vector, weight in voiced) for d in range(len(voiced[0][0]))]


class TieError(Exception):
    """Two assignments are equally good."""


def best_assignment(scores: Sequence[Sequence[float]], alone: Sequence[float]) -> list[int | None]:
    """Try them all: each row takes a column that no other row has, or none."""
    columns = range(len(scores[0])) if scores else range(0)
    totals = []
    for choice in itertools.product([None, *columns], repeat=len(scores)):
        chosen = [column for column in choice if column is not None]
        if len(set(chosen)) == len(chosen):
            total = sum(alone[i] if column is None else scores[i][column] for i, column in enumerate(choice))
            totals.append((total, choice))
    totals.sort(key=lambda each: -each[0])
    if len(totals) > 1 and totals[0][0] - totals[1][0] < 1e-10:
        raise TieError
    return list(totals[0][1])


def group_plainly(talks: Sequence[LocalTalk]) -> list[list[LocalTalk]]:
    """Join the two groups with the largest mean cosine over all pairs, until none reaches 0.40."""
    groups = [[talk] for talk in talks]
    while True:
        best, pair = 0.40, None
        for left, right in itertools.combinations(groups, 2):
            pairs = [(a, b, min(a.speech_s, 20.0) * min(b.speech_s, 20.0)) for a in left for b in right]
            if any(a.place == b.place for a, b, _ in pairs):
                continue
            assert all(a.vector is not None and b.vector is not None for a, b, _ in pairs)
            mean = sum(cosine(a.vector, b.vector) * w for a, b, w in pairs) / sum(w for _, _, w in pairs)
            if mean >= best:
                best, pair = mean, (left, right)
        if pair is None:
            return groups
        groups.remove(pair[1])
        pair[0].extend(pair[1])


class PlainCast:
    """Finds out who the local speakers are, step by step, when no two are alike to the last digit."""

    def __init__(self, talks: Sequence[LocalTalk], turns: Sequence[Turn], voices: Sequence[Voice]) -> None:
        self.talks = talks
        self.known = list(dict.fromkeys(turn.speaker for turn in sorted(turns)))
        self.seconds = {talk: measure_talk(talk.stretches) for talk in talks}
        self.common = {(t, name): measure_common_talk(t.stretches, turns, name) for t in talks for name in self.known}
        self.votes = {talk: talk.vector is not None and talk.speech_s >= 2.0 for talk in talks}
        self.centres: dict[Person, list[float]] = {}
        for name in self.known:
            given = [list(map(float, voice.vector)) for voice in voices if voice.speaker == name]
            safe = [t for t in talks if self.votes[t] and self.common[t, name] >= 0.7 * self.seconds[t]]
            self.centres[name] = given[0] if given else mean_voice(safe)
        self.person_of: dict[LocalTalk, Person] = {}
        self.n_strangers = 0
        self.small: list[list[LocalTalk]] = []  # strangers with little talk in all
        self.turns = turns

    def score(self, talk: LocalTalk, person: Person, *, hears_voice: bool) -> float:
        total = self.common.get((talk, person), 0.0)
        if hears_voice and talk.vector is not None and self.centres[person]:
            total += self.worth(talk) * cosine(talk.vector, self.centres[person])
        return total

    def worth(self, talk: LocalTalk) -> float:
        return 4.0 * min(self.seconds[talk], 10.0) / 10.0

    def chunks(self, *, brief: bool) -> list[list[LocalTalk]]:
        """The talks of each chunk that last under 2 s, or those that do not."""
        places = sorted({talk.place for talk in self.talks})
        return [[t for t in self.talks if t.place == p and (self.seconds[t] < 2.0) == brief] for p in places]

    def add_stranger(self, talks: Sequence[LocalTalk], *, voice: Sequence[LocalTalk]) -> None:
        self.centres[self.n_strangers] = mean_voice(voice)
        self.person_of |= dict.fromkeys(talks, self.n_strangers)
        self.n_strangers += 1

    def score_last(self, talk: LocalTalk, person: Person) -> float:
        total = self.score(talk, person, hears_voice=True)
        has_nothing = talk.vector is None and all(self.common[talk, name] == 0.0 for name in self.known)
        if has_nothing and self.seconds[talk] < 2.0 and isinstance(person, str):
            distance = min(
                max(0.0, turn.start - stretch.end, stretch.start - turn.end)
                for turn in self.turns
                for stretch in talk.stretches
                if turn.speaker == person
            )
            total += 1e-3 * max(0.0, 1.0 - distance)
        return total

    def place_known(self) -> None:
        for rows in self.chunks(brief=False):
            scores = [[self.score(talk, name, hears_voice=self.votes[talk]) for name in self.known] for talk in rows]
            chosen = best_assignment(scores, [0.40 * self.worth(talk) for talk in rows])
            self.person_of |= {t: self.known[i] for t, i in zip(rows, chosen, strict=True) if i is not None}

    def place_strangers(self) -> None:
        left = [talk for rows in self.chunks(brief=False) for talk in rows if talk not in self.person_of]
        groups = group_plainly([talk for talk in left if self.votes[talk]])
        groups += [[talk] for talk in left if not self.votes[talk]]
        for group in groups:
            if sum(self.seconds[talk] for talk in group) >= 10.0:
                self.add_stranger(group, voice=[talk for talk in group if self.votes[talk]])
            else:
                self.small.append(group)

    def place_rest(self) -> None:
        small: dict[int, Person] = {}
        for place in sorted({talk.place for talk in self.talks}):
            here = [talk for talk in self.talks if talk.place == place]
            rows = [talk for talk in here if talk not in self.person_of]
            free = [person for person in self.centres if person not in [self.person_of.get(talk) for talk in here]]
            scores = [[self.score_last(talk, person) for person in free] for talk in rows]
            for talk, column in zip(rows, best_assignment(scores, [1e-9] * len(rows)), strict=True):
                own = [i for i, group in enumerate(self.small) if talk in group]
                if column is not None:
                    self.person_of[talk] = free[column]
                elif own and own[0] in small:
                    self.person_of[talk] = small[own[0]]
                else:
                    self.add_stranger([talk], voice=[] if own else [talk])
                    if own:
                        small[own[0]] = self.person_of[talk]

    def name(self) -> dict[Person, Speaker]:
        """New names count on where those of the turns leave off, by who is heard first."""
        first: dict[Person, float] = {}
        for talk, person in self.person_of.items():
            first[person] = min([first.get(person, math.inf), *(stretch.start for stretch in talk.stretches)])
        names: dict[Person, Speaker] = {name: name for name in self.known}
        for person in sorted(set(first) - set(self.known), key=lambda each: first[each]):
            names[person] = next(s for i in itertools.count(1) if (s := Speaker(f"S{i}")) not in names.values())
        return names


def reconcile_plainly(talks: Sequence[LocalTalk], turns: Sequence[Turn], voices: Sequence[Voice]) -> dict[Key, Speaker]:
    """What ``reconcile`` says."""
    cast = PlainCast(talks, turns, voices)
    cast.place_known()
    cast.place_strangers()
    cast.place_rest()
    names = cast.name()
    return {(talk.place, talk.speaker): names[person] for talk, person in cast.person_of.items()}
