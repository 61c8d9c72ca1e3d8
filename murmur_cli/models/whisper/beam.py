"""Beam search over several windows side by side.

Each window is searched as if it were alone: it leaves when its search is settled, and the others go on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from murmur_cli.models.whisper.decoder import Decoder
from murmur_cli.models.whisper.ear import NOTICEABLE, Listening, start_listening
from murmur_cli.models.whisper.state import Memory, plan_moves
from murmur_cli.models.whisper.task import Reading, Task

__all__ = ["search"]

_LOOK_EVERY = 8  # steps between two looks at a GPU, which has to stop for it


def search(decoder: Decoder, audio: Sequence[Memory], task: Task, *, n_beams: int) -> list[Reading]:
    """Find the text with the best mean log-probability of every window, with what a list adds to it.

    Args:
        decoder: The model.
        audio: What the decoder memorised of the windows; it is used up.
        task: What to write.
        n_beams: How many hypotheses of a window are followed.

    Returns:
        One reading per window.

    Source:
        transformers 5.24, generation/utils.py, _beam_search with length_penalty 1, early_stopping
        False and renormalize_logits: candidates and the rule to stop are the same, but with keywords
        a text is over where it ends before all others.
    """
    device = audio[0].keys.device
    look = 1 if device.type == "cpu" else _LOOK_EVERY
    room = max(task.budgets) + look
    prompt = torch.tensor([task.prompt] * len(task.budgets), device=device)
    hidden, state = decoder.start(prompt, audio, n_hypotheses=n_beams)
    logits = decoder.logits(hidden[:, -1:])
    logits[..., list(task.not_first)] = -math.inf
    beams = _Beams(task, n_beams=n_beams, room=room, device=device)
    listening = start_listening(task.ear, n_windows=len(task.budgets), n_hypotheses=1, device=device)
    while True:
        beams.advance(logits, listening)
        if beams.n_written % look == 0:
            sources = beams.retire()
            if not sources:
                return beams.readings()
            state.retire(sources)
            if listening is not None:
                listening.retire(sources)
        state.branch(beams.parents)
        logits = decoder.logits(decoder.step(beams.newest(), state))


@dataclass(frozen=True, slots=True)
class _Texts:
    """What hypotheses wrote: tokens, their log-probabilities, and whether a list chose them; each [B, n, room]."""

    tokens: Tensor
    logprobs: Tensor
    changed: Tensor

    def extend(self, parents: Tensor, place: int, newest: _Texts) -> _Texts:
        """Go on from the texts of ``parents`` [B, m] with one more token each, ``newest`` being [B, m]."""
        extended = self.pick(parents)
        extended.tokens[:, :, place] = newest.tokens
        extended.logprobs[:, :, place] = newest.logprobs
        extended.changed[:, :, place] = newest.changed
        return extended

    def pick(self, indices: Tensor) -> _Texts:
        """Pick texts, or single tokens, by [B, m]."""
        return _Texts(_pick(self.tokens, indices), _pick(self.logprobs, indices), _pick(self.changed, indices))

    def join(self, others: _Texts) -> _Texts:
        """Put others beside them."""
        return _Texts(
            torch.cat([self.tokens, others.tokens], dim=1),
            torch.cat([self.logprobs, others.logprobs], dim=1),
            torch.cat([self.changed, others.changed], dim=1),
        )

    def select(self, sources: list[int]) -> _Texts:
        """Select windows."""
        return _Texts(self.tokens[sources], self.logprobs[sources], self.changed[sources])


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
        self._texts = _make_texts(n_windows, 1, room=room, end=task.end, device=device)
        self._totals = torch.zeros(n_windows, 1, device=device)
        self._pool = _make_texts(n_windows, n_beams, room=room, end=task.end, device=device)
        self._pool_lengths = torch.zeros(n_windows, n_beams, dtype=torch.int64, device=device)
        self._pool_means = torch.full((n_windows, n_beams), -math.inf, device=device)
        self._bonuses, self._pool_bonuses = torch.zeros_like(self._totals), torch.zeros_like(self._pool_means)
        self._weights = torch.ones(n_windows, 1, device=device)
        self._settled = torch.zeros(n_windows, 1, dtype=torch.bool, device=device)

    def newest(self) -> Tensor:
        """Give the newest token of every live hypothesis, [B, K]."""
        return self._texts.tokens[:, :, self.n_written - 1]

    def advance(self, logits: Tensor, listening: Listening | None) -> None:
        """Extend every hypothesis by a token, and keep the best.

        Args:
            logits: Of every live hypothesis, [B, K, V].
            listening: What is listened for.
        """
        self.n_written += 1
        n_kept = 2 * self._n_beams  # so many that K live ones remain if K end
        scale = logits.logsumexp(dim=-1, keepdim=True)
        own, ids = logits.topk(n_kept, dim=-1)
        top = own
        if listening is not None:
            ids, top, own = listening.raise_top(logits, scale, tokens=ids, own=own)
        # What a list adds is not normalised away: then an unfinished match that is taken back leaves nothing behind.
        totals, flat = (self._totals[:, :, None] + (top - scale)).flatten(1).topk(n_kept)  # [B, 2 K]
        parents = flat // n_kept
        tokens, logprobs = ids.flatten(1).gather(1, flat), (own - scale).flatten(1).gather(1, flat)
        changed, bonuses = torch.zeros_like(tokens, dtype=torch.bool), torch.zeros_like(totals)
        if listening is not None:
            gains = (top - own).flatten(1).gather(1, flat)
            changed = listening.compare(parents, tokens, gains)
            bonuses = self._bonuses.gather(1, parents) + gains
        newest = _Texts(tokens, logprobs, changed)
        ended = (tokens == self._task.end) | (self._budgets <= self.n_written)
        self._collect(totals.masked_fill(~ended, -math.inf), bonuses, parents, newest)
        self._totals, order = totals.masked_fill(ended, -math.inf).topk(self._n_beams)
        self._bonuses = bonuses.gather(1, order)
        self.parents = parents.gather(1, order)
        self._texts = self._texts.extend(self.parents, self.n_written - 1, newest.pick(order))
        if listening is not None:
            listening.follow(self.parents, self.newest())
        scores = self._score_pool()
        # Behind an end that is the best of all and has a keyword, others would win by saying the keyword over and over.
        self._settled |= ended[:, :1] & (bonuses[:, :1] > NOTICEABLE)
        is_full = scores[:, -1:] > -math.inf
        self._settled |= is_full & (self._totals[:, :1] / self.n_written <= scores[:, -1:])

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

    def _collect(self, totals: Tensor, bonuses: Tensor, parents: Tensor, newest: _Texts) -> None:
        """Put the ended ones among the K best candidates into the pools, where totals are not minus infinity."""
        first = slice(0, self._n_beams)
        self._weights = torch.where(self._settled, self._weights, 1 / self.n_written)
        means = ((totals - bonuses)[:, first] / self.n_written).masked_fill(self._settled, -math.inf)
        self._pool_means = torch.cat([self._pool_means, means], dim=1)
        self._pool_bonuses = torch.cat([self._pool_bonuses, bonuses[:, first]], dim=1)
        order = self._score_pool().topk(self._n_beams).indices
        self._pool_means, self._pool_bonuses = self._pool_means.gather(1, order), self._pool_bonuses.gather(1, order)
        lengths = torch.cat([self._pool_lengths, torch.full_like(self._pool_lengths, self.n_written)], dim=1)
        self._pool_lengths = lengths.gather(1, order)
        best = torch.arange(self._n_beams, device=parents.device).expand(len(parents), -1)
        ended = self._texts.extend(parents[:, first], self.n_written - 1, newest.pick(best))
        self._pool = self._pool.join(ended).pick(order)

    def _score_pool(self) -> Tensor:
        """Give what hypotheses are ranked by: the mean log-probability, and what the list added.

        That is divided by the length that all have now or had when the window was settled, and not by each one's own:
        else the shorter ones would win by it.
        """
        return self._pool_means + self._pool_bonuses * self._weights

    def _read(self, place: int) -> Reading:
        length = int(self._pool_lengths[place, 0])
        tokens: list[int] = self._pool.tokens[place, 0, :length].tolist()
        logprobs: list[float] = self._pool.logprobs[place, 0, :length].tolist()
        changed: list[bool] = self._pool.changed[place, 0, :length].tolist()
        ended = tokens[-1] == self._task.end
        return Reading(tuple(tokens[:-1] if ended else tokens), tuple(logprobs), ended, tuple(changed))

    def _select(self, sources: list[int]) -> None:
        self._windows = [self._windows[source] for source in sources]
        self.parents = self.parents[sources]
        self._budgets, self._totals, self._settled = (t[sources] for t in (self._budgets, self._totals, self._settled))
        self._texts, self._pool = self._texts.select(sources), self._pool.select(sources)
        self._pool_lengths, self._pool_means = self._pool_lengths[sources], self._pool_means[sources]
        self._bonuses, self._pool_bonuses = self._bonuses[sources], self._pool_bonuses[sources]
        self._weights = self._weights[sources]


def _make_texts(n_windows: int, n_hypotheses: int, *, room: int, end: int, device: torch.device) -> _Texts:
    shape = (n_windows, n_hypotheses, room)
    changed = torch.zeros(shape, dtype=torch.bool, device=device)
    return _Texts(torch.full(shape, end, device=device), torch.zeros(shape, device=device), changed)


def _pick(histories: Tensor, indices: Tensor) -> Tensor:
    """Pick hypotheses [B, K] out of histories [B, n, room], or out of their newest tokens [B, n]."""
    if histories.ndim == 2:
        return histories.gather(1, indices)
    return histories.gather(1, indices[:, :, None].expand(-1, -1, histories.shape[2]))
