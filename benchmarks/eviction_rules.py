"""The rules of ``eviction.py``, how much memory they leave, and an answer that is written by no model. Ints only."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from murmur_cli.decode.eviction import POLICIES, EvictionOptions, EvictionWatcher, RowLayout
from murmur_cli.decode.follow import Decode
from murmur_cli.decode.frontier import FrontierOptions
from murmur_cli.decode.watch import Orders, Watcher

__all__ = [
    "BARE",
    "BOTH",
    "NONE",
    "OUTPUT",
    "SPEECH",
    "STEPS",
    "Meter",
    "Rule",
    "StepRule",
    "list_rules",
    "measure_script",
    "write_script",
]

NONE, OUTPUT, SPEECH, BOTH = POLICIES
BARE, STEPS = "speech, no pins", "by steps"

_N_STEPS = 16  # tokens between two looks, as in murmur's loop

_TOKEN = re.compile(r"[A-Za-z]+|\d| ?[^A-Za-z\d ]+|\s")  # much as Qwen's tokenizer cuts JSON


@dataclass(frozen=True, slots=True)
class Rule:
    """What is forgotten of a row. ``watch`` makes a watcher for one row."""

    name: str
    watch: Callable[[RowLayout, Decode], Watcher]


class _Keep:
    """Forgets nothing, and looks at nothing."""

    def look(self, tokens: Sequence[int]) -> Orders:
        del tokens
        return Orders()


class StepRule:
    """The reference's rule: the front moves with every token, whatever is written.

    Args:
        row: Whose audio is forgotten.
        window: Frames at the end of the audio that stay.

    Source:
        Murmur, arXiv:2606.01483; uw-syfi/Murmur@223cde3 (sink, window, delay, rate).
    """

    sink, delay, rate = 32, 32, 8

    def __init__(self, row: RowLayout, *, window: int) -> None:
        self._row = row
        self._last = row.n_frames - window
        self._front = self.sink
        self._n_tokens = 0

    def look(self, tokens: Sequence[int]) -> Orders:
        """Forget the frames that the front has passed."""
        self._n_tokens += len(tokens)
        front = min(self.rate * (self._n_tokens - self.delay), self._last)
        passed = range(self._front, front)
        self._front = max(self._front, front)
        return Orders([self._row.audio_start + frame for frame in passed])


class Meter:
    """Passes on what a watcher says, and counts what is held after every token that was read."""

    def __init__(self, watcher: Watcher, row: RowLayout) -> None:
        self._watcher = watcher
        self._row = row
        self._n_held = self._n_read = row.n_prompt
        self._is_first = True
        self.shares: list[float] = []
        self.n_frames_gone = 0

    @property
    def mean(self) -> float:
        """The share of what was read that was held, on average over all tokens."""
        return statistics.fmean(self.shares)

    @property
    def gone(self) -> float:
        """The share of the audio that is forgotten."""
        return self.n_frames_gone / self._row.n_frames

    def look(self, tokens: Sequence[int]) -> Orders:
        """Let the watcher look, and count."""
        for _ in tokens[self._is_first :]:  # the last one is not read yet; the one before the first is a token, too
            self._n_held += 1
            self._n_read += 1
            self.shares.append(self._n_held / self._n_read)
        self._is_first = False
        orders = self._watcher.look(tokens)
        self._n_held -= len(orders.forget)
        self.n_frames_gone += sum(position < self._row.n_prompt for position in orders.forget)
        return orders


def list_rules(*, margin: int, output_window: int, step_window: int) -> list[Rule]:
    """Name all rules, the first of which forgets nothing.

    Args:
        margin: Frames between the front and the text.
        output_window: Tokens of the answer that stay.
        step_window: Frames that stay under the reference's rule.
    """
    speech = FrontierOptions(margin=margin)
    ours = EvictionOptions(speech=speech, output_window=output_window)
    bare = replace(ours, speech=replace(speech, speaker_pin=0, onset_pin=0))

    def use(options: EvictionOptions) -> Callable[[RowLayout, Decode], Watcher]:
        return lambda row, decode: EvictionWatcher(options, row, decode, n_steps=_N_STEPS)

    def keep(_row: RowLayout, _decode: Decode) -> Watcher:
        return _Keep()

    def use_steps(row: RowLayout, _decode: Decode) -> Watcher:
        return StepRule(row, window=step_window)

    return [
        Rule(NONE, keep),
        *(Rule(policy, use(replace(ours, policy=policy))) for policy in (OUTPUT, SPEECH, BOTH)),
        Rule(BARE, use(replace(bare, policy=SPEECH))),
        Rule(STEPS, use_steps),
    ]


def write_script(seconds: int, *, slowest: float = 6.0, fastest: float = 9.0, seed: int = 0) -> list[str]:
    """Write an answer of one to four speakers and entries of 6 to 15 s, in tokens.

    Args:
        seconds: Of audio.
        slowest: Tokens for a second of audio; each entry has a rate of its own.
        fastest: Likewise.
        seed: Of all that is drawn.
    """
    rng = np.random.default_rng(seed)
    n_speakers = int(rng.integers(1, 5))
    tokens, now, due = ["assistant", "\n", "["], 0.0, 0.0
    while now < seconds:
        end = min(now + rng.uniform(6.0, 15.0), seconds)
        head = f'{{"Start":{now:.2f},"End":{end:.2f},"Speaker":{rng.integers(n_speakers)},"Content":"'
        tokens += _TOKEN.findall(head)
        start, now = now, end + rng.uniform(0.0, 0.6)
        due += rng.uniform(slowest, fastest) * (now - start)
        tokens += [" word"] * max(1, round(due) - len(tokens) - 1)
        tokens.append('"},')
    return [*tokens[:-1], '"}', "]"]


def measure_script(rule: Rule, script: Sequence[str], *, seconds: int) -> Meter:
    """Let a rule follow a script to its end."""
    n_frames = seconds * 15 // 2
    row = RowLayout(
        n_prompt=n_frames + 61, audio_start=30, n_frames=n_frames, frames_per_s=7.5, max_tokens=12 * seconds
    )
    meter = Meter(rule.watch(row, lambda tokens: "".join(script[token] for token in tokens)), row)
    for first in range(0, len(script), _N_STEPS):
        meter.look(range(len(script))[first : first + _N_STEPS])
    return meter
