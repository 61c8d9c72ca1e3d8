#!/usr/bin/env python3
"""Word error rate of ``murmur batch`` on recordings whose words are known.

Three rows: 60 utterances of LibriSpeech test-other (each its own file), a podcast of six minutes and a
short conversation. Errors are summed, then divided once.

Examples: python benchmarks/librispeech.py · python benchmarks/librispeech.py --dtype float32 --json fp32.json
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from recognise import Recognition, join_text, recognise
from report import Report, Table, describe_run, format_goal, format_report, write_report
from scoring import NORMALISER, Utterance, WordErrors, count_errors, load_call, load_stm, load_utterances
from sessions import DATA_DIR

from murmur_cli.engine import Engine
from murmur_cli.options import ModelOptions, VadOptions
from murmur_cli.speech.vad import Vad
from murmur_cli.types import EngineInfo

__all__ = ["GOALS", "Row", "main", "measure_row"]

GOALS = {  # row -> highest WER in percent, by precision; plain greedy decoding in fp32 has 13.7 on the first
    ("LibriSpeech test-other", "auto"): 14.5,
    ("LibriSpeech test-other", "float32"): 13.7,
    ("calls/0.mp3", "auto"): 11.8,  # faster-whisper, beam 5: 11.3
    ("calls/0.mp3", "float32"): 11.8,
}

_COLUMNS = (
    "recordings", "files", "audio s", "words", "errors", "sub", "del", "ins", "WER %", "goal %", "gaps s",
    "CPU-s/audio-s", "RTFx",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """One set of recordings, recognised in one run and scored."""

    name: str
    errors: WordErrors
    recognition: Recognition
    files: tuple[Utterance, ...]


def main(arguments: Sequence[str] | None = None) -> None:
    args = _parse(arguments)
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as the command does; it is read when torch is imported
    from murmur_cli.models.load import load_engine  # noqa: PLC0415 - imports torch: after the line above
    from murmur_cli.models.silero import load_silero  # noqa: PLC0415

    options = ModelOptions(model=args.model, dtype=args.dtype)
    engine = load_engine(options, on_note=lambda _: None, on_progress=None)
    vad = load_silero(VadOptions())
    language = None if args.language == "auto" else args.language
    rows = [measure_row(name, files, engine, vad=vad, language=language) for name, files in _list_sets(args.data)]
    report = _make_report(rows, engine.info, dtype=args.dtype, language=args.language)
    print(format_report(report))
    if args.json:
        write_report(args.json, report, [detail for row in rows for detail in _list_details(row)])


def measure_row(name: str, files: Sequence[Utterance], engine: Engine, *, vad: Vad, language: str | None) -> Row:
    """Recognise a set of recordings in one run, then score it."""
    recognition = recognise([file.audio for file in files], engine, vad=vad, language=language)
    pairs = zip(files, recognition.transcripts, strict=True)
    errors = sum((count_errors(file.text, join_text(transcript)) for file, transcript in pairs), WordErrors())
    return Row(name, errors, recognition, tuple(files))


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA_DIR, help="folder of the test data (default: %(default)s)")
    parser.add_argument("--model", default="auto", help="as in murmur batch (default: %(default)s)")
    parser.add_argument("--dtype", default="auto", choices=("auto", "float32"), help="precision (default: %(default)s)")
    parser.add_argument("--language", default="en", help="auto: detect it, file by file (default: %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report and every hypothesis there")
    return parser.parse_args(arguments)


def _list_sets(data: Path) -> list[tuple[str, list[Utterance]]]:
    calls = data / "calls"
    podcast = Utterance("calls/0.mp3", calls / "0.mp3", load_call(calls / "0.json"))
    conversation = " ".join(turn.text for turn in load_stm(calls / "katiesteve_mono.stm"))
    return [
        ("LibriSpeech test-other", load_utterances(data / "librispeech")),
        (podcast.name, [podcast]),
        ("calls/katiesteve_mono.wav", [Utterance("katiesteve", calls / "katiesteve_mono.wav", conversation)]),
    ]


def _make_report(rows: Sequence[Row], info: EngineInfo, *, dtype: str, language: str) -> Report:
    about = describe_run(
        {
            "model": f"{info.model}, weights sha256 {info.weights_sha256}",
            "run": f"{info.device}, precision {info.precision} (--dtype {dtype}), language {language}",
            "scoring": f"{NORMALISER}, jiwer; counts are summed over files",
            "time": "CPU seconds of all threads, wall seconds in RTFx: from closed file to transcript, model loaded",
        }
    )
    cells = tuple(_format_row(row, GOALS.get((row.name, dtype))) for row in rows)
    verdicts = [_judge(row, GOALS[row.name, dtype]) for row in rows if (row.name, dtype) in GOALS]
    return Report("Word error rate", about, Table(_COLUMNS, cells), tuple(verdicts))


def _format_row(row: Row, goal: float | None) -> tuple[str, ...]:
    errors, recognition = row.errors, row.recognition
    return (
        row.name,
        str(len(row.files)),
        f"{recognition.audio_s:.1f}",
        str(errors.n_words),
        str(errors.n_errors),
        str(errors.n_substitutions),
        str(errors.n_deletions),
        str(errors.n_insertions),
        f"{errors.wer:.2f}",
        "" if goal is None else f"{goal:.1f}",
        f"{recognition.gap_s:.1f}",
        f"{recognition.cpu_s / recognition.audio_s:.4f}",
        f"{recognition.audio_s / recognition.wall_s:.1f}",
    )


def _judge(row: Row, goal: float) -> str:
    what = f"{row.name}: WER {row.errors.wer:.2f} %, at most {goal:.1f} %"
    return format_goal(what, reached=row.errors.wer <= goal)


def _list_details(row: Row) -> list[dict[str, object]]:
    return [
        {
            "set": row.name,
            "file": file.name,
            "duration": transcript.duration,
            "language": transcript.language,
            "errors": asdict(count_errors(file.text, join_text(transcript))),
            "reference": file.text,
            "hypothesis": join_text(transcript),
            "gaps": [asdict(gap) for gap in transcript.gaps],
        }
        for file, transcript in zip(row.files, row.recognition.transcripts, strict=True)
    ]


if __name__ == "__main__":
    main()
