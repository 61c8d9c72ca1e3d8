"""The keywords of a run: read before any work, made ready for its model, and what came of them.

What is wrong with a list is said before a model is fetched; what a model cannot write, before any audio is read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from murmur_cli.bias.cache import ListCache, find_odd_tokens
from murmur_cli.bias.hits import HitFinder
from murmur_cli.bias.keywords import KeywordList, join_lists
from murmur_cli.bias.list_files import load_keywords, parse_phrase
from murmur_cli.bias.mbias import load_compiled
from murmur_cli.cli.bias_map import MapLine, find_key, read_bias_map
from murmur_cli.engine import Bias, Engine
from murmur_cli.errors import UsageError
from murmur_cli.options import BiasOptions
from murmur_cli.transcript.keywords import respell_transcript
from murmur_cli.types import KeywordHit, Transcript

if TYPE_CHECKING:
    from murmur_cli.cli.render import Talk

__all__ = ["BatchKeywords", "GivenLists", "HitCount", "Keywords", "find_unused", "prepare", "read_lists"]

_COMPILED = ".mbias"
_NOTHING = KeywordList(())
_MOST_WARNINGS = 100  # that are said one by one


@dataclass(frozen=True, slots=True)
class GivenLists:
    """What was asked for.

    ``phrases`` are those of the command line, ``own`` the lists of single recordings, by ``find_key``; ``read`` are the
    lists by path; None for a compiled one, which can be read when the model is known.
    """

    options: BiasOptions
    phrases: tuple[KeywordList, ...]
    own: Mapping[str, MapLine]
    read: Mapping[str, KeywordList | None]

    @property
    def are_there(self) -> bool:
        """Whether anything was asked for."""
        return bool(self.phrases or self.options.bias or self.own)


@dataclass(frozen=True, slots=True)
class Keywords:
    """What is listened for: in recordings that have no list of their own, in those that have, and all of it.

    ``display`` is whose spelling is written.
    """

    display: str = "model"
    common: Bias | None = None
    own: Mapping[str, Bias | None] = field(default_factory=dict)
    everything: KeywordList = _NOTHING

    def of(self, source: str) -> Bias | None:
        """What to listen for in a recording."""
        return self.own.get(find_key(source), self.common) if self.own else self.common

    def to_spell(self, bias: Bias | None) -> HitFinder:
        """Find what is written as a list spells it."""
        is_spelled = bias is not None and self.display == "list"
        return HitFinder(bias.keywords if bias is not None and is_spelled else _NOTHING)


def read_lists(options: BiasOptions) -> GivenLists:
    """Read the lists that were asked for.

    Raises:
        UsageError: One cannot be read or meant; with its line.
    """
    phrases = tuple(parse_phrase(phrase) for phrase in options.phrase)
    own = read_bias_map(options.bias_map) if options.bias_map is not None else {}
    paths = dict.fromkeys([*options.bias, *(path for line in own.values() for path in line.lists)])
    return GivenLists(options, phrases, own, {path: _read_list(path) for path in paths})


def _read_list(path: str) -> KeywordList | None:
    if not path.lower().endswith(_COMPILED):
        return load_keywords(path)
    if not Path(path).is_file():
        raise UsageError("there is no such list", where=path, hint="check the name")
    return None


def prepare(given: GivenLists, lists: ListCache, talk: Talk) -> Keywords:
    """Make what was asked for ready for a model, and warn of what is odd about it.

    Args:
        given: What was asked for; there is something.
        lists: Of the model.
        talk: Hears the warnings.

    Raises:
        UsageError: A compiled list is damaged, or one of another model's; or there are too many phrases.
    """
    read = {path: _load(path, lists) if known is None else known for path, known in given.read.items()}
    common = [*(read[path] for path in given.options.bias), *given.phrases]
    own = {key: [*common, *(read[path] for path in line.lists)] for key, line in given.own.items()}
    joined = [join_lists(parts) for parts in (common, *own.values())]
    for each in joined:
        lists.compile(each)
    everything = KeywordList(tuple(dict.fromkeys(chain.from_iterable(each.keywords for each in joined))))
    warnings = dict.fromkeys(chain.from_iterable(each.warnings for each in joined))
    _warn([*warnings, *find_odd_tokens(everything, lists.vocabulary)], talk)
    biases = [Bias(each, given.options.fit_margin(each.n_phrases)) if each.keywords else None for each in joined]
    return Keywords(
        display=given.options.bias_display,
        common=biases[0],
        own=dict(zip(own, biases[1:], strict=True)),
        everything=everything,
    )


def find_unused(given: GivenLists, paths: Iterable[str]) -> list[MapLine]:
    """Find the lines of the map that are of no recording of a run."""
    keys = {find_key(path) for path in paths} if given.own else set()
    return [line for key, line in given.own.items() if key not in keys]


def _load(path: str, lists: ListCache) -> KeywordList:
    compiled = load_compiled(path, lists.classes())
    lists.take(compiled.graph)
    return compiled.keywords


def _warn(warnings: Sequence[str], talk: Talk) -> None:
    for warning in warnings[:_MOST_WARNINGS]:
        talk.warn(warning)
    if len(warnings) > _MOST_WARNINGS:
        talk.warn(f"{len(warnings) - _MOST_WARNINGS} more warnings; 'murmur bias compile LIST' says them, too")


class HitCount:
    """How often keywords were heard, and how often the list had a hand in it."""

    def __init__(self) -> None:
        self._n_hits = 0
        self._n_changed = 0

    def add(self, hits: Iterable[KeywordHit]) -> None:
        """Count some more."""
        for hit in hits:
            self._n_hits += 1
            self._n_changed += hit.changed

    def describe(self, keywords: KeywordList) -> str:
        """Say it in a line."""
        return f"bias: {keywords.n_phrases} phrases, {self._n_hits} hits, {self._n_changed} changed the text"


class BatchKeywords:
    """The keywords of a run over recordings; there may be none.

    Args:
        given: What was asked for; there may be lines that are of none of the recordings, which is said.
        paths: The recordings.
        talk: Hears what is odd, and what came of it.
    """

    def __init__(self, given: GivenLists, paths: Iterable[str], talk: Talk) -> None:
        for line in find_unused(given, paths):
            talk.warn(f"{line.where}: is not among the recordings")
        self._given = given
        self._talk = talk
        self._count = HitCount()
        self._keywords = Keywords()

    @property
    def are_there(self) -> bool:
        """Whether any were asked for."""
        return self._given.are_there

    def prepare(self, engine: Engine) -> None:
        """Make them ready for a model.

        Raises:
            UsageError: See ``prepare``; or it cannot be given any.
        """
        if self._given.are_there:
            self._keywords = prepare(self._given, engine.keyword_lists(), self._talk)

    def of(self, source: str) -> Bias | None:
        """What to listen for in a recording."""
        return self._keywords.of(source)

    def list_key(self, source: str) -> str | None:
        """Give what stands for all about keywords that decides what is decoded of a recording."""
        bias = self.of(source)
        about = None if bias is None else f"{bias.keywords.sha256} {bias.margin!r}"
        return None if about is None else hashlib.sha256(about.encode()).hexdigest()

    def key(self, source: str) -> str | None:
        """Give what stands for all about keywords that decides what is written of a recording."""
        key = self.list_key(source)
        return None if key is None else f"{key} {self._keywords.display}"

    def take(self, transcript: Transcript) -> Transcript:
        """Count what was heard in a transcript, and spell it as it is to be written."""
        if transcript.bias is None:
            return transcript
        self._count.add(transcript.bias.hits)
        return respell_transcript(transcript, self._keywords.to_spell(self.of(transcript.source)))

    def sum_up(self) -> None:
        """Say what came of it."""
        if self._given.are_there:
            self._talk.note(self._count.describe(self._keywords.everything))
