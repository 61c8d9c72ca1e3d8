"""Many lists at once: rows know nothing of each other, nor of lists that come and go; both ways give the same."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
import torch
from bias_samples import LISTS, make_phrases, make_splitter, make_text
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from oracles.bias import PlainBonus
from oracles.leeway import find_leeway
from torch import Tensor

from murmur_cli.bias.floor import Floor
from murmur_cli.bias.graph import build_graph
from murmur_cli.bias.index import TokenIndex, index_vocabulary
from murmur_cli.bias.leeway import ANY_LEEWAY, measure_leeways
from murmur_cli.bias.packed import NO_LIST, START, BiasList
from murmur_cli.bias.states import FIRST_CUT
from murmur_cli.bias.store import BiasStore
from murmur_cli.bias.vocabulary import Vocabulary

WORDS = (
    "York",
    " New",
    " apple",
    "app",
    ", ",
    " ap",
    "东京",
    "ss",
    " York City",
    "京",
    "k x",
    "aa b",
    "bb",
    " bb",
    " Huang",
)
CUTS = ("京都".encode()[1:], "é".encode()[:1], b"k\xe2\x80", b"\x9c York", b"app\xc3", b"\x9f s", b"-\xe4\xba")
PIECES = (*(bytes([byte]) for byte in range(256)), *(word.encode() for word in WORDS), *CUTS)
VOCABULARY = Vocabulary((*PIECES, None, None), lambda text: list(text.encode()), "small")
INDEX = index_vocabulary(VOCABULARY)
SPLITTER = make_splitter(VOCABULARY, INDEX)
GRAPHS = {name: build_graph(make_phrases(texts, VOCABULARY), INDEX, sha256=name) for name, texts in LISTS.items()}
NOTHING = build_graph([], INDEX, sha256="nothing")
CPU = torch.device("cpu")
V = INDEX.classes.n_tokens
CLOSE = 1e-4


def _stores() -> tuple[BiasStore, BiasStore]:
    return BiasStore(INDEX.classes, CPU, is_padded=False), BiasStore(INDEX.classes, CPU, is_padded=True)


def _score_plainly(graph: BiasList, state: int, strength: float) -> Tensor:
    return torch.tensor([strength * graph.step(INDEX.classes, state, token)[1] for token in range(V)])


def _scores(store: BiasStore, states: Tensor, ids: Tensor) -> Tensor:
    logits = torch.zeros(len(ids), V)
    store.score(logits, states, ids)
    return logits


class Lists(RuleBasedStateMachine):
    """Lists come and go while rows are on their way. A row is its name, its list, and its state in it."""

    @initialize()
    def begin(self) -> None:
        self.stores = _stores()
        self.ids: dict[int, tuple[str, float]] = {}
        self.users: dict[int, int] = {}
        self.rows: list[tuple[int, int]] = [(NO_LIST, START)]

    @rule(name=st.sampled_from(sorted(GRAPHS)), strength=st.sampled_from([1.0, 3.0]))
    def add(self, name: str, strength: float) -> None:
        first, second = (store.add(GRAPHS[name], strength=strength) for store in self.stores)
        assert first == second
        assert self.ids.get(first, (name, strength)) == (name, strength)
        self.ids[first] = (name, strength)
        self.users[first] = self.users.get(first, 0) + 1
        self.rows.append((first, START))

    @rule(place=st.integers(0, 100))
    def remove(self, place: int) -> None:
        if not self.ids:
            return
        list_id = sorted(self.ids)[place % len(self.ids)]
        for store in self.stores:
            store.remove(list_id)
        self.users[list_id] -= 1
        if self.users[list_id] == 0:
            del self.ids[list_id], self.users[list_id]
            self.rows = [row for row in self.rows if row[0] != list_id]

    @rule(seed=st.integers(0, 1000), longest=st.sampled_from([1, 3, 12]), n_tokens=st.integers(1, 12))
    def write(self, seed: int, longest: int, n_tokens: int) -> None:
        rng = random.Random(seed)
        names = [self.ids[list_id][0] if list_id != NO_LIST else "latin" for list_id, _ in self.rows]
        texts = [SPLITTER.split(make_text(name, rng) + " x", rng, longest=longest) for name in names]
        ids = torch.tensor([list_id for list_id, _ in self.rows])
        for i in range(n_tokens):
            tokens = [text[i % len(text)] for text in texts]
            states = torch.tensor([state for _, state in self.rows])
            expected = [
                START if row[0] == NO_LIST else GRAPHS[name].step(INDEX.classes, row[1], token)[0]
                for row, name, token in zip(self.rows, names, tokens, strict=True)
            ]
            for store in self.stores:
                assert store.advance(states, ids, torch.tensor(tokens)).tolist() == expected
            self.rows = [(row[0], state) for row, state in zip(self.rows, expected, strict=True)]

    @invariant()
    def every_row_has_the_scores_of_its_list_alone(self) -> None:
        ids = torch.tensor([list_id for list_id, _ in self.rows])
        states = torch.tensor([state for _, state in self.rows])
        for store in self.stores:
            scores = _scores(store, states, ids)
            for row, (list_id, state) in enumerate(self.rows):
                name, strength = self.ids.get(list_id, ("", 0.0))
                expected = _score_plainly(GRAPHS[name], state, strength) if name else torch.zeros(V)
                torch.testing.assert_close(scores[row], expected, atol=CLOSE, rtol=0)


Lists.TestCase.settings = settings(max_examples=15, stateful_step_count=12, deadline=None)
TestLists = Lists.TestCase


@pytest.fixture(params=[False, True], ids=["rowwise", "padded"])
def store(request: pytest.FixtureRequest) -> BiasStore:
    return BiasStore(INDEX.classes, CPU, is_padded=request.param)


def _walk(graph: BiasList, text: str, *, longest: int = 3) -> int:
    state = START
    for token in SPLITTER.split(text, random.Random(1), longest=longest):
        state, _ = graph.step(INDEX.classes, state, token)
    return state


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_no_list_and_an_empty_list_change_no_bit(store: BiasStore, dtype: torch.dtype) -> None:
    busy, empty = store.add(GRAPHS["latin"]), store.add(NOTHING)
    ids = torch.tensor([busy, NO_LIST, empty])
    logits = torch.randn(3, V).to(dtype)
    logits[:, ::3], logits[:, 1::7] = -0.0, float("-inf")
    before = logits.clone()
    states = torch.tensor([_walk(GRAPHS["latin"], " New Yo"), 10**9, START])
    store.score(logits, states, ids)
    store.score(logits, store.advance(states, ids, torch.tensor([65, 66, 67])), ids)
    integers = torch.int32 if dtype == torch.float32 else torch.int16
    assert torch.equal(logits[1:].view(integers), before[1:].view(integers))
    assert not torch.equal(logits[0].view(integers), before[0].view(integers))


@pytest.mark.parametrize("is_padded", [False, True])
def test_a_list_without_arcs_leads_nowhere(*, is_padded: bool) -> None:
    """Not even for the first token in the first state, which a search among no arcs might find."""
    index = index_vocabulary(Vocabulary((b"a", b" "), lambda text: list(text.encode()), "two"))
    store = BiasStore(index.classes, CPU, is_padded=is_padded)
    ids = torch.tensor([store.add(build_graph([], index, sha256="nothing"))])
    assert store.advance(store.start(1), ids, torch.tensor([0])).tolist() == [1]  # in a word


def test_both_ways_add_the_same_at_the_floor() -> None:
    """Logits of all sizes, rows of several lists in any state, floors from nowhere to everywhere."""
    rng, generator = random.Random(0), torch.Generator().manual_seed(0)
    names, stores = sorted(GRAPHS), _stores()
    ids = [[store.add(GRAPHS[name], strength=3.0) for name in names] for store in stores]
    assert ids[0] == ids[1]
    n_spared = 0
    for _ in range(20):
        places = [rng.randrange(-1, len(names)) for _ in range(9)]
        graphs = [GRAPHS[names[place]] for place in places]
        depths = [graph.n_states + len(graph.debts) * (graph.n_root_level - FIRST_CUT) for graph in graphs]
        states = torch.tensor([rng.randrange(depth) for depth in depths])
        list_ids = torch.tensor([NO_LIST if place < 0 else ids[0][place] for place in places])
        logits = 5 * torch.randn(9, V, generator=generator)
        least = torch.tensor([rng.choice([-math.inf, -5.0, 0.0, 5.0, math.inf]) for _ in places])
        floor = Floor(least, logits.logsumexp(1), torch.tensor([rng.choice([2.0, 10.0, 20.0]) for _ in places]))
        rowwise, padded = (logits.clone() for _ in stores)
        stores[0].score(rowwise, states, list_ids, floor)
        stores[1].score(padded, states, list_ids, floor)
        best = logits.topk(rng.choice([1, 20]), dim=1).indices
        affected = [store.find_affected(logits, states, list_ids, floor, best=best).tolist() for store in stores]
        changed = (padded != logits).any(dim=1).nonzero()[:, 0].tolist()
        assert set(changed) <= set(affected[0]) <= set(affected[1])
        n_spared += len(places) - len(affected[0])
        torch.testing.assert_close(rowwise, padded, atol=CLOSE, rtol=0)
        tokens = torch.tensor([rng.randrange(V) for _ in places])
        own = logits.gather(1, tokens[:, None])[:, 0]
        granted, other = (store.grant(own, list_ids, tokens, floor) for store in stores)
        assert granted.tolist() == other.tolist()
        first, second = (store.advance(states, list_ids, tokens, granted) for store in stores)
        assert first.tolist() == second.tolist()
        assert torch.equal(stores[0].settle(states, list_ids), stores[1].settle(states, list_ids))
    assert n_spared > 20


def test_a_store_without_lists_changes_nothing(store: BiasStore) -> None:
    ids, states = torch.tensor([NO_LIST]), store.start(1)
    assert torch.equal(_scores(store, states, ids), torch.zeros(1, V))
    assert store.advance(states, ids, torch.tensor([65])).tolist() == [START]
    assert store.settle(states, ids).tolist() == [0.0]


def test_only_tokens_at_the_floor_are_raised_and_a_loss_is_taken_from_all(store: BiasStore) -> None:
    graph = GRAPHS["latin"]
    ids = torch.tensor([store.add(graph, strength=2.0)] * 3)
    states = torch.full((3,), _walk(graph, " New Yor", longest=1))
    full = _scores(store, states, ids)[0]
    base = torch.tensor(
        [2.0 * graph.bases[int(INDEX.classes.is_word[0, INDEX.classes.column[i]]), int(states[0])] for i in range(V)]
    )
    logits = torch.linspace(0, 1, V).expand(3, V).clone()
    least = torch.tensor([0.5, float("inf"), float("-inf")])
    scored = logits.clone()
    store.score(scored, states, ids, Floor(least, logits.logsumexp(1), torch.full((3,), 1e3)))
    for row in range(3):
        expected = torch.where(logits[row] >= least[row], full, base)
        torch.testing.assert_close(scored[row] - logits[row], expected, atol=CLOSE, rtol=0)
    assert (full - base).abs().max() > 1


def test_a_token_that_was_not_granted_goes_on_no_phrase(store: BiasStore) -> None:
    graph = GRAPHS["latin"]
    ids = torch.tensor([store.add(graph)] * 2)
    states = torch.full((2,), _walk(graph, " New Yor", longest=1))
    after = store.advance(states, ids, torch.tensor([ord("k")] * 2), torch.tensor([True, False]))
    assert after.tolist() == [_walk(graph, " New York", longest=1), 1]  # inside a word, with no match
    cut = store.advance(states, ids, torch.tensor([0xC3] * 2), torch.tensor([True, False]))
    assert store.advance(cut, ids, torch.tensor([0xA9] * 2)).tolist() == [1, 1]


def test_rows_can_be_chosen_again_as_in_a_beam(store: BiasStore) -> None:
    graph = GRAPHS["unspaced"]
    ids = torch.tensor([store.add(graph)] * 2)
    states = torch.tensor([_walk(graph, "东"), START])
    parents = torch.tensor([0, 0])
    tokens = torch.tensor([PIECES.index("京".encode()), ord("x")])
    after = store.advance(states[parents], ids, tokens)
    assert after.tolist() == [_walk(graph, "东京"), _walk(graph, "东x")]


def test_a_text_in_pieces_is_as_the_whole_and_a_cut_takes_back_what_is_not_finished(store: BiasStore) -> None:
    graph = GRAPHS["latin"]
    ids = torch.tensor([store.add(graph, strength=1.0)])
    text = "He flew to New York Cit"
    earned, states = 0.0, store.start(1)
    for piece in ("He flew to N", "ew Yor", "k Cit"):
        for token in piece.encode():
            earned += float(_scores(store, states, ids)[0, token])
            states = store.advance(states, ids, torch.tensor([token]))
    state, whole = START, 0.0
    for token in text.encode():
        state, added = graph.step(INDEX.classes, state, token)
        whole += added
    assert states.tolist() == [state]
    assert earned == pytest.approx(whole, abs=CLOSE)
    new_york = make_phrases(("New York", "York"), VOCABULARY)[0].potential[-1]
    assert earned + float(store.settle(states, ids)) == pytest.approx(new_york, abs=CLOSE)


@pytest.mark.parametrize("leaving", range(3))
def test_a_row_on_its_way_does_not_notice_that_other_lists_leave(store: BiasStore, leaving: int) -> None:
    names, texts = ("stems", "accents", "latin"), ("Kuber", "Diyarbak", " New Yor")
    places = [store.add(GRAPHS[name]) for name in names]
    ids = torch.tensor(places)
    states = torch.tensor([_walk(GRAPHS[name], text, longest=1) for name, text in zip(names, texts, strict=True)])
    tokens = torch.tensor([ord("n"), 0xC4, ord("k")])
    before, after = _scores(store, states, ids), store.advance(states, ids, tokens)
    store.remove(places[leaving])
    stay = torch.tensor([row for row in range(3) if row != leaving])
    for _ in range(2):
        assert torch.equal(_scores(store, states[stay], ids[stay]), before[stay])
        assert torch.equal(store.advance(states[stay], ids[stay], tokens[stay]), after[stay])
        assert store.add(GRAPHS["overlapping"]) == places[leaving]


def test_ids_stay_and_are_used_again(store: BiasStore) -> None:
    first, second = store.add(GRAPHS["latin"]), store.add(GRAPHS["stems"])
    assert store.add(GRAPHS["latin"]) == first
    assert store.add(GRAPHS["latin"], strength=1.0) not in (first, second)
    store.remove(first)
    assert store.add(GRAPHS["accents"]) not in (first, second)  # it still has a user
    store.remove(first)
    assert store.add(GRAPHS["unspaced"]) == first
    with pytest.raises(KeyError):
        store.remove(99)


def test_a_list_of_another_vocabulary_is_refused(store: BiasStore) -> None:
    other = index_vocabulary(Vocabulary(VOCABULARY.pieces, VOCABULARY.encode, "other"))
    with pytest.raises(AssertionError):
        store.add(build_graph([], other, sha256=""))
    assert isinstance(other, TokenIndex)
    assert np.array_equal(other.classes.column, INDEX.classes.column)


def test_what_is_a_whole_phrase_must_be_likely_by_itself(store: BiasStore) -> None:
    """Token by token, from a state of every kind; other tokens may be as unlikely as they like."""
    generator = torch.Generator().manual_seed(1)
    n_kept_out = 0
    for name, graph in GRAPHS.items():
        list_id = store.add(graph, strength=2.0)
        leeways = torch.tensor([find_leeway(graph, INDEX.classes, token) for token in range(V)])
        states = torch.tensor([START, 1, _walk(graph, " New Yor", longest=1), _walk(graph, "app", longest=1)])
        ids = torch.full_like(states, list_id)
        logits = torch.randn(4, V, generator=generator)
        full, certain = _scores(store, states, ids), logits.logsumexp(1)
        bare = torch.zeros(4, V)
        nowhere = torch.full((4,), math.inf)
        store.score(bare, states, ids, Floor(nowhere, certain, nowhere))
        is_likely = certain[:, None] - logits <= 11.0 * leeways
        raised = logits.clone()
        floor = Floor(-nowhere, certain, torch.full((4,), 11.0))
        store.score(raised, states, ids, floor)
        torch.testing.assert_close(raised - logits, torch.where(is_likely, full, bare), atol=CLOSE, rtol=0, msg=name)
        for token in range(V):
            read = torch.full_like(ids, token)
            assert torch.equal(store.grant(logits[:, token], ids, read, floor), is_likely[:, token])
        n_kept_out += int((~is_likely & (full != bare)).sum())
    assert n_kept_out > 3


@pytest.mark.parametrize("name", sorted(LISTS))
def test_a_token_holds_a_whole_phrase_if_its_text_does(name: str) -> None:
    plain = PlainBonus(make_phrases(LISTS[name], VOCABULARY))
    roots = GRAPHS[name].root_tokens.tolist()
    found = dict(zip(roots, measure_leeways(GRAPHS[name], INDEX.classes).roots.tolist(), strict=True))
    texts = {token: (piece or b"").decode() for token, piece in enumerate(PIECES) if _is_text(piece)}
    assert name != "latin" or any(leeway < 1 for leeway in found.values())
    for token, text in texts.items():
        holds = max(plain.measure(before + text, has_ended=True) for before in ("", "x")) > CLOSE
        assert (found.get(token, ANY_LEEWAY) < 1) == holds, text


def _is_text(piece: bytes) -> bool:
    try:
        piece.decode()
    except UnicodeDecodeError:
        return False
    return True
