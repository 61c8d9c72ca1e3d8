#!/usr/bin/env python3
"""Who said what, and when: a model that names speakers, on conversations of spoken digits, in one chunk and in several.

The conversations have one to four people and no overlap; the last row says what of the speakers' errors in several
chunks is the model's own: there the reference joins the chunks. Starts count as right within 0.25 s; a turn that was
not found counts as wrong.

Examples: python benchmarks/conversations.py · python benchmarks/conversations.py --talks 40 --json talks.json
"""

from __future__ import annotations

import argparse
import itertools
import os
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from digits import DIGITS_MODEL, write_digits
from recognise import Recognition, recognise
from report import Report, Table, describe_run, format_goal, format_report, write_report
from scipy.optimize import linear_sum_assignment
from sessions import DATA_DIR

from murmur_cli.engine import Engine
from murmur_cli.listen import SpeakerModels
from murmur_cli.options import BatchOptions, ChunkOptions, ModelOptions, ScoreOptions, VadOptions
from murmur_cli.score import score_pairs
from murmur_cli.score.annotations import Session, Utterance, load_annotations
from murmur_cli.score.counts import WordErrors
from murmur_cli.score.sessions import Pair
from murmur_cli.speech.vad import Vad
from murmur_cli.types import EngineInfo, Segment, Speaker, Transcript

__all__ = [
    "JOINED",
    "ONE",
    "SEVERAL",
    "Goal",
    "Row",
    "Talk",
    "join_by_reference",
    "load_talks",
    "main",
    "make_talks",
    "measure_row",
    "to_detail",
    "to_percent",
]

ONE, SEVERAL, JOINED = "one chunk", "several chunks", "several, joined by the reference"

_START_S = 0.25  # how far a start may be off
_ROWS = 4  # chunks side by side
_COLUMNS = (
    "chunks", "at most s", "talks", "audio s", "words", "WER %", "cpWER %", "starts %", "gaps s", "CPU-s/audio-s",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Goal:
    """The most errors, and the fewest right starts, in percent; None: only reported."""

    wer: float
    cpwer: float | None = None
    starts: float | None = None


GOALS = {ONE: Goal(wer=5.0, cpwer=16.0, starts=97.0), SEVERAL: Goal(wer=6.0)}


@dataclass(frozen=True, slots=True)
class Talk:
    """A recording and what is said in it."""

    audio: Path
    reference: Session


@dataclass(frozen=True, slots=True)
class Row:
    """All talks, recognised in one run and scored.

    ``n_turns`` counts the turns of the reference, ``n_starts`` those whose start is right.
    """

    name: str
    max_chunk_s: float
    words: WordErrors
    speakers: WordErrors
    n_turns: int
    n_starts: int
    recognition: Recognition

    @property
    def starts(self) -> float:
        """How many starts are right, in percent."""
        return 100.0 * self.n_starts / self.n_turns


def main(arguments: Sequence[str] | None = None) -> None:
    args = _parse(arguments)
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as the command does; it is read when torch is imported
    from murmur_cli.models.diarizers import load_speaker_models  # noqa: PLC0415 - imports torch: after the line above
    from murmur_cli.models.load import load_engine  # noqa: PLC0415
    from murmur_cli.models.silero import load_silero  # noqa: PLC0415

    options = BatchOptions(chunk=ChunkOptions(max_chunk_s=args.seconds))
    model = ModelOptions(model=str(args.model), device=args.device, dtype=args.dtype, batch_size=str(_ROWS))
    engine = load_engine(model, options=options, on_note=print)
    vad, speaker_models = load_silero(VadOptions()), load_speaker_models("slots", offline=True)
    with tempfile.TemporaryDirectory(prefix="murmur-benchmark-") as folder:
        talks = make_talks(Path(folder), data=args.data, n_talks=args.talks, seconds=args.seconds)
        rows = [
            measure_row(name, talks, engine, vad=vad, max_chunk_s=seconds, speaker_models=models)
            for name, seconds, models in (
                (ONE, args.seconds, speaker_models),
                (SEVERAL, args.seconds / 2, speaker_models),
                (JOINED, args.seconds / 2, None),
            )
        ]
    report = _make_report(rows, engine.info)
    print(format_report(report))
    if args.json:
        write_report(args.json, report, [to_detail(row) for row in rows])


def make_talks(folder: Path, *, data: Path, n_talks: int, seconds: float) -> list[Talk]:
    """Make conversations of one to four people, always the same ones.

    Raises:
        subprocess.CalledProcessError: The tool failed.
    """
    return load_talks(
        write_digits(folder, data=data, seconds=seconds, n_speakers=1 + seed % 4, seed=seed) for seed in range(n_talks)
    )


def load_talks(stems: Iterable[Path]) -> list[Talk]:
    """Find what ``write_digits`` has written."""
    return [Talk(Path(f"{stem}.wav"), *load_annotations(Path(f"{stem}.seglst.json"))) for stem in stems]


def measure_row(
    name: str,
    talks: Sequence[Talk],
    engine: Engine,
    *,
    vad: Vad,
    max_chunk_s: float,
    speaker_models: SpeakerModels | None,
) -> Row:
    """Recognise all talks in one run, then score them; without speaker models, the reference joins the chunks."""
    audio = [talk.audio for talk in talks]
    recognition = recognise(
        audio, engine, vad=vad, language=None, max_chunk_s=max_chunk_s, speaker_models=speaker_models
    )
    pairs, n_starts = [], 0
    for talk, transcript in zip(talks, recognition.transcripts, strict=True):
        segments = transcript.segments if speaker_models else join_by_reference(transcript, talk.reference)
        pairs.append(Pair(talk.reference, _to_session(segments)))
        n_starts += _count_starts(talk.reference, segments)
    # Digits are written in one way only; the English normaliser would draw those of a turn together into one number.
    score = score_pairs(pairs, ScoreOptions(metric=("wer", "cpwer"), normalizer="none"))
    words, speakers = (figure.errors for figure in score.figures)
    assert isinstance(words, WordErrors)
    assert isinstance(speakers, WordErrors)
    n_turns = sum(len(pair.reference.turns) for pair in pairs)
    return Row(name, max_chunk_s, words, speakers, n_turns, n_starts, recognition)


def join_by_reference(transcript: Transcript, reference: Session) -> list[Segment]:
    """Give the speakers of each chunk, one to one, the names of those with whom they share most time in all.

    Args:
        transcript: Its speakers are told apart in each chunk by itself, as ``c0-S0``.
        reference: Who really speaks.
    """
    names = sorted({turn.speaker for turn in reference.turns})
    cast: dict[Speaker | None, Speaker] = {}
    for _, local in itertools.groupby(sorted({s.speaker for s in transcript.segments if s.speaker}), _name_chunk):
        chunk = list(local)
        shared = np.zeros((len(chunk), len(names)))
        for segment, turn in itertools.product(transcript.segments, reference.turns):
            if segment.speaker in chunk:
                common = min(segment.end, turn.end) - max(segment.start, turn.start)
                shared[chunk.index(segment.speaker), names.index(turn.speaker)] += max(0.0, common)
        pairs = zip(*linear_sum_assignment(shared, maximize=True), strict=True)
        cast |= {chunk[i]: names[j] for i, j in pairs}
    return [replace(segment, speaker=cast.get(segment.speaker, segment.speaker)) for segment in transcript.segments]


def _name_chunk(speaker: Speaker) -> str:
    return speaker.partition("-")[0]


def _to_session(segments: Sequence[Segment]) -> Session:
    said = tuple(Utterance(s.start, s.end, s.speaker or Speaker("nobody"), s.text) for s in segments)
    return Session("hypothesis", said, said, "murmur")


def _count_starts(reference: Session, segments: Sequence[Segment]) -> int:
    """Count the turns that begin where the segment begins that shares most time with them."""
    n_right = 0
    for turn in reference.turns:
        shared = [(min(s.end, turn.end) - max(s.start, turn.start), s.start) for s in segments]
        common, start = max(shared, default=(0.0, 0.0))
        n_right += common > 0 and abs(start - turn.start) <= _START_S
    return n_right


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA_DIR, help="folder of the test data (default: %(default)s)")
    parser.add_argument("--model", default=DIGITS_MODEL, help="as in murmur batch (default: %(default)s)")
    parser.add_argument("--device", default="auto", help="as in murmur batch (default: %(default)s)")
    parser.add_argument("--dtype", default="auto", help="as in murmur batch (default: %(default)s)")
    parser.add_argument("--talks", type=int, default=24, metavar="N", help="conversations (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=60.0, help="of each conversation (default: %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report and every transcript there")
    return parser.parse_args(arguments)


def _make_report(rows: Sequence[Row], info: EngineInfo) -> Report:
    about = describe_run(
        {
            "model": f"{info.model}, weights sha256 {info.weights_sha256}",
            "run": f"{info.device}, precision {info.precision}, {_ROWS} chunks side by side",
            "scoring": "meeteval; counts are summed over talks",
            "time": "CPU seconds of all threads, from closed file to transcript, model loaded",
        }
    )
    verdicts = [verdict for row in rows for verdict in _judge(row)]
    return Report("Conversations", about, Table(_COLUMNS, tuple(_format_row(row) for row in rows)), tuple(verdicts))


def _format_row(row: Row) -> tuple[str, ...]:
    recognition = row.recognition
    return (
        row.name,
        f"{row.max_chunk_s:g}",
        str(len(recognition.transcripts)),
        f"{recognition.audio_s:.1f}",
        str(row.words.length),
        f"{to_percent(row.words):.2f}",
        f"{to_percent(row.speakers):.2f}",
        f"{row.starts:.2f}",
        f"{recognition.gap_s:.1f}",
        f"{recognition.cpu_s / recognition.audio_s:.4f}",
    )


def _judge(row: Row) -> list[str]:
    goal = GOALS.get(row.name)
    if goal is None:
        return []
    wer, cpwer = to_percent(row.words), to_percent(row.speakers)
    verdicts = [format_goal(f"{row.name}: WER {wer:.2f} %, at most {goal.wer:g} %", reached=wer <= goal.wer)]
    if goal.cpwer is not None:
        what = f"{row.name}: cpWER {cpwer:.2f} %, at most {goal.cpwer:g} %"
        verdicts.append(format_goal(what, reached=cpwer <= goal.cpwer))
    if goal.starts is not None:
        what = f"{row.name}: {row.starts:.2f} % of starts within {_START_S:g} s, at least {goal.starts:g} %"
        verdicts.append(format_goal(what, reached=row.starts >= goal.starts))
    return verdicts


def to_percent(errors: WordErrors) -> float:
    """How many errors there are, in percent of the words."""
    return 100.0 * errors.errors / errors.length


def to_detail(row: Row) -> dict[str, object]:
    """Turn a row into unrounded numbers and what was written, for JSON."""
    return {
        "row": row.name,
        "max_chunk_s": row.max_chunk_s,
        "words": asdict(row.words),
        "speakers": asdict(row.speakers),
        "n_turns": row.n_turns,
        "n_starts": row.n_starts,
        "n_chunks": row.recognition.n_chunks,
        "n_retries": row.recognition.n_retries,
        "cpu_s": row.recognition.cpu_s,
        "transcripts": [
            {"segments": [asdict(s) for s in t.segments], "gaps": [asdict(g) for g in t.gaps]}
            for t in row.recognition.transcripts
        ],
    }


if __name__ == "__main__":
    main()
