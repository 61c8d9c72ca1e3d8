"""Awkward recordings through the installed command with the real default weights."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import jiwer
import pytest
from conftest import MURMUR, Finished
from whisper_normalizer.english import EnglishTextNormalizer

pytestmark = [pytest.mark.data, pytest.mark.weights]

# All of these say the same: in a video, after a minute of silence, by telephone, clipped.
SPOKEN = ("audio_starts_at_5s.mp4", "lead_silence_60s.flac", "telephone_mulaw_8k.wav", "clipped_+30dB.wav")
SILENT = ("music_chord_30s.wav", "noise_floor_-60dB_30s.wav", "silence_digital_30s.wav", "tone_440_10s.wav")
BROKEN = ("text.wav", "video_no_audio.mp4", "zero_bytes.wav")
DAMAGED = ("mp3_truncated.mp3",)
REPEATED = ("repeat_x20.flac",)


@pytest.fixture(scope="module")
def finished(awkward_inputs: Path, whisper_base: Path, tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """One run over all of them."""
    del whisper_base
    folder = tmp_path_factory.mktemp("transcripts")
    paths = [awkward_inputs / name for name in (*SPOKEN, *SILENT, *BROKEN, *DAMAGED, *REPEATED)]
    done = subprocess.run(
        [MURMUR, "batch", *paths, "-f", "json", "-o", f"{folder}/"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=300,
        check=False,
    )
    (folder / "stderr").write_bytes(done.stderr)
    return Finished(os.fsencode(folder), done.stderr.decode(), done.returncode)


def words(finished: Finished, name: str) -> str:
    path = Path(os.fsdecode(finished.stdout)) / f"{Path(name).stem}.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    for segment in document["segments"]:
        assert 0 <= segment["start"] <= segment["end"] <= document["audio"]["duration"]
    return " ".join(segment["text"] for segment in document["segments"])


def test_the_code_is_3_and_each_trouble_is_one_line(finished: Finished) -> None:
    assert finished.code == 3
    assert "Traceback" not in finished.stderr
    for name in (*BROKEN, *DAMAGED):
        assert sum(f"{name}: " in line for line in finished.stderr.splitlines()) == 1


@pytest.mark.parametrize("name", SPOKEN)
def test_speech_is_found_in_any_clothes(finished: Finished, name: str, data_dir: Path) -> None:
    stm = (data_dir / "calls" / "katiesteve_mono.stm").read_text(encoding="utf-8")
    reference = " ".join(line.split(maxsplit=5)[5] for line in stm.splitlines())
    normalize = EnglishTextNormalizer()
    assert jiwer.wer(normalize(reference), normalize(words(finished, name))) < 0.25


@pytest.mark.parametrize("name", SILENT)
def test_nothing_is_invented_where_nobody_speaks(finished: Finished, name: str) -> None:
    assert words(finished, name) == ""


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_no_recording_gives_no_file(finished: Finished, name: str) -> None:
    folder = Path(os.fsdecode(finished.stdout))
    assert not (folder / f"{Path(name).stem}.json").exists()


def test_what_is_left_of_a_damaged_file_is_transcribed(finished: Finished) -> None:
    assert len(words(finished, DAMAGED[0]).split()) > 5


def test_true_repeats_stay(finished: Finished) -> None:
    assert words(finished, REPEATED[0]).lower().count("tell me what happened") == 20
    assert REPEATED[0] not in finished.stderr


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter, unlike pytest's own."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


def test_a_file_that_may_not_be_read_is_said(open_folder: Path, data_dir: Path) -> None:
    shutil.copy(data_dir / "speech" / "jfk.flac", open_folder / "secret.flac")
    (open_folder / "secret.flac").chmod(0)
    (open_folder / "config.json").write_text('{"model_type": "scripted"}')
    (open_folder / "script.json").write_text('{"language": "en", "sample_rate": 16000, "entries": []}')
    as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    done = subprocess.run(
        [*as_nobody, MURMUR, "batch", "secret.flac", "--model", ".", "--no-resume"],
        cwd=open_folder,
        env=os.environ | dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"), str(open_folder)),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("murmur: secret.flac: ")
