"""Every awkward recording and every awkward name, through the command in this process.

The engine is scripted (a word every quarter of a second, wherever speech is found), audio and VAD are
real. What each input must give is written down here: how it ends, and how long it is.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

import jsonschema
import pytest

from murmur_cli.cli.app import run
from murmur_cli.transcript import formats

pytestmark = pytest.mark.data


@dataclass(frozen=True)
class Expected:
    """How an input must end. ``duration`` is in seconds, None where nothing is written."""

    code: int
    duration: float | None = None
    speech: bool = False


def speech(duration: float, code: int = 0) -> Expected:
    return Expected(code, duration, speech=True)


def no_speech(duration: float, code: int = 0) -> Expected:
    return Expected(code, duration)


HOW = ("--speakers", "none", "--progress", "none")
ERROR = Expected(1)
WHOLE = 19.18  # seconds: the conversation that most inputs are made of

MADE = {
    "aac.m4a": speech(WHOLE),
    "amrnb.amr": speech(14.24, 3),  # its encoder left packets that no decoder reads
    "audio_starts_at_5s.mp4": speech(24.2),
    "callcentre_stereo_8k.wav": speech(53.86),
    "clipped_+30dB.wav": speech(WHOLE),
    "data_size_zero.wav": speech(10),
    "dc_offset_0.3.wav": speech(WHOLE),
    "f32.wav": speech(10),
    "f32_nan_inf.wav": ERROR,
    "f32_over_full_scale.wav": speech(10),
    "f64.wav": speech(10),
    "fifty_ms.wav": no_speech(0.05),
    "gap_4min.flac": speech(247.05),
    "header_only.wav": ERROR,
    "lead_silence_60s.flac": speech(79.18),
    "mp3_concat_mixed_rate.mp3": speech(21.1),
    "mp3_hole.mp3": speech(9.5, 3),
    "mp3_junk_front.mp3": speech(9.5, 3),
    "mp3_truncated.mp3": speech(4.9, 3),
    "mp4_moov_missing.mp4": ERROR,
    "music_chord_30s.wav": no_speech(30),
    "noise_floor_-60dB_30s.wav": no_speech(30),
    "odd_length.wav": speech(5, 3),
    "one_sample.wav": no_speech(0),
    "opus.ogg": speech(WHOLE),
    "out_of_phase.wav": speech(10),
    "pts_gap_8s.mka": speech(WHOLE + 8),
    "rate11025.wav": speech(10),
    "rate192k.wav": speech(5),
    "raw.aac": speech(19.26),
    "repeat_x20.flac": speech(70.2),
    "right_channel_silent.wav": speech(10),
    "s24.wav": speech(10),
    "s24_96k_stereo.wav": speech(10),
    "silence_digital_30s.wav": no_speech(30),
    "streamed_ffffffff.wav": speech(10),
    "surround51_centre_only.wav": speech(10),
    "tail_silence_60s.flac": speech(79.18),
    "telephone_alaw_8k.wav": speech(WHOLE),
    "telephone_mulaw_8k.wav": speech(WHOLE),
    "text.wav": ERROR,
    "tone_440_10s.wav": no_speech(10),
    "truncated.wav": speech(6.25, 3),
    "two_audio_tracks.mka": speech(11.1),
    "u8.wav": speech(10),
    "vbr_id3_cover.mp3": speech(WHOLE),
    "very_low_-50dB.wav": speech(WHOLE),
    "video.mkv": speech(19.26),
    "video.mov": speech(WHOLE),
    "video.mp4": speech(WHOLE),
    "video_no_audio.mp4": ERROR,
    "voice.webm": speech(WHOLE),
    "vorbis.ogg": speech(WHOLE),
    "wma.wma": speech(WHOLE),
    "zero_bytes.wav": ERROR,
}

FOUND = {
    "Apple  voice memo.m4a": no_speech(1.02),
    "adts-0-frame.mp3": no_speech(0.18, 3),  # its header says 217.9 s
    "alaw.wav": no_speech(0.1),
    "almost_silent.wav": no_speech(0.62),
    "asf.wma": no_speech(1.07, 3),
    "audio.opus.ogg": no_speech(2.91),
    "big_buck_bunny_small.mp4": no_speech(5.31),
    "bug-non ascii chars.mp3": ERROR,
    "corrupt.mkv": ERROR,
    "digital_silence.wav": no_speech(0.62),
    "exo_bear-vbr-xing-header.mp3": speech(2.78),
    "exo_sample_nb.amr": speech(4.36),
    "exo_sample_rf64.wav": no_speech(0.35),
    "ffmpeg-missing-chunksize.wav": no_speech(0.63),
    "ft_fixture.m4a": no_speech(0.77),
    "ft_fixture.webm": no_speech(0.09),
    "goaudio_padded24b.wav": no_speech(0.08),
    "mulaw.wav": no_speech(0.1),
    "mutagen_8k-4ch-1s-silence.aif": no_speech(1.0),
    "mutagen_emptyfile.mp3": ERROR,
}

UNUSUAL_NAMES = {"dangling.mp3": ERROR, "dir.mp3": ERROR, "pipe.mp3": ERROR}
READABLE_NAME = speech(4.0)  # all others are the same 4 s of speech


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder for the scripted engine: a word every quarter of a second, for 5 minutes."""
    folder = tmp_path_factory.mktemp("script")
    entries = [{"start": i * 0.25, "end": i * 0.25 + 0.2, "text": f"w{i}"} for i in range(1200)]
    (folder / "config.json").write_text('{"model_type": "scripted"}')
    (folder / "script.json").write_text(json.dumps({"language": "en", "sample_rate": 16_000, "entries": entries}))
    return folder


def check(path: Path, expected: Expected, *, script: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = folder / "out.json"
    code = run(["batch", str(path), "-o", str(output), *HOW, "--model", str(script)])
    said = capsys.readouterr()
    assert code == expected.code, said.err
    assert said.out == ""
    lines = said.err.splitlines()
    assert all(line.startswith("murmur: ") for line in lines), said.err
    if code:
        assert len(lines) in (1, 2), said.err  # damage, and that what is left is silent
        assert not output.is_file() or code == 3
    if expected.duration is None:
        return
    document = json.loads(output.read_text(encoding="utf-8"))
    schema = Path(formats.__file__).parent.parent / "transcript.schema.json"
    jsonschema.validate(document, json.loads(schema.read_text(encoding="utf-8")))
    duration = document["audio"]["duration"]
    assert duration == pytest.approx(expected.duration, abs=0.06)
    assert bool(document["segments"]) == expected.speech
    assert all(segment["end"] <= duration for segment in document["segments"])


@pytest.mark.parametrize("name", sorted(MADE))
def test_made_input(
    name: str, awkward_inputs: Path, script: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check(awkward_inputs / name, MADE[name], script=script, folder=tmp_path, capsys=capsys)


@pytest.mark.parametrize("name", sorted(FOUND))
def test_found_input(
    name: str, data_dir: Path, script: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check(data_dir / "formats" / name, FOUND[name], script=script, folder=tmp_path, capsys=capsys)


def test_every_name_is_read_and_gives_its_name_to_the_transcript(
    awkward_inputs: Path, script: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = sorted(path.name for path in (awkward_inputs / "names").iterdir())
    # two names with one stem would write one file; the superuser may read the unreadable one
    names = [name for name in names if name not in ("unreadable.mp3", "wrong.wav")]
    good = [name for name in names if name not in UNUSUAL_NAMES]
    paths = [str(awkward_inputs / "names" / name) for name in names]
    assert run(["batch", *paths, "-o", f"{tmp_path}/", *HOW, "--model", str(script)]) == 3
    said = capsys.readouterr()
    assert said.out == ""
    assert len(said.err.splitlines()) == len(UNUSUAL_NAMES)
    assert {Path(name).stem + ".txt" for name in good} == {path.name for path in tmp_path.iterdir()}
    assert len(good) >= 18
    for path in tmp_path.iterdir():
        assert path.read_text(encoding="utf-8").startswith("w")


def test_the_matrix_holds_every_input(awkward_inputs: Path, data_dir: Path) -> None:
    made = {path.name for path in awkward_inputs.iterdir() if path.is_file() and path.suffix != ".json"}
    assert made == set(MADE)
    assert {path.name for path in (data_dir / "formats").iterdir()} == set(FOUND)


def test_invalid_bytes_in_a_name_leave_valid_json(
    awkward_inputs: Path, script: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = os.fsdecode(b"invalid_utf8_\xff.mp3")
    check(awkward_inputs / "names" / name, READABLE_NAME, script=script, folder=tmp_path, capsys=capsys)
    assert "invalid_utf8_\ufffd.mp3" in (tmp_path / "out.json").read_text(encoding="utf-8")
