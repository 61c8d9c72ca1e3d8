"""People who are known by a file of their voice: the command, the real diarizer, a scripted engine.

``examples/conversation.flac`` is two readers in turns. Its first 25 s give the files, the rest is transcribed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import pytest
import soundfile

from murmur_cli.cli.app import run
from murmur_cli.errors import UsageError
from murmur_cli.models.slots_diarizer import load_slots_diarizer
from murmur_cli.speakers.enrol import Enrolment
from murmur_cli.speakers.enrolled_voices import hear_enrolled
from murmur_cli.types import Speaker

CONVERSATION = Path(__file__).resolve().parents[2] / "examples" / "conversation.flac"
RATE = 16_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The voices of both readers, both in one file, too little of one, the talk, and an engine."""
    made = tmp_path_factory.mktemp("enrolment")
    samples, rate = soundfile.read(CONVERSATION, dtype="int16")
    assert rate == RATE
    cuts = {
        "winam.wav": (0.5, 15.5),
        "ken.flac": (16.5, 24.8),
        "both.wav": (6.0, 24.8),
        "short.wav": (0.5, 2.5),
        "talk.wav": (25.0, 48.7),
    }
    for name, (start, end) in cuts.items():
        soundfile.write(made / name, samples[round(start * RATE) : round(end * RATE)], RATE)
    model = made / "model"
    model.mkdir()
    (model / "config.json").write_text('{"model_type": "scripted"}', encoding="utf-8")
    entries = [{"start": second + 0.3, "end": second + 0.7, "text": f"word{second}"} for second in range(24)]
    script = {"language": "en", "sample_rate": RATE, "entries": entries}
    (model / "script.json").write_text(json.dumps(script), encoding="utf-8")
    return made


def transcribe(folder: Path, *arguments: str) -> int:
    return run(["batch", str(folder / "talk.wav"), "--model", str(folder / "model"), "--progress", "none", *arguments])


def who(lines: str) -> list[str]:
    return [name for name, _ in groupby(line.partition(":")[0] for line in lines.splitlines())]


@pytest.mark.parametrize(
    ("enrolled", "expected", "unheard"),
    [
        (["Ken T.=ken.flac", "winam=winam.wav"], ["winam", "Ken T.", "winam"], False),
        (["Ken T.=ken.flac"], ["S1", "Ken T.", "S1"], False),
        (["winam=winam.wav"], ["winam", "S1", "winam"], False),
        (["one=winam.wav", "two=winam.wav"], ["S1", "S2", "S1"], True),
    ],
)
def test_whoever_is_known_is_called_by_name_and_the_others_are_numbered(
    folder: Path, capsys: pytest.CaptureFixture[str], enrolled: Sequence[str], expected: list[str], *, unheard: bool
) -> None:
    options = [f"--enrol={each.replace('=', f'={folder}/')}" for each in enrolled]
    assert transcribe(folder, *options) == 0
    said = capsys.readouterr()
    assert who(said.out) == expected
    assert ("nobody in it is surely one or two" in said.err) == unheard


def test_names_can_be_changed_where_they_are_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = [f"--enrol=winam={folder}/winam.wav", "--speaker-names", "winam=Ann,S1=Bob,S2=Cid"]
    assert transcribe(folder, *options) == 0
    said = capsys.readouterr()
    assert who(said.out) == ["Ann", "Bob", "Ann"]
    assert "S2" in said.err
    assert transcribe(folder, "--no-speakers") == 0
    assert {line.rstrip("0123456789") for line in capsys.readouterr().out.splitlines()} == {"word"}


def test_a_file_that_does_not_tell_the_voice_is_refused_before_anything_is_transcribed(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "talk.json"
    for name, reason in (("short.wav", " of clean speech"), ("both.wav", "2 people talk in it"), ("no.wav", "no such")):
        assert transcribe(folder, "--enrol", f"Ann={folder}/{name}", "-o", str(output)) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert [part in line for part in (f"{folder}/{name}: ", reason, "Ann", "; give ")] == [True] * 4
        assert not output.exists()


def test_silence_is_no_voice(tmp_path: Path) -> None:
    path = tmp_path / "silence.wav"
    soundfile.write(path, [0.0] * (5 * RATE), RATE)
    with pytest.raises(UsageError, match=r"0\.0 s of clean speech"):
        hear_enrolled([Enrolment(Speaker("Ann"), str(path))], load_slots_diarizer(), on_note=pytest.fail)
