"""How well the keywords of a list are heard: precision and recall, and word errors inside and outside the list.

All is counted on one alignment of words, that of WER. Phrases are looked for in the spelling of the normaliser.

Source:
    Precision and recall: NVIDIA-NeMo/NeMo, asr/parts/context_biasing, compute_fscore. Errors inside and outside a
    list (B-WER, U-WER): arXiv:2104.02194, facebookresearch/fbai-speech, is21_deep_bias/score.py.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata

from murmur_cli.bias.fold import fold
from murmur_cli.bias.keywords import KeywordList
from murmur_cli.score.counts import KeywordCounts, WordErrors
from murmur_cli.score.extra import missing_extra
from murmur_cli.score.normalize import Normalizer

__all__ = ["KeywordErrors", "Phrases", "count_keywords", "to_phrases", "version_of_jiwer"]

_Pair = tuple[int | None, int | None]  # the places of a word in the reference and in the hypothesis


@dataclass(frozen=True, slots=True)
class KeywordErrors:
    """``listed`` are the errors in words of the list (B-WER), ``unlisted`` those in all others (U-WER)."""

    keywords: KeywordCounts
    listed: WordErrors
    unlisted: WordErrors


class Phrases:
    """Phrases as sequences of folded words; the last word of an open one may go on.

    ``unspoken`` are those of which the normaliser leaves nothing, so that they cannot be found in any text.
    """

    def __init__(self, closed: set[tuple[str, ...]], opened: set[tuple[str, ...]], unspoken: tuple[str, ...]) -> None:
        self.unspoken = unspoken
        self._closed = closed
        self._opened = opened
        lengths: defaultdict[str, set[int]] = defaultdict(set)
        for words in closed | opened:
            lengths[words[0]].add(len(words))
        self._lengths = {first: tuple(sorted(known)) for first, known in lengths.items()}
        self._has_stems = any(len(words) == 1 for words in opened)

    def find_lengths(self, first: str) -> tuple[int, ...]:
        """How many words a phrase may have that begins with a word."""
        known = self._lengths.get(first, ())
        return known if 1 in known or not self._has_stems else (1, *known)

    def hold(self, words: tuple[str, ...]) -> bool:
        """Tell whether words, all together, are a phrase."""
        if words in self._closed:
            return True
        *before, last = words
        return any((*before, last[:n]) in self._opened for n in range(1, len(last) + 1)) if self._opened else False


def to_phrases(keywords: KeywordList, normalizer: Normalizer) -> Phrases:
    """Bring all forms of the keywords that are not switched off into the spelling in which words are compared."""
    closed: set[tuple[str, ...]] = set()
    opened: set[tuple[str, ...]] = set()
    unspoken = []
    for keyword in keywords.keywords:
        for form in keyword.forms if keyword.weight > 0 else ():
            words = tuple(map(fold, normalizer.apply(form.text).split()))
            if words:
                (opened if form.is_open else closed).add(words)
            else:
                unspoken.append(form.text)
    return Phrases(closed, opened, tuple(unspoken))


def version_of_jiwer() -> str:
    """Name the package that aligns words, and its version."""
    return f"jiwer {metadata.version('jiwer')}"


def count_keywords(reference: Sequence[str], hypothesis: Sequence[str], phrases: Phrases) -> KeywordErrors:
    """Count one recording.

    Args:
        reference: Its words, normalised.
        hypothesis: The words that were recognised, normalised.
        phrases: What was listened for.

    Raises:
        MurmurError: The extra ``eval`` is not installed.
    """
    pairs = _align(reference, hypothesis)
    said, heard = tuple(map(fold, reference)), tuple(map(fold, hypothesis))
    return KeywordErrors(
        _count_phrases(pairs, said, heard, right=_find_right(pairs, reference, hypothesis), phrases=phrases),
        *_split_errors(pairs, reference, hypothesis, listed=(_mark(said, phrases), _mark(heard, phrases))),
    )


def _align(reference: Sequence[str], hypothesis: Sequence[str]) -> list[_Pair]:
    """Pair words with the fewest changes; None stands where a side has no word."""
    if not reference or not hypothesis:  # jiwer aligns with nothing by raising an error
        return [*((i, None) for i in range(len(reference))), *((None, j) for j in range(len(hypothesis)))]
    try:
        from jiwer import process_words  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise missing_extra("the score of keywords", error) from error
    (chunks,) = process_words(" ".join(reference), " ".join(hypothesis)).alignments
    pairs: list[_Pair] = []
    for chunk in chunks:
        said: list[int | None] = list(range(chunk.ref_start_idx, chunk.ref_end_idx))
        heard: list[int | None] = list(range(chunk.hyp_start_idx, chunk.hyp_end_idx))
        n_pairs = max(len(said), len(heard))
        said += [None] * (n_pairs - len(said))
        heard += [None] * (n_pairs - len(heard))
        pairs += zip(said, heard, strict=True)
    return pairs


def _find_right(pairs: Sequence[_Pair], reference: Sequence[str], hypothesis: Sequence[str]) -> list[bool]:
    return [i is not None and j is not None and reference[i] == hypothesis[j] for i, j in pairs]


def _count_phrases(
    pairs: Sequence[_Pair], said: Sequence[str], heard: Sequence[str], *, right: Sequence[bool], phrases: Phrases
) -> KeywordCounts:
    """Look at every stretch of pairs in which one side, without a hole, is a phrase.

    By NeMo's rule, a keyword heard where another one was said is one that was missed, and none that is false.
    """
    n_said = n_right = n_false = 0
    words = [(None if i is None else said[i], None if j is None else heard[j]) for i, j in pairs]
    for begin in range(len(words)):
        for length in _find_lengths(words[begin], phrases):
            window = words[begin : begin + length]
            if len(window) < length:
                break
            if _holds([said for said, _ in window], phrases):
                n_said += 1
                n_right += all(right[begin : begin + length])
            elif _holds([heard for _, heard in window], phrases):
                n_false += 1
    return KeywordCounts(n_said, n_right, n_false)


def _find_lengths(first: tuple[str | None, str | None], phrases: Phrases) -> list[int]:
    return sorted({length for word in first if word is not None for length in phrases.find_lengths(word)})


def _holds(words: Sequence[str | None], phrases: Phrases) -> bool:
    present = tuple(word for word in words if word is not None)
    return len(present) == len(words) and phrases.hold(present)


def _split_errors(
    pairs: Sequence[_Pair],
    reference: Sequence[str],
    hypothesis: Sequence[str],
    *,
    listed: tuple[Sequence[bool], Sequence[bool]],
) -> Iterator[WordErrors]:
    """Count errors in listed words, then in others; a word that was put in counts where it is of the list itself."""
    in_reference, in_hypothesis = listed
    for wanted in (True, False):
        errors = WordErrors()
        for i, j in pairs:
            if i is None:
                assert j is not None
                errors += WordErrors(insertions=int(in_hypothesis[j] is wanted))
            elif in_reference[i] is wanted:
                differs = j is not None and reference[i] != hypothesis[j]
                errors += WordErrors(length=1, deletions=int(j is None), substitutions=int(differs))
        yield errors


def _mark(words: Sequence[str], phrases: Phrases) -> list[bool]:
    """Mark the words that are part of a phrase."""
    marks = [False] * len(words)
    for begin, first in enumerate(words):
        for length in phrases.find_lengths(first):
            if begin + length <= len(words) and phrases.hold(tuple(words[begin : begin + length])):
                marks[begin : begin + length] = [True] * length
    return marks
