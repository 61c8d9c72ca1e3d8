"""Beam search over several windows side by side.

Each window is searched as if it were alone: it leaves when its search is settled, and the others go on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from murmur_cli.models.whisper.decoder import Decoder
from murmur_cli.models.whisper.state import Memory, plan_moves
from murmur_cli.models.whisper.task import Reading, Task

__all__ = ["search"]

_LOOK_EVERY = 8  # steps between two looks at a GPU, which has to stop for it


def search(decoder: Decoder, audio: Sequence[Memory], task: Task, *, n_beams: int) -> list[Reading]:
    """Find the text with the best mean log-probability of every window.

    Args:
        decoder: The model.
        audio: What the decoder memorised of the windows; it is used up.
        task: What to write.
        n_beams: How many hypotheses of a window are followed.

    Returns:
        One reading per window.

    Source:
        transformers 5.24, generation/utils.py, _beam_search with length_penalty 1, early_stopping
        False and renormalize_logits: candidates and the rule to stop are the same.
    """
    device = audio[0].keys.device
    look = 1 if device.type == "cpu" else _LOOK_EVERY
    room = max(task.budgets) + look
    prompt = torch.tensor([task.prompt] * len(task.budgets), device=device)
    hidden, state = decoder.start(prompt, audio, n_hypotheses=n_beams)
    logits = decoder.logits(hidden[:, -1:])
    logits[..., list(task.not_first)] = -math.inf
    beams = _Beams(task, n_beams=n_beams, room=room, device=device)
    while True:
        beams.advance(logits)
        if beams.n_written % look == 0:
            sources = beams.retire()
            if not sources:
                return beams.readings()
            state.retire(sources)
        state.branch(beams.parents)
        logits = decoder.logits(decoder.step(beams.newest(), state))


class _Beams:
    """The live hypotheses of B windows, and for each window a pool of its best ended ones."""

    def __init__(self, task: Task, *, n_beams: int, room: int, device: torch.device) -> None:
        n_windows = len(task.budgets)
        self.n_written = 0
        self.parents = torch.zeros(n_windows, n_beams, dtype=torch.int64, device=device)
        self._task = task
        self._n_beams = n_beams
        self._windows = list(range(n_windows))
        self._readings: dict[int, Reading] = {}
        self._budgets = torch.tensor(task.budgets, device=device)[:, None]  # [B, 1]
        # One hypothesis each at first, K after the first step.
        self._tokens = torch.full((n_windows, 1, room), task.end, device=device)
        self._logprobs = torch.zeros(n_windows, 1, room, device=device)
        self._totals = torch.zeros(n_windows, 1, device=device)
        self._pool_tokens = torch.full((n_windows, n_beams, room), task.end, device=device)
        self._pool_logprobs = torch.zeros(n_windows, n_beams, room, device=device)
        self._pool_lengths = torch.zeros(n_windows, n_beams, dtype=torch.int64, device=device)
        self._pool_scores = torch.full((n_windows, n_beams), -math.inf, device=device)
        self._settled = torch.zeros(n_windows, 1, dtype=torch.bool, device=device)

    def newest(self) -> Tensor:
        """Give the newest token of every live hypothesis, [B, K]."""
        return self._tokens[:, :, self.n_written - 1]

    def advance(self, logits: Tensor) -> None:
        """Extend every hypothesis by a token, and keep the best.

        Args:
            logits: Of every live hypothesis, [B, K, V].
        """
        self.n_written += 1
        n_kept = 2 * self._n_beams  # so many that K live ones remain if K end
        top, ids = logits.topk(n_kept, dim=-1)
        gains = top - logits.logsumexp(dim=-1, keepdim=True)  # [B, K, 2 K]
        totals, flat = (self._totals[:, :, None] + gains).flatten(1).topk(n_kept)  # [B, 2 K]
        parents = flat // n_kept
        tokens, gains = ids.flatten(1).gather(1, flat), gains.flatten(1).gather(1, flat)
        ended = (tokens == self._task.end) | (self._budgets <= self.n_written)
        self._collect(totals.masked_fill(~ended, -math.inf), parents, tokens, gains)
        self._totals, order = totals.masked_fill(ended, -math.inf).topk(self._n_beams)
        self.parents = parents.gather(1, order)
        self._tokens = self._extend(self._tokens, self.parents, tokens.gather(1, order))
        self._logprobs = self._extend(self._logprobs, self.parents, gains.gather(1, order))
        is_full = self._pool_scores[:, -1:] > -math.inf
        self._settled |= is_full & (self._totals[:, :1] / self.n_written <= self._pool_scores[:, -1:])

    def retire(self) -> list[int]:
        """Take the windows out that are settled: the new window i is the old one at entry i of the result."""
        settled = self._settled[:, 0].tolist()
        kept = [place for place, is_settled in enumerate(settled) if not is_settled]
        for place, is_settled in enumerate(settled):
            if is_settled:
                self._readings[self._windows[place]] = self._read(place)
        sources = plan_moves(kept)
        if len(kept) < len(settled):
            self._select(sources)
        return sources

    def readings(self) -> list[Reading]:
        """Give the readings of all windows, in their order at the start."""
        return [self._readings[window] for window in sorted(self._readings)]

    def _collect(self, totals: Tensor, parents: Tensor, tokens: Tensor, gains: Tensor) -> None:
        """Put the ended ones among the K best candidates into the pools, where totals are not minus infinity."""
        first = slice(0, self._n_beams)
        scores = (totals[:, first] / self.n_written).masked_fill(self._settled, -math.inf)
        scores, order = torch.cat([self._pool_scores, scores], dim=1).topk(self._n_beams)
        self._pool_scores = scores
        lengths = torch.cat([self._pool_lengths, torch.full_like(self._pool_lengths, self.n_written)], dim=1)
        self._pool_lengths = lengths.gather(1, order)
        new_tokens = self._extend(self._tokens, parents[:, first], tokens[:, first])
        self._pool_tokens = _pick(torch.cat([self._pool_tokens, new_tokens], dim=1), order)
        new_logprobs = self._extend(self._logprobs, parents[:, first], gains[:, first])
        self._pool_logprobs = _pick(torch.cat([self._pool_logprobs, new_logprobs], dim=1), order)

    def _extend(self, history: Tensor, parents: Tensor, newest: Tensor) -> Tensor:
        extended = _pick(history, parents)
        extended[:, :, self.n_written - 1] = newest
        return extended

    def _read(self, place: int) -> Reading:
        length = int(self._pool_lengths[place, 0])
        tokens: list[int] = self._pool_tokens[place, 0, :length].tolist()
        logprobs: list[float] = self._pool_logprobs[place, 0, :length].tolist()
        ended = tokens[-1] == self._task.end
        return Reading(tuple(tokens[:-1] if ended else tokens), tuple(logprobs), ended)

    def _select(self, sources: list[int]) -> None:
        self._windows = [self._windows[source] for source in sources]
        self.parents = self.parents[sources]
        self._budgets, self._totals, self._settled = (t[sources] for t in (self._budgets, self._totals, self._settled))
        self._tokens, self._logprobs = self._tokens[sources], self._logprobs[sources]
        self._pool_tokens, self._pool_logprobs = self._pool_tokens[sources], self._pool_logprobs[sources]
        self._pool_lengths, self._pool_scores = self._pool_lengths[sources], self._pool_scores[sources]


def _pick(histories: Tensor, indices: Tensor) -> Tensor:
    """Pick hypotheses [B, K] out of histories [B, n, room]."""
    return histories.gather(1, indices[:, :, None].expand(-1, -1, histories.shape[2]))
