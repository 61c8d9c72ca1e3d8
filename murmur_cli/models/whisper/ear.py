"""Keywords in Whisper's loops: what a list adds to the logits of hypotheses, which branch and die.

A token is raised only where the model hears it nearly as well as the best one, and nothing is raised where the best one
ends the text, or where a hypothesis turns in circles. What the model thinks of a text without the list stays known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from murmur_cli.bias.floor import Floor
from murmur_cli.bias.hits import HitFinder
from murmur_cli.bias.store import BiasStore
from murmur_cli.decode.turning import TurnCounter
from murmur_cli.models.whisper.likeliest import find_likeliest, find_top

__all__ = ["NOTICEABLE", "Ear", "Listening", "start_listening"]

NOTICEABLE = 1e-3
"""Nats that a list adds; less is rounding."""


@dataclass(frozen=True, slots=True, eq=False)
class Ear:
    """What is listened for.

    Attributes:
        store: Holds the list.
        list_id: Its id there.
        margin: A token is raised if its logit is no more than this below the best.
        end: The token that ends a text.
        finder: Finds keywords in what was written.
    """

    store: BiasStore
    list_id: int
    margin: float
    end: int
    finder: HitFinder


def start_listening(ear: Ear | None, *, n_windows: int, n_hypotheses: int, device: torch.device) -> Listening | None:
    """Begin a search with an ear; None without one."""
    if ear is None:
        return None
    return Listening(ear, n_windows=n_windows, n_hypotheses=n_hypotheses, device=device)


class Listening:
    """One search with an ear: how far the matches of B windows' hypotheses are.

    Args:
        ear: What is listened for.
        n_windows: B.
        n_hypotheses: Of every window, at first.
        device: Of the logits.
    """

    def __init__(self, ear: Ear, *, n_windows: int, n_hypotheses: int, device: torch.device) -> None:
        n_rows = n_windows * n_hypotheses
        self._ear = ear
        self._n_hypotheses = n_hypotheses
        self._list_id = torch.tensor(ear.list_id, device=device)
        self._states = ear.store.start(n_rows)
        self._turns = TurnCounter(n_rows, device)
        self._logits = torch.zeros(n_windows, n_hypotheses, 0, device=device)
        self._best = torch.zeros(n_windows, n_hypotheses, dtype=torch.int64, device=device)
        self._best_gain = torch.zeros(n_windows, n_hypotheses, device=device)
        self._margin = torch.tensor(ear.margin, device=device)
        self._floor = Floor(*[self._best_gain.flatten()] * 3)

    def raise_logits(self, logits: Tensor, certain: Tensor) -> Tensor:
        """Give logits with what the list adds.

        Args:
            logits: Of every hypothesis, [B, K, V]; they stay as they are.
            certain: The logarithm of the sum of all, [B, K, 1].
        """
        choice = find_likeliest(logits)
        best = _pick(logits, choice)
        self._begin_step(logits, certain, choice, best)
        raised = logits.clone(memory_format=torch.contiguous_format)
        self._ear.store.score(raised.flatten(0, 1), self._states, self._name_list(), self._floor)
        self._best_gain = _pick(raised, choice) - best
        return raised

    def raise_top(
        self, logits: Tensor, certain: Tensor, *, tokens: Tensor, own: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Find the best tokens with what the list adds: those of ``raise_logits``, at less cost.

        Args:
            logits: Of every hypothesis, [B, K, V]; they stay as they are.
            certain: The logarithm of the sum of all, [B, K, 1].
            tokens: The best ones without the list, in order, [B, K, n].
            own: Their logits.

        Returns:
            As many: the tokens, their raised logits, in order of these, and their own.
        """
        choice, best = tokens[..., 0], own[..., 0]
        self._begin_step(logits, certain, choice, best)
        flat, names = logits.flatten(0, 1), self._name_list()
        best_ids = tokens.flatten(0, 1)
        rows = self._ear.store.find_affected(flat, self._states, names, self._floor, best=best_ids)
        self._best_gain = torch.zeros_like(best)
        if not len(rows):
            return tokens, own, own
        raised = flat[rows]
        self._ear.store.score(raised, self._states[rows], names[: len(rows)], self._floor.select(rows))
        before = raised.gather(1, best_ids[rows])
        found = find_top(raised, tokens.shape[2], least=before.amin(1))
        self._best_gain = _put(self._best_gain, rows, before[:, 0] - best.flatten()[rows])
        plain = flat[rows[:, None], found]
        return _put(tokens, rows, found), _put(own, rows, raised.gather(1, found)), _put(own, rows, plain)

    def _begin_step(self, logits: Tensor, certain: Tensor, choice: Tensor, best: Tensor) -> None:
        turning = self._turns.is_turning().view_as(best)
        least = (best - self._ear.margin).masked_fill((choice == self._ear.end) | turning, math.inf)
        self._floor = Floor(least.flatten(), certain.flatten(), self._margin.expand(least.numel()))
        self._logits, self._best = logits, choice

    def compare(self, parents: Tensor, tokens: Tensor, gains: Tensor) -> Tensor:
        """Tell of tokens whether the list brought them forward, before the one that would have been chosen.

        Args:
            parents: The hypotheses that they go on from, [B, n].
            tokens: [B, n].
            gains: What the list added to their logits, [B, n].
        """
        is_other = tokens != self._best.gather(1, parents)
        return is_other & (gains - self._best_gain.gather(1, parents) > NOTICEABLE)

    def follow(self, parents: Tensor, tokens: Tensor) -> None:
        """Go on with one more token of every hypothesis.

        Args:
            parents: The hypotheses that they go on from, [B, K].
            tokens: [B, K].
        """
        heard = self._logits.flatten(1).gather(1, parents * self._logits.shape[2] + tokens)
        first = torch.arange(len(parents), device=parents.device)[:, None] * self._n_hypotheses
        rows = (first + parents).flatten()
        self._n_hypotheses = parents.shape[1]
        self._turns.select(rows)
        self._turns.read(tokens.flatten())
        self._states = self._states[rows]
        names, read = self._name_list(), tokens.flatten()
        granted = self._ear.store.grant(heard.flatten(), names, read, self._floor.select(rows))
        self._states = self._ear.store.advance(self._states, names, read, granted)

    def retire(self, sources: Sequence[int]) -> None:
        """Keep some windows only, as few as can be moved: the new window i is the old window ``sources[i]``."""
        if len(sources) * self._n_hypotheses == len(self._states):
            return  # all of them
        first = torch.tensor(list(sources), device=self._states.device)[:, None] * self._n_hypotheses
        rows = (first + torch.arange(self._n_hypotheses, device=self._states.device)).flatten()
        self._states = self._states[rows]
        self._turns.select(rows)

    def _name_list(self) -> Tensor:
        return self._list_id.expand(len(self._states))


def _pick(logits: Tensor, tokens: Tensor) -> Tensor:
    """Pick the logit of a token [B, K] of every hypothesis out of [B, K, V]."""
    return logits.gather(2, tokens[:, :, None])[:, :, 0]


def _put(values: Tensor, rows: Tensor, new: Tensor) -> Tensor:
    """Put new values [n, ...] into some rows of [B, K, ...]."""
    return values.flatten(0, 1).index_copy(0, rows, new).view_as(values)
