"""Diarization errors, counted by pyannote.metrics. Overlapping speech counts, each speaker for himself."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from importlib import metadata

from murmur_cli.score.annotations import Utterance
from murmur_cli.score.counts import SpeakerErrors
from murmur_cli.score.quiet import only_errors

__all__ = ["count_speaker_errors", "version_of_pyannote_metrics"]


def version_of_pyannote_metrics() -> str:
    """Name the package and its version."""
    return f"pyannote.metrics {metadata.version('pyannote-metrics')}"


def count_speaker_errors(
    reference: Sequence[Utterance], hypothesis: Sequence[Utterance], *, collar_s: float
) -> SpeakerErrors:
    """Count the seconds of error under the best pairing of speakers.

    Args:
        reference: Who spoke when. Where utterances of one speaker overlap, they count once.
        hypothesis: Who was found to speak when, likewise.
        collar_s: Not scored on both sides of every border of the reference, in seconds.

    Source:
        NIST RT-09 evaluation plan; pyannote.metrics, whose ``collar`` is the width of both sides together.
    """
    os.environ["PYANNOTE_METRICS_ENABLED"] = "0"  # before any import of pyannote: nothing is reported to anybody
    with only_errors("matplotlib"):  # comes along, and warns where there is no home to write to
        from pyannote.core import Annotation, Segment, Timeline  # noqa: PLC0415 - takes a second
        from pyannote.metrics.diarization import DiarizationErrorRate  # noqa: PLC0415

    def annotate(utterances: Sequence[Utterance]) -> Annotation:
        annotation = Annotation()
        for i, turn in enumerate(_separate(utterances)):
            annotation[Segment(turn.start, turn.end), i] = turn.speaker
        return annotation

    end = max((u.end for side in (reference, hypothesis) for u in side), default=0.0)
    scored = Timeline([Segment(0.0, end)])
    metric = DiarizationErrorRate(collar=2 * collar_s, skip_overlap=False)
    found = metric.compute_components(annotate(reference), annotate(hypothesis), uem=scored)
    return SpeakerErrors(
        length=float(found["total"]),
        missed=float(found["missed detection"]),
        false_alarm=float(found["false alarm"]),
        confusion=float(found["confusion"]),
    )


def _separate(utterances: Sequence[Utterance]) -> list[Utterance]:
    """Join what overlaps of one speaker, but not what only touches: there is a border, which has its collar."""
    separate: list[Utterance] = []
    for utterance in sorted(utterances, key=lambda u: (u.speaker, u.start)):
        last = separate[-1] if separate else None
        if last is not None and last.speaker == utterance.speaker and utterance.start < last.end:
            separate[-1] = replace(last, end=max(last.end, utterance.end))
        else:
            separate.append(utterance)
    return separate
