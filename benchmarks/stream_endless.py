#!/usr/bin/env python3
"""A live session that is longer than its context, with the tiny trained model: do words, speakers and costs stay?

Half an hour of spoken digits is heard with a context of two minutes. A speaker is right if a word that is right has the
number of the order in which people began to speak. What a chunk costs is the CPU time of a minute, the detector of
speech included, shared out among its chunks. --sliding keeps nothing but the newest half of a full context.

Examples: python benchmarks/stream_endless.py · python benchmarks/stream_endless.py --minutes 10 --people 2 --sliding
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

import jiwer
import soundfile
from digits import DIGITS_MODEL, RATE, write_digits
from report import Report, Table, describe_run, format_goal, format_report, write_report
from scoring import WordErrors
from sessions import DATA_DIR
from stream_digits import count_right_speakers, read_reference

from murmur_cli.decode.rollover import Rollover
from murmur_cli.types import Samples

if TYPE_CHECKING:
    from murmur_cli.models.vibevoice.streaming import VibeVoiceStream

__all__ = ["EndlessSession", "SlidingWindow", "count_errors_between", "main"]

_SPEAKER_GOAL, _WER_GOAL, _COST_GOAL = 95.0, 1.0, 1.1
_BLOCK = RATE // 2
_PART_S = 300  # the first and the last of a session


@dataclass(frozen=True, slots=True)
class EndlessSession:
    """What came of a session; ``costs_ms`` is the CPU time of a chunk in every minute."""

    n_speakers: int
    seed: int
    n_words: int
    n_right_words: int
    n_right_speakers: int
    first: WordErrors
    last: WordErrors
    n_gaps: int
    n_rollovers: int
    most_context_s: float
    costs_ms: tuple[float, ...]

    @property
    def speakers(self) -> float:
        """Percent of the words that are right."""
        return 100.0 * self.n_right_speakers / max(self.n_right_words, 1)

    @property
    def cost_ratio(self) -> float:
        """The last minute's cost by that of minute 6."""
        return self.costs_ms[-1] / self.costs_ms[min(5, len(self.costs_ms) - 1)]


class SlidingWindow(Rollover):
    """Keeps the newest half of a full context, and nobody's first words."""

    def begin_again(self) -> list[int]:
        """Keep the newest chunks."""
        self._n_held = self._most // 2
        return sorted(self.needed)

    @property
    def needed(self) -> frozenset[int]:
        """The newest chunks."""
        return frozenset(range(max(self._newest + 1 - self._most // 2, 0), self._newest + 1))

    @property
    def _newest(self) -> int:
        return max([*self._recent, self._last_text or 0])


def main(arguments: Sequence[str] | None = None) -> None:
    args = _parse(arguments)
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as the command does; it is read when torch is imported
    sessions = list(_run(args))
    first, last = (sum(parts, WordErrors()) for parts in ([s.first for s in sessions], [s.last for s in sessions]))
    wer = last.wer - first.wer  # of one session five minutes are 400 words: a point is four of them
    cost = sum(s.costs_ms[-1] for s in sessions) / sum(s.costs_ms[min(5, len(s.costs_ms) - 1)] for s in sessions)
    limit_s = 60.0 * args.context_minutes
    verdicts = (
        f"all sessions: WER {first.wer:.2f} % in the first 5 minutes, {last.wer:.2f} % in the last, cost {cost:.2f}",
        _judge(f"speakers right >= {_SPEAKER_GOAL:g} %", [s.speakers >= _SPEAKER_GOAL for s in sessions]),
        _judge(
            f"WER of the last 5 minutes, all sessions, within {_WER_GOAL:g} point of the first 5", [wer <= _WER_GOAL]
        ),
        _judge(f"context <= {limit_s:g} s", [s.most_context_s <= limit_s for s in sessions]),
        _judge(f"a chunk of the last minute costs <= {_COST_GOAL:g} of minute 6, all sessions", [cost <= _COST_GOAL]),
    )
    columns = ("people", "seed", "words", "speakers right %", "WER % first 5 min", "last 5 min", "gaps", "rollovers")
    columns += ("most context s", "CPU-ms/chunk minute 6", "last minute", "ratio")
    about = {
        "model": str(DIGITS_MODEL.name),
        "context": f"{args.context_minutes:g} min of {args.minutes:g}, "
        + ("a window that slides" if args.sliding else "with a chunk of each speaker"),
    }
    report = Report(
        "A session without end", describe_run(about), Table(columns, tuple(map(_to_row, sessions))), verdicts
    )
    print(format_report(report))
    if args.json:
        write_report(args.json, report, [asdict(session) for session in sessions])


def _run(args: argparse.Namespace) -> Iterator[EndlessSession]:
    import torch  # noqa: PLC0415 - after the settings that are read when it is imported

    from murmur_cli.models.silero import load_silero  # noqa: PLC0415 - loads torch
    from murmur_cli.models.vibevoice import streaming  # noqa: PLC0415 - loads torch
    from murmur_cli.models.vibevoice.silence import GATE_OPTIONS  # noqa: PLC0415 - with what uses it
    from murmur_cli.models.weights import pull_weights  # noqa: PLC0415 - with what uses it
    from murmur_cli.options import ModelOptions, StreamOptions  # noqa: PLC0415 - with what uses it

    torch.set_num_threads(args.threads)
    options = StreamOptions(context_minutes=args.context_minutes)
    engine = streaming.load_vibevoice_stream(
        pull_weights(str(DIGITS_MODEL), offline=True),
        model=ModelOptions(model="digits", device="cpu", dtype="float32"),
        options=options,
        vad=load_silero(GATE_OPTIONS),
        on_note=lambda _: None,
    )
    policy = mock.patch.object(streaming, "Rollover", SlidingWindow) if args.sliding else nullcontext()
    with tempfile.TemporaryDirectory(prefix="murmur-benchmark-") as folder, policy:
        for n_speakers in args.people:
            seed = args.seed + n_speakers
            stem = write_digits(
                Path(folder), data=args.data, seconds=60 * args.minutes, n_speakers=n_speakers, seed=seed
            )
            samples, _ = soundfile.read(f"{stem}.wav", dtype="float32")
            with engine.open(options) as decoder:
                yield _measure(decoder, samples, Path(f"{stem}.seglst.json"), seed=seed)


def _measure(decoder: VibeVoiceStream, samples: Samples, truth: Path, *, seed: int) -> EndlessSession:
    words: list[tuple[str, str | None]] = []
    contexts, costs, n_gaps = [0.0], [0.0] * -(-len(samples) // (60 * RATE)), 0
    for at in range(0, len(samples) + _BLOCK, _BLOCK):
        block, began = samples[at : at + _BLOCK], time.process_time()
        update = decoder.push(block) if len(block) else decoder.finish()
        costs[min(at // (60 * RATE), len(costs) - 1)] += time.process_time() - began
        contexts.append(decoder.context_s)
        n_gaps += len(update.gaps)
        words += [(word, segment.speaker) for segment in update.committed for word in segment.text.split()]
    reference, starts = read_reference(truth), _read_starts(truth)
    n_right_words, n_right_speakers = count_right_speakers(reference, words)
    sides = [word for word, _ in reference], [word for word, _ in words]
    duration = len(samples) / RATE
    return EndlessSession(
        n_speakers=len({speaker for _, speaker in reference}),
        seed=seed,
        n_words=len(reference),
        n_right_words=n_right_words,
        n_right_speakers=n_right_speakers,
        first=count_errors_between(*sides, 0, sum(start < _PART_S for start in starts)),
        last=count_errors_between(*sides, sum(start < duration - _PART_S for start in starts), len(reference)),
        n_gaps=n_gaps,
        n_rollovers=sum(after < before for before, after in pairwise(contexts)),
        most_context_s=max(contexts),
        costs_ms=tuple(1000.0 * cost / (60.0 / decoder.chunk_s) for cost in costs),
    )


def _read_starts(path: Path) -> list[float]:
    """Say when the turn of every word begins, in the order of ``read_reference``."""
    turns = sorted(json.loads(path.read_text()), key=lambda turn: turn["start_time"])
    return [turn["start_time"] for turn in turns for _ in turn["words"].split()]


def count_errors_between(reference: Sequence[str], hypothesis: Sequence[str], first: int, past: int) -> WordErrors:
    """Count the errors at the words ``first`` to ``past`` of a reference, with all of it aligned."""
    counts = {"substitute": 0, "delete": 0, "insert": 0}
    (steps,) = jiwer.process_words(" ".join(reference), " ".join(hypothesis)).alignments
    for step in steps:
        if step.type == "insert":
            is_inside = first <= step.ref_start_idx < past or step.ref_start_idx == past == len(reference)
            counts["insert"] += is_inside * (step.hyp_end_idx - step.hyp_start_idx)
        elif step.type != "equal":
            counts[step.type] += max(min(step.ref_end_idx, past) - max(step.ref_start_idx, first), 0)
    return WordErrors(past - first, counts["substitute"], counts["delete"], counts["insert"])


def _judge(goal: str, reached: Sequence[bool]) -> str:
    return format_goal(goal, reached=all(reached))


def _to_row(session: EndlessSession) -> tuple[str, ...]:
    at = min(5, len(session.costs_ms) - 1)
    return (
        str(session.n_speakers),
        str(session.seed),
        str(session.n_words),
        f"{session.speakers:.2f}",
        f"{session.first.wer:.2f}",
        f"{session.last.wer:.2f}",
        str(session.n_gaps),
        str(session.n_rollovers),
        f"{session.most_context_s:.1f}",
        f"{session.costs_ms[at]:.1f}",
        f"{session.costs_ms[-1]:.1f}",
        f"{session.cost_ratio:.2f}",
    )


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=int, default=30, help="of each session (%(default)s)")
    parser.add_argument("--context-minutes", type=float, default=2.0, help="(%(default)s)")
    parser.add_argument("--people", type=int, nargs="+", default=[2, 3, 4], help="one session for each (%(default)s)")
    parser.add_argument("--seed", type=int, default=8000, help="of a session, less its people (%(default)s)")
    parser.add_argument("--sliding", action="store_true", help="keep the newest half of a full context alone")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads (%(default)s)")
    parser.add_argument("--data", type=Path, default=DATA_DIR, help="the test data (%(default)s)")
    parser.add_argument("--json", type=Path, help="write all measurements to this file")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
