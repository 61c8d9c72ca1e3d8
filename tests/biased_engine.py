"""An engine that mishears keywords unless it may raise them, and knows by the length of a chunk what is said in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from murmur_cli.engine import Answer, Bias, Extras, Job
from murmur_cli.models.scripted import ScriptedEngine, ScriptEntry
from murmur_cli.types import DecodeError, Hypothesis, HypSegment

RATE = 16_000


@dataclass(frozen=True)
class Mishearing:
    """What is written in place of a keyword that is not raised by ``nats``."""

    keyword: str
    heard: str
    nats: float


class BiasedEngine(ScriptedEngine):
    """Knows by the length of a chunk (s) what is said in it."""

    def __init__(self, texts: dict[int, str], mishearings: Sequence[Mishearing], *, fails_at: int | None = None):
        super().__init__([ScriptEntry(start=0.0, end=1.0, text="")], sample_rate=RATE, language="en")
        self.texts = texts
        self.mishearings = mishearings
        self.fails_at = fails_at
        self.biases: list[Bias | None] = []

    @property
    def extras(self) -> Extras:
        return replace(super().extras, bias=True)

    def decode(self, jobs: Iterable[Job]) -> Iterator[Answer]:
        for job in jobs:
            self.biases.append(job.bias)
            yield Answer(job.recording_id, job.chunk.index, self._hear(job))

    def _hear(self, job: Job) -> Hypothesis | DecodeError:
        seconds = round(len(job.samples) / RATE)
        if seconds == self.fails_at:
            return DecodeError("broken", "by the test")
        text = self.texts[seconds]
        for each in self.mishearings:
            keywords = job.bias.keywords.keywords if job.bias else ()
            is_listed = each.keyword in [keyword.display for keyword in keywords]
            if not (job.bias and is_listed and job.bias.margin >= each.nats):
                text = text.replace(each.keyword, each.heard)
        return Hypothesis((HypSegment(0.0, float(seconds), text, None, (), "en"),))
