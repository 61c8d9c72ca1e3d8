"""Beam search and greedy choice with keywords, hypothesis by hypothesis, each text read anew at every step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from oracles.leeway import find_leeway
from torch import Tensor
from transformers import WhisperForConditionalGeneration

from murmur_cli.bias.index import TokenClasses
from murmur_cli.bias.packed import START, BiasList

ALPHA = 3.0


def turns(tokens: Sequence[int]) -> bool:
    """The end of a text is the same 3 times or more, in 9 tokens or more; a turn has up to 30."""
    for period in range(1, 31):
        n_same = 0
        while n_same + period < len(tokens) and tokens[-1 - n_same] == tokens[-1 - n_same - period]:
            n_same += 1
        if n_same + period >= max(3 * period, 9):
            return True
    return False


@dataclass(frozen=True)
class Text:
    """A hypothesis: its tokens, what the model thinks of each, what the list added, and where its match is."""

    tokens: tuple[int, ...] = ()
    logprobs: tuple[float, ...] = ()
    changed: tuple[bool, ...] = ()
    bonus: float = 0.0
    state: int = START

    @property
    def total(self) -> float:
        return sum(self.logprobs) + self.bonus


@dataclass(frozen=True)
class Listener:
    """The list, and a copy of it without any arc: what it does to tokens that it does not raise."""

    graph: BiasList
    classes: TokenClasses
    margin: float
    end: int

    def extend(self, text: Text, logits: Tensor) -> list[Text]:
        """All texts that are a token longer."""
        scores = logits.log_softmax(dim=-1).tolist()
        best = int(logits.argmax())
        is_closed = best == self.end or turns(text.tokens)
        bare = forget_arcs(self.graph)
        steps = []
        for token, score in enumerate(scores):
            is_raised = not is_closed and scores[best] - score <= self.margin
            is_raised = is_raised and -score <= self.margin * find_leeway(self.graph, self.classes, token)
            state, earned = (self.graph if is_raised else bare).step(self.classes, text.state, token)
            steps.append((token, state, ALPHA * earned))
        least = steps[best][2]
        return [
            replace(
                text,
                tokens=(*text.tokens, token),
                logprobs=(*text.logprobs, scores[token]),
                changed=(*text.changed, token != best and earned > least + 1e-3),
                bonus=text.bonus + earned,
                state=state,
            )
            for token, state, earned in steps
            if scores[token] > -math.inf
        ]


def forget_arcs(graph: BiasList) -> BiasList:
    return replace(
        graph,
        bounds=np.zeros_like(graph.bounds),
        tokens=graph.tokens[:0],
        values=graph.values[:0],
        targets=graph.targets[:0],
        root_tokens=graph.root_tokens[:0],
        root_values=graph.root_values[:, :0],
        root_targets=graph.root_targets[:, :0],
    )


@dataclass(frozen=True)
class Writer:
    """The model with a window's audio, (T, D), and what may be written."""

    model: WhisperForConditionalGeneration
    encoded: Tensor
    prompt: Sequence[int]
    forbidden: Sequence[int]
    not_first: Sequence[int]

    def score(self, text: Text) -> Tensor:
        ids = torch.tensor([[*self.prompt, *text.tokens]])
        logits = self.model(encoder_outputs=(self.encoded[None],), decoder_input_ids=ids).logits[0, -1].clone()
        logits[list(self.forbidden)] = -math.inf
        if not text.tokens:
            logits[list(self.not_first)] = -math.inf
        return logits


def search_with_list(writer: Writer, listener: Listener, *, n_tokens: int, n_beams: int) -> Text:
    """The best text by beam search."""
    live, pool = [Text()], list[Text]()
    for n_written in range(1, n_tokens + 1):
        longer = [text for parent in live for text in listener.extend(parent, writer.score(parent))]
        kept = sorted(longer, key=lambda text: -text.total)[: 2 * n_beams]
        is_last = n_written == n_tokens
        is_over = is_last or (kept[0].tokens[-1] == listener.end and kept[0].bonus > 1e-3)
        pool += [text for text in kept[:n_beams] if is_last or text.tokens[-1] == listener.end]

        def rank(text: Text, n_written: int = n_written) -> float:
            return sum(text.logprobs) / len(text.tokens) + text.bonus / n_written

        pool = sorted(pool, key=rank, reverse=True)[:n_beams]
        live = [text for text in kept if text.tokens[-1] != listener.end][:n_beams]
        if is_over or (len(pool) == n_beams and live[0].total / n_written <= rank(pool[-1])):
            return pool[0]
    raise AssertionError("the budget ends every search")


def choose_with_list(writer: Writer, listener: Listener, *, n_tokens: int) -> Text:
    """The text of the best token each time."""
    text = Text()
    while len(text.tokens) < n_tokens and text.tokens[-1:] != (listener.end,):
        logits = writer.score(text)
        longer = listener.extend(text, logits)
        text = max(longer, key=lambda each: float(logits[each.tokens[-1]]) + each.bonus)
    return text
