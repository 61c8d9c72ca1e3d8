#!/usr/bin/env python3
"""Each digit word in turn as the only keyword, in noise in which the tiny trained model mixes digits up.

Against a plain logit bias: a constant on the first tokens of the keyword, wherever the model is in its answer. Both
are swept, so that their precision can be compared at the same gain of recall. Without noise nothing may be harmed.
Recall and precision are those of the keyword, by alignment, the mean over the ten words.

Examples: python benchmarks/bias_digits.py · python benchmarks/bias_digits.py --quick
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import jiwer
import numpy as np
import soundfile
from digits import write_digits
from report import Report, Table, describe_run, format_goal, format_report, write_report
from sessions import DATA_DIR

if TYPE_CHECKING:
    from bias_digits_decoder import DigitsDecoder

__all__ = ["WORDS", "KeywordCounts", "Measurement", "count_keyword", "main", "read_precision"]

WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
NO_BIAS, MURMUR, PLAIN = "no bias", "murmur", "plain"
_MARGINS, _CONSTANTS = (2.0, 3.0, 4.0), (0.5, 1.0, 1.5, 2.0, 3.0)
_DEFAULT_MARGIN = 3.0
_NOISE_DB = -18.0
_HARM_GOAL = 0.1  # percent of words, at the default margin

Spoken = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KeywordCounts:
    """How often a keyword is said, written, and both at once; errors are of all words."""

    n_said: int = 0
    n_written: int = 0
    n_right: int = 0
    n_words: int = 0
    n_errors: int = 0

    @property
    def recall(self) -> float:
        """Of those that are said, how many are written, in percent."""
        return 100.0 * self.n_right / max(self.n_said, 1)

    @property
    def precision(self) -> float:
        """Of those that are written, how many are said, in percent."""
        return 100.0 * self.n_right / max(self.n_written, 1)

    @property
    def wer(self) -> float:
        """Errors per word that is said, in percent."""
        return 100.0 * self.n_errors / max(self.n_words, 1)

    def __add__(self, other: KeywordCounts) -> KeywordCounts:
        return KeywordCounts(*(a + b for a, b in zip(_list(self), _list(other), strict=True)))


@dataclass(frozen=True, slots=True)
class Measurement:
    """One setting, the mean over the keywords."""

    noise: str
    contestant: str
    nats: float
    recall: float
    precision: float
    wer: float
    cpu_s: float

    @property
    def name(self) -> str:
        """As a row is called."""
        return self.contestant if self.contestant == NO_BIAS else f"{self.contestant}, {self.nats:g} nats"


def main(arguments: Sequence[str] | None = None) -> None:
    args = _parse(arguments)
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as the command does; it is read when torch is imported
    from bias_digits_decoder import DigitsDecoder  # noqa: PLC0415 - after the settings that torch reads

    decoder = DigitsDecoder(n_threads=args.threads)
    n = 8 if args.quick else args.conversations
    with tempfile.TemporaryDirectory(prefix="murmur-benchmark-") as folder:
        noisy = list(_measure(decoder, _make(Path(folder), args, n, _NOISE_DB), "-18 dB", _MARGINS, _CONSTANTS))
        clean = list(_measure(decoder, _make(Path(folder), args, max(n // 2, 4), None), "none", (_DEFAULT_MARGIN,), ()))
    about = {
        "conversations": f"{n} in noise, {max(n // 2, 4)} without, of {args.seconds:g} s",
        "keywords": "each digit word alone",
    }
    columns = ("setting", "noise", "recall %", "precision %", "WER %", "CPU-s")
    table = Table(columns, tuple(map(_to_row, [*noisy, *clean])))
    report = Report("Keywords in noise", describe_run(about), table, tuple(_judge(noisy, clean)))
    print("\n".join(_plot(noisy)))
    print(format_report(report))
    if args.json:
        write_report(args.json, report, [asdict(each) for each in [*noisy, *clean]])


def count_keyword(reference: Spoken, hypothesis: Spoken, keyword: str) -> KeywordCounts:
    """Align two texts, and count a keyword in them."""
    made = jiwer.process_words(" ".join(reference), " ".join(hypothesis)) if hypothesis else None
    n_right = 0
    for chunk in made.alignments[0] if made else ():
        if chunk.type == "equal":
            n_right += reference[chunk.ref_start_idx : chunk.ref_end_idx].count(keyword)
    n_errors = made.substitutions + made.deletions + made.insertions if made else len(reference)
    return KeywordCounts(reference.count(keyword), hypothesis.count(keyword), n_right, len(reference), n_errors)


def read_precision(curve: Sequence[Measurement], recall: float) -> float | None:
    """Read the precision off a curve where it has some recall; None where it has not."""
    ordered = sorted(curve, key=lambda point: point.recall)
    if not ordered[0].recall <= recall <= ordered[-1].recall:
        return None
    return float(np.interp(recall, [point.recall for point in ordered], [point.precision for point in ordered]))


def _make(folder: Path, args: argparse.Namespace, n: int, noise_db: float | None) -> Iterator[tuple[Path, Spoken]]:
    for index in range(n):
        stem = write_digits(
            folder,
            data=args.data,
            seconds=args.seconds,
            n_speakers=1 + index % 3,
            seed=args.seed + index,
            noise_db=noise_db,
        )
        turns = sorted(json.loads(Path(f"{stem}.seglst.json").read_text()), key=lambda turn: turn["start_time"])
        yield Path(f"{stem}.wav"), tuple(word for turn in turns for word in turn["words"].split())


def _measure(
    decoder: DigitsDecoder,
    talks: Iterator[tuple[Path, Spoken]],
    noise: str,
    margins: Sequence[float],
    constants: Sequence[float],
) -> Iterator[Measurement]:
    said: list[Spoken] = []
    for path, words in talks:
        samples, _ = soundfile.read(path, dtype="float32")
        decoder.hear(np.asarray(samples, dtype=np.float32))
        said.append(words)
    began = time.process_time()
    alone = decoder.write_alone()
    cpu_s = time.process_time() - began
    yield _sum_up(noise, NO_BIAS, 0.0, dict.fromkeys(WORDS, alone), said, cpu_s=len(WORDS) * cpu_s)
    for contestant, settings in ((MURMUR, margins), (PLAIN, constants)):
        for nats in settings:
            began = time.process_time()
            written = decoder.write(WORDS, nats) if contestant == MURMUR else decoder.write_plainly(WORDS, nats)
            yield _sum_up(noise, contestant, nats, written, said, cpu_s=time.process_time() - began)
    decoder.forget()


def _sum_up(
    noise: str,
    contestant: str,
    nats: float,
    written: Mapping[str, Sequence[Spoken]],
    said: Sequence[Spoken],
    *,
    cpu_s: float,
) -> Measurement:
    counts = [
        sum((count_keyword(ref, hyp, word) for ref, hyp in zip(said, texts, strict=True)), KeywordCounts())
        for word, texts in written.items()
    ]
    recall, precision, wer = (
        float(np.mean([getattr(count, name) for count in counts])) for name in ("recall", "precision", "wer")
    )
    return Measurement(noise, contestant, nats, recall, precision, wer, cpu_s)


def _list(counts: KeywordCounts) -> tuple[int, ...]:
    return counts.n_said, counts.n_written, counts.n_right, counts.n_words, counts.n_errors


def _judge(noisy: Sequence[Measurement], clean: Sequence[Measurement]) -> Iterator[str]:
    curve = [each for each in noisy if each.contestant in (NO_BIAS, PLAIN)]
    better = []
    for each in (each for each in noisy if each.contestant == MURMUR):
        plain = read_precision(curve, each.recall)
        if plain is not None:
            better.append(each.precision > plain)
            gain = each.recall - noisy[0].recall
            yield f"recall {gain:+.2f}: precision {each.precision:.2f} %, plain bias {plain:.2f} % ({each.name})"
    yield format_goal("better precision than a plain bias at the same recall", reached=bool(better) and all(better))
    harm = clean[1].wer - clean[0].wer
    yield format_goal(f"without noise WER {harm:+.2f} <= +{_HARM_GOAL:g}", reached=harm <= _HARM_GOAL)


def _plot(points: Sequence[Measurement]) -> list[str]:
    """Draw precision over recall as text."""
    width, height = 60, 14
    recalls, precisions = [each.recall for each in points], [each.precision for each in points]
    grid = [[" "] * (width + 1) for _ in range(height + 1)]
    spans = [max(max(values) - min(values), 1e-9) for values in (recalls, precisions)]
    for each in points:
        column = round(width * (each.recall - min(recalls)) / spans[0])
        row = round(height * (max(precisions) - each.precision) / spans[1])
        grid[row][column] = {NO_BIAS: "o", MURMUR: "M", PLAIN: "p"}[each.contestant]
    lines = [f"  |{''.join(row)}" for row in grid]
    title = f"precision {min(precisions):.1f} to {max(precisions):.1f} % (up)"
    legend = f"recall {min(recalls):.1f} to {max(recalls):.1f} % (right); o no bias, M murmur, p plain logit bias"
    return [title, *lines, "  +" + "-" * (width + 1), legend, ""]


def _to_row(each: Measurement) -> tuple[str, ...]:
    numbers = (f"{number:.2f}" for number in (each.recall, each.precision, each.wer))
    return each.name, each.noise, *numbers, f"{each.cpu_s:.1f}"


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--conversations", type=int, default=100, help="how many in noise (%(default)s)")
    parser.add_argument("--seconds", type=float, default=12.0, help="length of each (%(default)s)")
    parser.add_argument("--seed", type=int, default=5000, help="of the first conversation (%(default)s)")
    parser.add_argument("--quick", action="store_true", help="eight conversations: shows that it runs")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads (%(default)s)")
    parser.add_argument("--data", type=Path, default=DATA_DIR, help="the test data (%(default)s)")
    parser.add_argument("--json", type=Path, help="write all measurements to this file")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
