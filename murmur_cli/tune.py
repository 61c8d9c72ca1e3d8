"""How eagerly keywords should be heard: recordings whose words are known, recognised at one strength after the other.

A recording that cannot be read is an error: one that is left out of a score looks like one without errors.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from murmur_cli.audio.source import Recording, open_recordings
from murmur_cli.batch import Listeners, transcribe_all
from murmur_cli.bias.keywords import KeywordList, join_lists
from murmur_cli.bias.list_files import parse_phrase
from murmur_cli.engine import Answer, Bias, Engine
from murmur_cli.errors import UsageError
from murmur_cli.options import AudioOptions, BatchOptions
from murmur_cli.score.counts import KeywordCounts, WordErrors
from murmur_cli.score.keywords import KeywordErrors, count_keywords, to_phrases
from murmur_cli.score.normalize import Normalizer
from murmur_cli.speech.vad import Vad
from murmur_cli.types import Chunk, RecordingId, Transcript

__all__ = ["Sample", "Trial", "Tuner", "load_samples", "require_bias"]

_HINT = 'write {"audio": "...", "text": "..."} on each line, and "phrases": ["..."] where it has its own'
_FIELDS = {"audio", "text", "phrases"}


@dataclass(frozen=True, slots=True)
class Sample:
    """A recording, what is said in it, and what to listen for."""

    audio: str
    text: str
    keywords: KeywordList


@dataclass(frozen=True, slots=True)
class Trial:
    """All recordings, heard with one ``margin`` (nats; None: without keywords).

    ``listed`` and ``unlisted`` are errors in words inside and outside the lists. ``n_gaps`` counts the stretches that
    could not be transcribed; their words are missing.
    """

    margin: float | None
    keywords: KeywordCounts
    listed: WordErrors
    unlisted: WordErrors
    n_gaps: int

    @property
    def words(self) -> WordErrors:
        """Errors in all words."""
        return self.listed + self.unlisted


def load_samples(path: str, common: KeywordList | None) -> tuple[Sample, ...]:
    """Read recordings and their words from JSON lines. A line's own ``phrases`` are in place of the common list.

    Args:
        path: Of the file; recordings are looked for from its folder on.
        common: The list of lines that have none.

    Raises:
        UsageError: It cannot be read, or a line is not what it should be; with the line.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        problem = f"cannot be read: {(error.strerror or str(error)).lower()}"
        raise UsageError(problem, where=path, hint="check the name") from error
    samples: dict[str, Sample] = {}
    for number, line in enumerate(content.split(b"\n"), start=1):
        if line.strip():
            sample = _read_sample(line, f"{path}:{number}", common, folder=Path(path).parent)
            if sample.audio in samples:
                raise UsageError(f"names {sample.audio} again", where=f"{path}:{number}", hint="take one of them out")
            samples[sample.audio] = sample
    if not samples:
        raise UsageError("names no recording", where=path, hint=_HINT)
    return tuple(samples.values())


def _read_sample(line: bytes, where: str, common: KeywordList | None, *, folder: Path) -> Sample:
    try:
        value = json.loads(line.decode())
    except (ValueError, RecursionError) as error:
        raise UsageError(f"is not JSON in UTF-8: {error}", where=where, hint=_HINT) from error
    problem = _find_problem(value, common)
    if problem is not None:
        raise UsageError(problem, where=where, hint=_HINT)
    own = [parse_phrase(phrase, where=where) for phrase in value.get("phrases", ())]
    keywords = join_lists(own) if own or common is None else common
    audio = folder / value["audio"]
    if not audio.is_file():
        raise UsageError(f"there is no recording {audio}", where=where, hint="check the name")
    return Sample(str(audio), value["text"], keywords)


def _find_problem(value: object, common: KeywordList | None) -> str | None:
    if not isinstance(value, dict) or not all(isinstance(value.get(name), str) for name in ("audio", "text")):
        return 'does not have "audio" and "text"'
    phrases = value.get("phrases", ["x"])
    if not isinstance(phrases, list) or not phrases or not all(isinstance(phrase, str) for phrase in phrases):
        return '"phrases" is no list of texts'
    if unknown := sorted(value.keys() - _FIELDS):
        return f"has a field {unknown[0]!r} that is not known"
    return 'has no "phrases", and there is no list for all' if "phrases" not in value and common is None else None


def require_bias(engine: Engine) -> None:
    """Refuse an engine that cannot be given keywords.

    Raises:
        UsageError: It cannot.
    """
    if not engine.extras.bias:
        problem = "this model cannot be given keywords, so there is nothing to tune"
        raise UsageError(problem, where=engine.info.model, hint="choose another --model")


class Tuner:
    """Recognises recordings at one strength after the other.

    Args:
        engine: That can be given keywords.
        vad: Finds speech.
        options: Of the recognition.
        normalizer: Brings words to one spelling.
        on_note: Hears what the user should know about a recording.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        vad: Vad,
        options: BatchOptions,
        normalizer: Normalizer,
        on_note: Callable[[str], None],
    ) -> None:
        self._engine = engine
        self._vad = vad
        self._options = options
        self._normalizer = normalizer
        self._on_note = on_note

    def try_margin(self, samples: Sequence[Sample], margin: float | None) -> Trial:
        """Recognise all recordings, and count.

        Args:
            samples: The recordings; there is at least one.
            margin: The most that a token of a keyword may be raised by, in nats; None: no keywords.

        Raises:
            AudioError: A recording cannot be read.
            MurmurError: The engine cannot go on, or the extra ``eval`` is not installed.
        """
        heard = list(self._recognise(samples, margin))
        first, *others = [self._count(transcript, samples[transcript.recording_id]) for transcript in heard]
        return Trial(
            margin,
            sum((each.keywords for each in others), start=first.keywords),
            sum((each.listed for each in others), start=first.listed),
            sum((each.unlisted for each in others), start=first.unlisted),
            n_gaps=sum(len(transcript.gaps) for transcript in heard),
        )

    def _recognise(self, samples: Sequence[Sample], margin: float | None) -> Iterator[Transcript]:
        biases = {} if margin is None else {each.audio: Bias(each.keywords, margin) for each in samples}
        for transcript in transcribe_all(
            _open(samples, sample_rate=self._engine.sample_rate, options=self._options.audio),
            self._engine,
            listeners=Listeners(self._vad, None, biases.get),
            options=self._options,
            observer=_Listener(self._on_note),
        ):
            for gap in transcript.gaps:
                place = f"from {gap.start:.1f} s to {gap.end:.1f} s"
                self._on_note(f"{transcript.source}: not transcribed {place}: {gap.reason}")
            yield transcript

    def _count(self, transcript: Transcript, sample: Sample) -> KeywordErrors:
        heard = " ".join(segment.text for segment in transcript.segments)
        said, recognised = (self._normalizer.apply(text).split() for text in (sample.text, heard))
        return count_keywords(said, recognised, to_phrases(sample.keywords, self._normalizer))


def _open(samples: Sequence[Sample], *, sample_rate: int, options: AudioOptions) -> Iterator[Recording]:
    for i, sample in enumerate(samples):
        yield from open_recordings(sample.audio, ids=iter([RecordingId(i)]), sample_rate=sample_rate, options=options)


@dataclass(frozen=True, slots=True)
class _Listener:
    """Hears of a run no more than what the user should know."""

    on_note: Callable[[str], None]

    def planned(self, recording: Recording, chunks: tuple[Chunk, ...]) -> None:
        pass

    def answered(self, recording: Recording, chunk: Chunk, answer: Answer) -> None:
        pass

    def noted(self, recording: Recording, text: str) -> None:
        self.on_note(f"{recording.source}: {text}")
