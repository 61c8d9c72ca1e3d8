"""Keywords in Whisper's loops: against slow ones on a tiny random model, and on the default weights."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from lively_whisper import END, N_MELS, N_VOCABULARY, PROMPT, SPECIALS, make_lively_model
from oracles.whisper_keywords import Listener, Writer, choose_with_list, search_with_list
from torch import Tensor
from transformers import WhisperForConditionalGeneration

from murmur_cli.audio.levels import measure_level
from murmur_cli.audio.source import open_recording
from murmur_cli.bias.allocation import Phrase
from murmur_cli.bias.graph import build_graph
from murmur_cli.bias.hits import HitFinder
from murmur_cli.bias.index import TokenIndex, index_vocabulary
from murmur_cli.bias.keywords import KeywordList, join_lists
from murmur_cli.bias.list_files import parse_phrase
from murmur_cli.bias.packed import BiasList
from murmur_cli.bias.store import BiasStore
from murmur_cli.bias.vocabulary import Vocabulary
from murmur_cli.engine import Bias, Job
from murmur_cli.models.whisper.beam import search
from murmur_cli.models.whisper.decoder import Decoder
from murmur_cli.models.whisper.ear import Ear
from murmur_cli.models.whisper.encoder import Encoder
from murmur_cli.models.whisper.engine import WhisperEngine, load_whisper
from murmur_cli.models.whisper.guards import Verdict
from murmur_cli.models.whisper.passage import Passage, choose_passage
from murmur_cli.models.whisper.precision import choose_precision
from murmur_cli.models.whisper.sample import sample
from murmur_cli.models.whisper.task import Reading, Task
from murmur_cli.types import Chunk, Hypothesis, RecordingId, Samples, Span, Word

CPU = torch.device("cpu")
FORBIDDEN = (7, 8, *range(50, N_VOCABULARY))
NOT_FIRST = (END, 15, 18)
BUDGETS = (12, 30, 25, 40)  # so that those that go on change places
MARGIN = 2.5


@pytest.fixture(scope="module")
def model() -> WhisperForConditionalGeneration:
    return make_lively_model()


@pytest.fixture(scope="module")
def decoder(model: WhisperForConditionalGeneration) -> Decoder:
    return Decoder(model, forbidden=FORBIDDEN, precision=choose_precision("float32", CPU), device=CPU)


@pytest.fixture(scope="module")
def encoded(model: WhisperForConditionalGeneration) -> list[Tensor]:
    generator = torch.Generator().manual_seed(3)
    encoder = Encoder(model.model.encoder, dtype=torch.float32, device=CPU)
    with torch.inference_mode():
        return [encoder.encode(torch.randn(N_MELS, 200, generator=generator)) for _ in BUDGETS]


@pytest.fixture(scope="module")
def index() -> TokenIndex:
    pieces = tuple(None if token in SPECIALS else f" w{token}".encode() for token in range(N_VOCABULARY))
    return index_vocabulary(Vocabulary(pieces, encode=lambda _: (), sha256="lively"))


def make_list(index: TokenIndex, *phrases: str, bonus: float = 1.0) -> BiasList:
    """Compile phrases that earn so much for each character."""
    parts = [Phrase(text, tuple(bonus * n for n in range(1, len(text) + 1)), is_open=False) for text in phrases]
    return build_graph(parts, index, sha256=str(hash(phrases)))


@pytest.fixture(scope="module")
def graph(index: TokenIndex) -> BiasList:
    rng = random.Random(5)
    texts = (" ".join(f"w{rng.randrange(50)}" for _ in range(rng.choice([1, 2, 2, 3]))) for _ in range(30))
    return make_list(index, *sorted(set(texts)))


def make_ear(graph: BiasList, index: TokenIndex, *, margin: float = MARGIN) -> Ear:
    store = BiasStore(index.classes, CPU)
    return Ear(store, store.add(graph), margin, END, HitFinder(KeywordList(())))


def write(decoder: Decoder, encoded: Sequence[Tensor], ear: Ear | None, *, n_beams: int) -> list[Reading]:
    task = Task(prompt=PROMPT, end=END, not_first=NOT_FIRST, budgets=BUDGETS[: len(encoded)], ear=ear)
    with torch.inference_mode():
        audio = decoder.memorise(encoded)
        if n_beams > 1:
            return search(decoder, audio, task, n_beams=n_beams)
        return sample(decoder, audio, task, temperature=0.0, seeds=range(len(encoded)))


@pytest.mark.parametrize("n_beams", [1, 4])
def test_texts_are_those_of_the_slow_search(
    model: WhisperForConditionalGeneration,
    decoder: Decoder,
    encoded: list[Tensor],
    index: TokenIndex,
    graph: BiasList,
    n_beams: int,
) -> None:
    readings = write(decoder, encoded, make_ear(graph, index), n_beams=n_beams)
    listener = Listener(graph, index.classes, MARGIN, END)
    for window, reading, budget in zip(encoded, readings, BUDGETS, strict=True):
        writer = Writer(model, window, PROMPT, FORBIDDEN, NOT_FIRST)
        with torch.inference_mode():
            if n_beams > 1:
                expected = search_with_list(writer, listener, n_tokens=budget, n_beams=n_beams)
            else:
                expected = choose_with_list(writer, listener, n_tokens=budget)
        assert (*reading.tokens, *[END] * reading.ended) == expected.tokens
        assert reading.changed == expected.changed
        assert reading.logprobs == pytest.approx(expected.logprobs, abs=1e-3)
    plain = write(decoder, encoded, None, n_beams=n_beams)
    assert all(ours.tokens != theirs.tokens for ours, theirs in zip(readings, plain, strict=True))
    assert any(any(reading.changed) for reading in readings)


@pytest.mark.parametrize("n_beams", [1, 4])
def test_a_list_that_raises_nothing_changes_no_bit(
    decoder: Decoder, encoded: list[Tensor], index: TokenIndex, n_beams: int
) -> None:
    plain = write(decoder, encoded, None, n_beams=n_beams)
    heard = write(decoder, encoded, make_ear(make_list(index, "nobody says this"), index), n_beams=n_beams)
    assert [replace(reading, changed=()) for reading in heard] == [replace(reading, changed=()) for reading in plain]
    assert not any(any(reading.changed) for reading in (*plain, *heard))


@pytest.mark.parametrize("n_beams", [1, 4])
def test_a_window_with_a_list_does_not_depend_on_its_neighbours(
    decoder: Decoder, encoded: list[Tensor], index: TokenIndex, graph: BiasList, n_beams: int
) -> None:
    ear = make_ear(graph, index)
    together = write(decoder, encoded, ear, n_beams=n_beams)
    alone = write(decoder, encoded[:1], ear, n_beams=n_beams)
    assert together[0].tokens == alone[0].tokens


@pytest.mark.parametrize("n_beams", [1, 4])
def test_a_list_does_not_feed_a_loop(
    model: WhisperForConditionalGeneration, encoded: list[Tensor], index: TokenIndex, n_beams: int
) -> None:
    """A word that is raised every time, over everything else, is said until it is a loop, and then no more."""
    forbidden = (*FORBIDDEN, END)  # so that nothing else keeps it from being raised
    decoder = Decoder(model, forbidden=forbidden, precision=choose_precision("float32", CPU), device=CPU)
    word = make_list(index, "w5", bonus=20.0)
    (heard,) = write(decoder, encoded[:1], make_ear(word, index, margin=200.0), n_beams=n_beams)
    listener = Listener(word, index.classes, 200.0, END)
    writer = Writer(model, encoded[0], PROMPT, forbidden, NOT_FIRST)
    with torch.inference_mode():
        if n_beams > 1:
            expected = search_with_list(writer, listener, n_tokens=BUDGETS[0], n_beams=n_beams)
        else:
            expected = choose_with_list(writer, listener, n_tokens=BUDGETS[0])
    assert heard.tokens == expected.tokens
    if n_beams == 1:
        assert heard.tokens[:9] == (5,) * 9
        assert heard.tokens[9] != 5


def test_the_end_of_a_text_is_never_put_off(
    decoder: Decoder, encoded: list[Tensor], index: TokenIndex, model: WhisperForConditionalGeneration
) -> None:
    greedy = write(decoder, encoded, None, n_beams=1)
    ended = [place for place, reading in enumerate(greedy) if reading.ended]
    assert ended
    everything = make_list(index, *(f"w{token}" for token in range(50)))
    for place in ended:
        writer = Writer(model, encoded[place], PROMPT, FORBIDDEN, NOT_FIRST)
        heard = write(decoder, encoded[place : place + 1], make_ear(everything, index, margin=20.0), n_beams=1)[0]
        with torch.inference_mode():
            listener = Listener(everything, index.classes, 20.0, END)
            expected = choose_with_list(writer, listener, n_tokens=BUDGETS[0])
        assert (*heard.tokens, *[END] * heard.ended) == expected.tokens


# --- what a reading with a list is worth


def passage(verdict: Verdict, name: str) -> Passage:
    window = Chunk(0, Span(0, 10), (Span(0, 10),), forced_cut=False)
    return Passage(window, (Word(0.0, 1.0, name, 0.5),), verdict, -0.5, (), None)


@pytest.mark.parametrize(
    ("plain", "listed", "excused", "taken"),
    [
        (Verdict.GOOD, Verdict.GOOD, Verdict.GOOD, "listed"),
        (Verdict.GOOD, Verdict.UNLIKELY, Verdict.GOOD, "excused"),
        (Verdict.GOOD, Verdict.SILENT, Verdict.GOOD, "excused"),
        (Verdict.GOOD, Verdict.UNLIKELY, Verdict.UNLIKELY, "plain"),
        (Verdict.GOOD, Verdict.LOOPING, Verdict.LOOPING, "plain"),
        (Verdict.SILENT, Verdict.GOOD, Verdict.GOOD, "plain"),
        (Verdict.UNLIKELY, Verdict.GOOD, Verdict.GOOD, "plain"),
        (Verdict.LOOPING, Verdict.GOOD, Verdict.GOOD, "listed"),
        (Verdict.LOOPING, Verdict.UNLIKELY, Verdict.GOOD, "plain"),
    ],
)
def test_no_list_makes_speech_of_noise_nor_noise_of_speech(
    plain: Verdict, listed: Verdict, excused: Verdict, taken: str
) -> None:
    chosen = choose_passage(passage(plain, "plain"), passage(listed, "listed"), passage(excused, "excused"))
    assert chosen.words[0].text == taken


def test_what_a_list_chose_is_left_out_only_where_it_is_excused() -> None:
    reading = Reading((1, 2), (-3.0, -0.2, -0.4), ended=True, changed=(True, False, False))
    assert reading.mean_logprob == pytest.approx(-1.2)
    assert replace(reading, is_excused=True).mean_logprob == pytest.approx(-0.3)


# --- the default weights


@pytest.fixture(scope="module")
def base(whisper_base: Path) -> WhisperEngine:
    return load_whisper(whisper_base, name="base", weights_sha256="0" * 64, device="cpu", dtype="auto")


def hear(engine: WhisperEngine, samples: Samples, bias: Bias | None) -> Hypothesis:
    span = Span(0, len(samples))
    job = Job(
        recording_id=RecordingId(0),
        chunk=Chunk(0, span, (span,), forced_cut=False),
        samples=samples,
        level=measure_level([samples]),
        language="en",
        bias=bias,
    )
    (given,) = engine.decode([job])
    assert isinstance(given.result, Hypothesis)
    return given.result


@pytest.mark.weights
@pytest.mark.data
def test_a_product_is_understood_with_its_name(base: WhisperEngine, data_dir: Path) -> None:
    path = str(data_dir / "speech" / "hotwords.mp3")
    with open_recording(path, recording_id=RecordingId(0), sample_rate=16_000) as recording:
        samples = np.array(recording.samples(Span(0, recording.n_samples)))
    plain, heard = hear(base, samples, None), hear(base, samples, Bias(parse_phrase("ComfyUI"), 3.0))
    said, text = (" ".join(segment.text for segment in each.segments) for each in (plain, heard))
    assert "ComfyUI" not in said
    assert text.count("ComfyUI folder") == 2
    assert plain.hits == ()
    assert [hit.phrase for hit in heard.hits] == ["ComfyUI"] * 2
    assert heard.hits[0].changed
    words = [word for segment in heard.segments for word in segment.words if "ComfyUI" in word.text]
    assert [(hit.start, hit.end) for hit in heard.hits] == [(word.start, word.end) for word in words]


@pytest.mark.weights
def test_no_list_is_heard_where_nobody_speaks(base: WhisperEngine) -> None:
    phrases = ("you", "Thank you", "thanks for watching", "ComfyUI")
    bias = Bias(join_lists(map(parse_phrase, phrases)), 20.0)
    noise = np.random.default_rng(0).normal(scale=0.05, size=48_000).astype(np.float32)
    for samples in (np.zeros(48_000, np.float32), noise):
        assert hear(base, samples, bias) == Hypothesis(segments=())
