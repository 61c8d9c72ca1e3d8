"""What ``murmur bias test`` is given: a list, compiled or not, and texts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from murmur_cli.bias.cache import ListCache, default_folder
from murmur_cli.bias.index import TokenClasses
from murmur_cli.bias.list_files import load_keywords
from murmur_cli.bias.mbias import Compiled, load_compiled
from murmur_cli.bias.vocabulary import Vocabulary
from murmur_cli.errors import UsageError
from murmur_cli.transcript.read import load_text, load_transcript
from murmur_cli.types import RecordingId

__all__ = ["Passage", "load_compiled_list", "read_passages"]


@dataclass(frozen=True, slots=True)
class Passage:
    """A text; ``start`` in seconds where it is of a transcript."""

    text: str
    start: float | None = None


def read_passages(given: str) -> tuple[Passage, ...]:
    """Read lines from stdin (``-``), the segments of a transcript (``.json``), or take the text as it is.

    Raises:
        UsageError: It holds bytes that are no text.
        TranscriptError: It cannot be read.
    """
    if given == "-":
        passages = tuple(Passage(line) for line in load_text("-").splitlines() if line.strip())
    elif given.lower().endswith(".json"):
        segments = load_transcript(given, recording_id=RecordingId(0)).segments
        passages = tuple(Passage(segment.text, segment.start) for segment in segments)
    else:
        passages = (Passage(given),)
    if any("\ud800" <= character <= "\udfff" for passage in passages for character in passage.text):
        raise UsageError("is not UTF-8 text", where="TEXT", hint="write it in UTF-8")
    return passages


def load_compiled_list(
    path: str, find_vocabulary: Callable[[], Vocabulary]
) -> tuple[Compiled, Vocabulary, TokenClasses]:
    """Read a list, and compile it if it is not compiled; the vocabulary is asked for when the list has been read.

    Raises:
        UsageError: It cannot be read, or meant, or is compiled for another tokenizer.
    """
    if path.lower().endswith(".mbias"):
        vocabulary = find_vocabulary()
        cache = ListCache(vocabulary, default_folder())
        return load_compiled(path, cache.classes()), vocabulary, cache.classes()
    keywords = load_keywords(path)
    vocabulary = find_vocabulary()
    cache = ListCache(vocabulary, default_folder())
    return Compiled(cache.compile(keywords), keywords), vocabulary, cache.classes()
