"""Engines and a VAD that play a script: for tests and demonstrations, without weights.

The script is written in recording time; a chunk is answered with the entries that start inside it, and a live session
commits an entry as soon as its end is heard.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from murmur_cli.bias.cache import ListCache
from murmur_cli.engine import (
    Answer,
    Bias,
    Extras,
    Job,
    StreamDecoder,
    StreamDraft,
    StreamSegment,
    StreamUpdate,
    refuse_keywords,
)
from murmur_cli.errors import WeightsError
from murmur_cli.options import StreamOptions
from murmur_cli.types import DecodeError, EngineInfo, Gap, Hypothesis, HypSegment, LocalSpeaker, Samples, Span, Speaker

__all__ = [
    "SCRIPT_FILE",
    "ScriptEntry",
    "ScriptedEngine",
    "ScriptedStreamEngine",
    "ScriptedVad",
    "load_scripted",
    "load_scripted_stream",
]

SCRIPT_FILE = "script.json"
"""The script, beside ``config.json`` in a model folder."""


@dataclass(frozen=True, slots=True)
class ScriptEntry:
    """One line of a script, in seconds of the recording.

    With ``error`` set, the chunk in which the entry starts fails for that reason. ``drafts`` are shown one after the
    other while the entry is heard live, each for as long as the others.
    """

    start: float
    end: float
    text: str = ""
    speaker: int | None = None
    error: str | None = None
    drafts: tuple[str, ...] = ()


class ScriptedEngine:
    """Answers every chunk from a script; implements ``Engine``."""

    def __init__(
        self, script: Sequence[ScriptEntry], *, sample_rate: int = 16_000, language: str | None = "en"
    ) -> None:
        self._script = tuple(script)
        self._sample_rate = sample_rate
        self._language = language

    @property
    def sample_rate(self) -> int:
        """Samples per second that jobs must have."""
        return self._sample_rate

    @property
    def info(self) -> EngineInfo:
        """The script's name is ``scripted``; its hash covers all entries."""
        return _describe(self._script)

    @property
    def extras(self) -> Extras:
        """It does nothing that is not in the script."""
        return Extras()

    def keyword_lists(self) -> ListCache:
        """None.

        Raises:
            UsageError: Always.
        """
        raise refuse_keywords(self.info)

    def resolve_language(self, language: str) -> str:
        """Any language, as it is."""
        return language

    def detect_language(self, samples: Samples) -> str | None:
        """The script's language, whatever is said."""
        del samples
        return self._language

    def decode(self, jobs: Iterable[Job]) -> Iterator[Answer]:
        """Answer the jobs in order."""
        for job in jobs:
            yield Answer(job.recording_id, job.chunk.index, self._play(job))

    def _play(self, job: Job) -> Hypothesis | DecodeError:
        offset = job.chunk.span.start / self._sample_rate
        end = job.chunk.span.end / self._sample_rate
        entries = [entry for entry in self._script if offset <= entry.start < end]
        for entry in entries:
            if entry.error is not None:
                return DecodeError(entry.error, f"scripted at {entry.start:g} s")
        return Hypothesis(
            tuple(
                HypSegment(
                    start=entry.start - offset,
                    end=entry.end - offset,
                    text=entry.text,
                    speaker=None if entry.speaker is None else LocalSpeaker(entry.speaker),
                    words=(),
                    language=job.language,
                )
                for entry in entries
            )
        )


class ScriptedVad:
    """Finds the spans that it was told, clipped to the recording; implements ``Vad``."""

    def __init__(self, spans: Sequence[Span]) -> None:
        self._spans = tuple(spans)

    def detect(self, blocks: Iterable[Samples]) -> list[Span]:
        """The scripted spans, in samples at 16 kHz."""
        n_samples = sum(block.shape[0] for block in blocks)
        return [Span(span.start, min(span.end, n_samples)) for span in self._spans if span.start < n_samples]


class ScriptedStreamEngine:
    """Plays a script to whoever listens; implements ``StreamEngine``. A text that begins with a blank goes on."""

    def __init__(self, script: Iterable[ScriptEntry], *, sample_rate: int = 16_000) -> None:
        self._script = tuple(script)
        self._sample_rate = sample_rate

    @property
    def sample_rate(self) -> int:
        """Samples per second that blocks must have."""
        return self._sample_rate

    @property
    def info(self) -> EngineInfo:
        """The script's name is ``scripted``; its hash covers all entries."""
        return _describe(self._script)

    @property
    def extras(self) -> Extras:
        """It does nothing that is not in the script."""
        return Extras(step=any(entry.drafts for entry in self._script))

    def keyword_lists(self) -> ListCache:
        """None.

        Raises:
            UsageError: Always.
        """
        raise refuse_keywords(self.info)

    @contextmanager
    def open(self, options: StreamOptions, *, bias: Bias | None = None) -> Iterator[StreamDecoder]:
        """Play the script from its start, in any language, whatever is listened for."""
        del options, bias
        yield _ScriptPlayer(self._script, sample_rate=self._sample_rate)


class _ScriptPlayer:
    """Commits each entry as soon as its end is heard; implements ``StreamDecoder``."""

    def __init__(self, script: Iterable[ScriptEntry], *, sample_rate: int) -> None:
        self._script = iter(script)
        self._next = next(self._script, None)
        self._sample_rate = sample_rate
        self._n_heard = 0

    def push(self, samples: Samples) -> StreamUpdate:
        self._n_heard += len(samples)
        return self._play(is_over=False)

    def draft(self) -> StreamDraft | None:
        entry, heard_s = self._next, self._n_heard / self._sample_rate
        if entry is None or not entry.drafts or heard_s <= entry.start:
            return None
        share = (heard_s - entry.start) / (entry.end - entry.start)
        return StreamDraft(entry.start, entry.drafts[int(share * len(entry.drafts))], _to_speaker(entry))

    def rebias(self, bias: Bias | None) -> None:
        del bias

    def finish(self) -> StreamUpdate:
        return self._play(is_over=True)

    def _play(self, *, is_over: bool) -> StreamUpdate:
        heard_s = self._n_heard / self._sample_rate
        committed, gaps = [], []
        while (entry := self._next) is not None and (entry.end <= heard_s or (is_over and entry.start < heard_s)):
            self._next = next(self._script, None)
            end = min(entry.end, heard_s)
            if entry.error is not None:
                gaps.append(Gap(entry.start, end, entry.error))
                continue
            starts_line = not entry.text.startswith(" ")
            committed.append(StreamSegment(entry.start, end, entry.text, _to_speaker(entry), "model", starts_line))
        return StreamUpdate(tuple(committed), tuple(gaps))


def _to_speaker(entry: ScriptEntry) -> Speaker | None:
    return None if entry.speaker is None else Speaker(f"S{entry.speaker + 1}")


def load_scripted_stream(folder: Path) -> ScriptedStreamEngine:
    """Read the script of a model folder, as ``load_scripted`` does, to be played live.

    Raises:
        WeightsError: The script cannot be read.
    """
    entries, sample_rate, _ = _read_script(folder)
    return ScriptedStreamEngine(entries, sample_rate=sample_rate)


def load_scripted(folder: Path) -> ScriptedEngine:
    """Read ``script.json`` of a model folder whose ``config.json`` says ``scripted``.

    The file holds ``{"language": "en", "sample_rate": 16000, "entries": [{"start": 0.5, "end": 2.0,
    "text": "Hello."}, …]}``; an entry may have ``speaker``, ``error`` and ``drafts``.

    Raises:
        WeightsError: The script cannot be read.
    """
    entries, sample_rate, language = _read_script(folder)
    return ScriptedEngine(entries, sample_rate=sample_rate, language=language)


def _describe(script: Sequence[ScriptEntry]) -> EngineInfo:
    digest = hashlib.sha256(repr(script).encode()).hexdigest()
    return EngineInfo(model="scripted", weights_sha256=digest, device="cpu", precision="none")


def _read_script(folder: Path) -> tuple[list[ScriptEntry], int, str | None]:
    """Give the entries, the sample rate and the language of a script."""
    path = folder / SCRIPT_FILE
    try:
        script = json.loads(path.read_text(encoding="utf-8"))
        entries = [ScriptEntry(**{**entry, "drafts": tuple(entry.get("drafts", ()))}) for entry in script["entries"]]
        return entries, script["sample_rate"], script["language"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        problem = f"not a script: {error!r}"
        raise WeightsError(problem, where=str(path), hint="see models/scripted.py for its form") from error
