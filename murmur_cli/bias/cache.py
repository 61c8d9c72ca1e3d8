"""Compiling a list once: kept in memory by one run, and on the disk for the next ones.

What is kept is found by the SHA-256 of all that it was made from, so nothing in the cache is ever out of date. A file
that is damaged, or half of one, is made again; a folder that cannot be written is as good as none.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from murmur_cli.bias.allocation import AllocationOptions, Phrase, allocate
from murmur_cli.bias.graph import build_graph
from murmur_cli.bias.index import TokenClasses, TokenIndex, classify_tokens, identify, index_vocabulary
from murmur_cli.bias.keywords import KeywordList
from murmur_cli.bias.mbias import FORMAT, Compiled, read_classes, read_compiled, save_compiled, write_classes
from murmur_cli.bias.packed import BiasList
from murmur_cli.bias.vocabulary import Vocabulary
from murmur_cli.errors import OutputError
from murmur_cli.user_folders import find_cache_folder

__all__ = ["CachedList", "ListCache", "clear_cache", "default_folder", "find_odd_tokens", "list_cached"]

_SUFFIX = ".mbias"
_COMMON_RANK = 1_000
_ANY = 2**31
_LARGE = 10_000  # tokens, from which on their ranks say something about words


@dataclass(frozen=True, slots=True)
class CachedList:
    """A file of the cache; ``n_phrases`` is None for one that is no list, or damaged."""

    path: Path
    n_bytes: int
    n_phrases: int | None


class ListCache:
    """Compiles lists for one vocabulary.

    Args:
        vocabulary: Of the model.
        folder: Where compiled lists are kept for other runs; None: nowhere.
    """

    def __init__(self, vocabulary: Vocabulary, folder: Path | None) -> None:
        self._vocabulary = vocabulary
        self._folder = folder
        self._index: TokenIndex | None = None
        self._classes: TokenClasses | None = None
        self._lists: dict[str, BiasList] = {}

    def compile(self, keywords: KeywordList, options: AllocationOptions | None = None) -> BiasList:
        """Compile a list, or take it from where it is kept.

        Args:
            keywords: Of the list.
            options: How their bonus is spread; None for what suits decoders of text.
        """
        options = options or AllocationOptions()
        sha256 = _hash(keywords, self._vocabulary, options)
        if sha256 not in self._lists:
            self._lists[sha256] = self._read(sha256) or self._build(sha256, keywords, options)
        return self._lists[sha256]

    def take(self, graph: BiasList) -> None:
        """Take a list that was compiled elsewhere, for this vocabulary."""
        self._lists[graph.sha256] = graph

    @property
    def vocabulary(self) -> Vocabulary:
        """That of the model."""
        return self._vocabulary

    def classes(self) -> TokenClasses:
        """What a store must know of the vocabulary."""
        if self._classes is None:
            self._classes = self._read_classes()
        return self._classes

    def index(self) -> TokenIndex:
        """Everything about the vocabulary that compiling needs; made once."""
        if self._index is None:
            self._index = index_vocabulary(self._vocabulary)
        return self._index

    def _read(self, sha256: str) -> BiasList | None:
        path = self._folder / (sha256 + _SUFFIX) if self._folder else None
        if path is not None and path.exists():
            classes = self.classes()
            with contextlib.suppress(OSError, ValueError):
                graph = read_compiled(path, n_tokens=classes.n_tokens, n_cuts=len(classes.likely)).graph
                if (graph.sha256, graph.vocabulary) == (sha256, classes.sha256):
                    return graph
        return None

    def _build(self, sha256: str, keywords: KeywordList, options: AllocationOptions) -> BiasList:
        phrases: list[Phrase] = []
        for keyword in keywords.keywords:
            for form in keyword.forms if keyword.weight > 0 else ():
                phrase = allocate(form.text, self._vocabulary, options, weight=keyword.weight, is_open=form.is_open)
                if phrase is not None:
                    phrases.append(phrase)
        graph = build_graph(phrases, self.index(), sha256=sha256)
        if self._folder is not None:
            with contextlib.suppress(OutputError):
                save_compiled(self._folder / (sha256 + _SUFFIX), Compiled(graph, KeywordList(())))
        return graph

    def _read_classes(self) -> TokenClasses:
        if self._folder is None:
            return classify_tokens(self._vocabulary)
        path = self._folder / f"{identify(self._vocabulary)}.tokens"
        with contextlib.suppress(OSError, ValueError):
            classes = read_classes(path, sha256=identify(self._vocabulary))
            if classes.n_tokens == len(self._vocabulary.pieces):
                return classes
        classes = self._index.classes if self._index else classify_tokens(self._vocabulary)
        with contextlib.suppress(OutputError):
            write_classes(path, classes)
        return classes


def find_odd_tokens(keywords: KeywordList, vocabulary: Vocabulary) -> tuple[str, ...]:
    """Warn of phrases that the tokenizer does not write as they are, and of very common words; a line each."""
    found = []
    for keyword in keywords.keywords:
        for form in keyword.forms if keyword.weight > 0 else ():
            phrase = allocate(form.text, vocabulary, AllocationOptions(), weight=1.0, is_open=form.is_open)
            if phrase is None:
                found.append(f"{keyword.where}: {form.text!r} cannot be written by this model, so it is left out")
            elif _is_common(form.text, vocabulary):
                found.append(f"{keyword.where}: {form.text!r} is a very common word; it may be heard too often")
    return tuple(found)


def default_folder() -> Path:
    """Where compiled lists are kept: under MURMUR_CACHE_DIR, or the user's cache folder."""
    return find_cache_folder() / "bias"


def list_cached(folder: Path) -> tuple[CachedList, ...]:
    """What is in a cache, by name."""
    return tuple(_describe(path) for path in sorted(folder.glob("[!.]*")) if path.is_file())


def clear_cache(folder: Path) -> int:
    """Empty a cache, also of what was left half written.

    Returns:
        How many bytes that frees.
    """
    n_bytes = 0
    for path in sorted(folder.glob("*")):
        with contextlib.suppress(FileNotFoundError):  # another run may clear it, too
            if path.is_file():
                n_freed = path.stat().st_size
                path.unlink()
                n_bytes += n_freed
    return n_bytes


def _describe(path: Path) -> CachedList:
    n_phrases = None
    with contextlib.suppress(OSError, ValueError):
        n_phrases = read_compiled(path, n_tokens=_ANY, n_cuts=_ANY).graph.n_phrases
    return CachedList(path, path.stat().st_size, n_phrases)


def _is_common(text: str, vocabulary: Vocabulary) -> bool:
    tokens = vocabulary.encode(" " + text)
    return len(vocabulary.pieces) >= _LARGE and len(tokens) == 1 and tokens[0] < _COMMON_RANK


def _hash(keywords: KeywordList, vocabulary: Vocabulary, options: AllocationOptions) -> str:
    parts = [FORMAT, keywords.sha256, identify(vocabulary), *dataclasses.astuple(options)]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
