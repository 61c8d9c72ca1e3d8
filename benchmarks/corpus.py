#!/usr/bin/env python3
"""The published protocol on a corpus of yours: errors of words and speakers, and two speeds.

DIR holds recordings beside a stm, an rttm, or both, of the same name (talk.wav, talk.stm, talk.rttm); or in folders
of it called wav, stm and rttm. All recordings go through one run, with speakers as murmur batch finds them. tcpWER
has a collar of 5 s; the speeds are audio time for each second of the model alone, and of all that is done between
closed files and transcripts: decoding, finding speech, the model, speakers.

Examples: python benchmarks/corpus.py ami-ihm/test · python benchmarks/corpus.py talks --model whisper-small
--device cuda --json talks.json --output transcripts
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from recognise import Recognition, recognise
from report import Report, Table, describe_run, format_report, write_report

from murmur_cli.engine import Answer, Engine, Extras, Job
from murmur_cli.listen import SpeakerModels
from murmur_cli.options import NORMALIZERS, ModelOptions, ScoreOptions, SpeakerOptions, VadOptions
from murmur_cli.score import Figure, Score, score_pairs
from murmur_cli.score.sessions import Pair, load_pairs
from murmur_cli.speech.vad import Vad
from murmur_cli.transcript.formats import render_transcript
from murmur_cli.transcript.writing import write_text_atomically
from murmur_cli.types import EngineInfo, Samples

__all__ = ["Item", "Measured", "TimedEngine", "find_items", "main", "score_corpus", "transcribe_corpus"]

_AUDIO = (".wav", ".flac", ".mp3", ".m4a", ".ogg", ".opus", ".sph", ".mp4")
_COLUMNS = (
    "metric",
    "rate %",
    "errors",
    "of",
    "ins",
    "del",
    "sub",
    "missed s",
    "false alarm s",
    "confusion s",
    "collar s",
)


@dataclass(frozen=True, slots=True)
class Item:
    """A recording and what is known about it: a stm, an rttm, or both."""

    audio: Path
    references: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Measured:
    """The transcripts, and what they took; ``model_s`` is wall time inside the model."""

    recognition: Recognition
    model_s: float


class TimedEngine:
    """An engine whose own wall time is counted: not that of cutting and reading what it is given."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.seconds = 0.0

    @property
    def sample_rate(self) -> int:
        """The engine's, as all below."""
        return self._engine.sample_rate

    @property
    def info(self) -> EngineInfo:
        """Which model, and how it runs."""
        return self._engine.info

    @property
    def extras(self) -> Extras:
        """What the engine does."""
        return self._engine.extras

    def resolve_language(self, language: str) -> str:
        """The engine's code of a language."""
        return self._engine.resolve_language(language)

    def detect_language(self, samples: Samples) -> str | None:
        """Counted, too: the model does it."""
        start = time.perf_counter()
        try:
            return self._engine.detect_language(samples)
        finally:
            self.seconds += time.perf_counter() - start

    def decode(self, jobs: Iterable[Job]) -> Iterator[Answer]:
        """Count from each request for an answer until it is there, but for what getting jobs takes."""
        answers = self._engine.decode(self._iter_jobs(jobs))
        while True:
            self.seconds -= time.perf_counter()
            answer = next(answers, None)
            self.seconds += time.perf_counter()
            if answer is None:
                return
            yield answer

    def _iter_jobs(self, jobs: Iterable[Job]) -> Iterator[Job]:
        source = iter(jobs)
        while True:
            # All of it is taken out again; a language that is detected meanwhile has been added by itself.
            start = time.perf_counter()
            job = next(source, None)
            self.seconds -= time.perf_counter() - start
            if job is None:
                return
            yield job


def main(arguments: Sequence[str] | None = None) -> None:
    args = _parse(arguments)
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as the command does; it is read when torch is imported
    from murmur_cli.models.diarizers import load_speaker_models  # noqa: PLC0415 - imports torch: after the line above
    from murmur_cli.models.load import load_engine  # noqa: PLC0415
    from murmur_cli.models.silero import load_silero  # noqa: PLC0415

    items = find_items(args.folder)
    engine = load_engine(
        ModelOptions(model=args.model, device=args.device, dtype=args.dtype), on_note=print, on_progress=None
    )
    speaker_models = load_speaker_models(SpeakerOptions().diarizer, offline=False)
    language = None if args.language == "auto" else args.language
    with tempfile.TemporaryDirectory(prefix="murmur-benchmark-") as scratch:
        kept = args.output or Path(scratch) / "transcripts"
        vad = load_silero(VadOptions())
        measured = transcribe_corpus(
            items, engine, vad=vad, speaker_models=speaker_models, language=language, kept=kept
        )
        score = score_corpus(items, kept, ScoreOptions(normalizer=args.normalizer))
    report = _make_report(measured, score, engine.info, folder=args.folder, language=args.language)
    print(format_report(report))
    if args.json:
        write_report(args.json, report, [{**asdict(f), "recordings": score.recordings} for f in score.figures])


def find_items(folder: Path) -> list[Item]:
    """Find the recordings of a corpus that have a reference, in the order of names.

    Raises:
        SystemExit: There is none, or a reference has no recording or several.
    """
    places = [
        place for place in (folder, *(folder / name for name in ("wav", "audio", "stm", "rttm"))) if place.is_dir()
    ]
    files = sorted(file for place in places for file in place.iterdir() if file.is_file())
    references: dict[str, list[Path]] = {}
    for file in files:
        if file.suffix.lower() in (".stm", ".rttm"):
            references.setdefault(file.stem, []).append(file)
    if not references:
        raise SystemExit(f"{folder}: no stm and no rttm in it")
    items = []
    for name in sorted(references):
        audio = [file for file in files if file.stem == name and file.suffix.lower() in _AUDIO]
        if len(audio) != 1:
            raise SystemExit(f"{references[name][0]}: {len(audio)} recordings of this name, not one")
        items.append(Item(audio[0], tuple(references[name])))
    return items


def transcribe_corpus(
    items: Sequence[Item], engine: Engine, *, vad: Vad, speaker_models: SpeakerModels, language: str | None, kept: Path
) -> Measured:
    """Recognise all recordings in one run, and keep the transcripts in a folder.

    Raises:
        MurmurError: A recording cannot be read: no figure is better than a false one.
    """
    timed = TimedEngine(engine)
    paths = [item.audio for item in items]
    recognition = recognise(paths, timed, vad=vad, language=language, speaker_models=speaker_models)
    for item, transcript in zip(items, recognition.transcripts, strict=True):
        path = _find_transcript(item, kept)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text_atomically(path, render_transcript(transcript, "json", word_times=True))
    return Measured(recognition, timed.seconds)


def score_corpus(items: Sequence[Item], kept: Path, options: ScoreOptions) -> Score:
    """Compare the transcripts that are kept in a folder with the references.

    Raises:
        MurmurError: A reference cannot be read.
    """
    return score_pairs([_load_pair(item, _find_transcript(item, kept)) for item in items], options)


def _find_transcript(item: Item, kept: Path) -> Path:
    return kept / "json" / f"{item.audio.stem}.json"


def _load_pair(item: Item, hypothesis: Path) -> Pair:
    """Read what belongs together by the names of the files, whatever their lines call the recording."""
    with tempfile.TemporaryDirectory(prefix="murmur-benchmark-") as scratch:
        for reference in item.references:
            (Path(scratch) / reference.name).symlink_to(reference.resolve())
        (pair,) = load_pairs(Path(scratch), hypothesis)
    name = item.audio.stem
    return Pair(replace(pair.reference, name=name), replace(pair.hypothesis, name=name))


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="DIR", help="recordings with stm or rttm")
    parser.add_argument("--model", default="auto", help="as in murmur batch (default: %(default)s)")
    parser.add_argument("--device", default="auto", help="as in murmur batch (default: %(default)s)")
    parser.add_argument("--dtype", default="auto", help="as in murmur batch (default: %(default)s)")
    parser.add_argument("--language", default="en", help="auto: detect it, file by file (default: %(default)s)")
    parser.add_argument("--normalizer", default="whisper-english", choices=NORMALIZERS, help="(default: %(default)s)")
    parser.add_argument("--output", type=Path, metavar="DIR", help="keep the transcripts there, in a folder json")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report there, with counts by recording")
    return parser.parse_args(arguments)


def _make_report(measured: Measured, score: Score, info: EngineInfo, *, folder: Path, language: str) -> Report:
    recognition = measured.recognition
    counted = sorted({f"{figure.counted_by}, {figure.normalizer or 'overlap counted'}" for figure in score.figures})
    about = describe_run(
        {
            "corpus": f"{folder.name}: {len(score.recordings)} recordings, {recognition.audio_s:.1f} s",
            "model": f"{info.model}, weights sha256 {info.weights_sha256}",
            "run": f"{info.device}, precision {info.precision}, language {language}",
            "speakers": f"as in murmur batch, diarizer {SpeakerOptions().diarizer}",
            "counted by": "; ".join(counted),
        }
    )
    whole = f"{recognition.wall_s:.1f} s wall, {recognition.cpu_s:.1f} s CPU"
    speeds = (
        f"RTFx of the model alone: {recognition.audio_s / measured.model_s:.2f} ({measured.model_s:.1f} s)",
        f"RTFx of the whole: {recognition.audio_s / recognition.wall_s:.2f} ({whole})",
        f"not transcribed: {recognition.gap_s:.1f} s",
        *score.notes,
    )
    rows = tuple(_format_row(figure) for figure in score.figures)
    return Report("Corpus", about, Table(_COLUMNS, rows), speeds)


def _format_row(figure: Figure) -> tuple[str, ...]:
    errors = figure.errors
    counts = asdict(errors)
    kinds = ("insertions", "deletions", "substitutions", "missed", "false_alarm", "confusion")
    return (
        figure.metric,
        "none" if errors.rate is None else f"{100 * errors.rate:.2f}",
        _format_count(errors.errors),
        _format_count(errors.length),
        *(_format_count(counts[kind]) if kind in counts else "" for kind in kinds),
        "" if figure.collar_s is None else f"{figure.collar_s:g}",
    )


def _format_count(count: float) -> str:
    return str(count) if isinstance(count, int) else f"{count:.2f}"


if __name__ == "__main__":
    main()
