"""The Whisper engine as a whole: jobs in, answers out; on a tiny random model, and on the default weights."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from lively_whisper import make_lively_model, write_lively_folder
from transformers.modeling_outputs import BaseModelOutput

from murmur_cli.audio.levels import measure_level
from murmur_cli.audio.source import open_recording
from murmur_cli.engine import Answer, Job
from murmur_cli.errors import DeviceError, UsageError, WeightsError
from murmur_cli.models.whisper import reader as whisper_reader
from murmur_cli.models.whisper.engine import WhisperEngine, load_whisper
from murmur_cli.models.whisper.guards import TEMPERATURES
from murmur_cli.models.whisper.reader import Reader
from murmur_cli.models.whisper.task import Reading
from murmur_cli.types import Chunk, DecodeError, Hypothesis, RecordingId, Samples, Span

RATE = 16_000


def load(folder: Path, *, device: str = "cpu", dtype: str = "float32") -> WhisperEngine:
    return load_whisper(folder, name="tiny", weights_sha256="0" * 64, device=device, dtype=dtype)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_lively_folder(tmp_path_factory.mktemp("lively"))


@pytest.fixture(scope="module")
def engine(folder: Path) -> WhisperEngine:
    return load(folder)


def noise(seconds: float, seed: int = 0) -> Samples:
    return np.random.default_rng(seed).normal(scale=0.1, size=round(seconds * RATE)).astype(np.float32)


def ask(chunk: Chunk, samples: Samples, language: str | None, *, recording: int = 0) -> Job:
    return Job(
        recording_id=RecordingId(recording),
        chunk=chunk,
        samples=samples,
        level=measure_level([samples]),
        language=language,
    )


def make_job(recording: int, index: int, start_s: float, *, seconds: float = 4.0, language: str | None = "en") -> Job:
    """A chunk of noise with a pause of 0.3 s in the middle, and the same speech again wherever it lies."""
    start = round(start_s * RATE)
    middle, end = start + round((seconds / 2 - 0.3) * RATE), start + round(seconds * RATE)
    speech = (Span(start, middle), Span(start + round(seconds / 2 * RATE), end))
    chunk = Chunk(index, Span(start, end), speech, forced_cut=False)
    return ask(chunk, noise(seconds, seed=index), language, recording=recording)


def answer(engine: WhisperEngine, *jobs: Job) -> list[Answer]:
    return list(engine.decode(iter(jobs)))


# --- answers


def test_every_job_has_one_answer_with_times_inside_its_chunk(engine: WhisperEngine) -> None:
    jobs = [make_job(0, 0, 0.0), make_job(0, 1, 10.0), make_job(1, 0, 0.0, seconds=3.0)]
    answers = answer(engine, *jobs)
    assert [(a.recording_id, a.index) for a in answers] == [(0, 0), (0, 1), (1, 0)]
    n_words = 0
    for job, given in zip(jobs, answers, strict=True):
        assert isinstance(given.result, Hypothesis)
        moments = [t for s in given.result.segments for w in s.words for t in (w.start, w.end)]
        assert moments == sorted(moments)
        assert all(0.0 <= t <= job.chunk.span.n_samples / RATE + 1e-9 for t in moments)
        for segment in given.result.segments:
            assert (segment.start, segment.end) == (segment.words[0].start, segment.words[-1].end)
            assert segment.text == "".join(word.text for word in segment.words).strip()
            assert segment.language == "en"
            assert all(0.0 <= word.probability <= 1.0 for word in segment.words)
            n_words += len(segment.words)
    assert n_words > 10


@pytest.mark.parametrize("dtype", ["float32", "auto"])
def test_an_answer_does_not_depend_on_the_run(folder: Path, dtype: str) -> None:
    jobs = [make_job(0, 0, 0.0), make_job(0, 1, 10.0), make_job(1, 2, 3.0)]
    together = answer(load(folder, dtype=dtype), *jobs)
    backwards = answer(load(folder, dtype=dtype), *reversed(jobs))
    assert backwards == list(reversed(together))


def test_jobs_are_pulled_one_by_one(engine: WhisperEngine) -> None:
    pulled = []

    def iter_jobs() -> object:
        for index in range(2):
            pulled.append(index)
            yield make_job(0, index, 0.0, seconds=2.0)

    answers = engine.decode(iter_jobs())  # type: ignore[arg-type]
    next(answers)
    assert pulled == [0]


def test_samples_that_are_no_numbers_are_a_value_and_harm_nobody(engine: WhisperEngine) -> None:
    bad = make_job(0, 0, 0.0)
    bad.samples[100] = np.nan
    first, second = answer(engine, bad, make_job(0, 1, 0.0))
    assert isinstance(first.result, DecodeError)
    assert isinstance(second.result, Hypothesis)


def test_loading_and_decoding_say_nothing(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answer(load(folder, dtype="auto"), make_job(0, 0, 0.0))
    assert capfd.readouterr() == ("", "")


def test_every_window_and_attempt_has_its_own_seed(engine: WhisperEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def sample_badly(*args: object, seeds: list[int], **_: object) -> list[Reading]:
        seen.extend(seeds)
        return [Reading((1,), (-9.0, -9.0), ended=True) for _ in seeds]

    monkeypatch.setattr(whisper_reader, "sample", sample_badly)
    samples = noise(3.0)
    reader = Reader(engine._checkpoint, language="en", read=lambda span: samples[span.start : span.end])
    spans = [Span(0, 8000), Span(8000, 16000), Span(16001, 30000)]
    windows = [Chunk(index, span, (span,), forced_cut=False) for index, span in enumerate(spans)]
    with torch.inference_mode():
        reader.sample(windows)
        once = list(seen)
        reader.sample(windows[1:2])
    assert len(set(once)) == len(once) == len(windows) * len(TEMPERATURES)
    assert set(seen[len(once) :]) < set(once)


# --- languages


def test_the_language_is_that_of_transformers(engine: WhisperEngine) -> None:
    model = make_lively_model()
    languages = {"en": 52, "de": 55, "fr": 57}
    model.generation_config.lang_to_id = {f"<|{code}|>": number for code, number in languages.items()}
    seen = set()
    with torch.inference_mode():
        for seed in range(8):
            encoded = 3.0 * torch.randn(100, 32, generator=torch.Generator().manual_seed(seed))
            output = BaseModelOutput(last_hidden_state=encoded[None])
            (number,) = model.detect_language(encoder_outputs=output).tolist()
            assert languages[engine._checkpoint.language(encoded)] == number
            seen.add(number)
    assert len(seen) > 1


def test_a_job_without_a_language_is_in_the_one_that_is_heard(engine: WhisperEngine) -> None:
    job = make_job(0, 0, 0.0, language=None)
    (given,) = answer(engine, job)
    assert isinstance(given.result, Hypothesis)
    assert {s.language for s in given.result.segments} == {engine.detect_language(job.samples)}


def test_an_english_model_knows_english(tmp_path: Path) -> None:
    engine = load(write_lively_folder(tmp_path / "en", is_multilingual=False))
    assert engine.detect_language(noise(1.0)) == "en"
    assert engine.resolve_language("English") == "en"
    with pytest.raises(UsageError):
        engine.resolve_language("de")
    (given,) = answer(engine, make_job(0, 0, 0.0, language=None))
    assert isinstance(given.result, Hypothesis)


def test_languages_by_name(engine: WhisperEngine) -> None:
    assert engine.resolve_language("German") == "de"
    with pytest.raises(UsageError):
        engine.resolve_language("es")


# --- precision and device


def test_precision_is_said(folder: Path, engine: WhisperEngine) -> None:
    assert engine.info.precision == "float32"
    assert engine.info.device == "cpu"
    assert load(folder, dtype="bfloat16").info.precision == "bfloat16"
    assert load(folder, dtype="auto").info.precision.endswith("decoder int8")


def test_float16_needs_a_gpu(folder: Path) -> None:
    with pytest.raises(UsageError):
        load(folder, dtype="float16")


def test_a_device_that_is_not_there_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for device in ("cuda", "cuda:1"):
        with pytest.raises(DeviceError):
            load(folder, device=device)
    with pytest.raises(UsageError):
        load(folder, device="mps")
    assert load(folder, device="auto").info.device == "cpu"


def test_a_gpu_without_memory_is_an_error_with_advice(engine: WhisperEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(engine, "_answer", fail)
    with pytest.raises(DeviceError) as caught:
        answer(engine, make_job(0, 0, 0.0))
    assert caught.value.hint


# --- broken folders


def break_weights(folder: Path) -> None:
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1000])


def drop_a_tensor(folder: Path) -> None:
    from safetensors.torch import load_file, save_file

    tensors = load_file(folder / "model.safetensors")
    del tensors["model.decoder.layers.1.fc1.weight"]
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def reshape(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"decoder_ffn_dim": 96}))


def name_another_model(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"model_type": "bert"}))


@pytest.mark.parametrize(
    "spoil",
    [
        break_weights,
        drop_a_tensor,
        reshape,
        name_another_model,
        lambda folder: (folder / "model.safetensors").unlink(),
        lambda folder: (folder / "config.json").unlink(),
        lambda folder: (folder / "config.json").write_text("{"),
        lambda folder: (folder / "config.json").write_text("[]"),
        lambda folder: (folder / "tokenizer.json").unlink(),
        lambda folder: (folder / "tokenizer.json").write_text("{"),
    ],
    ids=["truncated", "tensor", "shape", "kind", "weights", "config", "json", "list", "tokenizer", "tokens"],
)
def test_a_broken_folder_is_an_error_that_names_it(tmp_path: Path, spoil: object) -> None:
    folder = write_lively_folder(tmp_path / "model")
    spoil(folder)  # type: ignore[operator]
    with pytest.raises(WeightsError) as caught:
        load(folder)
    assert str(folder) in str(caught.value)


# --- the default weights


@pytest.fixture(scope="module")
def base(whisper_base: Path) -> WhisperEngine:
    return load(whisper_base, dtype="auto")


def transcribe(engine: WhisperEngine, samples: Samples, *speech: tuple[float, float]) -> Hypothesis:
    spans = tuple(Span(round(start * RATE), round(end * RATE)) for start, end in speech)
    chunk = Chunk(0, Span(spans[0].start, spans[-1].end), spans, forced_cut=False)
    heard = samples[chunk.span.start : chunk.span.end]
    (given,) = answer(engine, ask(chunk, heard, engine.detect_language(heard)))
    assert isinstance(given.result, Hypothesis)
    return given.result


@pytest.mark.weights
@pytest.mark.data
def test_a_president_is_understood(base: WhisperEngine, data_dir: Path) -> None:
    with open_recording(
        str(data_dir / "speech" / "jfk.flac"), recording_id=RecordingId(0), sample_rate=RATE
    ) as recording:
        samples = np.array(recording.samples(Span(0, recording.n_samples)))
    pauses = [(0.2, 2.2), (3.2, 4.6), (5.3, 7.8), (8.0, 10.7)]
    result = transcribe(base, samples, *pauses)
    text = "".join(
        letter for s in result.segments for letter in f"{s.text} ".lower() if letter.isalpha() or letter == " "
    )
    assert "ask not what your country can do for you ask what you can do for your country" in text
    assert result.gaps == ()
    words = [word for s in result.segments for word in s.words]
    assert {s.language for s in result.segments} == {"en"}
    assert all(0.0 <= word.start <= word.end <= 10.5 + 1e-6 for word in words)
    assert all(word.end - word.start < 1.5 for word in words)
    ask = [word for word in words if word.text.strip().lower().startswith("ask")]
    assert [word.start + 0.2 for word in ask] == pytest.approx([3.3, 8.1], abs=0.35)


@pytest.mark.weights
def test_nobody_is_heard_where_nobody_speaks(base: WhisperEngine) -> None:
    assert transcribe(base, np.zeros(3 * RATE, dtype=np.float32), (0.0, 3.0)) == Hypothesis(segments=())
    assert transcribe(base, noise(3.0) / 2, (0.0, 3.0)) == Hypothesis(segments=())
