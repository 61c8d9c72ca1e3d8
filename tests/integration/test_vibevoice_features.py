"""From samples to what the language model reads, against transformers' extractor and its own forward pass."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import VibeVoiceAcousticTokenizerFeatureExtractor
from vibevoice_models import make_processor, write_transformers_layout

from murmur_cli.audio.levels import Level, measure_level
from murmur_cli.models.vibevoice.checkpoint import Checkpoint, inspect_checkpoint, load_checkpoint
from murmur_cli.models.vibevoice.features import embed_prompt, encode_audio, find_gain, seed_noise
from murmur_cli.models.vibevoice.frames import FRAME_SAMPLES, PIECE_SAMPLES, SAMPLE_RATE, count_frames
from murmur_cli.models.vibevoice.prompt import PlainText, build_prompt
from murmur_cli.types import Samples

LENGTHS = [1, 3199, 3200, 3201, 24_000 * 2 + 17, 24_000 * 5 + 1600]


def load(folder: Path, dtype: torch.dtype) -> Checkpoint:
    return load_checkpoint(inspect_checkpoint(folder), device=torch.device("cpu"), dtype=dtype)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_transformers_layout(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def checkpoint(folder: Path) -> Checkpoint:
    return load(folder, torch.float32)


def noise(n_samples: int, *, scale: float = 0.1, seed: int = 0) -> Samples:
    return np.random.default_rng(seed).normal(scale=scale, size=n_samples).astype(np.float32)


def extract(samples: Samples) -> torch.Tensor:
    """What transformers makes of a whole file, shape [n_samples of whole frames]."""
    extractor = VibeVoiceAcousticTokenizerFeatureExtractor()
    values: torch.Tensor = extractor(samples, sampling_rate=SAMPLE_RATE)["input_values"][0, 0]
    return values


@torch.no_grad()
def hear_whole(checkpoint: Checkpoint, values: torch.Tensor, *, sample: bool = False) -> torch.Tensor:
    features: torch.Tensor = checkpoint.network.get_audio_features(values[None, None], sample=sample).pooler_output[0]
    return features


# --- one gain


@pytest.mark.parametrize("scale", [1e-7, 1e-4, 0.01, 0.05, 0.3])
@pytest.mark.parametrize("click", [None, 0.99])
def test_the_gain_of_a_recording_is_the_extractors(scale: float, click: float | None) -> None:
    samples = noise(24_000, scale=scale)
    if click is not None:
        samples[1000] = click  # the peak would be cut
    gain = find_gain(measure_level([samples[:9000], samples[9000:]]))
    expected = extract(samples)[: len(samples)]
    np.testing.assert_allclose(samples * np.float32(gain), expected.numpy(), rtol=2e-6, atol=1e-9)


def test_the_gain_brings_speech_to_25_db_below_full_scale_and_never_beyond_it() -> None:
    assert find_gain(Level(rms=0.1, peak=0.5)) == pytest.approx(10 ** (-25 / 20) / 0.1, rel=1e-4)
    for level in (Level(0.001, 0.9), Level(0.0, 1.0), Level(1e-5, 1e-3)):
        assert level.peak * find_gain(level) <= 1.0
    assert find_gain(Level(0.0, 0.0)) > 0


# --- features


@pytest.mark.parametrize("n_samples", LENGTHS)
def test_the_features_of_a_whole_file_are_the_extractors(checkpoint: Checkpoint, n_samples: int) -> None:
    samples = noise(n_samples)
    ours = encode_audio(checkpoint, samples, gain=find_gain(measure_level([samples])))
    assert ours.shape == (count_frames(n_samples), checkpoint.size.n_hidden)
    torch.testing.assert_close(ours, hear_whole(checkpoint, extract(samples)), rtol=1e-5, atol=1e-5)


def test_chunks_of_a_file_keep_its_gain_and_see_nothing_of_each_other(checkpoint: Checkpoint) -> None:
    samples = np.concatenate([noise(40_000, scale=0.2), noise(40_000, scale=0.01)])
    gain = find_gain(measure_level([samples]))
    normalised = extract(samples)
    for start, end in ((0, 32_000), (40_000, 67_000)):
        window = torch.zeros(count_frames(end - start) * FRAME_SAMPLES)
        window[: end - start] = normalised[start:end]
        ours = encode_audio(checkpoint, samples[start:end], gain=gain)
        torch.testing.assert_close(ours, hear_whole(checkpoint, window), rtol=1e-4, atol=1e-4)


def test_pieces_make_what_one_pass_makes(checkpoint: Checkpoint, folder: Path) -> None:
    samples = noise(13 * FRAME_SAMPLES - 100)
    in_pieces = load(folder, torch.float32)
    in_pieces.network.config.acoustic_tokenizer_chunk_size = 4 * FRAME_SAMPLES
    ours = encode_audio(in_pieces, samples, gain=1.0)
    torch.testing.assert_close(ours, encode_audio(checkpoint, samples, gain=1.0), rtol=1e-4, atol=1e-5)


def test_the_memory_of_the_encoders_is_bounded_whatever_the_configuration_says(folder: Path, tmp_path: Path) -> None:
    other = write_transformers_layout(tmp_path)
    text = (other / "config.json").read_text()
    assert '"acoustic_tokenizer_chunk_size": 1440000' in text
    (other / "config.json").write_text(text.replace("1440000", "320000000"))
    assert load(other, torch.float32).network.config.acoustic_tokenizer_chunk_size == PIECE_SAMPLES


def test_a_chunk_of_nothing_has_no_features(checkpoint: Checkpoint) -> None:
    ours = encode_audio(checkpoint, np.zeros(0, np.float32), gain=1.0)
    assert ours.shape == (0, checkpoint.size.n_hidden)
    assert (
        embed_prompt(checkpoint, build_prompt(checkpoint.vocabulary, n_samples=0, extra_info=None), ours)
        .isfinite()
        .all()
    )


def test_features_come_in_the_precision_of_the_model(folder: Path) -> None:
    half = load(folder, torch.bfloat16)
    samples = noise(7000)
    ours = encode_audio(half, samples, gain=2.0)
    assert ours.dtype == torch.bfloat16
    values = torch.zeros(9600)
    values[:7000] = torch.from_numpy(samples * 2)
    assert torch.equal(ours, hear_whole(half, values.to(torch.bfloat16)))


def test_samples_are_not_changed(checkpoint: Checkpoint) -> None:
    samples = noise(7000)
    samples.flags.writeable = False  # as the views of a recording are
    before = samples.copy()
    encode_audio(checkpoint, samples, gain=3.0)
    np.testing.assert_array_equal(samples, before)


# --- noise


def test_noise_is_upstreams_and_its_seed_is_the_chunks_own(checkpoint: Checkpoint) -> None:
    samples = noise(24_000)
    quiet = encode_audio(checkpoint, samples, gain=1.0)
    seed = seed_noise(7, start=48_000)
    ours = encode_audio(checkpoint, samples, gain=1.0, noise_seed=seed)
    assert not torch.allclose(ours, quiet)
    padded = torch.zeros(count_frames(24_000) * FRAME_SAMPLES)
    padded[:24_000] = torch.from_numpy(samples)
    torch.manual_seed(seed)
    assert torch.equal(ours, hear_whole(checkpoint, padded, sample=True))
    # whatever came before it, the same chunk hears the same noise
    torch.manual_seed(123)
    encode_audio(checkpoint, noise(9000), gain=1.0, noise_seed=1)
    assert torch.equal(ours, encode_audio(checkpoint, samples, gain=1.0, noise_seed=seed))
    assert not torch.equal(ours, encode_audio(checkpoint, samples, gain=1.0, noise_seed=seed_noise(7, start=0)))


def test_every_seed_and_place_is_another() -> None:
    seeds = {seed_noise(seed, start=start) for seed in (0, 1, 2**63 - 1) for start in (0, 1, 7_200_000, 10**9)}
    assert len(seeds) == 12
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert seed_noise(5, start=9) == seed_noise(5, start=9)


def test_the_generator_of_others_is_left_alone(checkpoint: Checkpoint) -> None:
    state = torch.random.get_rng_state()
    encode_audio(checkpoint, noise(9000), gain=1.0, noise_seed=3)
    assert torch.equal(state, torch.random.get_rng_state())


# --- the prompt around them


@pytest.mark.parametrize("context", [None, "Ann, Bob"])
@torch.no_grad()
def test_a_prompt_with_its_audio_is_what_transformers_reads(
    checkpoint: Checkpoint, folder: Path, context: str | None
) -> None:
    samples = noise(24_000 * 2 + 100)
    inputs = make_processor(folder).apply_transcription_request(samples, prompt=context)
    expected = checkpoint.network(**inputs, sample=False).logits
    features = encode_audio(checkpoint, samples, gain=find_gain(measure_level([samples])))
    prompt = build_prompt(
        checkpoint.vocabulary, n_samples=len(samples), extra_info=PlainText(context) if context else None
    )
    embeddings = embed_prompt(checkpoint, prompt, features)
    assert embeddings.shape == (1, len(prompt.tokens), checkpoint.size.n_hidden)
    hidden = checkpoint.network.model.language_model(inputs_embeds=embeddings).last_hidden_state
    torch.testing.assert_close(checkpoint.network.lm_head(hidden), expected, rtol=1e-4, atol=1e-4)


def test_the_embeddings_of_the_model_are_not_written_to(checkpoint: Checkpoint) -> None:
    before = checkpoint.network.get_input_embeddings().weight.clone()
    prompt = build_prompt(checkpoint.vocabulary, n_samples=7000, extra_info=None)
    embed_prompt(checkpoint, prompt, torch.ones(3, checkpoint.size.n_hidden))
    assert torch.equal(before, checkpoint.network.get_input_embeddings().weight)
