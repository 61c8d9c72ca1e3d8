"""Keywords in the VibeVoice engines, on the trained tiny model with so much noise that it errs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import soundfile

from murmur_cli.audio.levels import measure_level
from murmur_cli.bias.keywords import Form, Keyword, KeywordList
from murmur_cli.engine import Answer, Bias, Job, StreamSegment
from murmur_cli.models.vibevoice.engine import VibeVoiceEngine, load_vibevoice
from murmur_cli.models.vibevoice.streaming import VibeVoiceStreamEngine, load_vibevoice_stream
from murmur_cli.models.weights import pull_weights
from murmur_cli.options import BatchOptions, ChunkOptions, ModelOptions, StreamOptions
from murmur_cli.types import Chunk, Hypothesis, HypSegment, KeywordHit, RecordingId, Samples, Span

pytestmark = pytest.mark.data

SHA = "0" * 64
NOTHING = Bias(KeywordList(()), 3.0)


def listen(*phrases: str, margin: float = 3.0) -> Bias:
    return Bias(KeywordList(tuple(Keyword((Form(phrase),)) for phrase in phrases)), margin)


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MURMUR_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "lists"))


@pytest.fixture(scope="module")
def folder(models_dir: Path) -> Path:
    return models_dir / "tiny-vibevoice-digits"


@pytest.fixture(scope="module")
def talks(data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Samples]:
    scratch = tmp_path_factory.mktemp("noisy")
    program = data_dir.parent / "tools" / "make_digits.py"
    read = []
    for seed in (31, 32, 33):
        path = scratch / f"talk{seed}"
        subprocess.run([sys.executable, program, path, "7", "2", str(seed), "-18"], check=True)
        read.append(soundfile.read(path.with_suffix(".wav"), dtype="float32")[0])
    return read


@pytest.fixture(scope="module")
def engine(folder: Path) -> VibeVoiceEngine:
    model = ModelOptions(device="cpu", dtype="float32", batch_size="3")
    options = BatchOptions(chunk=ChunkOptions(max_chunk_s=30.0))
    return load_vibevoice(
        folder, name="digits", weights_sha256=SHA, model=model, options=options, on_note=lambda _: None
    )


@pytest.fixture(scope="module")
def live(folder: Path) -> VibeVoiceStreamEngine:
    model = ModelOptions(model="digits", device="cpu", dtype="float32")
    weights = pull_weights(str(folder), offline=True)
    return load_vibevoice_stream(weights, model=model, options=StreamOptions(), vad=None, on_note=lambda _: None)


def ask(samples: Samples, bias: Bias | None, recording: int = 0) -> Job:
    span = Span(0, len(samples))
    return Job(
        recording_id=RecordingId(recording),
        chunk=Chunk(0, span, (), forced_cut=False),
        samples=samples,
        level=measure_level([samples]),
        language=None,
        bias=bias,
    )


def answer(engine: VibeVoiceEngine, jobs: Sequence[Job]) -> list[Hypothesis]:
    answers: list[Answer] = sorted(engine.decode(iter(jobs)), key=lambda one: one.recording_id)
    results = [one.result for one in answers]
    assert all(isinstance(result, Hypothesis) for result in results)
    return results  # type: ignore[return-value]


def read_words(segments: Sequence[HypSegment | StreamSegment]) -> list[str]:
    return [word for segment in segments for word in segment.text.split()]


def check_hits(hits: Sequence[KeywordHit], segments: Sequence[HypSegment | StreamSegment], phrase: str) -> None:
    assert [hit.phrase for hit in hits] == [phrase] * read_words(segments).count(phrase)
    for hit in hits:
        assert any(segment.start <= hit.start < hit.end <= segment.end + 1e-9 for segment in segments)


# --- recordings


def test_recordings_are_heard_with_their_own_lists(engine: VibeVoiceEngine, talks: Sequence[Samples]) -> None:
    plain = answer(engine, [ask(talk, None, i) for i, talk in enumerate(talks)])
    biased = answer(engine, [ask(talk, listen("five", margin=4.0), i) for i, talk in enumerate(talks)])
    n_changed = 0
    for before, after in zip(plain, biased, strict=True):
        assert before.hits == ()
        check_hits(after.hits, after.segments, "five")
        n_more = read_words(after.segments).count("five") - read_words(before.segments).count("five")
        assert n_more <= sum(hit.changed for hit in after.hits)
        n_changed += sum(hit.changed for hit in after.hits)
    assert n_changed > 0
    biases = (listen("five", margin=4.0), None, NOTHING)
    mixed = answer(engine, [ask(talk, bias, i) for i, (talk, bias) in enumerate(zip(talks, biases, strict=True))])
    assert mixed == [biased[0], plain[1], plain[2]]


def test_other_words_of_a_list_never_appear(engine: VibeVoiceEngine, talks: Sequence[Samples]) -> None:
    distractors = listen("Szypanski", "Speakers Corner", "Start", "Content", "0.5", '"}', "<|im_end|>", margin=20.0)
    plain, biased = (answer(engine, [ask(talks[0], bias)]) for bias in (None, distractors))
    assert plain == biased


def test_an_answer_that_is_gone_on_with_listens_on(
    engine: VibeVoiceEngine, talks: Sequence[Samples], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first answer is cut in its second entry; what is written behind what is kept has its hits, too."""
    import murmur_cli.models.vibevoice.engine as module

    whole = answer(engine, [ask(talks[1], listen("two", "three", "five", "eight"))])[0]
    monkeypatch.setattr(module, "_SPARE_TOKENS", 30)
    monkeypatch.setattr(module, "_TOKENS_PER_S", 0)
    job = ask(talks[1], listen("two", "three", "five", "eight"))
    (cut,) = engine.decode([replace(job, chunk=replace(job.chunk, speech=(job.chunk.span,)))])
    assert cut.stats is not None
    assert cut.stats.n_retries > 0
    assert isinstance(cut.result, Hypothesis)
    texts = [segment.text for segment in cut.result.segments]
    assert texts[0] == whole.segments[0].text
    assert len(texts) > 1
    expected = [word for word in read_words(cut.result.segments) if word in ("two", "three", "five", "eight")]
    assert [hit.phrase for hit in cut.result.hits] == expected


# --- live


def hear(live: VibeVoiceStreamEngine, samples: Samples, biases: Sequence[Bias | None]) -> list[StreamSegment]:
    """Hear a session in halves, with what is listened for in each."""
    segments: list[StreamSegment] = []
    with live.open(StreamOptions(), bias=biases[0]) as stream:
        half = len(samples) // 2
        for i, part in enumerate((samples[:half], samples[half:])):
            if i and biases[1] is not biases[0]:
                stream.rebias(biases[1])
            segments += stream.push(part).committed
        segments += stream.finish().committed
    return segments


def test_sessions_are_heard_with_lists(live: VibeVoiceStreamEngine, talks: Sequence[Samples]) -> None:
    five = listen("five", margin=4.0)
    for talk in talks:
        plain = hear(live, talk, (None, None))
        biased = hear(live, talk, (five, five))
        hits = [hit for segment in biased for hit in segment.hits]
        check_hits(hits, biased, "five")
        n_more = read_words(biased).count("five") - read_words(plain).count("five")
        assert n_more <= sum(hit.changed for hit in hits)
        assert hear(live, talk, (NOTHING, NOTHING)) == plain
        late, early = hear(live, talk, (None, five)), hear(live, talk, (five, None))
        n_first = sum(segment.end <= 2.94 for segment in plain)  # the first chunk: before the lists change
        assert late[:n_first] == plain[:n_first]
        assert early[:n_first] == biased[:n_first]
        assert not any(hit.start > 8 for segment in early for hit in segment.hits)


def test_no_speaker_is_made_by_a_list(live: VibeVoiceStreamEngine, talks: Sequence[Samples]) -> None:
    corner = listen("Speakers Corner", "Speaker 3", "3:", margin=20.0)
    plain = hear(live, talks[0], (None, None))
    biased = hear(live, talks[0], (corner, corner))
    assert [replace(segment, hits=()) for segment in biased] == plain
    assert len({segment.speaker for segment in plain}) == 2


def test_both_engines_say_that_they_listen(engine: VibeVoiceEngine, live: VibeVoiceStreamEngine) -> None:
    assert engine.extras.bias
    assert live.extras.bias
