#!/usr/bin/env python3
"""Who speaks in a live session: how often that is right when it has to be said at once, and is never changed.

Sessions of two, four and six LibriSpeech readers. Speech is cut into utterances at pauses of half a second, and
after ten seconds; each gets one speaker. "Parts": the same, but utterances are split at shorter pauses first.
Right is what is said by the reader whom the speaker stands for, one to one, as it fits best; possible is what one
answer for each utterance could have: some hold two people, and who speaks at the same time counts, too.
What is chosen in murmur was chosen on spoken digits and on the readers 1688, 2033 and 2609. Sessions of two are of
the three others alone; in those of four, three are others; in those of six, all are there.

Examples: python benchmarks/online_speakers.py · python benchmarks/online_speakers.py --minutes 3 --json online.json
"""

from __future__ import annotations

import argparse
import io
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import soundfile
import soxr
from report import Report, Table, describe_run, format_report, write_report
from scipy.optimize import linear_sum_assignment
from scoring import SpokenTurn
from sessions import DATA_DIR, Session, make_session

from murmur_cli.options import VadOptions
from murmur_cli.speakers.online import OnlineSpeakers, split_at_pauses
from murmur_cli.speakers.timeline import lay_out_turns
from murmur_cli.speakers.voices import LEAST_VOICE_S, SpeakerEmbedder, VoiceVector
from murmur_cli.speech.vad import Vad
from murmur_cli.types import SPEECH_RATE, Samples, Span, Speaker, Turn

__all__ = ["Case", "Spoken", "assign_speakers", "cut_utterances", "judge", "main"]

_SEEDS = {2: (0, 20, 21), 4: (0, 3), 6: (0, 1)}  # by how many speak: who speaks follows from the seed
_KNOWN = frozenset({"1688", "2033", "2609"})  # by what was chosen
_OVERLAP = 0.1
_PAUSE = SPEECH_RATE // 2
_MOST = 10 * SPEECH_RATE
_LATE = 3 * SPEECH_RATE  # from the end, where a pause is as good as ten seconds
_COLUMNS = ("speakers", "line", "answers for", "sessions", "readers known", "answers", "right %", "possible %", "found")

Speech: TypeAlias = tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Spoken:
    """What one answer is for: its spans of speech, and who is said to speak."""

    speech: Speech
    speaker: Speaker


@dataclass(frozen=True, slots=True)
class Case:
    """One session: seconds of speech that are right, that could be, and all of them."""

    n_speakers: int
    line: str
    unit: str
    session: str
    n_readers: int
    n_known: int
    n_answers: int
    n_found: int
    right_s: float
    possible_s: float
    speech_s: float


def main(arguments: Sequence[str] | None = None) -> None:
    args = _parse(arguments)
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as the command does; it is read when torch is imported
    from murmur_cli.models.silero import load_silero  # noqa: PLC0415 - imports torch: after the line above
    from murmur_cli.models.slots_diarizer import load_embedder  # noqa: PLC0415

    vad, embedder = load_silero(VadOptions(speech_pad_ms=0)), load_embedder()
    cases: list[Case] = []
    audio_s, start = 0.0, time.process_time()
    with tempfile.TemporaryDirectory(prefix="murmur-benchmark-", dir=args.scratch) as folder:
        for n_speakers, session in _iter_sessions(Path(folder), data=args.data, minutes=args.minutes):
            samples, _ = soundfile.read(session.audio, dtype="float32")
            for line, heard in (("wide", samples), ("telephone", _dial(samples))):
                audio_s += session.duration_s
                cases += _measure(heard, session, vad=vad, embedder=embedder, n_speakers=n_speakers, line=line)
    report = _make_report(cases, minutes=args.minutes, cpu_s=(time.process_time() - start) / audio_s)
    print(format_report(report))
    if args.json:
        write_report(args.json, report, [asdict(case) for case in cases])


def cut_utterances(speech: Iterable[Span]) -> list[list[Span]]:
    """Cut speech at pauses of half a second; what is longer than ten, at a late pause, or else after ten.

    Args:
        speech: Sorted disjoint spans, without padding, in samples at ``SPEECH_RATE``.
    """
    utterances: list[list[Span]] = []
    end = -_PAUSE
    for span in speech:
        if span.start - end >= _PAUSE:
            utterances.append([])
        start, end = span.start, span.end
        while end - (first := utterances[-1][0].start if utterances[-1] else start) > _MOST:
            limit = first + _MOST
            if start < limit - _LATE:
                utterances[-1].append(Span(start, limit))
                start = limit
            utterances.append([])
        utterances[-1].append(Span(start, end))
    return utterances


def assign_speakers(pieces: Iterable[Speech], voices: Mapping[Speech, VoiceVector]) -> list[Spoken]:
    """Answer for one piece of speech after the other, as a live session does."""
    speakers = OnlineSpeakers()
    return [Spoken(speech, speakers.assign(voices.get(speech), speech_s=_measure_s(speech))) for speech in pieces]


def judge(answers: Sequence[Spoken], turns: Sequence[SpokenTurn]) -> tuple[float, float, float]:
    """Give the seconds of speech that are right, those that could be, and all of them."""
    spoken = _measure_speech(answers, turns)
    names = [answer.speaker for answer in answers]
    by_speaker = np.array([spoken[[name == each for each in names]].sum(0) for name in dict.fromkeys(names)])
    pairs = linear_sum_assignment(by_speaker, maximize=True)
    return float(by_speaker[pairs].sum()), float(spoken.max(1).sum()), float(spoken.sum())


def _measure_s(speech: Speech) -> float:
    return sum(span.n_samples for span in speech) / SPEECH_RATE


def _measure_speech(answers: Sequence[Spoken], turns: Sequence[SpokenTurn]) -> npt.NDArray[np.float64]:
    """Give the seconds that each reader speaks in the speech of each answer, shape (n_answers, n_readers)."""
    timelines = lay_out_turns(Turn(turn.start, turn.end, Speaker(turn.speaker)) for turn in turns)
    spoken = np.zeros((len(answers), len(timelines)))
    for row, answer in zip(spoken, answers, strict=True):
        starts, ends = np.array([(span.start, span.end) for span in answer.speech]).T / SPEECH_RATE
        row[:] = [timeline.measure_overlaps(starts, ends).sum() for timeline in timelines.values()]
    return spoken


def _iter_sessions(folder: Path, *, data: Path, minutes: float) -> Iterator[tuple[int, Session]]:
    for n_speakers, seeds in _SEEDS.items():
        for seed in seeds:
            session = make_session(
                folder, data=data, minutes=minutes, n_speakers=n_speakers, seed=seed, overlap=_OVERLAP
            )
            yield n_speakers, session


def _measure(
    samples: Samples, session: Session, *, vad: Vad, embedder: SpeakerEmbedder, n_speakers: int, line: str
) -> Iterator[Case]:
    utterances = cut_utterances(vad.detect([samples]))
    units = {
        "utterances": [tuple(utterance) for utterance in utterances],
        "parts": [tuple(part) for utterance in utterances for part in split_at_pauses(utterance)],
    }
    voices = {
        speech: embedder.embed(np.concatenate([samples[span.start : span.end] for span in speech]))
        for speech in {speech for pieces in units.values() for speech in pieces}
        if _measure_s(speech) >= LEAST_VOICE_S
    }
    readers = {turn.speaker for turn in session.turns}
    for unit, pieces in units.items():
        answers = assign_speakers(pieces, voices)
        counts = (len(readers), len(readers & _KNOWN), len(answers), len({answer.speaker for answer in answers}))
        yield Case(n_speakers, line, unit, session.audio.stem, *counts, *judge(answers, session.turns))


def _dial(samples: Samples) -> Samples:
    """Send a signal over a telephone line: 8 kHz, G.711."""
    line = io.BytesIO()
    soundfile.write(line, soxr.resample(samples, SPEECH_RATE, 8_000), 8_000, format="WAV", subtype="ULAW")
    line.seek(0)
    narrow, _ = soundfile.read(line, dtype="float32")
    return np.asarray(soxr.resample(narrow, 8_000, SPEECH_RATE), dtype=np.float32)


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0, help="of each session (default: %(default)s)")
    parser.add_argument("--data", type=Path, default=DATA_DIR, help="folder of the test data (default: %(default)s)")
    parser.add_argument("--scratch", type=Path, help="folder for the sessions (default: the system's)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report and every session there")
    return parser.parse_args(arguments)


def _make_report(cases: Sequence[Case], *, minutes: float, cpu_s: float) -> Report:
    about = describe_run(
        {
            "sessions": f"{minutes:g} min, readers of LibriSpeech test-other, every tenth turn begins before the one "
            "ahead has ended; with few readers their sentences come several times",
            "time": f"{cpu_s:.4f} CPU-s/audio-s: speech, and voices for utterances and for parts",
        }
    )
    kinds = dict.fromkeys((case.n_speakers, case.line, case.unit) for case in cases)
    rows = [_format_row([case for case in cases if (case.n_speakers, case.line, case.unit) == kind]) for kind in kinds]
    return Report("Speakers of live sessions", about, Table(_COLUMNS, tuple(rows)), ())


def _format_row(cases: Sequence[Case]) -> tuple[str, ...]:
    first = cases[0]
    speech_s = sum(case.speech_s for case in cases)

    def join(describe: Callable[[Case], str]) -> str:
        return ", ".join(describe(case) for case in cases)

    return (
        str(first.n_speakers),
        first.line,
        first.unit,
        str(len(cases)),
        join(lambda case: f"{case.n_known} of {case.n_readers}"),
        str(sum(case.n_answers for case in cases)),
        f"{100 * sum(case.right_s for case in cases) / speech_s:.1f}",
        f"{100 * sum(case.possible_s for case in cases) / speech_s:.1f}",
        join(lambda case: str(case.n_found)),
    )


if __name__ == "__main__":
    main()
