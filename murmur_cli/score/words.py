"""Word errors, counted by meeteval.

Source: MeetEval, arXiv:2307.11394 (cpWER, ORC-WER, tcpWER); cpWER: CHiME-6, arXiv:2004.09249.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from importlib import metadata
from typing import Protocol

from murmur_cli.score.annotations import Utterance
from murmur_cli.score.counts import WordErrors
from murmur_cli.score.extra import missing_extra
from murmur_cli.score.quiet import only_errors
from murmur_cli.types import Speaker

__all__ = ["WORD_METRICS", "WordMetric", "find_obstacle", "load_word_metric", "split_words", "version_of_meeteval"]

WORD_METRICS = ("wer", "cpwer", "tcpwer", "orcwer")
"""Which of ``options.METRICS`` compare words."""

WordMetric = Callable[[Sequence[Utterance], Sequence[Utterance]], WordErrors]
"""From the utterances of a reference and of a hypothesis, both normalised, to the errors."""

_MOST_SPEAKERS = 20  # meeteval refuses more
_MOST_STREAMS = 10  # of a hypothesis, for ORC-WER, likewise
_MOST_ORC_CELLS = 100_000_000  # of 16 bytes each: 1.6 GB, and some seconds


class _ErrorRate(Protocol):
    """What meeteval answers."""

    length: int
    insertions: int
    deletions: int
    substitutions: int


def version_of_meeteval() -> str:
    """Name the package and its version."""
    return f"meeteval {metadata.version('meeteval')}"


def find_obstacle(metric: str, reference: Sequence[Utterance], hypothesis: Sequence[Utterance]) -> str | None:
    """Say why a metric cannot be had for a recording, if so: as a clause about the recording."""
    n_reference, n_hypothesis = (len({u.speaker for u in side}) for side in (reference, hypothesis))
    if metric in ("cpwer", "tcpwer") and max(n_reference, n_hypothesis) > _MOST_SPEAKERS:
        return f"has {max(n_reference, n_hypothesis)} speakers, more than {_MOST_SPEAKERS}"
    if metric == "orcwer":
        streams = Counter[str]()
        for utterance in hypothesis:
            streams[utterance.speaker] += len(utterance.text.split())
        n_cells = len(reference) * math.prod(1 + n_words for n_words in streams.values())
        if n_hypothesis > _MOST_STREAMS or n_cells > _MOST_ORC_CELLS:
            return f"is too long for it with {n_hypothesis} speakers (time and memory grow with the product of all)"
    return None


def load_word_metric(metric: str, *, collar_s: float) -> WordMetric:
    """Load one of ``WORD_METRICS``.

    Args:
        metric: ``wer``: all words in order of their utterances' starts, whoever says them. ``cpwer``: each
            speaker's words, under the best pairing of speakers. ``tcpwer``: the same, but a word only counts as
            right within ``collar_s``. ``orcwer``: each utterance of the reference with the stream that fits best.
        collar_s: For ``tcpwer``, in seconds.

    Raises:
        MurmurError: The extra ``eval`` is not installed.
        ValueError: There is no such metric.
    """
    if metric not in WORD_METRICS:
        raise ValueError(f"no such metric: {metric}")
    try:
        return _make_metric(metric, collar_s)
    except ModuleNotFoundError as error:
        raise missing_extra(f"the metric {metric}", error) from error


def _make_metric(metric: str, collar_s: float) -> WordMetric:
    # Here and not above: meeteval is an extra.
    from meeteval.io import SegLST  # noqa: PLC0415
    from meeteval.wer.wer import cp, orc, siso, time_constrained  # noqa: PLC0415

    def count(reference: Sequence[Utterance], hypothesis: Sequence[Utterance]) -> WordErrors:
        with only_errors("preprocess"):  # meeteval warns of long and overlapping segments; references are so
            if metric == "wer":
                return _to_counts(siso.siso_word_error_rate(_join(reference), _join(hypothesis)))
            sides = SegLST(_describe(reference)), SegLST(_describe(hypothesis))
            if metric == "cpwer":
                return _to_counts(cp.cp_word_error_rate(*sides))
            if metric == "tcpwer":
                return _to_counts(time_constrained.tcp_word_error_rate(*sides, collar=collar_s))
            return _to_counts(orc.orc_word_error_rate(*sides))

    return count


def split_words(utterances: Sequence[Utterance]) -> list[str]:
    """The words of all utterances in the order of their starts, whoever says them: what WER compares."""
    return _join(utterances).split()


def _join(utterances: Sequence[Utterance]) -> str:
    return " ".join(u.text for u in sorted(utterances, key=lambda u: u.start))


def _describe(utterances: Sequence[Utterance]) -> list[dict[str, str | float]]:
    # A side on which nothing is said has one wordless utterance: ORC-WER of meeteval 0.4.3 trips over none at all.
    said = utterances or (Utterance(0.0, 0.0, Speaker("")),)
    return [
        {"session_id": "", "speaker": u.speaker, "start_time": u.start, "end_time": u.end, "words": u.text}
        for u in said
    ]


def _to_counts(rate: _ErrorRate) -> WordErrors:
    return WordErrors(rate.length, rate.insertions, rate.deletions, rate.substitutions)
