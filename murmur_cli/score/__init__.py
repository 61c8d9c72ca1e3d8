"""Compare transcripts with references: WER, cpWER, tcpWER, ORC-WER, DER, and how well keywords are heard.

Errors are counted for each recording, added up, and divided once. A metric that cannot be had is left out with
its reason, or an error where it was asked for; none is ever replaced by another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from murmur_cli.bias.keywords import KeywordList, join_lists, shorten
from murmur_cli.bias.list_files import load_keywords
from murmur_cli.errors import TranscriptError
from murmur_cli.options import METRICS, ScoreOptions
from murmur_cli.score.annotations import Session, Utterance
from murmur_cli.score.counts import KeywordCounts, SpeakerErrors, WordErrors
from murmur_cli.score.keywords import Phrases, count_keywords, to_phrases, version_of_jiwer
from murmur_cli.score.normalize import Normalizer, load_normalizer
from murmur_cli.score.sessions import Pair, load_pairs
from murmur_cli.score.turns import count_speaker_errors, version_of_pyannote_metrics
from murmur_cli.score.words import WORD_METRICS, find_obstacle, load_word_metric, split_words, version_of_meeteval

__all__ = ["Figure", "Score", "score_files", "score_pairs"]

_Errors = TypeVar("_Errors", WordErrors, SpeakerErrors, KeywordCounts)

_MOST_NAMED = 5  # phrases that a note names
_DER_COLLARS_S = (0.25, 0.0)  # the usual one, and the strict one


@dataclass(frozen=True, slots=True)
class Figure:
    """One metric over all recordings.

    ``errors`` is the sum over ``by_recording``, whose order is that of ``Score.recordings``. What does not
    apply to a metric is None: the collar (s) to those that take no notice of time, the normaliser to DER.
    """

    metric: str
    errors: WordErrors | SpeakerErrors | KeywordCounts
    by_recording: tuple[WordErrors | SpeakerErrors | KeywordCounts, ...]
    collar_s: float | None
    normalizer: str | None
    counted_by: str


@dataclass(frozen=True, slots=True)
class Score:
    """All figures of one comparison, and what they are about.

    ``audio_s`` is the length of all recordings, ``models`` what the hypotheses say about their models, and
    ``notes`` what a reader should know: metrics that could not be had, recordings of different names.
    """

    figures: tuple[Figure, ...]
    recordings: tuple[str, ...]
    audio_s: float
    models: tuple[str, ...]
    notes: tuple[str, ...]


def score_files(reference: Path, hypothesis: Path, options: ScoreOptions) -> Score:
    """Compare two files, or two folders of files, recording by recording.

    Raises:
        TranscriptError: A file cannot be read; a recording has no partner; and as ``score_pairs``.
        UsageError: A list of keywords cannot be read, or meant.
        MurmurError: The extra ``eval`` is not installed.
    """
    keywords = join_lists(map(load_keywords, options.bias)) if options.bias else None
    return score_pairs(load_pairs(reference, hypothesis), options, keywords=keywords)


def score_pairs(pairs: Sequence[Pair], options: ScoreOptions, *, keywords: KeywordList | None = None) -> Score:
    """Compare recordings with their references; there is at least one.

    Args:
        pairs: The recordings.
        options: What to count.
        keywords: Count as well how well these are heard.

    Raises:
        TranscriptError: A metric that was asked for cannot be had, or none can.
        MurmurError: The extra ``eval`` is not installed.
    """
    metrics = options.metric or METRICS
    needs_words = keywords is not None or not set(metrics).isdisjoint(WORD_METRICS)
    has_words = needs_words and not any(_lacks_words(pair) for pair in pairs)
    normalizer = load_normalizer(options.normalizer if has_words else "none")
    if has_words:
        pairs = [_normalize(pair, normalizer) for pair in pairs]
    obstacles = {metric: _find_obstacle(metric, pairs) for metric in metrics}
    wanted = [metric for metric in metrics if obstacles[metric] is None]
    reasons = sorted({obstacle for obstacle in obstacles.values() if obstacle is not None})
    left_out = tuple(f"no {', '.join(m for m in metrics if obstacles[m] == reason)}: {reason}" for reason in reasons)
    if left_out and (options.metric or not wanted):
        raise TranscriptError("; ".join(left_out), hint="choose others with --metric")
    figures = [figure for metric in wanted for figure in _count(metric, pairs, options, normalizer=normalizer)]
    phrases = None if keywords is None else to_phrases(keywords, normalizer)
    if phrases is not None:
        figures += _count_keywords(pairs, phrases, normalizer=normalizer)
    return Score(
        figures=tuple(figures),
        recordings=tuple(pair.name for pair in pairs),
        audio_s=sum(pair.audio_s for pair in pairs),
        models=tuple(sorted({pair.hypothesis.model for pair in pairs if pair.hypothesis.model is not None})),
        notes=(*(note for pair in pairs for note in _note_names(pair)), *left_out, *_note_unspoken(phrases)),
    )


def _note_names(pair: Pair) -> Iterator[str]:
    reference, hypothesis = pair.reference, pair.hypothesis
    if reference.name != hypothesis.name:
        named = f"{reference.name} in {reference.origin} with {hypothesis.name} in {hypothesis.origin}"
        yield f"compares {named}, the only recordings there"


def _note_unspoken(phrases: Phrases | None) -> Iterator[str]:
    if phrases is not None and phrases.unspoken:
        some = ", ".join(map(shorten, phrases.unspoken[:_MOST_NAMED]))
        more = f" and {len(phrases.unspoken) - _MOST_NAMED} more" if len(phrases.unspoken) > _MOST_NAMED else ""
        yield f"not scored, for the normaliser leaves nothing of them: {some}{more}"


def _lacks_words(pair: Pair) -> bool:
    return pair.reference.utterances is None or pair.hypothesis.utterances is None


def _normalize(pair: Pair, normalizer: Normalizer) -> Pair:
    return Pair(*(_normalize_session(session, normalizer) for session in (pair.reference, pair.hypothesis)))


def _normalize_session(session: Session, normalizer: Normalizer) -> Session:
    said = tuple(replace(u, text=" ".join(normalizer.apply(u.text).split())) for u in session.utterances or ())
    return replace(session, utterances=said)


def _find_obstacle(metric: str, pairs: Sequence[Pair]) -> str | None:
    """Say why a metric cannot be had for all recordings, if so."""
    if metric not in WORD_METRICS:
        return None
    for pair in pairs:
        for session in (pair.reference, pair.hypothesis):
            if session.utterances is None:
                return f"{session.origin} does not say what is said"
        obstacle = find_obstacle(metric, *_words_of(pair))
        if obstacle is not None:
            return f"{pair.name} {obstacle}"
    return None


def _count(metric: str, pairs: Sequence[Pair], options: ScoreOptions, *, normalizer: Normalizer) -> list[Figure]:
    """Count one metric, with every collar that it is given with."""
    if metric in WORD_METRICS:
        collar_s = options.collar if metric == "tcpwer" else None
        count = load_word_metric(metric, collar_s=options.collar)
        errors = [count(*_words_of(pair)) for pair in pairs]
        return [_sum_up(metric, errors, collar_s=collar_s, normalizer=str(normalizer), by=version_of_meeteval())]
    return [
        _sum_up(
            metric,
            [count_speaker_errors(p.reference.turns, p.hypothesis.turns, collar_s=collar_s) for p in pairs],
            collar_s=collar_s,
            normalizer=None,
            by=version_of_pyannote_metrics(),
        )
        for collar_s in _DER_COLLARS_S
    ]


def _count_keywords(pairs: Sequence[Pair], phrases: Phrases, *, normalizer: Normalizer) -> list[Figure]:
    """Count keywords, and word errors inside and outside the list, on the words that WER compares.

    Raises:
        TranscriptError: A recording has no words.
        MurmurError: The extra ``eval`` is not installed.
    """
    obstacle = _find_obstacle("wer", pairs)
    if obstacle is not None:
        raise TranscriptError(f"no keywords: {obstacle}", hint="leave out --bias, or give files with words")
    sides = [(split_words(said), split_words(heard)) for said, heard in map(_words_of, pairs)]
    counts = [count_keywords(said, heard, phrases) for said, heard in sides]
    name, by = str(normalizer), version_of_jiwer()
    return [
        _sum_up("keywords", [count.keywords for count in counts], collar_s=None, normalizer=name, by=by),
        _sum_up("bwer", [count.listed for count in counts], collar_s=None, normalizer=name, by=by),
        _sum_up("uwer", [count.unlisted for count in counts], collar_s=None, normalizer=name, by=by),
    ]


def _words_of(pair: Pair) -> tuple[tuple[Utterance, ...], tuple[Utterance, ...]]:
    assert pair.reference.utterances is not None
    assert pair.hypothesis.utterances is not None
    return pair.reference.utterances, pair.hypothesis.utterances


def _sum_up(
    metric: str, errors: Iterable[_Errors], *, collar_s: float | None, normalizer: str | None, by: str
) -> Figure:
    first, *others = counts = tuple(errors)
    return Figure(metric, sum(others, start=first), counts, collar_s, normalizer, by)
