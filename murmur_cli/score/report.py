"""A score as a table for people, and as JSON for programs. Every figure says how it was counted."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TypeAlias

from murmur_cli.score import Figure, Score
from murmur_cli.score.counts import KeywordCounts, SpeakerErrors, WordErrors
from murmur_cli.transcript.notation import replace_undecodable

__all__ = ["render_json", "render_table"]

_NAMES = {
    "wer": "WER",
    "cpwer": "cpWER",
    "tcpwer": "tcpWER",
    "orcwer": "ORC-WER",
    "der": "DER",
    "keywords": "keyword F",
    "bwer": "B-WER",
    "uwer": "U-WER",
}
_Errors: TypeAlias = WordErrors | SpeakerErrors | KeywordCounts


def render_table(score: Score) -> str:
    """Lay figures out as lines: rate, counts, how they were counted; then what they are about."""
    rows = [
        (_NAMES[figure.metric], _rate(figure.errors), _spell(figure.errors), _describe(figure))
        for figure in score.figures
    ]
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    lines = [
        f"{name:{widths[0]}}  {rate:>{widths[1]}}  {counts:{widths[2]}}  {how}".rstrip()
        for name, rate, counts, how in rows
    ]
    n_recordings = len(score.recordings)
    lines.append(f"{n_recordings} recording{'s' if n_recordings != 1 else ''}, {score.audio_s:.1f} s of audio")
    lines += [f"model {model}" for model in score.models]
    return "".join(f"{line}\n" for line in lines)


def render_json(score: Score) -> str:
    """Write one object: every figure with its counts, over all and by recording."""
    described = {
        "v": 1,
        "n_recordings": len(score.recordings),
        "audio_s": round(score.audio_s, 3),
        "models": score.models,
        "figures": [_to_object(figure, score) for figure in score.figures],
        "notes": score.notes,
    }
    return replace_undecodable(json.dumps(described, ensure_ascii=False, allow_nan=False, indent=2)) + "\n"


def _to_object(figure: Figure, score: Score) -> dict[str, object]:
    by_recording = zip(score.recordings, figure.by_recording, strict=True)
    return {
        "metric": figure.metric,
        **_count_up(figure.errors),
        "collar_s": figure.collar_s,
        "normalizer": figure.normalizer,
        "counted_by": figure.counted_by,
        "n_recordings": len(score.recordings),
        "audio_s": round(score.audio_s, 3),
        "by_recording": {name: _count_up(errors) for name, errors in by_recording},
    }


def _count_up(errors: _Errors) -> dict[str, object]:
    counts = {name: round(value, 6) for name, value in asdict(errors).items()}
    if isinstance(errors, KeywordCounts):
        return {"f": errors.f, "precision": errors.precision, "recall": errors.recall, **counts}
    return {"rate": errors.rate, "errors": round(errors.errors, 6), **counts}


def _rate(errors: _Errors) -> str:
    return _percent(errors.f if isinstance(errors, KeywordCounts) else errors.rate)


def _percent(share: float | None) -> str:
    return "no rate" if share is None else f"{100 * share:.2f} %"


def _spell(errors: _Errors) -> str:
    if isinstance(errors, WordErrors):
        kinds = f"{errors.insertions} inserted, {errors.deletions} deleted, {errors.substitutions} substituted"
        return f"{errors.errors} of {errors.length} words: {kinds}"
    if isinstance(errors, KeywordCounts):
        shares = f"precision {_percent(errors.precision)}, recall {_percent(errors.recall)}"
        return f"{errors.right} of {errors.said} said, {errors.false} false: {shares}"
    kinds = f"{errors.missed:.2f} missed, {errors.false_alarm:.2f} false alarm, {errors.confusion:.2f} confusion"
    return f"{errors.errors:.2f} of {errors.length:.2f} s: {kinds}"


def _describe(figure: Figure) -> str:
    notes = [] if figure.collar_s is None else [f"collar {figure.collar_s:g} s"]
    notes.append("overlap counted" if figure.normalizer is None else f"normaliser {figure.normalizer}")
    return ", ".join([*notes, figure.counted_by])
