"""What ``murmur bias`` writes: figures of lists, texts with their keywords, strengths compared."""

from __future__ import annotations

import json as json_format
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from rich.console import Console
from rich.text import Text

from murmur_cli.bias.cache import CachedList
from murmur_cli.bias.explain import Explanation
from murmur_cli.bias.packed import BiasList
from murmur_cli.cli.bias_texts import Passage
from murmur_cli.cli.render import printable, to_clock
from murmur_cli.options import BiasOptions
from murmur_cli.transcript.notation import replace_undecodable

if TYPE_CHECKING:
    from murmur_cli.tune import Trial

__all__ = [
    "STRENGTHS",
    "CompileReport",
    "describe_trial",
    "render_cache",
    "render_compiled",
    "render_explanations",
    "render_trials",
    "to_margin",
    "write_explanations",
]

STRENGTHS = ("off", "1", "low", "medium", "high", "6")
"""What is tried: the strengths that have a name, and what is on either side of them."""

_PLOT_WIDTH = 40
_TINY = 0.005  # nats: what is less would be written as 0.00

_Explained: TypeAlias = Sequence[tuple[Passage, Explanation]]
_Trials: TypeAlias = "Sequence[tuple[str, Trial]]"


@dataclass(frozen=True, slots=True)
class CompileReport:
    """A compiled list: where it comes from, what it is, how long it took, where it went, and what is odd about it."""

    source: str
    graph: BiasList
    seconds: float
    output: str | None
    warnings: tuple[str, ...]


def render_compiled(report: CompileReport, *, json: bool) -> str:
    """Write the figures of a list, one a line, or as one object."""
    graph = report.graph
    figures = {
        "phrases": graph.n_phrases,
        "states": graph.n_states,
        "arcs": graph.n_arcs,
        "bytes": graph.n_bytes,
        "seconds": round(report.seconds, 3),
        "warnings": len(report.warnings),
    }
    if not json:
        return "".join(f"{name:9}{value}\n" for name, value in figures.items())
    about = {"v": 1, "list": report.source, **figures, "sha256": graph.sha256, "output": report.output}
    return _to_json({**about, "warnings": report.warnings})


def render_explanations(explained: _Explained) -> str:
    """Write texts, with their keywords and tokens, as one object."""
    return _to_json({"v": 1, "texts": [_to_object(passage, found) for passage, found in explained]})


def _to_object(passage: Passage, found: Explanation) -> dict[str, object]:
    return {
        "text": passage.text,
        "time": passage.start,
        "kept": round(found.kept, 4),
        "hits": [
            {
                "phrase": scored.hit.keyword.display,
                "start": scored.hit.start,
                "end": scored.hit.end,
                "kept": round(scored.kept, 4),
            }
            for scored in found.hits
        ],
        "tokens": [{"text": token.text, "score": round(token.score, 4)} for token in found.tokens],
        "settled": round(found.settled, 4),
    }


def write_explanations(explained: _Explained, console: Console) -> int:
    """Write texts with their keywords and tokens; of several, those that have a keyword.

    Returns:
        How many have one.
    """
    n_shown = 0
    for passage, found in explained:
        n_shown += bool(found.hits)
        if found.hits or len(explained) == 1:
            for line in (_mark(passage, found), *_list_hits(found), _list_tokens(found)):
                console.print(line, soft_wrap=True)
    return n_shown


def _mark(passage: Passage, found: Explanation) -> Text:
    """The text itself, the keywords marked where there is colour."""
    line = Text("" if passage.start is None else f"[{to_clock(passage.start)}] ")
    done = 0
    for scored in found.hits:
        line.append(printable(passage.text[done : scored.hit.start]))
        line.append(printable(passage.text[scored.hit.start : scored.hit.end]), style="bold green")
        done = scored.hit.end
    return line.append(printable(passage.text[done:]))


def _list_hits(found: Explanation) -> list[Text]:
    if not found.hits:
        return [Text("  no keyword")]
    return [
        Text(f"  {scored.hit.start}-{scored.hit.end}  ")
        .append(printable(scored.hit.keyword.display), style="bold")
        .append(f"  kept {scored.kept:.2f}")
        for scored in found.hits
    ]


def _list_tokens(found: Explanation) -> Text:
    line = Text(" ")
    for token in found.tokens:
        shown = printable(token.text.replace(" ", "␣"))
        if abs(token.score) < _TINY:
            line.append(f" {shown}", style="dim")
        else:
            line.append(f" {shown} {token.score:+.2f}", style="green" if token.score > 0 else "red")
    if abs(found.settled) >= _TINY:
        line.append(f" (end) {found.settled:+.2f}", style="green" if found.settled > 0 else "red")
    return line


def to_margin(strength: str) -> float | None:
    """What one of ``STRENGTHS`` is in nats; None where keywords are off."""
    return None if strength == "off" else BiasOptions(bias_strength=strength).margin


def describe_trial(strength: str, trial: Trial) -> str:
    """Say how one strength did, in a line."""
    return f"strength {strength}: keyword F {_percent(trial.keywords.f)}, WER {_percent(trial.words.rate)}"


def render_trials(trials: _Trials, *, n_recordings: int, normalizer: str, json: bool) -> str:
    """Write strengths as a table and two plots, or as one object."""
    if json:
        about = {"v": 1, "n_recordings": n_recordings, "normalizer": normalizer}
        return _to_json({**about, "strengths": [_describe(name, trial) for name, trial in trials]})
    rows: list[tuple[str, ...]] = [("strength", "nats", "keyword F", "precision", "recall", "WER", "B-WER", "U-WER")]
    for name, trial in trials:
        keywords, words = trial.keywords, (trial.words, trial.listed, trial.unlisted)
        shares = (keywords.f, keywords.precision, keywords.recall, *(errors.rate for errors in words))
        rows.append((name, "-" if trial.margin is None else f"{trial.margin:g}", *map(_percent, shares)))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    lines += _plot("keyword F", [(name, trial.keywords.f) for name, trial in trials])
    lines += _plot("WER", [(name, trial.words.rate) for name, trial in trials])
    n_words = trials[0][1].words.length
    lines += ["", f"{n_recordings} recordings, {n_words} words, {trials[0][1].keywords.said} keywords; {normalizer}"]
    return "".join(f"{line}\n" for line in lines)


def _describe(name: str, trial: Trial) -> dict[str, object]:
    keywords = {"f": trial.keywords.f, "precision": trial.keywords.precision, "recall": trial.keywords.recall}
    return {
        "strength": name,
        "nats": trial.margin,
        "keywords": {**keywords, **asdict(trial.keywords)},
        "wer": {"rate": trial.words.rate, **asdict(trial.words)},
        "bwer": {"rate": trial.listed.rate, **asdict(trial.listed)},
        "uwer": {"rate": trial.unlisted.rate, **asdict(trial.unlisted)},
        "n_gaps": trial.n_gaps,
    }


def _plot(title: str, points: Sequence[tuple[str, float | None]]) -> list[str]:
    """A star for each strength, between the least and the most of all."""
    known = [value for _, value in points if value is not None]
    if not known:
        return []
    low, high = min(known), max(known)
    lines = ["", f"{title}, from {_percent(low)} to {_percent(high)}"]
    width = max(len(name) for name, _ in points)
    for name, value in points:
        if value is not None:
            place = round((_PLOT_WIDTH - 1) * (value - low) / (high - low)) if high > low else 0
            lines.append(f"{name:>{width}} |{'*'.rjust(place + 1).ljust(_PLOT_WIDTH)}| {_percent(value)}")
    return lines


def render_cache(folder: Path, cached: Sequence[CachedList]) -> str:
    """List what is in a cache, and how many bytes that is."""
    lines = [f"{each.path.name}  {_name_kind(each)}  {each.n_bytes} bytes" for each in cached]
    total = sum(each.n_bytes for each in cached)
    return "".join(f"{line}\n" for line in [*lines, f"{len(cached)} files, {total} bytes in {printable(str(folder))}"])


def _name_kind(cached: CachedList) -> str:
    if cached.n_phrases is not None:
        return f"{cached.n_phrases} phrases"
    return "a tokenizer" if cached.path.suffix == ".tokens" else "damaged"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.2f} %"


def _to_json(value: object) -> str:
    return replace_undecodable(json_format.dumps(value, ensure_ascii=False, allow_nan=False, indent=2)) + "\n"
