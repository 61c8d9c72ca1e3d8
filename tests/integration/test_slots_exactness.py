"""The slot decoder against transformers' generate(), row by row, and the traps of transformers that it goes around."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import soundfile
import soxr
import torch
from torch import Tensor
from transformers import VibeVoiceAsrForConditionalGeneration, VibeVoiceAsrProcessor
from vibevoice_models import make_network, make_processor, make_tokenizer, token_id

from murmur_cli.decode.decoder import Decoder
from murmur_cli.decode.loop import decode_rows
from murmur_cli.decode.rows import DecodedRow, Row
from murmur_cli.decode.slots import CacheShape, SlotCache, round_capacity
from murmur_cli.decode.step import StepState, run_step

RATE = 24_000
N_ROWS = 9
N_TOKENS = 40

Network = VibeVoiceAsrForConditionalGeneration


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """A chunk: its prompt, shape [1, n, H], and what generate() writes for it."""

    prompt: Tensor
    max_tokens: int
    plain: list[int]
    stopped: bool


@torch.no_grad()
def ask(network: Network, processor: VibeVoiceAsrProcessor, samples: np.ndarray, *, context: str | None,
        max_tokens: int, stop_token: int) -> Asked:  # fmt: skip
    inputs = dict(processor.apply_transcription_request(samples, prompt=context))
    written = network.generate(
        **inputs, sample=False, do_sample=False, max_new_tokens=max_tokens, eos_token_id=stop_token, pad_token_id=0
    )
    tokens: list[int] = written[0, inputs["input_ids"].shape[1] :].tolist()
    stopped = tokens[-1] == stop_token
    return Asked(embed_prompt(network, inputs), max_tokens, tokens[: len(tokens) - stopped], stopped)


def embed_prompt(network: Network, inputs: dict[str, Tensor]) -> Tensor:
    heard = network.get_audio_features(inputs["input_values"], inputs["padding_mask"], sample=False).pooler_output
    embedded: Tensor = network.get_input_embeddings()(inputs["input_ids"]).clone()
    embedded[inputs["input_ids"] == network.config.audio_token_id] = heard
    return embedded


def make_rows(asked: Sequence[Asked]) -> list[Row]:
    return [
        Row(key, one.prompt.shape[1], one.max_tokens, partial(getattr, one, "prompt")) for key, one in enumerate(asked)
    ]


def decode(network: Network, asked: Sequence[Asked], *, n_slots: int, stop_token: int) -> dict[int, DecodedRow]:
    decoder = Decoder(network.model.language_model, network.lm_head)
    rows = list(decode_rows(make_rows(asked), decoder, n_slots=n_slots, stop_token=stop_token))
    assert len(rows) == len(asked)
    return {row.key: row for row in rows}


# --- random weights


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    network: Network
    asked: list[Asked]
    stop_token: int


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Case:
    """Chunks of many lengths, with and without context, some of which stop and some of which do not."""
    network = make_network()
    folder = tmp_path_factory.mktemp("tokenizer")
    (folder / "tokenizer.json").write_text(make_tokenizer(), encoding="utf-8")
    processor = make_processor(folder)
    rng = np.random.default_rng(5)
    lengths = [*rng.integers(1, 6 * RATE, N_ROWS - 1), 20 * RATE]
    sounds = [(0.1 * rng.standard_normal(length)).astype(np.float32) for length in lengths]
    first = ask(network, processor, sounds[0], context=None, max_tokens=N_TOKENS, stop_token=token_id("<|endoftext|>"))
    stop_token = first.plain[12]
    asked = [
        ask(network, processor, sound, context="Azure, VibeVoice" if index % 3 == 1 else None,
            max_tokens=1 if index == 4 else N_TOKENS - 3 * index, stop_token=stop_token)
        for index, sound in enumerate(sounds)
    ]  # fmt: skip
    assert {one.stopped for one in asked} == {True, False}
    assert len({tuple(one.plain) for one in asked}) == N_ROWS  # what is heard matters
    return Case(network, asked, stop_token)


@pytest.mark.parametrize("n_slots", [1, 2, 3, 8, 12])
def test_rows_write_what_generate_writes(case: Case, n_slots: int) -> None:
    decoded = decode(case.network, case.asked, n_slots=n_slots, stop_token=case.stop_token)
    for key, one in enumerate(case.asked):
        assert list(decoded[key].tokens) == one.plain, key
        assert decoded[key].stopped == one.stopped


@pytest.mark.parametrize("seed", [0, 1])
def test_rows_do_not_depend_on_their_neighbours(case: Case, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(N_ROWS)[: N_ROWS - seed]
    decoded = decode(case.network, [case.asked[key] for key in order], n_slots=3 + seed, stop_token=case.stop_token)
    for place, key in enumerate(order):
        assert list(decoded[place].tokens) == case.asked[key].plain


def test_only_the_last_position_of_a_prompt_is_scored(case: Case) -> None:
    scored: list[tuple[int, ...]] = []
    hook = case.network.lm_head.register_forward_pre_hook(lambda _, inputs: scored.append(tuple(inputs[0].shape)))
    with hook:
        decode(case.network, case.asked[:2], n_slots=2, stop_token=case.stop_token)
    n_hidden = case.network.config.text_config.hidden_size
    assert set(scored) == {(1, n_hidden), (2, n_hidden)}


# --- trained weights


@pytest.fixture(scope="module")
def trained(models_dir: Path, data_dir: Path) -> Case:
    """Spoken digits of a few lengths, which the model transcribes and then stops by itself."""
    folder = models_dir / "tiny-vibevoice-digits"
    network = Network.from_pretrained(folder, dtype=torch.float32, attn_implementation={"text_config": "sdpa"}).eval()
    processor = VibeVoiceAsrProcessor.from_pretrained(folder)
    stop_token = processor.tokenizer.convert_tokens_to_ids("<|endoftext|>")
    sounds = [speak_digits(data_dir / "fsdd", n_turns, seed) for seed, n_turns in enumerate([5, 1, 3, 2])]
    asked = [
        ask(network, processor, sound, context=context, max_tokens=300, stop_token=stop_token)
        for sound, context in zip(sounds, (None, None, "keywords: nine", None), strict=True)
    ]
    assert all(one.stopped for one in asked)
    return Case(network, asked, stop_token)


def speak_digits(folder: Path, n_turns: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    parts = [np.zeros(RATE // 2)]
    for _ in range(n_turns):
        voice = rng.choice(["george", "jackson", "lucas"])
        for _ in range(rng.integers(1, 6)):
            samples, rate = soundfile.read(folder / f"{rng.integers(10)}_{voice}_{rng.integers(5)}.wav")
            parts += [soxr.resample(samples, rate, RATE), np.zeros(RATE // 10)]
        parts.append(np.zeros(RATE // 2))
    sound = np.concatenate(parts)
    return (sound + 0.002 * rng.standard_normal(len(sound))).astype(np.float32)


@pytest.mark.parametrize("n_slots", [1, 3])
def test_trained_rows_write_what_generate_writes(trained: Case, n_slots: int) -> None:
    decoded = decode(trained.network, trained.asked, n_slots=n_slots, stop_token=trained.stop_token)
    for key, one in enumerate(trained.asked):
        assert list(decoded[key].tokens) == one.plain
        assert decoded[key].stopped
    assert len({row.tokens for row in decoded.values()}) == len(decoded)


# --- the step


def open_step(network: Network, prompts: Sequence[Tensor], n_slots: int) -> tuple[Decoder, SlotCache, StepState]:
    """Slots whose first ones have read a prompt; the others are idle."""
    decoder = Decoder(network.model.language_model, network.lm_head)
    capacity = round_capacity(max(prompt.shape[1] for prompt in prompts) + 16)
    cache = SlotCache(decoder.cache_shape, n_slots=n_slots, capacity=capacity, device=decoder.device)
    state = StepState(n_slots, decoder.device)
    cells = [[0] * 16 for _ in range(n_slots)]
    for slot, prompt in enumerate(prompts):
        n_prompt = prompt.shape[1]
        decoder.read(prompt, positions=torch.arange(n_prompt)[None], mask=None, cache=cache.open_prompt(slot, n_prompt))
        state.seat(slot, 7 + slot, n_prompt, temperature=0.5 * slot)
        cells[slot] = list(range(n_prompt + 1, n_prompt + 17))
    state.begin_block(cells, [[0.3] * 16] * n_slots)
    return decoder, cache, state


@pytest.fixture
def prompts(case: Case) -> list[Tensor]:
    torch.manual_seed(2)
    return [0.5 * torch.randn(1, n, case.network.config.text_config.hidden_size) for n in (50, 140, 9)]


@pytest.mark.parametrize("draws", [False, True])
@torch.no_grad()
def test_the_step_is_one_graph(prompts: list[Tensor], *, draws: bool) -> None:
    network = make_network(n_layers=1)
    eager = open_step(network, prompts, n_slots=4)
    compiled = open_step(network, prompts, n_slots=4)
    step = torch.compile(run_step, fullgraph=True, backend="aot_eager")
    for _ in range(5):
        run_step(*eager, draws=draws)
        step(*compiled, draws=draws)
    assert eager[2].read_block(5) == compiled[2].read_block(5)
    assert eager[2].at.tolist() == compiled[2].at.tolist() == [5]
    assert torch.equal(eager[1].positions, compiled[1].positions)
    for ours, theirs in zip(eager[1].keys + eager[1].values, compiled[1].keys + compiled[1].values, strict=True):
        assert torch.allclose(ours, theirs, atol=1e-5)


@torch.no_grad()
def test_the_step_never_waits_for_the_device(case: Case, prompts: list[Tensor]) -> None:
    from torch.utils._python_dispatch import TorchDispatchMode

    called: set[str] = set()

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            called.add(func.overloadpacket.__name__)
            return func(*args, **(kwargs or {}))

    decoder, cache, state = open_step(case.network, prompts, n_slots=4)
    with Watch():
        run_step(decoder, cache, state)
    assert "scatter_" in called
    assert called.isdisjoint({"_local_scalar_dense", "item", "nonzero", "is_nonzero", "equal"})


@torch.no_grad()
def test_idle_slots_stay_numbers_and_touch_nobody(case: Case, prompts: list[Tensor]) -> None:
    decoder, cache, state = open_step(case.network, prompts[:1], n_slots=3)
    before = [keys[0, :, 1:51].clone() for keys in cache.keys]
    for _ in range(4):
        run_step(decoder, cache, state)
    assert all(torch.isfinite(tensor).all() for tensor in cache.keys + cache.values)
    assert all(torch.equal(keys[0, :, 1:51], old) for keys, old in zip(cache.keys, before, strict=True))
    assert all(bool((keys[1:, :, 1:] == 0).all()) for keys in cache.keys)  # they wrote to their trash cell alone
    assert (cache.positions[0] >= 0).sum() == 54
    assert cache.positions[0, 0] == -1  # which a row at work does not see
    assert (cache.positions[1:] >= 0).sum(1).tolist() == [1, 1]


# --- traps of transformers


@torch.no_grad()
def read_step(network: Network, prompts: list[Tensor], change: Callable[[dict[str, object]], None]) -> Tensor:
    """Hidden vectors of one step of three slots, with the arguments of the model changed."""
    decoder, cache, state = open_step(network, prompts, n_slots=3)
    mask = cache.hold(state.cells[:, :1], state.positions)
    arguments = {
        "inputs_embeds": decoder.embed(state.tokens),
        "position_ids": state.positions,
        "attention_mask": mask,
        "cache": cache,
        "use_cache": True,
    }
    change(arguments)
    hidden: Tensor = network.model.language_model(**arguments).last_hidden_state
    return hidden


def test_positions_must_be_passed(case: Case, prompts: list[Tensor], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SlotCache, "get_seq_length", lambda self: 60, raising=False)  # as many as it can say
    right = read_step(case.network, prompts, lambda arguments: None)
    wrong = read_step(case.network, prompts, lambda arguments: arguments.pop("position_ids"))
    assert (right - wrong).abs().amax(dim=(1, 2)).min() > 0.01


def test_eager_attention_adds_the_mask_and_is_refused(case: Case, prompts: list[Tensor]) -> None:
    network = make_network()

    def switch(arguments: dict[str, object]) -> None:
        network.model.language_model.set_attn_implementation("eager")

    right = read_step(case.network, prompts, lambda arguments: None)
    wrong = read_step(network, prompts, switch)
    assert (right - wrong).abs().amax(dim=(1, 2)).min() > 0.01
    with pytest.raises(ValueError, match="eager, not sdpa"):
        Decoder(network.model.language_model, network.lm_head)


def test_layers_that_see_a_window_are_refused() -> None:
    network = make_network()
    network.model.language_model.config.layer_types = ["full_attention", "sliding_attention"]
    with pytest.raises(ValueError, match="does not attend to everything"):
        Decoder(network.model.language_model, network.lm_head)


def test_attention_to_nothing_is_no_number_and_never_happens(case: Case, prompts: list[Tensor]) -> None:
    assert torch.softmax(torch.full((3,), -torch.inf), dim=0).isnan().all()
    _, cache, state = open_step(case.network, prompts[:1], n_slots=2)  # the second slot never had a row
    mask = cache.hold(state.cells[:, :1], state.positions)
    assert mask.shape == (2, 1, 1, cache.capacity)
    assert mask.sum(dim=-1).flatten().tolist() == [51, 1]


# --- the cache


def test_the_size_of_a_cell_is_what_the_real_model_needs() -> None:
    shape = CacheShape(n_layers=28, n_heads=4, head_size=128, dtype=torch.bfloat16)
    assert shape.bytes_per_cell == 57_344
    cache = SlotCache(CacheShape(2, 3, 4, torch.float32), n_slots=5, capacity=128, device=torch.device("cpu"))
    assert (
        sum(t.nbytes for t in cache.keys + cache.values) == 5 * 128 * CacheShape(2, 3, 4, torch.float32).bytes_per_cell
    )


@pytest.mark.parametrize(("n_cells", "capacity"), [(1, 128), (127, 128), (128, 256), (5040, 5120)])
def test_a_slot_has_room_for_the_trash_cell_too(n_cells: int, capacity: int) -> None:
    assert round_capacity(n_cells) == capacity


@torch.no_grad()
def read_with_holes(network: Network, prompts: list[Tensor], holes: Sequence[range], *, evict: bool) -> Tensor:
    """Logits of four steps of rows that cannot see holes in their prompts: evicted, or masked by hand."""
    decoder, cache, state = open_step(network, prompts, n_slots=3)
    logits = []
    for slot, hole in enumerate(holes):
        cells = slice(hole.start + 1, hole.stop + 1)
        if evict:
            cache.evict(slot, range(cells.start, cells.stop))
            for tensor in cache.keys + cache.values:
                tensor[slot, :, cells] = 9.0  # what is free may hold anything
    for step in range(4):
        mask = cache.hold(state.cells[:, step : step + 1], state.positions)
        for slot, hole in enumerate(holes):
            mask[slot, ..., hole.start + 1 : hole.stop + 1] = False
        hidden = decoder.read(decoder.embed(state.tokens), positions=state.positions, mask=mask, cache=cache)
        logits.append(decoder.to_logits(hidden[:, -1]))
        state.positions.add_(1)
    return torch.stack(logits)


def test_evicting_a_hole_is_masking_it(case: Case, prompts: list[Tensor]) -> None:
    holes = [range(10, 30), range(20, 90), range(2, 5)]
    evicted = read_with_holes(case.network, prompts, holes, evict=True)
    masked = read_with_holes(case.network, prompts, holes, evict=False)
    seen = read_with_holes(case.network, prompts, [range(0)] * 3, evict=True)
    assert torch.allclose(evicted, masked, atol=2e-5)
    assert (evicted - seen).abs().amax(dim=(0, 2)).min() > 0.01  # the holes matter, to every row
