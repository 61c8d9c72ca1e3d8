#!/usr/bin/env python3
"""What keywords cost: compiling a list, finding it again, holding many, and each step of a decoder.

Lists are of made-up names. Times are the best of several, in CPU time where it is one thread's. A step is measured
alone, where all it needs stays in the processor's caches, and in Whisper base, where it does not: eight windows of real
speech side by side, greedily and with ten beams. ``--check`` instead compares 50,000 tokenisations for each vocabulary
with what the definition says of the text.

Examples: python benchmarks/bias.py · python benchmarks/bias.py --vocabulary qwen · python benchmarks/bias.py --check
"""

from __future__ import annotations

import argparse
import dataclasses
import gc
import random
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from bias_steps import N_WINDOWS, measure_decoder
from digits import DIGITS_MODEL
from report import ROOT, Report, Table, describe_run, format_goal, format_report, write_report

sys.path.insert(0, str(ROOT / "tests"))

from bias_samples import LISTS, load_qwen, make_phrases, make_splitter, make_text, respell
from oracles.bias import PlainBonus

from murmur_cli.bias.cache import ListCache
from murmur_cli.bias.floor import Floor
from murmur_cli.bias.graph import build_graph
from murmur_cli.bias.index import TokenIndex, index_vocabulary
from murmur_cli.bias.keywords import Form, Keyword, KeywordList
from murmur_cli.bias.packed import START, BiasList
from murmur_cli.bias.store import BiasStore
from murmur_cli.bias.vocabulary import Vocabulary, read_vocabulary
from murmur_cli.models.weights import pull_weights

__all__ = ["Row", "check", "main", "measure"]

WHISPER_ROWS = 51_865
COMPILE_GOALS = {1_000: 1.0, 10_000: 8.0}  # phrases -> seconds, the vocabulary's index not counted
LOAD_GOAL_S = 0.05
N_IN_DECODER, DECODER_GOAL = 1_000, 5.0  # phrases; what they may add to a step, in percent
N_CHECKED = 50_000
CLOSE = 1e-3

_ONSETS = ("b", "c", "d", "f", "g", "h", "j", "k", "l", "m", "n", "p", "r", "s", "t", "v", "w", "z", "br", "ch", "dr")
_VOWELS = ("a", "e", "i", "o", "u", "ai", "ie", "ou", "y")
_CODAS = ("", "", "n", "r", "l", "s", "m", "t", "ck", "rd", "ng")


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement: of what, how much, and its goal if it has one, at most."""

    vocabulary: str
    what: str
    value: float
    unit: str
    goal: float | None = None


def make_list(n_phrases: int, *, seed: int = 1) -> KeywordList:
    """Make up names of one to three words."""
    rng = random.Random(seed)
    names: dict[str, None] = {}
    while len(names) < n_phrases:
        words = ["".join(_make_syllable(rng) for _ in range(rng.randint(1, 4))) for _ in range(rng.randint(1, 3))]
        names[" ".join(words).title()] = None
    return KeywordList(tuple(Keyword((Form(name),)) for name in names))


def _make_syllable(rng: random.Random) -> str:
    return rng.choice(_ONSETS) + rng.choice(_VOWELS) + rng.choice(_CODAS)


def load_vocabularies(names: Sequence[str]) -> Iterator[tuple[str, Vocabulary]]:
    """Load vocabularies by name."""
    for name in names:
        if name == "qwen":
            yield name, load_qwen()
        elif name == "tiny":
            yield name, read_vocabulary(DIGITS_MODEL / "tokenizer.json")
        else:
            yield name, read_vocabulary(_find_whisper() / "tokenizer.json", n_tokens=WHISPER_ROWS)


def _find_whisper() -> Path:
    return pull_weights("whisper-base", offline=False, on_progress=None).folder


def measure(name: str, vocabulary: Vocabulary) -> Iterator[Row]:
    """Measure everything with one vocabulary."""
    with tempfile.TemporaryDirectory(prefix="murmur-benchmark-") as folder:
        cache = ListCache(vocabulary, Path(folder))
        yield Row(name, "index of the vocabulary", _time(cache.index), "s")
        cache.classes()
        graphs = {}
        for n_phrases in (100, *COMPILE_GOALS):
            keywords = make_list(n_phrases)
            goal = COMPILE_GOALS.get(n_phrases)
            yield Row(
                name,
                f"compile {n_phrases} phrases, and keep them",
                _time(lambda k=keywords: cache.compile(k)),
                "s",
                goal,
            )
            graphs[n_phrases] = graph = cache.compile(keywords)
            other = ListCache(vocabulary, Path(folder))
            other.classes()
            yield Row(
                name,
                f"{n_phrases} phrases from the disk",
                _time(lambda k=keywords, c=other: c.compile(k)),
                "s",
                LOAD_GOAL_S,
            )
            yield Row(name, f"{n_phrases} phrases from memory", _time(lambda k=keywords: cache.compile(k)), "s")
            yield Row(name, f"{n_phrases} phrases packed", graph.n_bytes / 1e6, "MB")
            yield Row(name, f"{n_phrases} phrases: arcs for each", graph.n_arcs / n_phrases, "")
        yield from _measure_steps(name, cache, graphs)
        if name == "whisper":
            yield from _measure_in_decoder(name, cache, graphs[N_IN_DECODER])
        yield from _measure_churn(name, cache)


def _measure_steps(name: str, cache: ListCache, graphs: Mapping[int, BiasList]) -> Iterator[Row]:
    torch.set_num_threads(1)
    for n_rows in (1, 8):
        logits = _make_logits(n_rows, cache.classes().n_tokens)
        best = min(_time(lambda logits=logits: torch.log_softmax(logits, dim=-1)) for _ in range(10))
        yield Row(name, f"for comparison: log_softmax, B={n_rows}", 1e3 * best, "ms")
        for n_phrases, graph in graphs.items():
            yield Row(name, f"a step, {n_phrases} phrases, B={n_rows}", 1e3 * _time_step(cache, graph, logits), "ms")


def _make_logits(n_rows: int, n_tokens: int) -> torch.Tensor:
    """Make up logits of which some tens of each row are near the best one."""
    logits = 2 * torch.randn(n_rows, n_tokens)
    logits[torch.arange(n_rows), torch.randint(n_tokens, (n_rows,))] = 9.0
    return logits


def _measure_in_decoder(name: str, cache: ListCache, graph: BiasList) -> Iterator[Row]:
    for cost in measure_decoder(_find_whisper(), cache.classes(), graph):
        step = f"a step of Whisper base, B={N_WINDOWS}, " + (f"{cost.n_beams} beams" if cost.n_beams > 1 else "greedy")
        added = f"what {N_IN_DECODER} phrases add to {step}"
        yield Row(name, step, cost.cpu, "ms")
        yield Row(name, f"{step}, by the clock", cost.wall, "ms")
        yield Row(name, added, cost.cpu_share, "%", DECODER_GOAL)
        yield Row(name, f"{added}, by the clock", cost.wall_share, "%")
        yield Row(name, f"{added}, against runs without", cost.difference, "%")


def _time_step(cache: ListCache, graph: BiasList, logits: torch.Tensor) -> float:
    """Time scoring with a margin and reading a token: three of ten rows inside a phrase, the others in none."""
    rng = random.Random(2)
    n_rows, n_tokens = logits.shape
    store = BiasStore(cache.classes(), torch.device("cpu"))
    ids = torch.full((n_rows,), store.add(graph))
    nodes = range(graph.n_root_level, graph.n_states)
    states = torch.tensor([rng.choice(nodes) if rng.random() < 0.3 else rng.randrange(2) for _ in range(n_rows)])
    tokens = torch.tensor([rng.randrange(min(20_000, n_tokens)) for _ in range(n_rows)])
    floor = Floor(logits.max(dim=-1).values - 3.0, logits.logsumexp(-1), torch.full((n_rows,), 3.0))

    def step() -> None:
        store.score(logits, states, ids, floor)
        store.advance(states, ids, tokens)

    return min(_time(step) for _ in range(30))


def _measure_churn(name: str, cache: ListCache) -> Iterator[Row]:
    """Let 128 lists come and go many times over, while rows are scored; memory must not grow."""
    graphs = [cache.compile(make_list(20, seed=seed)) for seed in range(128)]
    store = BiasStore(cache.classes(), torch.device("cpu"))
    logits = torch.zeros(4, cache.classes().n_tokens)
    rng = random.Random(3)

    def turn_over() -> None:
        ids = [store.add(graph) for graph in graphs]
        for list_id in rng.sample(ids, len(ids)):
            if rng.random() < 0.1:
                store.score(logits, store.start(4), torch.tensor([list_id] * 4))
            store.remove(list_id)

    turn_over()
    tracemalloc.start()
    sizes = []
    began = time.process_time()
    for _ in range(4):
        turn_over()
        gc.collect()
        sizes.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    yield Row(name, "a list of 20 comes and goes among 128", 1e3 * (time.process_time() - began) / (4 * 128), "ms")
    yield Row(name, "memory that 3 turnovers of 128 lists leave", (sizes[-1] - sizes[0]) / 1e6, "MB", 0.1)


def _time(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def check(name: str, vocabulary: Vocabulary, index: TokenIndex, *, n_checked: int) -> tuple[int, int]:
    """Compare random tokenisations with the definition.

    Returns:
        How many were compared, and how many were wrong.
    """
    splitter, compared, wrong = make_splitter(vocabulary, index), 0, 0
    for list_name, texts in LISTS.items():
        rng = random.Random(f"{name} {list_name}")
        phrases = make_phrases(texts, vocabulary)
        graph, plain = build_graph(phrases, index, sha256=list_name), PlainBonus(phrases)
        for _ in range(-(-n_checked // (12 * len(LISTS)))):
            text = make_text(list_name, rng)
            expected = plain.measure(text), plain.measure(text, has_ended=True)
            for spelling in (text, *(respell(text, rng) for _ in range(3))):
                for longest in (1, 3, 12):
                    state, earned = START, 0.0
                    for token in splitter.split(spelling, rng, longest=longest):
                        state, added = graph.step(index.classes, state, token)
                        earned += added
                    ended = earned + graph.settle(index.classes, state)
                    compared += 1
                    wrong += abs(earned - expected[0]) > CLOSE or abs(ended - expected[1]) > CLOSE
    return compared, wrong


def _judge(row: Row) -> str:
    assert row.goal is not None
    return format_goal(f"{row.vocabulary}: {row.what}, at most {row.goal:g} {row.unit}", reached=row.value <= row.goal)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vocabulary", action="append", choices=["whisper", "qwen", "tiny"], help="of which model")
    parser.add_argument("--check", action="store_true", help="compare with the definition, and measure nothing")
    parser.add_argument("--json", type=Path, help="also write the report here")
    options = parser.parse_args(arguments)
    names = options.vocabulary or (["tiny", "whisper", "qwen"] if options.check else ["whisper", "qwen"])
    if options.check:
        n_wrong = 0
        for name, vocabulary in load_vocabularies(names):
            compared, wrong = check(name, vocabulary, index_vocabulary(vocabulary), n_checked=N_CHECKED)
            print(f"{name}: {compared} tokenisations, {wrong} wrong", flush=True)
            n_wrong += wrong
        return int(n_wrong > 0)
    rows = [row for name, vocabulary in load_vocabularies(names) for row in measure(name, vocabulary)]
    report = Report(
        "Keywords: compiling, keeping, and each step",
        describe_run({"threads": "1 for steps"}),
        Table(
            ("vocabulary", "what", "value", "unit"),
            tuple((r.vocabulary, r.what, f"{r.value:.4g}", r.unit) for r in rows),
        ),
        tuple(_judge(row) for row in rows if row.goal is not None),
    )
    print(format_report(report))
    if options.json:
        write_report(options.json, report, [dataclasses.asdict(row) for row in rows])
    return 0


if __name__ == "__main__":
    sys.exit(main())
