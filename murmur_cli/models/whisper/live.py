"""The Whisper engine, live: utterance by utterance.

Whisper reads whole windows, so what is committed at once is an utterance: speech up to a pause, or up to a word behind
which enough is heard. What a session commits depends on its audio and the options alone, however the audio comes in.
Memory does not grow.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import torch

from murmur_cli.bias.cache import ListCache
from murmur_cli.engine import Bias, Extras, StreamDraft, StreamSegment, StreamUpdate
from murmur_cli.models.whisper.checkpoint import Checkpoint
from murmur_cli.models.whisper.ears import Ears
from murmur_cli.models.whisper.engine import naming_memory, open_whisper
from murmur_cli.models.whisper.features import HOP_SAMPLES, SAMPLE_RATE
from murmur_cli.models.whisper.languages import find_language
from murmur_cli.models.whisper.live_lines import LineJoiner
from murmur_cli.models.whisper.live_reading import read_utterance
from murmur_cli.models.whisper.seams import N_COMPARED, count_known, find_seam, keep_part
from murmur_cli.models.whisper.spoken_language import SpokenLanguage
from murmur_cli.options import ModelOptions, StreamOptions, VadOptions
from murmur_cli.speakers.live_turns import hear_turns, split_segments
from murmur_cli.speakers.online import OnlineSpeakers
from murmur_cli.speakers.voices import SpeakerEmbedder
from murmur_cli.speech.utterances import Utterance, UtteranceCutter
from murmur_cli.speech.vad import LiveVad
from murmur_cli.types import EngineInfo, Gap, Hypothesis, HypSegment, KeywordHit, Samples, Span, Speaker, Word

__all__ = ["WhisperStream", "WhisperStreamEngine", "load_whisper_stream"]

_LEAST_DRAFT_S = 0.5  # of speech: of less, texts are guesses


def load_whisper_stream(
    folder: Path,
    *,
    name: str,
    weights_sha256: str,
    model: ModelOptions,
    vad: LiveVad,
    embedder: SpeakerEmbedder | None,
) -> WhisperStreamEngine:
    """Load a Whisper for live speech.

    Args:
        folder: Any Whisper in HF layout.
        name: What to call it in a transcript.
        weights_sha256: What its weights are known by.
        model: How it runs.
        vad: Finds speech.
        embedder: Hears who speaks; None: nobody wants to know.

    Raises:
        WeightsError: A file is missing or damaged, or it is no Whisper.
        DeviceError: There is no such device, or it has too little memory.
        UsageError: The device cannot compute in the precision that is asked for.
    """
    checkpoint, info = open_whisper(
        folder, name=name, weights_sha256=weights_sha256, device=model.device, dtype=model.dtype
    )
    return WhisperStreamEngine(checkpoint, info, vad=vad, embedder=embedder)


class WhisperStreamEngine:
    """A Whisper that hears live audio; implements ``StreamEngine``.

    Args:
        checkpoint: The model.
        info: What it is called, and how it runs.
        vad: Finds speech.
        embedder: Hears who speaks; None: nobody wants to know.
    """

    def __init__(
        self, checkpoint: Checkpoint, info: EngineInfo, *, vad: LiveVad, embedder: SpeakerEmbedder | None
    ) -> None:
        self._checkpoint = checkpoint
        self._info = info
        self._vad = vad
        self._embedder = embedder
        self._ears = Ears(checkpoint)

    @property
    def sample_rate(self) -> int:
        """Samples per second that blocks must have: 16000."""
        return SAMPLE_RATE

    @property
    def info(self) -> EngineInfo:
        """Which model this is and how it runs."""
        return self._info

    @property
    def extras(self) -> Extras:
        """It gives the times of words, and drafts, and can be given keywords."""
        return Extras(word_times=True, step=True, bias=True)

    def keyword_lists(self) -> ListCache:
        """What compiles lists of keywords for it.

        Raises:
            UsageError: Its tokenizer is of a kind that cannot be followed.
        """
        return self._ears.lists()

    @contextmanager
    def open(self, options: StreamOptions, *, bias: Bias | None = None) -> Iterator[WhisperStream]:
        """Begin a session; all that it remembers is forgotten at the end of the ``with`` block.

        Raises:
            UsageError: There is no such language.
        """
        codes = self._checkpoint.vocabulary.languages
        language = None if options.language is None else find_language(options.language, codes=codes)
        utterances = UtteranceCutter(self._vad.open(), VadOptions())
        spoken = SpokenLanguage(language)
        stream = WhisperStream(self._checkpoint, utterances, language=spoken, embedder=self._embedder, ears=self._ears)
        stream.rebias(bias)
        yield stream


class WhisperStream:
    """One session; implements ``StreamDecoder``.

    Args:
        checkpoint: The model.
        utterances: Cuts the session; new.
        language: What it is in; new.
        embedder: Hears who speaks; None: nobody wants to know.
        ears: Make lists of keywords ready.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        utterances: UtteranceCutter,
        *,
        language: SpokenLanguage,
        embedder: SpeakerEmbedder | None,
        ears: Ears,
    ) -> None:
        self._checkpoint = checkpoint
        self._utterances = utterances
        self._language = language
        self._embedder = embedder
        self._ears = ears
        self._bias: Bias | None = None
        self._speakers = OnlineSpeakers()
        self._lines = LineJoiner()
        self._told: list[Word] = []  # last

    def push(self, samples: Samples) -> StreamUpdate:
        """Hear on, and commit the utterances that are over.

        Args:
            samples: A block of any size, shape (n_samples,), at 16 kHz.

        Raises:
            DeviceError: The device is out of memory.
        """
        return self._read_all(self._utterances.push(samples))

    def draft(self) -> StreamDraft | None:
        """Read the utterance that is open; who speaks is not known before it is over.

        Raises:
            DeviceError: The device is out of memory.
        """
        utterance = self._utterances.peek()
        if utterance is None or _count_speech(utterance) < _LEAST_DRAFT_S:
            return None
        with torch.inference_mode(), naming_memory():
            reading = self._read(utterance)
        text = " ".join(segment.text for segment in reading.segments)
        return StreamDraft(utterance.runs[0].start / SAMPLE_RATE, text, None) if text else None

    def rebias(self, bias: Bias | None) -> None:
        """Listen for something else from here on, in the utterance that is open too."""
        self._bias = bias
        self._ears.make(bias)  # now, and not when somebody waits for it

    def finish(self) -> StreamUpdate:
        """Commit the utterance that is open.

        Raises:
            DeviceError: The device is out of memory.
        """
        return self._read_all(self._utterances.finish())

    def _read_all(self, utterances: Iterator[Utterance]) -> StreamUpdate:
        committed: list[StreamSegment] = []
        gaps: list[Gap] = []
        for utterance, reading in self._iter_readings(utterances):
            pieces = _hand_out(self._commit(reading.segments, utterance), reading.hits)
            committed += self._lines.join(pieces)
            gaps += [Gap(gap.start, gap.end, gap.reason) for gap in reading.gaps]
        return StreamUpdate(tuple(committed), tuple(gaps))

    def _iter_readings(self, utterances: Iterator[Utterance]) -> Iterator[tuple[Utterance, Hypothesis]]:
        """Read utterances, and end those that are open where their words allow it; the others come again."""
        for utterance in utterances:
            if not self._language.is_known:
                self._hear_language(utterance)
            with torch.inference_mode(), naming_memory():
                reading = self._read(utterance)
            words, runs = _list_words(reading), utterance.runs
            if not utterance.is_open:
                self._tell(words)
                yield utterance, reading
                continue
            seam = find_seam(words, start=runs[0].start / SAMPLE_RATE, end=runs[-1].end / SAMPLE_RATE)
            if seam is not None:
                self._tell(words[: seam.n_words])
                over = self._utterances.cut_at(round(seam.at * SAMPLE_RATE))
                yield over, keep_part(reading, slice(seam.n_words), end=seam.at)

    def _tell(self, words: Sequence[Word]) -> None:
        self._told = [*self._told, *words][-N_COMPARED:]

    def _read(self, utterance: Utterance) -> Hypothesis:
        """Read what is new in an utterance; times are those of the session."""
        ear = self._ears.make(self._bias)
        reading = read_utterance(self._checkpoint, utterance, language=self._language.code, ear=ear)
        fresh = utterance.fresh / SAMPLE_RATE
        told = self._told if utterance.fresh > utterance.chunk.span.start else []
        return keep_part(reading, slice(count_known(_list_words(reading), told, at=fresh), None), start=fresh)

    def _hear_language(self, utterance: Utterance) -> None:
        with torch.inference_mode(), naming_memory():
            heard = utterance.samples[: 2 * self._checkpoint.n_audio * HOP_SAMPLES]
            features = self._checkpoint.extractor.extract(heard)  # with all the silence there is room for
            scores = self._checkpoint.score_languages(self._checkpoint.encoder.encode(features))
        self._language.hear(scores, duration_s=_count_speech(utterance))

    def _commit(self, segments: Sequence[HypSegment], utterance: Utterance) -> list[StreamSegment]:
        if not segments or self._embedder is None:
            return [_to_committed(segment, None) for segment in segments]
        start, samples = utterance.chunk.span.start, utterance.samples

        def read(span: Span) -> Samples:
            return samples[span.start - start : span.end - start]

        turns = hear_turns(utterance.runs, self._speakers, self._embedder, read=read)
        return [_to_committed(segment, speaker) for segment, speaker in split_segments(segments, turns)]


def _count_speech(utterance: Utterance) -> float:
    return sum(run.n_samples for run in utterance.runs) / SAMPLE_RATE


def _list_words(reading: Hypothesis) -> list[Word]:
    return [word for segment in reading.segments for word in segment.words]


def _hand_out(segments: Sequence[StreamSegment], hits: Iterable[KeywordHit]) -> list[StreamSegment]:
    """Give every hit to the segment in which it begins."""
    found: list[list[KeywordHit]] = [[] for _ in segments]
    starts = [segment.start for segment in segments]
    for hit in hits:
        found[max(0, bisect_right(starts, hit.start) - 1)].append(hit)
    return [replace(segment, hits=tuple(own)) for segment, own in zip(segments, found, strict=True)]


def _to_committed(segment: HypSegment, speaker: Speaker | None) -> StreamSegment:
    return StreamSegment(
        start=segment.start,
        end=segment.end,
        text=segment.text,
        speaker=speaker,
        times="model",
        starts_line=True,
        words=segment.words,
    )
