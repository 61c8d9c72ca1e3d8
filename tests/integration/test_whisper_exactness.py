"""Whisper's forward and loops, on a tiny random model in float32, against transformers' own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from lively_whisper import END, N_MELS, N_VOCABULARY, PROMPT, make_lively_model
from oracles.whisper import attend_plainly, generate_plainly, least_cost, sharpen_plainly
from torch import Tensor
from transformers import WhisperFeatureExtractor, WhisperForConditionalGeneration

from murmur_cli.models.whisper.align import align_tokens
from murmur_cli.models.whisper.beam import search
from murmur_cli.models.whisper.decoder import Decoder
from murmur_cli.models.whisper.encoder import Encoder
from murmur_cli.models.whisper.features import FeatureExtractor
from murmur_cli.models.whisper.precision import Precision, choose_precision, make_linear
from murmur_cli.models.whisper.sample import sample
from murmur_cli.models.whisper.state import plan_moves
from murmur_cli.models.whisper.task import Reading, Task

CPU = torch.device("cpu")
FLOAT32 = choose_precision("float32", CPU)
FORBIDDEN = (7, 8, *range(50, N_VOCABULARY))
NOT_FIRST = (END, 15, 18)
SPOKEN = [token for token in range(N_VOCABULARY) if token not in FORBIDDEN]
N_WINDOWS = 5


@pytest.fixture(scope="module")
def model() -> WhisperForConditionalGeneration:
    return make_lively_model()


@pytest.fixture(scope="module")
def encoder(model: WhisperForConditionalGeneration) -> Encoder:
    return Encoder(model.model.encoder, dtype=torch.float32, device=CPU)


@pytest.fixture(scope="module")
def decoder(model: WhisperForConditionalGeneration) -> Decoder:
    return Decoder(model, forbidden=FORBIDDEN, precision=FLOAT32, device=CPU)


@pytest.fixture(scope="module")
def features() -> list[Tensor]:
    generator = torch.Generator().manual_seed(3)
    return [torch.randn(N_MELS, 200, generator=generator) for _ in range(N_WINDOWS)]


@pytest.fixture(scope="module")
def encoded(encoder: Encoder, features: list[Tensor]) -> list[Tensor]:
    with torch.inference_mode():
        return [encoder.encode(window) for window in features]


def task(*budgets: int) -> Task:
    return Task(prompt=PROMPT, end=END, not_first=NOT_FIRST, budgets=budgets)


def write(decoder: Decoder, encoded: Sequence[Tensor], *budgets: int, n_beams: int) -> list[Reading]:
    """By beam search, or greedily with one beam."""
    with torch.inference_mode():
        audio = decoder.memorise(encoded)
        if n_beams > 1:
            return search(decoder, audio, task(*budgets), n_beams=n_beams)
        return sample(decoder, audio, task(*budgets), temperature=0.0, seeds=range(len(budgets)))


# --- forward


@pytest.mark.parametrize("n_mels", [80, 128])
@pytest.mark.parametrize("n_samples", [1, 5_000, 480_000])
def test_features_are_those_of_transformers(n_mels: int, n_samples: int) -> None:
    samples = np.random.default_rng(1).normal(scale=0.1, size=n_samples).astype(np.float32)
    theirs = WhisperFeatureExtractor(feature_size=n_mels)(samples, sampling_rate=16_000, return_tensors="pt")
    ours = FeatureExtractor(n_mels=n_mels, n_frames=3000).extract(samples)
    torch.testing.assert_close(ours, theirs.input_features[0], atol=2e-4, rtol=1e-4)


def test_the_encoder_is_that_of_transformers(
    model: WhisperForConditionalGeneration, features: list[Tensor], encoded: list[Tensor]
) -> None:
    with torch.inference_mode():
        theirs = model.model.encoder(torch.stack(features)).last_hidden_state
    torch.testing.assert_close(torch.stack(encoded), theirs, atol=2e-4, rtol=1e-3)


def test_the_bfloat16_encoder_comes_near(
    model: WhisperForConditionalGeneration, features: list[Tensor], encoded: list[Tensor]
) -> None:
    fast = Encoder(model.model.encoder, dtype=torch.bfloat16, device=CPU)
    with torch.inference_mode():
        error = (fast.encode(features[0]) - encoded[0]).abs().mean() / encoded[0].abs().mean()
    assert 0.0 < error < 0.03


# --- loops


@pytest.mark.parametrize("n_beams", [1, 2, 5])
def test_texts_are_those_of_generate(
    model: WhisperForConditionalGeneration, decoder: Decoder, encoded: list[Tensor], n_beams: int
) -> None:
    budgets = (40, 1, 25, 40, 7)
    readings = write(decoder, encoded, *budgets, n_beams=n_beams)
    with torch.inference_mode():
        theirs = [
            generate_plainly(
                model,
                window,
                prompt=PROMPT,
                forbidden=FORBIDDEN,
                not_first=NOT_FIRST,
                n_tokens=budget,
                n_beams=n_beams,
            )
            for window, budget in zip(encoded, budgets, strict=True)
        ]
    assert [list(reading.tokens) for reading in readings] == theirs
    assert {reading.ended for reading in readings} == {True, False}  # both kinds occur


@pytest.mark.parametrize("n_beams", [1, 4])
def test_a_window_does_not_depend_on_its_neighbours(decoder: Decoder, encoded: list[Tensor], n_beams: int) -> None:
    together = write(decoder, encoded, *[30] * N_WINDOWS, n_beams=n_beams)
    alone = [write(decoder, [window], 30, n_beams=n_beams)[0] for window in encoded]
    assert [reading.tokens for reading in together] == [reading.tokens for reading in alone]
    for ours, other in zip(together, alone, strict=True):
        assert ours.logprobs == pytest.approx(other.logprobs, abs=1e-4)


@pytest.mark.parametrize("n_beams", [1, 5])
def test_logprobs_are_those_of_the_whole_text_read_at_once(
    model: WhisperForConditionalGeneration, decoder: Decoder, encoded: list[Tensor], n_beams: int
) -> None:
    (reading,) = write(decoder, encoded[:1], 40, n_beams=n_beams)
    tokens = [*reading.tokens, *([END] if reading.ended else [])]
    with torch.inference_mode():
        logits = model(
            encoder_outputs=(encoded[0][None],), decoder_input_ids=torch.tensor([[*PROMPT, *tokens]])
        ).logits[0, len(PROMPT) - 1 : -1]
    logits = logits.clone()
    logits[:, list(FORBIDDEN)] = -torch.inf
    logits[0, list(NOT_FIRST)] = -torch.inf
    expected = logits.log_softmax(dim=-1)[torch.arange(len(tokens)), tokens]
    assert reading.logprobs == pytest.approx(expected.tolist(), abs=1e-3)


def test_what_is_drawn_depends_on_the_seed_alone(decoder: Decoder, encoded: list[Tensor]) -> None:
    def draw(windows: Sequence[int], seeds: Sequence[int]) -> list[tuple[int, ...]]:
        with torch.inference_mode():
            audio = decoder.memorise([encoded[window] for window in windows])
            job = task(*[20] * len(windows))
            return [r.tokens for r in sample(decoder, audio, job, temperature=0.8, seeds=seeds, n_tries=3)]

    together = draw([0, 1, 2], [5, 6, 7])
    assert together == [*draw([0], [5]), *draw([1], [6]), *draw([2], [7])]
    assert draw([2], [7]) != draw([2], [8])


def test_of_several_tries_the_most_likely_is_taken(decoder: Decoder, encoded: list[Tensor]) -> None:
    with torch.inference_mode():
        many, one = (
            [
                sample(
                    decoder, decoder.memorise(encoded[:1]), task(20), temperature=1.0, seeds=[seed], n_tries=n_tries
                )[0].mean_logprob
                for seed in range(4)
            ]
            for n_tries in (20, 1)
        )
    assert min(many) > max(one) - 1e-4
    assert max(many) > min(one) + 0.01


@pytest.mark.parametrize(
    ("kept", "sources"), [([0, 1], [0, 1]), ([1, 3], [3, 1]), ([2, 3, 4], [3, 4, 2]), ([4], [4]), ([], [])]
)
def test_gaps_are_closed_from_behind(kept: list[int], sources: list[int]) -> None:
    assert plan_moves(kept) == sources


# --- alignment


@pytest.mark.parametrize("n_frames", [100, 40, 12])
def test_alignment_is_that_of_its_definition(
    model: WhisperForConditionalGeneration, decoder: Decoder, encoded: list[Tensor], n_frames: int
) -> None:
    tokens, heads = [10, 20, 5, 11, 29, 4], ((0, 1), (1, 0), (1, 3))
    with torch.inference_mode():
        ours = align_tokens(decoder, encoded[0], prompt=PROMPT, tokens=tokens, heads=heads, n_frames=n_frames)
        shares = attend_plainly(model, encoded[0], [*PROMPT, *tokens], heads)[:, :, :n_frames].double()
    ridge = sharpen_plainly((shares / shares.sum(dim=-1, keepdim=True)).numpy())[len(PROMPT) - 1 :]
    assert len(ours) == len(tokens) + 1
    assert ours == find_starts_plainly(-ridge)


def find_starts_plainly(costs: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> list[int]:
    """Where tokens start on the best path, walked back over whole-prefix costs."""
    token, frame = costs.shape[0] - 1, costs.shape[1] - 1
    best = {(t, f): np.inf for t in range(-1, token + 1) for f in range(-1, frame + 1)}
    best[-1, -1] = 0.0
    for t in range(token + 1):
        for f in range(frame + 1):
            best[t, f] = costs[t, f] + min(best[t - 1, f - 1], best[t - 1, f], best[t, f - 1])
    assert best[token, frame] == pytest.approx(least_cost(costs))
    starts = [0] * (token + 1)
    while token > 0:
        before = {step: best[token - step[0], frame - step[1]] for step in ((1, 1), (1, 0), (0, 1))}
        down, along = min(before, key=lambda step: before[step])
        if down:
            starts[token] = frame
        token, frame = token - down, frame - along
    return starts


# --- precision


def test_minus_infinity_survives_int8() -> None:
    weight, bias = torch.randn(6, 16), torch.tensor([0.0, -torch.inf, 1.0, 0.0, -torch.inf, 0.0])
    x = torch.randn(3, 16)
    exact = make_linear(weight, bias, dtype=torch.float32)(x)
    fast = make_linear(weight, bias, dtype=torch.float32, quantised=True)(x)
    assert torch.equal(torch.isinf(fast), torch.isinf(exact))
    finite = torch.isfinite(exact)
    assert 0.0 < (fast - exact)[finite].abs().max() < 0.2


def test_a_decoder_in_int8_writes_likely_texts(
    model: WhisperForConditionalGeneration, decoder: Decoder, encoded: list[Tensor]
) -> None:
    int8 = Decoder(
        model,
        forbidden=FORBIDDEN,
        precision=Precision(torch.float32, torch.float32, torch.float32, quantised=True),
        device=CPU,
    )
    with torch.inference_mode():
        fast, exact = (
            d.logits(d.start(torch.tensor([PROMPT]), d.memorise(encoded[:1]), n_hypotheses=1)[0])[0, -1, SPOKEN]
            for d in (int8, decoder)
        )
    assert torch.corrcoef(torch.stack([fast, exact]))[0, 1] > 0.99
