"""From the files of enrolled people to their voices, with a diarizer that finds what it was told."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pytest
import soundfile

from murmur_cli.errors import ExitCode, UsageError
from murmur_cli.speakers.diarize import Diarization, Voice
from murmur_cli.speakers.enrol import Enrolment
from murmur_cli.speakers.enrolled_voices import hear_enrolled
from murmur_cli.speakers.limits import ANY_NUMBER, SpeakerLimits
from murmur_cli.speakers.voices import VoiceVector
from murmur_cli.types import SPEECH_RATE, Samples, Speaker

ANN, BOB = Speaker("Ann"), Speaker("Bob")
AXES = np.eye(3, dtype=np.float32)


class ScriptedDiarizer:
    """Finds for each file in turn the voices that it was told: seconds of clean speech, and how they sound."""

    def __init__(self, *files: Sequence[tuple[float, VoiceVector]]) -> None:
        self._files = list(files)
        self.n_samples: list[int] = []

    def turns(self, blocks: Iterable[Samples], limits: SpeakerLimits) -> Diarization:
        assert limits == ANY_NUMBER
        self.n_samples.append(sum(len(block) for block in blocks))
        found = self._files.pop(0)
        voices = (Voice(Speaker(f"S{i}"), vector, seconds) for i, (seconds, vector) in enumerate(found, start=1))
        return Diarization((), tuple(voices), forced=False)


def write(folder: Path, name: str, seconds: float = 4.0, rate: int = 8_000) -> str:
    noise = np.random.default_rng(0).normal(0, 0.01, round(seconds * rate))
    soundfile.write(folder / name, noise, rate)
    return str(folder / name)


def refuse(enrolment: Enrolment, *found: tuple[float, VoiceVector]) -> str:
    with pytest.raises(UsageError) as caught:
        hear_enrolled([enrolment], ScriptedDiarizer(found), on_note=pytest.fail)
    assert caught.value.where == enrolment.file
    assert caught.value.hint
    assert caught.value.exit_code is ExitCode.USAGE
    return caught.value.problem


def test_each_name_has_the_voice_of_its_file(tmp_path: Path) -> None:
    enrolments = [Enrolment(BOB, write(tmp_path, "b.wav")), Enrolment(ANN, write(tmp_path, "a.flac", 5.0, 48_000))]
    diarizer = ScriptedDiarizer([(3.0, AXES[1])], [(4.5, AXES[0])])
    voices = hear_enrolled(enrolments, diarizer, on_note=pytest.fail)
    assert list(voices) == [BOB, ANN]
    np.testing.assert_array_equal(list(voices.values()), [AXES[1], AXES[0]])
    assert diarizer.n_samples == [4 * SPEECH_RATE, 5 * SPEECH_RATE]


def test_of_a_long_file_two_minutes_are_heard(tmp_path: Path) -> None:
    diarizer = ScriptedDiarizer([(90.0, AXES[0])])
    hear_enrolled([Enrolment(ANN, write(tmp_path, "a.wav", 200.0))], diarizer, on_note=pytest.fail)
    assert diarizer.n_samples == [120 * SPEECH_RATE]


def test_too_little_speech_is_refused(tmp_path: Path) -> None:
    enrolment = Enrolment(ANN, write(tmp_path, "a.wav"))
    assert "2.9 s" in refuse(enrolment, (2.9, AXES[0]))
    assert "0.0 s" in refuse(enrolment)


def test_two_people_are_refused(tmp_path: Path) -> None:
    enrolment = Enrolment(ANN, write(tmp_path, "a.wav"))
    assert "(20.0 s, 3.0 s)" in refuse(enrolment, (3.0, AXES[1]), (20.0, AXES[0]))
    assert "3 people" in refuse(enrolment, (20.0, AXES[0]), (1.5, AXES[1]), (1.5, AXES[2]))


def test_a_word_of_somebody_else_is_left_out_and_said(tmp_path: Path) -> None:
    notes: list[str] = []
    path = write(tmp_path, "a.wav")
    diarizer = ScriptedDiarizer([(1.9, AXES[1]), (20.0, AXES[0])])
    voices = hear_enrolled([Enrolment(ANN, path)], diarizer, on_note=notes.append)
    np.testing.assert_array_equal(voices[ANN], AXES[0])
    (note,) = notes
    assert note.startswith(f"{path}: 1.9 s")


@pytest.mark.parametrize("content", [None, b"", b"this is not audio\n"])
def test_a_file_that_cannot_be_heard_is_refused_by_its_name(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "a.wav"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError, match="Ann") as caught:
        hear_enrolled([Enrolment(ANN, str(path))], ScriptedDiarizer(), on_note=pytest.fail)
    assert caught.value.where == str(path)


def test_what_is_wrong_with_a_file_is_said(tmp_path: Path) -> None:
    path = Path(write(tmp_path, "a.wav"))
    path.write_bytes(path.read_bytes()[: 8_000 * 2])  # 1 s of 4 s
    notes: list[str] = []
    hear_enrolled([Enrolment(ANN, str(path))], ScriptedDiarizer([(3.0, AXES[0])]), on_note=notes.append)
    (note,) = notes
    assert note.startswith(f"{path}: decoded 1.0 s of 4.0 s")


def test_people_who_sound_alike_are_said(tmp_path: Path) -> None:
    enrolments = [Enrolment(Speaker(name), write(tmp_path, f"{name}.wav")) for name in ("Ann", "Bob", "Cid")]
    between = (AXES[0] + AXES[1]) / np.float32(2**0.5)
    notes: list[str] = []
    diarizer = ScriptedDiarizer([(5.0, AXES[0])], [(5.0, AXES[2])], [(5.0, between)])
    hear_enrolled(enrolments, diarizer, on_note=notes.append)
    (note,) = notes
    assert note.startswith("Ann and Cid: ")
