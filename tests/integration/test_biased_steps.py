"""Keywords in the slot decoder's step and in whole batches: fixed shapes, nothing asked of the device, rows apart."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import VibeVoiceAsrForConditionalGeneration
from vibevoice_models import make_network, make_tokenizer, token_id

from murmur_cli.bias.allocation import AllocationOptions, allocate
from murmur_cli.bias.graph import build_graph
from murmur_cli.bias.index import TokenIndex, index_vocabulary
from murmur_cli.bias.vocabulary import Vocabulary, read_vocabulary
from murmur_cli.decode import loop
from murmur_cli.decode.bias_filter import BiasFilter, BiasKit, RowBias
from murmur_cli.decode.decoder import Decoder
from murmur_cli.decode.gate import TEXT, build_json_gate, build_line_gate
from murmur_cli.decode.loop import decode_rows
from murmur_cli.decode.rows import DecodedRow, Row
from murmur_cli.decode.slots import SlotCache, round_capacity
from murmur_cli.decode.step import StepState, run_step

CPU = torch.device("cpu")


@cache
def network() -> VibeVoiceAsrForConditionalGeneration:
    return make_network(n_layers=1)


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory: pytest.TempPathFactory) -> Vocabulary:
    path = tmp_path_factory.mktemp("tokens") / "tokenizer.json"
    path.write_text(make_tokenizer(), encoding="utf-8")
    return read_vocabulary(path, n_tokens=network().lm_head.out_features)


@pytest.fixture(scope="module")
def kit(vocabulary: Vocabulary) -> BiasKit:
    return BiasKit(index_of(vocabulary).classes, build_json_gate(vocabulary.pieces))


@cache
def index_of(vocabulary: Vocabulary) -> TokenIndex:
    return index_vocabulary(vocabulary)


def listen(vocabulary: Vocabulary, kit: BiasKit, *phrases: str, margin: float = 20.0, gate: int = TEXT) -> RowBias:
    options = AllocationOptions(frequent_rank=1, rare_rank=2)  # ranks say nothing in so small a vocabulary
    found = [allocate(phrase, vocabulary, options, weight=2.0, is_open=False) for phrase in phrases]
    graph = build_graph([each for each in found if each], index_of(vocabulary), sha256="|".join(phrases))
    return RowBias(kit, graph, margin, gate)


# --- the step


Step = tuple[Decoder, SlotCache, StepState]


def open_step(bias: RowBias, *, n_slots: int) -> tuple[Step, BiasFilter]:
    """Slots of which all but the last listen, in the way of a GPU."""
    decoder = Decoder(network().model.language_model, network().lm_head)
    cells = SlotCache(decoder.cache_shape, n_slots=n_slots, capacity=round_capacity(16), device=CPU)
    state = StepState(n_slots, CPU)
    bias_filter = BiasFilter(bias.kit, n_slots, CPU, is_padded=True)
    for slot in range(n_slots):
        state.seat(slot, 7 + slot, 0, temperature=0.5 * slot)
        bias_filter.seat(slot, bias if slot < n_slots - 1 else None)
    state.begin_block([list(range(1, 17))] * n_slots, [[0.3] * 16] * n_slots)
    return (decoder, cells, state), bias_filter


@torch.no_grad()
def test_the_biased_step_is_one_graph(vocabulary: Vocabulary, kit: BiasKit) -> None:
    bias = listen(vocabulary, kit, "seven one five", "eight", "ocean")
    eager, first = open_step(bias, n_slots=3)
    compiled, second = open_step(bias, n_slots=3)
    for (decoder, cells, state), bias_filter in ((eager, first), (compiled, second)):
        run_step(decoder, cells, state, bias=bias_filter)  # lists go to the device
    step = torch.compile(run_step, fullgraph=True, backend="aot_eager")
    for _ in range(4):
        run_step(*eager, bias=first)
        step(*compiled, bias=second)
    assert eager[2].read_block(5) == compiled[2].read_block(5)
    assert eager[2].read_changed(5) == compiled[2].read_changed(5)
    for ours, theirs in zip(first.tensors, second.tensors, strict=True):
        assert torch.equal(ours, theirs)


@torch.no_grad()
def test_the_biased_step_never_waits_for_the_device(vocabulary: Vocabulary, kit: BiasKit) -> None:
    called: set[str] = set()

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            called.add(func.overloadpacket.__name__)
            return func(*args, **(kwargs or {}))

    step, bias_filter = open_step(listen(vocabulary, kit, "seven one five", "eight"), n_slots=3)
    run_step(*step, bias=bias_filter)
    places = [tensor.data_ptr() for tensor in bias_filter.tensors]
    with Watch():
        run_step(*step, bias=bias_filter)
    assert "scatter_add_" in called
    assert called.isdisjoint({"_local_scalar_dense", "item", "nonzero", "is_nonzero", "equal", "masked_select"})
    assert [tensor.data_ptr() for tensor in bias_filter.tensors] == places


# --- batches


def make_row(key: int, bias: RowBias | None) -> Row:
    generator = torch.Generator().manual_seed(key)
    prompt = 0.5 * torch.randn(1, 10 + 3 * key, network().config.text_config.hidden_size, generator=generator)
    return Row(key, prompt.shape[1], 40 + key, lambda: prompt, bias=bias)


def decode(rows: Sequence[Row], *, n_slots: int) -> dict[int, DecodedRow]:
    decoder = Decoder(network().model.language_model, network().lm_head)
    rows_decoded = decode_rows(rows, decoder, n_slots=n_slots, stop_token=token_id("<|endoftext|>"))
    return {row.key: row for row in rows_decoded}


def test_rows_of_a_batch_do_not_notice_each_other(
    vocabulary: Vocabulary, kit: BiasKit, monkeypatch: pytest.MonkeyPatch
) -> None:
    lists = [("e", "o", "a"), ("seven", "t"), None, ("r", "s"), (), None, ("e", "o", "a")]
    kits = BiasKit(kit.classes, build_line_gate(vocabulary.pieces))
    biases = [None if phrases is None else listen(vocabulary, kits, *phrases) for phrases in lists]
    alone = {key: decode([make_row(key, bias)], n_slots=1)[key] for key, bias in enumerate(biases)}
    without = decode([make_row(key, None) for key in range(len(biases))], n_slots=3)
    rows = [make_row(key, bias) for key, bias in enumerate(biases)]
    together = decode(rows, n_slots=3)
    monkeypatch.setattr(loop, "BiasFilter", partial(BiasFilter, is_padded=True))
    padded = decode(rows, n_slots=3)
    for key, phrases in enumerate(lists):
        assert alone[key].tokens == together[key].tokens == padded[key].tokens
        assert alone[key].changed == together[key].changed == padded[key].changed
        assert (together[key].tokens == without[key].tokens) == (not phrases)
        assert any(together[key].changed) == bool(phrases)
        assert len(together[key].changed) == (0 if phrases is None else len(together[key].tokens))


def test_frames_of_random_answers_are_as_without(vocabulary: Vocabulary, kit: BiasKit) -> None:
    """Outside of texts a list is as good as none, whatever the model writes there."""
    bias = listen(vocabulary, kit, "e", "o", "a", "Start", "Speaker", "0", "7", gate=kit.gate.start)
    biased = decode([make_row(key, bias) for key in range(2)], n_slots=2)
    plain = decode([make_row(key, None) for key in range(2)], n_slots=2)
    for key in range(2):
        assert kit.gate.read(kit.gate.start, plain[key].tokens) != TEXT
        assert biased[key].tokens == plain[key].tokens
        assert not any(biased[key].changed)
