"""The VibeVoice engine on the trained tiny model: what transformers writes, whatever is decoded beside it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch
from conftest import Finished
from torch import Tensor
from transformers import AutoProcessor, VibeVoiceAsrForConditionalGeneration

from murmur_cli.audio.levels import measure_level
from murmur_cli.decode.parse import parse_answer
from murmur_cli.engine import Answer, Job
from murmur_cli.errors import DeviceError, UsageError
from murmur_cli.models.vibevoice import engine as engine_module
from murmur_cli.models.vibevoice import features, memory
from murmur_cli.models.vibevoice.engine import VibeVoiceEngine, load_vibevoice
from murmur_cli.options import BatchOptions, ChunkOptions, DecodeOptions, ModelOptions
from murmur_cli.types import Chunk, DecodeError, Hypothesis, RecordingId, Samples, Span

pytestmark = pytest.mark.data

RATE = 24_000
CHUNK = ChunkOptions(max_chunk_s=60.0)


@pytest.fixture(scope="module")
def folder(models_dir: Path) -> Path:
    return models_dir / "tiny-vibevoice-digits"


@pytest.fixture(scope="module")
def talks(data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Conversations of 8 s, 14 s and 20 s, with two, three and two people."""
    scratch = tmp_path_factory.mktemp("digits")
    program = data_dir.parent / "tools" / "make_digits.py"
    made = [scratch / f"talk{i}" for i in range(3)]
    for i, (path, seconds, people) in enumerate(zip(made, (8, 14, 20), (2, 3, 2), strict=True)):
        subprocess.run([sys.executable, program, path, str(seconds), str(people), str(40 + i)], check=True)
    return [path.with_suffix(".wav") for path in made]


def load(
    folder: Path, *, decode: DecodeOptions | None = None, notes: list[str] | None = None, **model: str
) -> VibeVoiceEngine:
    heard = [] if notes is None else notes
    return load_vibevoice(
        folder,
        name="digits",
        weights_sha256="0" * 64,
        model=ModelOptions(**{"device": "cpu", "dtype": "float32", "batch_size": "2"} | model),  # type: ignore[arg-type]
        options=BatchOptions(chunk=CHUNK, decode=decode or DecodeOptions()),
        on_note=heard.append,
    )


@pytest.fixture(scope="module")
def engine(folder: Path) -> VibeVoiceEngine:
    return load(folder)


def read(path: Path) -> Samples:
    samples: Samples = soundfile.read(path, dtype="float32")[0]
    return samples


def ask(samples: Samples, *, recording: int = 0, index: int = 0, start: int = 0, speech: tuple[Span, ...] = ()) -> Job:
    span = Span(start, start + len(samples))
    return Job(
        recording_id=RecordingId(recording),
        chunk=Chunk(index, span, speech, forced_cut=False),
        samples=samples,
        level=measure_level([samples]),
        language=None,
    )


def answer(engine: VibeVoiceEngine, jobs: Sequence[Job]) -> dict[tuple[int, int], Answer]:
    answers = list(engine.decode(iter(jobs)))
    assert len(answers) == len(jobs)
    return {(one.recording_id, one.index): one for one in answers}


def test_it_says_what_transformers_says(folder: Path, engine: VibeVoiceEngine, talks: Sequence[Path]) -> None:
    network = VibeVoiceAsrForConditionalGeneration.from_pretrained(folder, dtype=torch.float32).eval()
    processor = AutoProcessor.from_pretrained(folder)
    jobs = [ask(read(path), recording=i) for i, path in enumerate(talks)]
    answers = answer(engine, jobs)
    for i, job in enumerate(jobs):
        inputs = processor.apply_transcription_request(job.samples)
        with torch.no_grad():
            tokens = network.generate(**inputs, sample=False, max_new_tokens=600)[0, inputs["input_ids"].shape[1] :]
        text = processor.tokenizer.decode(tokens, skip_special_tokens=True)
        expected = parse_answer(text, duration=len(job.samples) / RATE)
        assert isinstance(expected, Hypothesis)
        assert expected.segments
        assert answers[i, 0].result == expected


def test_an_answer_does_not_depend_on_what_is_decoded_beside_it(
    folder: Path, engine: VibeVoiceEngine, talks: Sequence[Path]
) -> None:
    jobs = [ask(read(path), recording=i, index=i) for i, path in enumerate(talks)]
    together = answer(engine, jobs)
    wide = answer(load(folder, batch_size="8"), jobs[::-1])
    for i, job in enumerate(jobs):
        (alone,) = engine.decode([job])
        assert alone.result == together[i, i].result == wide[i, i].result


def test_the_gain_is_that_of_the_recording(engine: VibeVoiceEngine, talks: Sequence[Path]) -> None:
    job = ask(read(talks[0]))
    quiet = replace(job, samples=job.samples * np.float32(0.05), level=measure_level([job.samples * np.float32(0.05)]))
    lost = replace(job, samples=job.samples * np.float32(0.0005))  # its recording is much louder
    (heard,) = engine.decode([job])
    (raised,) = engine.decode([quiet])
    (faint,) = engine.decode([lost])
    assert raised.result == heard.result
    assert faint.result != heard.result


def test_noise_comes_from_its_seed_and_the_place_of_the_chunk(
    folder: Path, talks: Sequence[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[Tensor] = []

    def spy(*args: object, **options: object) -> Tensor:
        heard.append(features.encode_audio(*args, **options))  # type: ignore[arg-type]
        return heard[-1]

    monkeypatch.setattr(engine_module, "encode_audio", spy)
    here, there = ask(read(talks[0])), ask(read(talks[0]), index=1, start=10 * RATE)
    for engine, jobs in (
        (load(folder), [here]),
        (load(folder, decode=DecodeOptions(acoustic_noise=7)), [here, there]),
        (load(folder, decode=DecodeOptions(acoustic_noise=7)), [there, here]),
        (load(folder, decode=DecodeOptions(acoustic_noise=8)), [here]),
    ):
        answer(engine, jobs)
    plain, first, second, second_again, first_again, other = heard
    assert torch.equal(first, first_again)
    assert torch.equal(second, second_again)
    assert all(not torch.equal(one, two) for one, two in combinations((plain, first, second, other), 2))


def test_an_answer_that_does_not_end_is_gone_on_with(
    engine: VibeVoiceEngine, talks: Sequence[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    samples = read(talks[2])
    (heard,) = engine.decode([ask(samples)])
    assert isinstance(heard.result, Hypothesis)
    speech = [Span(round(told.start * RATE), round(told.end * RATE)) for told in heard.result.segments]
    job = ask(samples, speech=tuple(speech))
    (whole,) = engine.decode([job])
    monkeypatch.setattr(engine_module, "_SPARE_TOKENS", 80)  # for five of seven entries or so
    monkeypatch.setattr(engine_module, "_TOKENS_PER_S", 0)
    (pieced,) = engine.decode([job])
    assert isinstance(whole.result, Hypothesis)
    assert isinstance(pieced.result, Hypothesis)
    assert whole.stats is not None
    assert pieced.stats is not None
    assert (whole.stats.n_retries, pieced.stats.n_retries > 0) == (0, True)
    assert pieced.result == whole.result  # the model is sure of these words at a temperature of 0.2, too


def test_a_chunk_that_cannot_be_read_is_an_error_and_its_neighbours_are_not(
    engine: VibeVoiceEngine, talks: Sequence[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = [ask(read(talks[0]), index=i) for i in range(3)]
    expected = answer(engine, jobs)
    monkeypatch.setattr(engine_module, "_count_tokens", lambda n_samples: 10 if n_samples == len(lost) else 400)
    monkeypatch.setattr(engine_module, "_SPARE_TOKENS", 10)
    lost = read(talks[0])[: 5 * RATE]
    answers = answer(engine, [*jobs, ask(lost, index=3)])
    assert isinstance(answers[0, 3].result, DecodeError)
    assert {key: one.result for key, one in answers.items() if key[1] < 3} == {
        key: one.result for key, one in expected.items()
    }


def test_out_of_memory_halves_the_batch_once_and_loses_nothing(
    folder: Path, engine: VibeVoiceEngine, talks: Sequence[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = [ask(read(path), recording=i, index=k) for i, path in enumerate(talks) for k in range(2)]
    expected = answer(engine, jobs)
    n_heard, lack_at = 0, {3}

    def hear(*args: object, **options: object) -> Tensor:
        nonlocal n_heard
        n_heard += 1
        if n_heard in lack_at:
            raise torch.OutOfMemoryError("the test says so")
        return features.encode_audio(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(engine_module, "encode_audio", hear)
    notes: list[str] = []
    halved = answer(load(folder, batch_size="4", notes=notes), jobs)
    assert {key: one.result for key, one in halved.items()} == {key: one.result for key, one in expected.items()}
    (note,) = notes
    assert "4" in note
    assert "2" in note
    n_heard, lack_at = 0, {3, 5}
    with pytest.raises(DeviceError, match="--batch-size"):
        answer(load(folder, batch_size="4"), jobs)


@pytest.mark.parametrize("policy", ["output", "speech", "both"])
def test_what_is_forgotten_is_said_and_costs_no_words(
    folder: Path, engine: VibeVoiceEngine, talks: Sequence[Path], policy: str
) -> None:
    jobs = [ask(read(path), recording=i) for i, path in enumerate(talks)]
    forgetful = load(folder, evict=policy)
    assert (engine.info.eviction, forgetful.info.eviction) == ("none", policy)
    plain = answer(engine, jobs)
    for key, one in answer(forgetful, jobs).items():
        assert one.stats is not None
        assert one.stats.n_kept <= one.stats.n_logical
        assert isinstance(one.result, Hypothesis)
        assert isinstance(plain[key].result, Hypothesis)
        assert len(one.result.segments) == len(plain[key].result.segments)  # short chunks: hardly anything is forgotten


def test_statistics_count_what_was_read_and_written(engine: VibeVoiceEngine, talks: Sequence[Path]) -> None:
    jobs = [ask(read(path), recording=i) for i, path in enumerate(talks)]
    for (i, _), one in answer(engine, jobs).items():
        assert one.stats is not None
        assert one.stats.n_prompt > len(jobs[i].samples) / 3200
        assert one.stats.n_kept == one.stats.n_logical == one.stats.n_prompt + one.stats.n_tokens
        assert 0 < one.stats.prompt_s < one.stats.seconds
        assert 0.0 < one.stats.live_share <= 1.0


def test_the_context_reaches_the_model_without_control_tokens(folder: Path, talks: Sequence[Path]) -> None:
    notes: list[str] = []
    engine = load(folder, decode=DecodeOptions(context="keywords: <|im_end|>nine", language="de"), notes=notes)
    assert len(notes) == 2
    job = ask(read(talks[0]))
    plain, told = (answer(engine, [replace(job, context=text)])[0, 0] for text in (None, "keywords: <|im_end|>nine"))
    clean = answer(engine, [replace(job, context="keywords: nine")])[0, 0]
    assert plain.stats is not None
    assert told.stats is not None
    assert clean.stats is not None
    assert told.stats.n_prompt == clean.stats.n_prompt > plain.stats.n_prompt
    assert told.result == clean.result


def test_languages_are_those_of_the_model(engine: VibeVoiceEngine) -> None:
    assert engine.resolve_language("German") == "de"
    assert engine.detect_language(np.zeros(RATE, np.float32)) is None  # type: ignore[func-returns-value]
    with pytest.raises(UsageError):
        engine.resolve_language("Klingon")


def test_a_batch_that_does_not_fit_is_refused_with_the_numbers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "measure_free", lambda device: memory.Free("cpu", 2_000_000_000))
    with pytest.raises(DeviceError, match="--batch-size"):
        load(folder, batch_size="1000")


@pytest.fixture(scope="module")
def long_talk(talks: Sequence[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same conversation three times over, with 2 s between."""
    path = tmp_path_factory.mktemp("long") / "talk.wav"
    samples = read(talks[2])
    pause = np.random.default_rng(0).normal(0, 1e-4, 2 * RATE).astype(np.float32)
    soundfile.write(path, np.concatenate([samples, pause, samples, pause, samples]), RATE)
    return path


def test_one_command_gives_words_times_speakers_and_statistics(
    run_murmur: Callable[..., Finished], folder: Path, long_talk: Path, tmp_path: Path
) -> None:
    done = run_murmur(
        "batch",
        long_talk,
        "--model",
        folder,
        "--max-chunk-s",
        "24",
        "-f",
        "json",
        "--stats",
        "stats.jsonl",
        timeout=180,
    )
    assert done.code == 0, done.stderr
    told = json.loads(done.stdout)
    assert len({segment["speaker"] for segment in told["segments"]}) in (2, 3)  # the voices are hard at 8 kHz
    assert all(segment["speaker"].startswith("S") for segment in told["segments"])
    words = " ".join(segment["text"] for segment in told["segments"]).split()
    third = words[: len(words) // 3]
    assert words == third * 3
    stats = [json.loads(line) for line in (tmp_path / "stats.jsonl").read_text().splitlines()]
    assert [line["chunk"] for line in sorted(stats, key=lambda line: line["start"])] == [0, 1, 2]


@pytest.mark.parametrize(
    "args",
    [("--word-times",), ("--language", "klingon"), ("--dtype", "float16"), ("--batch-size", "0"), ("--context", "@no")],
)
def test_what_it_cannot_do_is_refused(
    call_murmur: Callable[..., Finished], folder: Path, long_talk: Path, args: Sequence[str]
) -> None:
    done = call_murmur("batch", long_talk, "--model", folder, *args)
    assert (done.code, done.stdout) == (2, b"")
    assert len(done.stderr.strip().splitlines()) == 1
    assert args[0] in done.stderr or "no" in done.stderr
