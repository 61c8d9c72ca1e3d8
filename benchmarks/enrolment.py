#!/usr/bin/env python3
"""How often enrolled people are known by their voices, and how often somebody else is taken for one of them.

Sessions of two, four and six LibriSpeech readers are diarized as murmur batch does it. The first utterances of
each reader are in the sessions, the files to know the reader by are made of the others. The readers are in two
halves; in every session all readers of one half are enrolled, whether they talk in it or not, and the other
half are strangers. "Alone": one at a time is enrolled, so that no other enrolled voice can raise a doubt.
Nothing is chosen here: the two halves should say the same.

Examples: python benchmarks/enrolment.py · python benchmarks/enrolment.py --seeds 0 1 2 3 4 5 --json enrolment.json
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from pathlib import Path

import numpy as np
import soundfile
import soxr
from report import Report, Table, describe_run, format_report, write_report
from sessions import DATA_DIR, Session, make_session

from murmur_cli.audio.source import open_recording
from murmur_cli.score.annotations import load_annotations
from murmur_cli.speakers.diarize import Diarization, Diarizer
from murmur_cli.speakers.enrol import Enrolment, match_enrolled
from murmur_cli.speakers.enrolled_voices import hear_enrolled
from murmur_cli.speakers.limits import ANY_NUMBER
from murmur_cli.speakers.timeline import lay_out_turns
from murmur_cli.speakers.voices import VoiceVector
from murmur_cli.types import SPEECH_RATE, RecordingId, Speaker, Turn

__all__ = [
    "Case",
    "Condition",
    "Meeting",
    "Outcome",
    "Reader",
    "count_names",
    "find_readers",
    "main",
    "share_out",
    "split_readers",
]

_N_SPEAKERS = (2, 4, 6)
_OVERLAP = 0.1
_IN_SESSIONS = 6  # utterances of each reader, of ten
_PAUSE_S = 0.4
_COLUMNS = (
    "enrolled with", "half", "present", "right name", "wrong name", "unnamed", "absent", "name given away", "strangers",
    "given a name",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Condition:
    """How long the files are that people are enrolled with, at most, and what comes over a telephone line."""

    file_s: float
    dialled_file: bool = False
    dialled_session: bool = False
    is_alone: bool = False

    def __str__(self) -> str:
        telephone = (", all by telephone" if self.dialled_session else ", by telephone") if self.dialled_file else ""
        return f"{self.file_s:g} s{telephone}{', alone' if self.is_alone else ''}"


_CONDITIONS = (
    Condition(6.0),
    Condition(10.0),
    Condition(60.0),
    Condition(10.0, is_alone=True),
    Condition(10.0, dialled_file=True),
    Condition(10.0, dialled_file=True, dialled_session=True),
    Condition(10.0, dialled_file=True, dialled_session=True, is_alone=True),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of people; counts of (session, person).

    Of those who are enrolled and ``n_present`` in the session, ``n_right`` have their name and ``n_wrong``
    another's; of those who are ``n_absent`` from it, ``n_taken`` gave their name to somebody; of the
    ``n_strangers``, who are not enrolled, ``n_called`` have a name.
    """

    n_present: int = 0
    n_right: int = 0
    n_wrong: int = 0
    n_absent: int = 0
    n_taken: int = 0
    n_strangers: int = 0
    n_called: int = 0

    @property
    def n_unnamed(self) -> int:
        """Of those who are present."""
        return self.n_present - self.n_right - self.n_wrong

    def __add__(self, other: Outcome) -> Outcome:
        return Outcome(*(mine + theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True)))


@dataclass(frozen=True, slots=True, eq=False)
class Meeting:
    """A diarized session, and which reader each of its speakers is."""

    name: str
    diarization: Diarization
    reader_of: Mapping[Speaker, Speaker]
    readers: frozenset[Speaker]


@dataclass(frozen=True, slots=True)
class Reader:
    """Somebody of whom there are utterances in the sessions, and others to know the voice by."""

    name: Speaker
    utterances: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """One session under one condition, with one half enrolled."""

    condition: Condition
    half: str
    session: str
    outcome: Outcome


def main(arguments: Sequence[str] | None = None) -> None:
    args = _parse(arguments)
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as the command does; it is read when torch is imported
    from murmur_cli.models.slots_diarizer import load_slots_diarizer  # noqa: PLC0415 - after the line above

    diarizer = load_slots_diarizer()
    with tempfile.TemporaryDirectory(prefix="murmur-benchmark-", dir=args.scratch) as folder:
        readers = share_out(args.data, Path(folder))
        sessions = list(_iter_sessions(Path(folder), minutes=args.minutes, seeds=args.seeds))
        start = time.process_time()
        plain = [_diarize(session.audio, session.audio.with_suffix(".rttm"), diarizer) for session in sessions]
        diarizing = (time.process_time() - start) / sum(session.duration_s for session in sessions)
        dialled = [_diarize(_dial(each.audio), each.audio.with_suffix(".rttm"), diarizer) for each in sessions]
        cases = [
            Case(condition, half, meeting.name, count_names(meeting, enrolled, alone=condition.is_alone))
            for half, members in split_readers(readers).items()
            for condition in _CONDITIONS
            for enrolled in [hear_enrolled(_write_files(members, Path(folder), condition), diarizer, on_note=print)]
            for meeting in (dialled if condition.dialled_session else plain)
        ]
    report = _make_report(cases, minutes=args.minutes, diarizing=diarizing)
    print(format_report(report))
    if args.json:
        write_report(args.json, report, [asdict(case) for case in cases])


def share_out(data: Path, folder: Path) -> list[Reader]:
    """Make a data folder with the first utterances of each reader for ``make_session``, and keep the others."""
    source, target = data / "librispeech", folder / "data" / "librispeech"
    target.mkdir(parents=True)
    (target / "audio").symlink_to(source / "audio")
    shutil.copytree(data.parent / "tools", folder / "tools")  # a link would lead its ../data back to all utterances
    refs: dict[str, list[str]] = {}
    for line in (source / "refs.jsonl").read_text(encoding="utf-8").splitlines():
        refs.setdefault(json.loads(line)["speaker"], []).append(line)
    spoken = [line for lines in refs.values() for line in lines[:_IN_SESSIONS]]
    (target / "refs.jsonl").write_text("".join(f"{line}\n" for line in spoken), encoding="utf-8")
    return [
        Reader(Speaker(name), tuple(source / json.loads(line)["audio"] for line in lines[_IN_SESSIONS:]))
        for name, lines in sorted(refs.items())
    ]


def split_readers(readers: Sequence[Reader]) -> dict[str, list[Reader]]:
    """Split people into two halves, by turns."""
    return {"first": list(readers[::2]), "second": list(readers[1::2])}


def count_names(meeting: Meeting, enrolled: Mapping[Speaker, VoiceVector], *, alone: bool) -> Outcome:
    """Name the speakers of a session, and compare with who they are; ``alone``: for each who is enrolled apart."""
    if alone:
        apart = ({name: voice} for name, voice in enrolled.items())
        return sum((count_names(meeting, each, alone=False) for each in apart), Outcome())
    names = match_enrolled(enrolled, meeting.diarization.voices)
    called: dict[Speaker, set[Speaker]] = {}
    for speaker, name in names.items():
        called.setdefault(meeting.reader_of[speaker], set()).add(name)
    present, strangers = meeting.readers & enrolled.keys(), meeting.readers - enrolled.keys()
    absent = enrolled.keys() - meeting.readers
    return Outcome(
        n_present=len(present),
        n_right=sum(called.get(reader) == {reader} for reader in present),
        n_wrong=sum(bool(called.get(reader, set()) - {reader}) for reader in present),
        n_absent=len(absent),
        n_taken=len(absent & set(names.values())),
        n_strangers=len(strangers),
        n_called=len(strangers & called.keys()),
    )


def find_readers(turns: Sequence[Turn], spoken: Sequence[Turn]) -> dict[Speaker, Speaker]:
    """Find the reader of each speaker: whose turns have most in common with the speaker's."""
    timelines = lay_out_turns(spoken)
    found: dict[Speaker, Speaker] = {}
    for speaker, timeline in lay_out_turns(turns).items():
        common = {
            reader: float(theirs.measure_overlaps(timeline.starts, timeline.ends).sum())
            for reader, theirs in timelines.items()
        }
        found[speaker] = max(common, key=lambda reader: common[reader])
    return found


def _iter_sessions(folder: Path, *, minutes: float, seeds: Sequence[int]) -> Iterator[Session]:
    for n_speakers, seed in itertools.product(_N_SPEAKERS, seeds):
        yield make_session(
            folder, data=folder / "data", minutes=minutes, n_speakers=n_speakers, seed=seed, overlap=_OVERLAP
        )


def _diarize(audio: Path, reference: Path, diarizer: Diarizer) -> Meeting:
    (annotation,) = load_annotations(reference)
    spoken = [Turn(each.start, each.end, each.speaker) for each in annotation.turns]
    with open_recording(str(audio), recording_id=RecordingId(0), sample_rate=SPEECH_RATE) as recording:
        diarization = diarizer.turns(recording.iter_vad_blocks(), ANY_NUMBER)
    readers = frozenset(turn.speaker for turn in spoken)
    return Meeting(annotation.name, diarization, find_readers(diarization.turns, spoken), readers)


def _write_files(readers: Sequence[Reader], folder: Path, condition: Condition) -> list[Enrolment]:
    """Write for each reader the file that they are enrolled with."""
    enrolments = []
    for reader in readers:
        parts = [soundfile.read(path, dtype="float32")[0] for path in reader.utterances]
        pause = np.zeros(round(_PAUSE_S * SPEECH_RATE), np.float32)
        samples = np.concatenate([piece for part in parts for piece in (part, pause)])
        path = folder / f"{reader.name}.wav"
        soundfile.write(path, samples[: round(condition.file_s * SPEECH_RATE)], SPEECH_RATE)
        enrolments.append(Enrolment(reader.name, str(_dial(path) if condition.dialled_file else path)))
    return enrolments


def _dial(path: Path) -> Path:
    """Write beside a file how it sounds at the other end of a telephone line: 8 kHz, G.711."""
    samples, rate = soundfile.read(path, dtype="float32")
    dialled = path.with_name(f"{path.stem}-telephone.wav")
    soundfile.write(dialled, soxr.resample(samples, rate, 8_000), 8_000, subtype="ULAW")
    return dialled


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5.0, help="of each session (default: %(default)s)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="of the sessions (default: 0 1 2)")
    parser.add_argument("--data", type=Path, default=DATA_DIR, help="folder of the test data (default: %(default)s)")
    parser.add_argument("--scratch", type=Path, help="folder for the sessions (default: the system's)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report and every session there")
    return parser.parse_args(arguments)


def _make_report(cases: Sequence[Case], *, minutes: float, diarizing: float) -> Report:
    n_sessions = len({case.session for case in cases})
    about = describe_run(
        {
            "sessions": f"{n_sessions} of {minutes:g} min, 2, 4 and 6 readers of LibriSpeech test-other, every tenth "
            "turn begins before the one ahead has ended",
            "enrolled": "other utterances of the same chapter than those in the sessions; a row sums over sessions",
            "diarization": f"{diarizing:.4f} CPU-s/audio-s",
        }
    )
    rows = []
    for half, condition in dict.fromkeys((case.half, case.condition) for case in cases):
        outcomes = [case.outcome for case in cases if (case.half, case.condition) == (half, condition)]
        total = sum(outcomes, Outcome())
        present = (total.n_present, total.n_right, total.n_wrong, total.n_unnamed)
        others = (total.n_absent, total.n_taken, total.n_strangers, total.n_called)
        rows.append((str(condition), half, *map(str, present + others)))
    return Report("Enrolled voices", about, Table(_COLUMNS, tuple(rows)), ())


if __name__ == "__main__":
    main()
