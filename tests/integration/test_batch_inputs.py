"""``murmur batch`` on folders, lists, pipes and parts of files, in this process: real audio, a scripted engine."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import av
import numpy as np
import pytest
import soundfile
from conftest import ROOT

from murmur_cli.cli.app import run
from murmur_cli.models import load
from murmur_cli.models.scripted import load_scripted

RATE = 16_000
SPEECH, _ = soundfile.read(ROOT / "examples" / "conversation.flac", dtype="float32", frames=6 * RATE)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder, but for a model that says a word every half second."""
    monkeypatch.chdir(tmp_path)
    entries = [{"start": i * 0.5, "end": i * 0.5 + 0.25, "text": f"w{i}"} for i in range(200)]
    Path("model").mkdir()
    Path("model/config.json").write_text('{"model_type": "scripted"}')
    Path("model/script.json").write_text(json.dumps({"language": "en", "sample_rate": RATE, "entries": entries}))
    return tmp_path


def write(name: str, seconds: float = 2.0) -> str:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    with Path(name).open("wb") as file:
        soundfile.write(file, SPEECH[: round(seconds * RATE)], RATE, subtype="PCM_16", format="WAV")
    return name


def transcribe(*arguments: str) -> int:
    return run(["batch", *arguments, "--model", "model", "--speakers", "none", "--progress", "none"])


def pipe(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def read_document(name: str) -> dict[str, object]:
    document = json.loads(Path(name).read_text(encoding="utf-8"))
    assert isinstance(document, dict)
    return document


def starts_of(document: dict[str, object]) -> list[float]:
    return [segment["start"] for segment in document["segments"]]  # type: ignore[attr-defined, index]


def test_a_folder_becomes_a_folder_of_transcripts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    loaded = []
    monkeypatch.setattr(load, "load_scripted", lambda folder: loaded.append(folder) or load_scripted(folder))
    for name in ("d/a.wav", "d/sub/b.wav", "d/sub/new\nline %03d.wav", "d/sub/bad\udcff.wav"):
        write(name)
    Path("d/notes.txt").write_text("no recording")
    Path("d/broken.mp3").write_text("no recording either")
    assert transcribe("-r", "d", "-o", "out", "-f", "txt,srt") == 3
    said = capsys.readouterr()
    assert said.out == ""
    lines = said.err.splitlines()
    assert len(lines) == 2
    assert "1 file is skipped" in lines[0]
    assert lines[1].startswith("murmur: d/broken.mp3: ")
    made = {str(path.relative_to("out")) for path in Path("out").rglob("*") if path.is_file()}
    stems = ("a", "sub/b", "sub/new\nline %03d", "sub/bad\udcff")
    assert made == {f"{stem}.{ext}" for stem in stems for ext in ("txt", "srt")}
    assert all(Path("out", f"{stem}.txt").read_text().startswith("w") for stem in stems)
    assert len(loaded) == 1


def test_a_folder_with_two_recordings_of_one_name_is_refused_before_any_work(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(load, "load_scripted", lambda folder: pytest.fail("the model is loaded"))
    write("d/a.wav")
    write("d/a.aiff")
    assert transcribe("d", "-o", "out") == 2
    assert "--output-template" in capsys.readouterr().err
    assert not Path("out").exists()


def test_a_list_from_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    write("a.wav")
    write("x/b.wav")
    pipe(monkeypatch, b"a.wav\0gone.wav\0x/b.wav\0")
    assert transcribe("--files-from", "-", "--null", "-o", "out") == 3
    assert sorted(path.name for path in Path("out").iterdir()) == ["a.txt", "b.txt"]


def test_an_empty_list_is_done(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    pipe(monkeypatch, b"")
    assert transcribe("--files-from", "-") == 0
    assert capsys.readouterr().out == ""


def test_a_pipe_may_hold_a_file_whose_index_is_at_its_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with av.open("a.m4a", "w") as output:
        stream = output.add_stream("aac", rate=RATE, layout="mono")
        frame = av.AudioFrame.from_ndarray(SPEECH[None].copy(), format="flt", layout="mono")
        frame.sample_rate = RATE
        output.mux(stream.encode(frame))
        output.mux(stream.encode(None))
    content = Path("a.m4a").read_bytes()
    assert content.index(b"moov") > content.index(b"mdat")
    pipe(monkeypatch, content)
    assert transcribe("-", "-f", "json") == 0
    piped = json.loads(capsys.readouterr().out)
    assert piped["audio"]["source"] == "-"
    assert transcribe("a.m4a", "-o", "a.json") == 0
    assert piped["segments"] == read_document("a.json")["segments"] != []
    pipe(monkeypatch, b"")
    assert transcribe("-") == 1
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_samples_without_a_header_from_a_pipe(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    right = (np.stack([0 * SPEECH, SPEECH], axis=1) * 2**15).astype("<i2").tobytes()
    pipe(monkeypatch, right)
    raw = ("--input-format", "s16le", "--input-channels", "2", "--channels", "right")
    assert transcribe("-", *raw) == 0
    assert capsys.readouterr().out.startswith("w")


def test_times_of_an_excerpt_are_those_of_the_file() -> None:
    write("a.wav", 6.0)
    options = ("-f", "json,srt", "--max-chunk-s", "10")
    assert transcribe("a.wav", *options, "-o", "part", "--start", "0:02", "--end", "4.5") == 0
    part = read_document("part/a.json")
    assert part["audio"]["duration"] == 4.5  # type: ignore[index]
    assert starts_of(part)[:2] == [2.0, 2.5]
    assert all(2.0 <= start < 4.5 for start in starts_of(part))
    assert Path("part/a.srt").read_text().startswith("1\n00:00:02,000 --> 00:00:02,500\n")


def test_captions_of_a_film_fit_the_picture_where_the_sound_comes_late() -> None:
    with av.open("late.mkv", "w") as output:
        pictures = output.add_stream("libx264", rate=1)
        pictures.width = pictures.height = 64
        pictures.pix_fmt = "yuv420p"
        stream = output.add_stream("flac", rate=RATE, layout="mono")
        for _ in range(10):
            output.mux(pictures.encode(av.VideoFrame.from_ndarray(np.zeros((64, 64, 3), np.uint8))))
        output.mux(pictures.encode(None))
        frame = av.AudioFrame.from_ndarray((SPEECH[None] * 2**15).astype(np.int16), format="s16", layout="mono")
        frame.sample_rate, frame.pts = RATE, 5 * RATE
        output.mux(stream.encode(frame))
        output.mux(stream.encode(None))
    write("plain.wav", 6.0)
    assert transcribe("late.mkv", "plain.wav", "-f", "json", "-o", "out") == 0
    late, plain = read_document("out/late.json"), read_document("out/plain.json")
    assert late["audio"]["duration"] == 11.0  # type: ignore[index]
    assert 4.5 <= starts_of(late)[0] <= starts_of(plain)[0] + 5.5


@pytest.mark.parametrize(
    "arguments",
    [
        "a.wav --channels middle",
        "a.wav --audio-stream 0",
        "a.wav --start x",
        "a.wav --start 5 --end 4",
        "a.wav --input-format mp3",
        "a.wav --input-rate 8000",
        "a.wav --null",
        "a.wav --include=",
        "a.wav --files-from gone",
        "a.wav --output-template {what}",
        "a.wav --output-template {stem} -o -",
        "a.wav --max-line-width 5",
        "a.wav --max-lines 0",
        "a.wav --max-cps 0",
        "a.wav --min-duration 9",
        "a.wav --max-duration 0",
        "a.wav --max-duration x",
        "",
    ],
)
def test_bad_values_are_one_line_and_2(arguments: str, capsys: pytest.CaptureFixture[str]) -> None:
    write("a.wav")
    assert transcribe(*arguments.split()) == 2
    said = capsys.readouterr()
    assert said.out == ""
    (line,) = said.err.splitlines()
    assert line.startswith("murmur: ")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [("--channels 2", "no channel 2"), ("--audio-stream 2", "no number 2"), ("--start 3", "ends at 2.0 s")],
)
def test_what_a_file_does_not_have_is_an_error_of_that_file(
    arguments: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write("a.wav")
    assert transcribe("a.wav", *arguments.split()) == 1
    said = capsys.readouterr()
    assert said.out == ""
    (line,) = said.err.splitlines()
    assert line.startswith("murmur: a.wav: ")
    assert reason in line
