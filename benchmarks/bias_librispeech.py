#!/usr/bin/env python3
"""What lists of keywords bring, and what they cost: utterances with some 100 words each, most of them not said.

A row is all utterances, heard with one strength; each with its own list, or all with all lists merged. Keywords and
the errors inside and outside of a list are counted as ``murmur score --bias`` does it: those of an utterance's own
list, and beside them, as the F of the merged list, those of all lists, whichever of them was listened for.

Examples: python benchmarks/bias_librispeech.py · python benchmarks/bias_librispeech.py --rows none medium --part 1/3
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from recognise import iter_recordings, join_text
from report import Report, Table, describe_run, format_goal, format_report, write_report
from scoring import NORMALISER, WordErrors, count_errors
from sessions import DATA_DIR

from murmur_cli.audio.source import Recording
from murmur_cli.batch import Listeners, transcribe_all
from murmur_cli.bias.keywords import KeywordList, join_lists
from murmur_cli.bias.list_files import parse_phrase
from murmur_cli.engine import Answer, Bias, Engine
from murmur_cli.options import BatchOptions, BiasOptions, DecodeOptions, ModelOptions, VadOptions
from murmur_cli.score.counts import KeywordCounts
from murmur_cli.score.counts import WordErrors as ListErrors
from murmur_cli.score.keywords import KeywordErrors, count_keywords, to_phrases
from murmur_cli.score.normalize import load_normalizer
from murmur_cli.speech.vad import Vad
from murmur_cli.types import Chunk, Transcript

__all__ = ["Case", "Row", "main", "measure_row"]

_NO_ERRORS = KeywordErrors(KeywordCounts(), ListErrors(), ListErrors())
ROWS = ("none", "low", "medium", "high", "merged")
_COLUMNS = (
    "list",
    "nats",
    "phrases",
    "WER %",
    "listed WER %",
    "other WER %",
    "right",
    "missed",
    "false",
    "F %",
    "merged F %",
    "changed",
    "CPU s",
)


@dataclass(frozen=True, slots=True)
class Case:
    """An utterance: its audio, its words, and the words to listen for."""

    audio: Path
    text: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """All utterances, heard with one strength: word errors, and keywords of their own lists and of all lists."""

    name: str
    bias: Bias | None
    errors: WordErrors
    own: KeywordErrors
    merged: KeywordCounts
    n_changed: int
    cpu_s: float
    texts: tuple[str, ...]


def main(arguments: Sequence[str] | None = None) -> None:
    args = _parse(arguments)
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as the command does; it is read when torch is imported
    from murmur_cli.models.load import load_engine  # noqa: PLC0415 - imports torch: after the line above
    from murmur_cli.models.silero import load_silero  # noqa: PLC0415

    engine = load_engine(ModelOptions(model=args.model), on_note=lambda _: None, on_progress=None)
    vad = load_silero(VadOptions())
    cases = _choose(load_cases(args.data / "librispeech"), args.part)
    rows = [measure_row(name, cases, engine, vad=vad) for name in args.rows]
    info = engine.info
    about = describe_run(
        {
            "model": f"{info.model}, weights sha256 {info.weights_sha256}",
            "run": f"{info.device}, precision {info.precision}; {len(cases)} utterances (--part {args.part})",
            "scoring": f"{NORMALISER}, jiwer; counts are summed over files",
        }
    )
    report = Report("Keywords", about, Table(_COLUMNS, tuple(map(_format_row, rows))), tuple(_judge(rows)))
    print(format_report(report))
    if args.json:
        write_report(args.json, report, [{"row": row.name, "texts": row.texts} for row in rows])


def load_cases(folder: Path) -> list[Case]:
    """Read ``refs.jsonl`` of a folder of utterances with their lists."""
    lines = map(json.loads, (folder / "refs.jsonl").read_text(encoding="utf-8").splitlines())
    return [Case(folder / line["audio"], line["text"], tuple(line["biasing_100"])) for line in lines]


def measure_row(name: str, cases: Sequence[Case], engine: Engine, *, vad: Vad) -> Row:
    """Recognise all utterances, each with its list, and score them."""
    strength = BiasOptions(bias_strength="medium" if name in ("none", "merged") else name)
    lists = {str(case.audio): _list_own(case) for case in cases}
    if name == "merged":
        lists = dict.fromkeys(lists, _list_all(cases))
    biases = {path: None if name == "none" else _make_bias(each, strength) for path, each in lists.items()}
    started = time.process_time()
    transcripts = list(
        transcribe_all(
            iter_recordings([case.audio for case in cases], sample_rate=engine.sample_rate),
            engine,
            listeners=Listeners(vad, None, biases.get),
            options=BatchOptions(decode=DecodeOptions(language="en")),
            observer=_Nobody(),
        )
    )
    cpu_s = time.process_time() - started
    ordered = sorted(transcripts, key=lambda transcript: transcript.recording_id)
    return _score(name, next(iter(biases.values())), cases, ordered, cpu_s=cpu_s)


def _make_bias(keywords: KeywordList, strength: BiasOptions) -> Bias:
    return Bias(keywords, strength.fit_margin(keywords.n_phrases))


def _score(name: str, bias: Bias | None, cases: Sequence[Case], said: Sequence[Transcript], *, cpu_s: float) -> Row:
    normalizer = load_normalizer("whisper-english")
    everything = to_phrases(_list_all(cases), normalizer)
    texts = tuple(map(join_text, said))
    errors, own, merged = WordErrors(), _NO_ERRORS, KeywordCounts()
    for case, text in zip(cases, texts, strict=True):
        spoken, written = (normalizer.apply(each).split() for each in (case.text, text))
        errors += count_errors(case.text, text)
        own = _add(own, count_keywords(spoken, written, to_phrases(_list_own(case), normalizer)))
        merged += count_keywords(spoken, written, everything).keywords
    n_changed = sum(hit.changed for each in said if each.bias is not None for hit in each.bias.hits)
    return Row(name, bias, errors, own, merged, n_changed, cpu_s, texts)


def _add(one: KeywordErrors, other: KeywordErrors) -> KeywordErrors:
    return KeywordErrors(one.keywords + other.keywords, one.listed + other.listed, one.unlisted + other.unlisted)


def _list_own(case: Case) -> KeywordList:
    return join_lists(parse_phrase(word) for word in case.words)


def _list_all(cases: Sequence[Case]) -> KeywordList:
    return join_lists(parse_phrase(word) for word in sorted({word for case in cases for word in case.words}))


def _choose(cases: Sequence[Case], part: str) -> list[Case]:
    """Give every third utterance (1/3), the others (2/3), or all."""
    if part == "all":
        return list(cases)
    return [case for index, case in enumerate(cases) if (index % 3 == 0) == (part == "1/3")]


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA_DIR, help="folder of the test data (default: %(default)s)")
    parser.add_argument("--model", default="auto", help="as in murmur batch (default: %(default)s)")
    parser.add_argument("--rows", nargs="+", default=ROWS, choices=ROWS, help="what to measure (default: all)")
    parser.add_argument(
        "--part", default="all", choices=("all", "1/3", "2/3"), help="to choose on one, judge on others"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report and every text there")
    return parser.parse_args(arguments)


def _format_row(row: Row) -> tuple[str, ...]:
    counts = row.own.keywords
    return (
        row.name,
        "" if row.bias is None else f"{row.bias.margin:g}",
        "" if row.bias is None else str(row.bias.keywords.n_phrases),
        f"{row.errors.wer:.2f}",
        f"{_percent(row.own.listed.rate):.1f}",
        f"{_percent(row.own.unlisted.rate):.2f}",
        str(counts.right),
        str(counts.said - counts.right),
        str(counts.false),
        f"{_percent(counts.f):.1f}",
        f"{_percent(row.merged.f):.1f}",
        str(row.n_changed),
        f"{row.cpu_s:.0f}",
    )


def _percent(share: float | None) -> float:
    return float("nan") if share is None else 100.0 * share


def _judge(rows: Sequence[Row]) -> list[str]:
    """Compare with no list: F at least 4 points more, 0.2 % more errors; the merged F no less, 0.3 % more errors."""
    by_name = {row.name: row for row in rows}
    plain = by_name.get("none")
    verdicts = []
    for name, gain, loss in (("medium", 4.0, 0.2), ("merged", 0.0, 0.3)):
        row = by_name.get(name)
        if plain is not None and row is not None:
            one, other = (each.merged if name == "merged" else each.own.keywords for each in (plain, row))
            more, worse = _percent(other.f) - _percent(one.f), row.errors.wer - plain.errors.wer
            what = f"{name}: F {more:+.1f}, at least {gain:+.1f}; WER {worse:+.2f}, at most {loss:+.1f}"
            verdicts.append(format_goal(what, reached=more >= gain and worse <= loss))
    return verdicts


class _Nobody:
    """An observer that shows nothing."""

    def planned(self, recording: Recording, chunks: tuple[Chunk, ...]) -> None:
        """A recording is cut into chunks."""

    def answered(self, recording: Recording, chunk: Chunk, answer: Answer) -> None:
        """A chunk is decoded, or has failed."""

    def noted(self, recording: Recording, text: str) -> None:
        """There is something to know about a recording."""


if __name__ == "__main__":
    main()
