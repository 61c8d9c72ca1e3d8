#!/usr/bin/env python3
"""Live sessions of spoken digits with the tiny trained model: words, speakers, and what a chunk costs.

Sessions of one to five minutes with one to four people come in blocks of 20 ms to 2 s. A speaker is right if a word
that is right has the number of the order in which people began to speak. The CPU time of a chunk is that of hearing it
and of writing its text, the detector of speech included.

Examples: python benchmarks/stream_digits.py · python benchmarks/stream_digits.py --sessions 4 --json stream.json
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import jiwer
import numpy as np
import soundfile
from digits import DIGITS_MODEL, RATE, write_digits
from report import Report, Table, describe_run, format_goal, format_report, write_report
from scoring import WordErrors
from sessions import DATA_DIR

from murmur_cli.engine import StreamDecoder, StreamSegment
from murmur_cli.types import Samples

__all__ = [
    "Session",
    "count_plain_errors",
    "count_right_speakers",
    "main",
    "parse",
    "play",
    "read_reference",
    "run_sessions",
]

_MINUTES = (1, 2, 3, 5)
_SHORTEST_BLOCK, _LONGEST_BLOCK = RATE // 50, 2 * RATE
_WORD_GOAL, _SPEAKER_GOAL = 4.0, 98.0  # percent

Spoken = tuple[str, str | None]
"""A word and who says it."""


@dataclass(frozen=True, slots=True)
class Session:
    """One session and what came of it."""

    minutes: int
    n_speakers: int
    words: WordErrors
    n_right_words: int
    n_right_speakers: int
    n_gaps: int
    chunk_ms: tuple[float, ...]  # CPU, of every push that brought text


def main(arguments: Sequence[str] | None = None) -> None:
    args = parse(arguments)
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as the command does; it is read when torch is imported
    sessions = list(run_sessions(args))
    words = sum((session.words for session in sessions), WordErrors())
    right, all_right = sum(s.n_right_speakers for s in sessions), sum(s.n_right_words for s in sessions)
    speakers = 100.0 * right / max(all_right, 1)
    verdicts = (
        f"all: {words.n_words} words, WER {words.wer:.2f} %, speakers right {speakers:.2f} %",
        format_goal(f"WER <= {_WORD_GOAL:g} %", reached=words.wer <= _WORD_GOAL),
        format_goal(f"speakers right >= {_SPEAKER_GOAL:g} %", reached=speakers >= _SPEAKER_GOAL),
    )
    columns = ("minutes", "people", "words", "WER %", "speakers right %", "gaps", "CPU-ms/chunk", "last minute")
    about = {"model": str(DIGITS_MODEL.name), "silence": "asked, too" if args.no_vad else "gated"}
    report = Report("Live sessions", describe_run(about), Table(columns, tuple(map(_to_row, sessions))), verdicts)
    print(format_report(report))
    if args.json:
        write_report(args.json, report, [asdict(session) for session in sessions])


def count_right_speakers(reference: Sequence[Spoken], hypothesis: Sequence[Spoken]) -> tuple[int, int]:
    """Count the words that are right, and those of them that have the right speaker."""
    matcher = difflib.SequenceMatcher(
        a=[word for word, _ in reference], b=[word for word, _ in hypothesis], autojunk=False
    )
    n_words = n_speakers = 0
    for block in matcher.get_matching_blocks():
        for offset in range(block.size):
            n_words += 1
            n_speakers += reference[block.a + offset][1] == hypothesis[block.b + offset][1]
    return n_words, n_speakers


def run_sessions(args: argparse.Namespace) -> Iterator[Session]:
    """Play as many sessions as the arguments of ``parse`` say."""
    import torch  # noqa: PLC0415 - after the settings that are read when it is imported

    from murmur_cli.models.silero import load_silero  # noqa: PLC0415 - loads torch
    from murmur_cli.models.vibevoice.silence import GATE_OPTIONS  # noqa: PLC0415 - with what uses it
    from murmur_cli.models.vibevoice.streaming import load_vibevoice_stream  # noqa: PLC0415 - loads torch
    from murmur_cli.models.weights import pull_weights  # noqa: PLC0415 - with what uses it
    from murmur_cli.options import ModelOptions, StreamOptions  # noqa: PLC0415 - with what uses it

    torch.set_num_threads(args.threads)
    engine = load_vibevoice_stream(
        pull_weights(str(DIGITS_MODEL), offline=True),
        model=ModelOptions(model="digits", device="cpu", dtype="float32"),
        options=StreamOptions(),
        vad=None if args.no_vad else load_silero(GATE_OPTIONS),
        on_note=lambda _: None,
    )
    with tempfile.TemporaryDirectory(prefix="murmur-benchmark-") as folder:
        for index in range(args.sessions):
            minutes, n_speakers = _MINUTES[index // 4 % len(_MINUTES)], 1 + index % 4
            stem = write_digits(
                Path(folder), data=args.data, seconds=60 * minutes, n_speakers=n_speakers, seed=args.seed + index
            )
            samples, _ = soundfile.read(f"{stem}.wav", dtype="float32")
            with engine.open(StreamOptions()) as decoder:
                segments, n_gaps, costs = play(decoder, samples, seed=index)
            reference = read_reference(Path(f"{stem}.seglst.json"))
            hypothesis = [(word, segment.speaker) for segment in segments for word in segment.text.split()]
            errors = count_plain_errors(reference, hypothesis)
            right = count_right_speakers(reference, hypothesis)
            yield Session(minutes, n_speakers, errors, *right, n_gaps, tuple(costs))


def count_plain_errors(reference: Sequence[Spoken], hypothesis: Sequence[Spoken]) -> WordErrors:
    """Compare words as they are: a normaliser would make numbers of them."""
    sides = [" ".join(word for word, _ in side) for side in (reference, hypothesis)]
    made = jiwer.process_words(sides[0], sides[1])
    return WordErrors(len(reference), made.substitutions, made.deletions, made.insertions)


def play(decoder: StreamDecoder, samples: Samples, *, seed: int) -> tuple[list[StreamSegment], int, list[float]]:
    draw = np.random.default_rng(seed)
    segments: list[StreamSegment] = []
    costs, n_gaps, at = [], 0, 0
    while at <= len(samples):
        block = samples[at : at + int(draw.integers(_SHORTEST_BLOCK, _LONGEST_BLOCK))]
        began = time.process_time()
        update = decoder.push(block) if len(block) else decoder.finish()
        if update.committed:
            costs.append(1000.0 * (time.process_time() - began))
        segments += update.committed
        n_gaps += len(update.gaps)
        at += max(len(block), 1)
    return segments, n_gaps, costs


def read_reference(path: Path) -> list[Spoken]:
    """Read who says what; people are numbered in the order in which they begin."""
    numbers: dict[str, str] = {}
    spoken: list[Spoken] = []
    for turn in sorted(json.loads(path.read_text()), key=lambda turn: turn["start_time"]):
        number = numbers.setdefault(turn["speaker"], f"S{len(numbers) + 1}")
        spoken += [(word, number) for word in turn["words"].split()]
    return spoken


def _to_row(session: Session) -> tuple[str, ...]:
    mean, last = np.mean(session.chunk_ms), np.mean(session.chunk_ms[-20:])
    return (
        str(session.minutes),
        str(session.n_speakers),
        str(session.words.n_words),
        f"{session.words.wer:.2f}",
        f"{100.0 * session.n_right_speakers / max(session.n_right_words, 1):.2f}",
        str(session.n_gaps),
        f"{mean:.0f}",
        f"{last:.0f}",
    )


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=16, help="how many, four of each length (%(default)s)")
    parser.add_argument("--seed", type=int, default=900, help="of the first session (%(default)s)")
    parser.add_argument("--no-vad", action="store_true", help="ask the model about silence, too")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads (%(default)s)")
    parser.add_argument("--data", type=Path, default=DATA_DIR, help="the test data (%(default)s)")
    parser.add_argument("--json", type=Path, help="write all measurements to this file")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
