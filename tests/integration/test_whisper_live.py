"""Whisper live: utterance by utterance, on a tiny random model, and on the default weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile
import soxr
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from lively_whisper import write_lively_folder
from loud_speech import Loud, make_talk
from oracles.seams import count_known_plainly, find_seam_plainly
from oracles.utterances import PlainUtterance, cut_plainly
from oracles.whisper import says_again_plainly

from murmur_cli.audio.source import open_recording
from murmur_cli.bias.list_files import parse_phrase
from murmur_cli.engine import Bias, StreamSegment, StreamUpdate
from murmur_cli.errors import DeviceError, UsageError
from murmur_cli.models.silero import load_silero
from murmur_cli.models.slots_diarizer import load_embedder
from murmur_cli.models.whisper import live_reading
from murmur_cli.models.whisper.chunk_reading import read_chunk
from murmur_cli.models.whisper.live import WhisperStreamEngine, load_whisper_stream
from murmur_cli.options import ModelOptions, StreamOptions, VadOptions
from murmur_cli.speakers.voices import VOICE_SIZE, VoiceVector
from murmur_cli.speech.utterances import Utterance
from murmur_cli.types import Chunk, Hypothesis, HypSegment, RecordingId, Samples, Span, Word

RATE = 16_000
ENGLISH = StreamOptions(language="en")


class Pitched:
    """Takes the loudness of a signal for a voice."""

    def embed(self, samples: Samples) -> VoiceVector:
        vector = np.zeros(VOICE_SIZE, np.float32)
        vector[0 if np.abs(samples).mean() > 0.1 else 1] = 1.0
        return vector


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_lively_folder(tmp_path_factory.mktemp("lively"))


@pytest.fixture(scope="module")
def engine(folder: Path) -> WhisperStreamEngine:
    model = ModelOptions(model="tiny", device="cpu", dtype="float32")
    return load_whisper_stream(
        folder, name="tiny", weights_sha256="0" * 64, model=model, vad=Loud(), embedder=Pitched()
    )


TALK = make_talk((0.3, 0), (2.5, 0.3), (1.0, 0), (3.0, 0.03), (0.2, 0), (1.0, 0.03), (0.7, 0), (12.5, 0.3), (0.9, 0))


def hear(engine: WhisperStreamEngine, blocks: Sequence[Samples], options: StreamOptions = ENGLISH) -> StreamUpdate:
    committed, gaps = [], []
    with engine.open(options) as stream:
        for update in [*map(stream.push, blocks), stream.finish()]:
            committed += update.committed
            gaps += update.gaps
    return StreamUpdate(tuple(committed), tuple(gaps))


@pytest.fixture(scope="module")
def whole(engine: WhisperStreamEngine) -> StreamUpdate:
    return hear(engine, [TALK])


def list_plainly(engine: WhisperStreamEngine) -> tuple[list[Word], int]:
    """Read the utterances of the whole talk one by one, those that are too long up to a seam; and count these."""
    said: list[Word] = []
    seams: list[list[Word]] = []  # what is said up to each, of the utterance that it cuts

    def read_fully(utterance: PlainUtterance, *, silence_s: float | None) -> list[Word]:
        signal = TALK[utterance.chunk.span.start : utterance.chunk.span.end]
        with torch.inference_mode():
            reading = read_chunk(engine._checkpoint, utterance.chunk, signal, language="en", silence_s=silence_s)
        assert not reading.gaps
        return [word for segment in reading.segments for word in segment.words]

    def read(utterance: PlainUtterance) -> list[Word]:
        span, fresh = utterance.chunk.span, utterance.fresh / RATE
        at, heard = span.start / RATE, read_fully(utterance, silence_s=6.0)
        if says_again_plainly(["".join(filter(str.isalnum, word.text)) for word in heard]):
            heard = read_fully(utterance, silence_s=None)
        words = [replace(word, start=at + word.start, end=at + word.end) for word in heard]
        told = said[-3:] if fresh > at else []
        new = words[count_known_plainly(words, told, at=fresh) :]
        return [replace(word, start=max(word.start, fresh), end=max(word.end, fresh)) for word in new]

    def cut(utterance: PlainUtterance) -> int | None:
        words = read(utterance)
        start, end = utterance.runs[0].start / RATE, utterance.runs[-1].end / RATE
        seam = find_seam_plainly(words, start=start, end=end)
        if seam is None:
            return None
        seams.append(words[: seam[0]])
        return round(seam[1] * RATE)

    n_told = 0

    def tell(utterance: PlainUtterance) -> None:
        nonlocal n_told
        is_cut = len(seams) > n_told
        said.extend(seams[-1] if is_cut else read(utterance))
        n_told = len(seams)

    scorer = Loud()
    cut_plainly(scorer.push(TALK) + scorer.finish(), TALK, VadOptions(), cut=cut, tell=tell)
    return said, len(seams)


def test_every_utterance_is_read_by_itself_and_every_word_is_told_once(
    engine: WhisperStreamEngine, whole: StreamUpdate
) -> None:
    words = [word for segment in whole.committed for word in segment.words]
    assert len(words) > 10
    expected, n_seams = list_plainly(engine)
    assert n_seams > 0
    assert [word.text for word in words] == [word.text for word in expected]
    times = [(word.start, word.end) for word in words]
    assert times == pytest.approx(np.array([(word.start, word.end) for word in expected]))
    starts = [segment.start for segment in whole.committed]
    assert starts == sorted(starts)
    assert all(segment.times == "model" for segment in whole.committed)
    assert whole.committed[0].starts_line


def test_speakers_are_told_apart(whole: StreamUpdate) -> None:
    speakers = {segment.speaker for segment in whole.committed if segment.end < 3}
    quiet = {segment.speaker for segment in whole.committed if segment.start > 3.3 and segment.end < 8.1}
    again = {segment.speaker for segment in whole.committed if segment.start > 8.5}
    assert (speakers, quiet, again) == ({"S1"}, {"S2"}, {"S1"})


@settings(max_examples=4, deadline=None)
@given(sizes=st.lists(st.integers(1, 3 * RATE), min_size=1, max_size=6).filter(lambda sizes: sum(sizes) > RATE))
def test_blocks_make_no_difference(engine: WhisperStreamEngine, whole: StreamUpdate, sizes: list[int]) -> None:
    blocks, at = [], 0
    while at < len(TALK):
        size = sizes[len(blocks) % len(sizes)]
        blocks.append(TALK[at : at + size])
        at += size
    assert hear(engine, blocks) == whole


def test_an_utterance_is_committed_half_a_second_after_its_end(engine: WhisperStreamEngine) -> None:
    with engine.open(ENGLISH) as stream:
        committed: list[tuple[float, StreamSegment]] = []
        for start in range(0, len(TALK), RATE // 10):
            update = stream.push(TALK[start : start + RATE // 10])
            committed += [(start / RATE + 0.1, segment) for segment in update.committed]
    assert min(at for at, _ in committed) == pytest.approx(2.8 + 0.5, abs=0.15)
    assert all(at - segment.start < 8.5 for at, segment in committed)


def test_nothing_is_read_where_nobody_speaks(engine: WhisperStreamEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the model was asked")

    monkeypatch.setattr(type(engine._checkpoint.encoder), "encode", refuse)
    assert hear(engine, [make_talk((20.0, 0.001))]) == StreamUpdate()
    assert hear(engine, [make_talk((1.0, 0), (0.1, 0.3), (2.0, 0))]) == StreamUpdate()  # a click
    with pytest.raises(AssertionError, match="was asked"):
        hear(engine, [TALK])


def test_nobody_is_named_where_nobody_wants_to_know(folder: Path, whole: StreamUpdate) -> None:
    model = ModelOptions(model="tiny", device="cpu", dtype="float32")
    deaf = load_whisper_stream(folder, name="tiny", weights_sha256="0" * 64, model=model, vad=Loud(), embedder=None)
    heard = hear(deaf, [TALK]).committed
    assert {segment.speaker for segment in heard} == {None}
    assert [w for s in heard for w in s.words] == [w for s in whole.committed for w in s.words]


def test_languages(engine: WhisperStreamEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    prompt = engine._checkpoint.vocabulary.prompt

    def watch(language: str) -> object:
        asked.append(language)
        return prompt(language)

    monkeypatch.setattr(type(engine._checkpoint.vocabulary), "prompt", lambda _, language: watch(language))
    hear(engine, [TALK], StreamOptions(language="German"))
    assert set(asked) == {"de"}
    asked.clear()
    hear(engine, [TALK], StreamOptions())
    assert asked
    with pytest.raises(UsageError, match="klingon"):
        hear(engine, [TALK], StreamOptions(language="klingon"))


def test_a_gpu_without_memory_is_an_error(engine: WhisperStreamEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(type(engine._checkpoint.encoder), "encode", fail)
    with pytest.raises(DeviceError):
        hear(engine, [TALK])


@pytest.mark.weights
@pytest.mark.data
def test_a_president_and_another_are_understood_live(whisper_base: Path, data_dir: Path) -> None:
    model = ModelOptions(model="base", device="cpu")
    engine = load_whisper_stream(
        whisper_base,
        name="base",
        weights_sha256="0" * 64,
        model=model,
        vad=load_silero(VadOptions()),
        embedder=load_embedder(),
    )
    recordings = (data_dir / "speech" / "jfk.flac", min((data_dir / "librispeech" / "audio").glob("*.flac")))
    heard = [soundfile.read(path, dtype="float32", always_2d=True) for path in recordings]
    president, reader = (soxr.resample(samples.mean(axis=1), rate, RATE) for samples, rate in heard)
    talk = np.concatenate((president, np.zeros(RATE, np.float32), reader[: 6 * RATE]))
    said = hear(engine, np.array_split(talk, 37), StreamOptions())
    text = "".join(letter for letter in " ".join(s.text for s in said.committed).lower() if letter.isalpha())
    assert "asknotwhatyourcountrycandoforyou" in text
    assert "askwhatyoucandoforyourcountry" in text
    assert {segment.speaker for segment in said.committed if segment.end < 11} == {"S1"}
    assert {segment.speaker for segment in said.committed if segment.start > 12} == {"S2"}
    assert said.gaps == ()


def load_base(folder: Path) -> WhisperStreamEngine:
    return load_whisper_stream(
        folder,
        name="base",
        weights_sha256="0" * 64,
        model=ModelOptions(model="base", device="cpu"),
        vad=load_silero(VadOptions()),
        embedder=None,
    )


def read_recording(path: Path) -> Samples:
    with open_recording(str(path), recording_id=RecordingId(0), sample_rate=RATE) as recording:
        return np.array(recording.samples(Span(0, recording.n_samples)))


@pytest.mark.weights
@pytest.mark.data
def test_the_language_of_a_short_sentence_is_heard(whisper_base: Path, data_dir: Path) -> None:
    """With little silence behind it the model takes this one for Hungarian."""
    engine = load_base(whisper_base)
    samples = read_recording(data_dir / "librispeech" / "audio" / "2033-164914-0001.flac")
    with engine.open(StreamOptions()) as session:
        said = [*session.push(samples).committed, *session.finish().committed]
    assert "she said" in " ".join(segment.text for segment in said)


@pytest.mark.weights
@pytest.mark.data
def test_a_product_is_understood_live_with_its_name(whisper_base: Path, data_dir: Path) -> None:
    engine = load_base(whisper_base)
    samples = read_recording(data_dir / "speech" / "hotwords.mp3")
    with engine.open(ENGLISH, bias=Bias(parse_phrase("ComfyUI"), 3.0)) as session:
        said = [*session.push(samples).committed, *session.finish().committed]
    text = "".join(segment.text for segment in said)
    assert text.count("ComfyUI") == 2  # and not on and on, as each time it is said earns its bonus
    assert text.count("folder") == 2
    assert [hit.phrase for segment in said for hit in segment.hits] == ["ComfyUI"] * 2


@pytest.mark.parametrize(("texts", "expected"), [(("a b a b", "a b c"), "a b c"), (("a b c", "x y"), "a b c")])
def test_what_says_a_part_twice_is_read_again_in_full(
    engine: WhisperStreamEngine, monkeypatch: pytest.MonkeyPatch, texts: tuple[str, str], expected: str
) -> None:
    silences: list[float | None] = []

    def read(
        checkpoint: object,
        chunk: Chunk,
        samples: Samples,
        *,
        language: str,
        silence_s: float | None = None,
        ear: object,
    ) -> Hypothesis:
        silences.append(silence_s)
        text = texts[silence_s is None]
        words = tuple(Word(0.1 * i, 0.1 * i + 0.1, f" {word}", 1.0) for i, word in enumerate(text.split()))
        return Hypothesis((HypSegment(0.0, 1.0, text, None, words, "en"),))

    monkeypatch.setattr(live_reading, "read_chunk", read)
    chunk = Chunk(0, Span(RATE, 2 * RATE), (Span(RATE, 2 * RATE),), forced_cut=False)
    utterance = Utterance(chunk, TALK[:RATE], (chunk.span,), RATE, is_open=False)
    said = live_reading.read_utterance(engine._checkpoint, utterance, language="en", ear=None)
    assert "".join(word.text for segment in said.segments for word in segment.words).strip() == expected
    assert silences == ([6.0, None] if expected == texts[1] else [6.0])
    assert said.segments[0].start == 1.0
