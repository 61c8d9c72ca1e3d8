#!/usr/bin/env python3
"""How long chunks should be: words, speakers and time over the longest chunk, for the tiny trained model.

Conversations of two to four people are longer than any chunk that the model was trained on, which are up to a minute.
They are transcribed as murmur batch does, clean (with the faint noise of the training) and once more with noise in
which the model errs. Times are in CPU seconds of all threads, from closed file to transcript, model loaded.

Examples: python benchmarks/chunk_size.py · python benchmarks/chunk_size.py --talks 2 --sizes 30 60 --json sizes.json
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from conversations import Row, Talk, load_talks, measure_row, to_detail, to_percent
from digits import DIGITS_MODEL, write_digits
from report import Report, Table, describe_run, draw_bars, format_report, write_report
from sessions import DATA_DIR

from murmur_cli.engine import Engine
from murmur_cli.listen import SpeakerModels
from murmur_cli.options import BatchOptions, ChunkOptions, ModelOptions, VadOptions
from murmur_cli.speakers.diarize import Diarization
from murmur_cli.speakers.limits import SpeakerLimits
from murmur_cli.speakers.voices import VoiceVector
from murmur_cli.speech.vad import Vad
from murmur_cli.types import EngineInfo, Samples

__all__ = ["CLEAN", "NOISY", "SIZES", "Measured", "draw", "main", "make_talks", "measure"]

CLEAN, NOISY = "clean", "noise"
SIZES = (10.0, 15.0, 20.0, 30.0, 45.0, 60.0, 120.0)

_ROWS = 4  # chunks side by side
_COLUMNS = (
    "talks", "at most s", "chunks", "words", "WER %", "cpWER %", "gaps s", "retries", "CPU-s/audio-s",
    "speakers", "together",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Measured:
    """All talks in chunks of one size; ``row.name`` says with what noise.

    ``speakers_s`` are the CPU seconds of finding out who of one chunk is who of another.
    """

    row: Row
    speakers_s: float

    @property
    def rest(self) -> float:
        """CPU seconds per second of audio of everything but ``speakers_s``."""
        return (self.row.recognition.cpu_s - self.speakers_s) / self.row.recognition.audio_s

    @property
    def speakers(self) -> float:
        """CPU seconds per second of audio of telling people apart."""
        return self.speakers_s / self.row.recognition.audio_s


@dataclass(slots=True)
class _TimedSpeakers:
    """A diarizer and the voices of people, with the CPU seconds that both have taken."""

    models: SpeakerModels
    cpu_s: float = 0.0

    def turns(self, blocks: Iterable[Samples], limits: SpeakerLimits) -> Diarization:
        begin = time.process_time()
        diarization = self.models.diarizer.turns(blocks, limits)
        self.cpu_s += time.process_time() - begin
        return diarization

    def embed(self, samples: Samples) -> VoiceVector:
        begin = time.process_time()
        voice = self.models.embedder.embed(samples)
        self.cpu_s += time.process_time() - begin
        return voice


def main(arguments: Sequence[str] | None = None) -> None:
    args = _parse(arguments)
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as the command does; it is read when torch is imported
    from murmur_cli.models.diarizers import load_speaker_models  # noqa: PLC0415 - imports torch: after the line above
    from murmur_cli.models.load import load_engine  # noqa: PLC0415
    from murmur_cli.models.silero import load_silero  # noqa: PLC0415

    def load(max_chunk_s: float) -> Engine:
        model = ModelOptions(model=str(args.model), device=args.device, dtype=args.dtype, batch_size=str(_ROWS))
        return load_engine(model, options=BatchOptions(chunk=ChunkOptions(max_chunk_s=max_chunk_s)), on_note=print)

    vad, models = load_silero(VadOptions()), load_speaker_models("slots", offline=True)
    with tempfile.TemporaryDirectory(prefix="murmur-benchmark-") as folder:
        kinds = {
            name: make_talks(Path(folder), data=args.data, n_talks=args.talks, seconds=args.seconds, noise_db=noise_db)
            for name, noise_db in ((CLEAN, None), (NOISY, args.noise))
        }
        # What is done once in a process is not the first row's.
        measure(CLEAN, kinds[CLEAN][:1], load, vad=vad, max_chunk_s=args.sizes[0], speaker_models=models)
        measured = [
            measure(name, talks, load, vad=vad, max_chunk_s=size, speaker_models=models)
            for name, talks in kinds.items()
            for size in args.sizes
        ]
    report = _make_report(measured, load(args.sizes[0]).info, args)
    print(format_report(report))
    if args.json:
        write_report(args.json, report, [to_detail(one.row) | {"speakers_s": one.speakers_s} for one in measured])


def make_talks(folder: Path, *, data: Path, n_talks: int, seconds: float, noise_db: float | None) -> list[Talk]:
    """Make conversations of two to four people, always the same ones, whatever the noise.

    Raises:
        subprocess.CalledProcessError: The tool failed.
    """
    return load_talks(
        write_digits(folder, data=data, seconds=seconds, n_speakers=2 + seed % 3, seed=seed, noise_db=noise_db)
        for seed in range(n_talks)
    )


def measure(
    name: str,
    talks: Sequence[Talk],
    load: Callable[[float], Engine],
    *,
    vad: Vad,
    max_chunk_s: float,
    speaker_models: SpeakerModels,
) -> Measured:
    """Recognise all talks in one run, in chunks of one size.

    Args:
        name: What is special about the talks.
        talks: What to recognise.
        load: Makes an engine for chunks so long: it takes time and memory for the longest one.
        vad: Finds speech.
        max_chunk_s: The longest chunk.
        speaker_models: Tell people apart.
    """
    timed = _TimedSpeakers(speaker_models)
    models = SpeakerModels(timed, timed)
    row = measure_row(name, talks, load(max_chunk_s), vad=vad, max_chunk_s=max_chunk_s, speaker_models=models)
    return Measured(row, timed.cpu_s)


def draw(measured: Sequence[Measured]) -> list[str]:
    """Draw errors and time over the size of chunks."""
    errors = {_name(one.row): to_percent(one.row.words) for one in measured}
    times = {_name(one.row): one.rest for one in measured}
    return [
        *draw_bars("WER % over the longest chunk", errors, full=max(*errors.values(), 1.0), spec=".2f"),
        *draw_bars("CPU-s/audio-s over the longest chunk", times, full=max(times.values()), spec=".4f"),
    ]


def _name(row: Row) -> str:
    return f"{row.name} {row.max_chunk_s:4g} s"


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA_DIR, help="folder of the test data (default: %(default)s)")
    parser.add_argument("--model", default=DIGITS_MODEL, help="as in murmur batch (default: %(default)s)")
    parser.add_argument("--device", default="auto", help="as in murmur batch (default: %(default)s)")
    parser.add_argument("--dtype", default="auto", help="as in murmur batch (default: %(default)s)")
    parser.add_argument("--talks", type=int, default=8, metavar="N", help="of each kind (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=110.0, help="of each talk (default: %(default)s)")
    parser.add_argument(
        "--noise", type=float, default=-21.0, metavar="DB", help="against speech (default: %(default)s)"
    )
    sizes = " ".join(f"{size:g}" for size in SIZES)
    parser.add_argument(
        "--sizes", type=float, nargs="+", default=SIZES, metavar="S", help=f"longest chunks (default: {sizes})"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report and every transcript there")
    return parser.parse_args(arguments)


def _make_report(measured: Sequence[Measured], info: EngineInfo, args: argparse.Namespace) -> Report:
    n_turns = measured[0].row.n_turns
    about = describe_run(
        {
            "model": f"{info.model}, weights sha256 {info.weights_sha256}",
            "run": f"{info.device}, precision {info.precision}, {_ROWS} chunks side by side",
            "talks": f"{args.talks} of {args.seconds:g} s, 2 to 4 people, {n_turns} turns; "
            f"{CLEAN}: noise at -38 to -24 dB, {NOISY}: the same talks, noise at {args.noise:g} dB",
            "scoring": "meeteval; counts are summed over talks",
            "time": "CPU-s/audio-s is without speakers: telling people apart, unless a talk is one chunk in one piece",
        }
    )
    return Report("Chunk size", about, Table(_COLUMNS, tuple(map(_format_row, measured))), tuple(draw(measured)))


def _format_row(measured: Measured) -> tuple[str, ...]:
    row, recognition = measured.row, measured.row.recognition
    return (
        row.name,
        f"{row.max_chunk_s:g}",
        str(recognition.n_chunks),
        str(row.words.length),
        f"{to_percent(row.words):.2f}",
        f"{to_percent(row.speakers):.2f}",
        f"{recognition.gap_s:.1f}",
        str(recognition.n_retries),
        f"{measured.rest:.4f}",
        f"{measured.speakers:.4f}",
        f"{measured.rest + measured.speakers:.4f}",
    )


if __name__ == "__main__":
    main()
