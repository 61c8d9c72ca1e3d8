"""The lists that one model listens for, compiled for its tokens when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from murmur_cli.bias.cache import ListCache, default_folder
from murmur_cli.bias.hits import HitFinder
from murmur_cli.bias.keywords import KeywordList
from murmur_cli.bias.packed import BiasList
from murmur_cli.bias.vocabulary import read_vocabulary
from murmur_cli.decode.bias_filter import BiasKit, RowBias
from murmur_cli.decode.gate import TextGate
from murmur_cli.engine import Bias
from murmur_cli.models.vibevoice.checkpoint import Checkpoint

__all__ = ["KeywordLists"]


@dataclass(frozen=True, slots=True, eq=False)
class _Tools:
    """What is made of the vocabulary, once."""

    cache: ListCache
    kit: BiasKit


@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    """A list that was asked for before."""

    keywords: KeywordList
    graph: BiasList
    finder: HitFinder


class KeywordLists:
    """Compiled lists and what finds them in texts.

    Args:
        checkpoint: The model.
        build_gate: Says where in what it writes is text, by the bytes of its tokens.
    """

    def __init__(self, checkpoint: Checkpoint, build_gate: Callable[[Sequence[bytes | None]], TextGate]) -> None:
        self._path = checkpoint.folder / "tokenizer.json"
        self._n_tokens: int = checkpoint.network.lm_head.out_features
        self._build_gate = build_gate
        self._tools: _Tools | None = None
        self._known: dict[int, _Known] = {}  # by the list's id(): it is kept, so that no other gets the same

    def lists(self) -> ListCache:
        """What compiles lists for the model.

        Raises:
            UsageError: The model's tokens are not such that keywords can be followed in them.
        """
        return self._open().cache

    def listen(self, bias: Bias, *, written: Sequence[int] = ()) -> RowBias | None:
        """Say what a row listens for; None: there is nothing in its list.

        Args:
            bias: What was asked for.
            written: What stands before the row's first token, as if the model had written it.

        Raises:
            UsageError: The model's tokens are not such that keywords can be followed in them.
        """
        if bias.keywords.n_phrases == 0:
            return None
        kit = self._open().kit
        gate = kit.gate.read(kit.gate.start, written)
        return RowBias(kit, self._know(bias.keywords).graph, bias.margin, gate)

    def find(self, bias: Bias) -> HitFinder:
        """Give what finds the keywords in texts.

        Raises:
            UsageError: The model's tokens are not such that keywords can be followed in them.
        """
        return self._know(bias.keywords).finder

    def _know(self, keywords: KeywordList) -> _Known:
        if id(keywords) not in self._known:
            graph = self._open().cache.compile(keywords)
            self._known[id(keywords)] = _Known(keywords, graph, HitFinder(keywords))
        return self._known[id(keywords)]

    def _open(self) -> _Tools:
        if self._tools is None:
            vocabulary = read_vocabulary(self._path, n_tokens=self._n_tokens)
            cache = ListCache(vocabulary, default_folder())
            self._tools = _Tools(cache, BiasKit(cache.classes(), self._build_gate(vocabulary.pieces)))
        return self._tools
