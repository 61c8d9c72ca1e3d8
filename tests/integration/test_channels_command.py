"""``murmur batch --channels speakers`` in this process: real audio and VAD, a scripted engine."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest
import soundfile
from conftest import ROOT

from murmur_cli.audio.spool import Spool
from murmur_cli.cli.app import run
from murmur_cli.engine import Answer, Job
from murmur_cli.errors import DeviceError
from murmur_cli.models import diarizers
from murmur_cli.models.scripted import ScriptedEngine

RATE = 16_000
SPEECH, _ = soundfile.read(ROOT / "examples" / "conversation.flac", dtype="float32", frames=24 * RATE)
ENTRIES = [{"start": t + 0.25, "end": t + 0.75, "text": f"w{t}"} for t in range(0, 24, 2)]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A word every two seconds, wherever somebody speaks."""
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "scripted"}')
    (folder / "script.json").write_text(json.dumps({"language": "en", "sample_rate": RATE, "entries": ENTRIES}))
    return folder


@pytest.fixture(autouse=True)
def no_diarizer(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(name: str, *, offline: bool) -> None:
        pytest.fail("a diarizer is loaded")

    monkeypatch.setattr(diarizers, "load_speaker_models", load)


def only(start: float, end: float) -> np.ndarray:
    """The speech of this stretch, silence elsewhere."""
    channel = np.zeros_like(SPEECH)
    stretch = slice(round(start * RATE), round(end * RATE))
    channel[stretch] = SPEECH[stretch]
    return channel


LEFT, RIGHT, SILENCE = only(0, 16), only(16, 24), only(0, 0)


def write(path: Path, *channels: np.ndarray) -> str:
    soundfile.write(path, np.stack(channels, axis=1), RATE, subtype="PCM_16")
    return str(path)


def transcribe(model: Path, *arguments: str) -> int:
    options = ["--model", str(model), "--progress", "none", "--max-chunk-s", "10"]
    return run(["batch", *arguments, *options, "--channels", "speakers"])


def read_turns(text: str) -> list[tuple[str, int]]:
    """Speaker and second of each line."""
    lines = [line.split(": w") for line in text.splitlines()]
    return [(name, int(second)) for name, second in lines]


def find_voices(turns: list[tuple[str, int]]) -> tuple[set[str], set[str]]:
    """Who speaks in the first part, and who in the second."""
    return {name for name, second in turns if second < 16}, {name for name, second in turns if second > 16}


def test_a_call_on_two_channels(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert transcribe(model, write(tmp_path / "call.wav", LEFT, RIGHT)) == 0
    said = capsys.readouterr()
    assert said.err == ""
    turns = read_turns(said.out)
    assert [second for _, second in turns] == sorted(second for _, second in turns)
    assert find_voices(turns) == ({"S1"}, {"S2"})
    assert len(turns) >= 9


def test_files_of_all_kinds_beside_each_other(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = []
    decode = ScriptedEngine.decode

    def decode_backwards(engine: ScriptedEngine, jobs: Iterable[Job]) -> Iterator[Answer]:
        """All jobs of all files are there before the first is answered, and the last comes first."""
        calls.append(engine)
        yield from reversed(list(decode(engine, jobs)))

    monkeypatch.setattr(ScriptedEngine, "decode", decode_backwards)
    paths = [
        write(tmp_path / "call.wav", LEFT, RIGHT),
        str(tmp_path / "missing.wav"),
        write(tmp_path / "mono.wav", LEFT),
        write(tmp_path / "many.wav", *[SILENCE] * 17),
        write(tmp_path / "three.wav", RIGHT, SILENCE, LEFT),
        write(tmp_path / "silent.wav", SILENCE, np.flip(SILENCE)),
        write(tmp_path / "twice.wav", LEFT, LEFT),
    ]
    assert transcribe(model, *paths) == 3
    said = capsys.readouterr()
    assert len(calls) == 1
    assert said.out == ""
    written = {path.stem: read_turns(path.read_text(encoding="utf-8")) for path in tmp_path.glob("*.txt")}
    assert sorted(written) == ["call", "mono", "silent", "three", "twice"]
    assert find_voices(written["call"]) == ({"S1"}, {"S2"})
    assert {name for name, _ in written["mono"]} == {"S1"}
    assert find_voices(written["three"]) == ({"S3"}, {"S1"})
    assert written["silent"] == []
    assert [name for name, _ in written["twice"][:4]] == ["S1", "S2", "S1", "S2"]
    lines = [line.removeprefix(f"murmur: {tmp_path}/") for line in said.err.splitlines()]
    assert sorted(line.partition(":")[0] for line in lines) == [
        "many.wav",
        "missing.wav",
        "mono.wav",
        "silent.wav",
        "silent.wav",
        "twice.wav",
    ]


def test_what_fails_in_one_channel_is_said_with_its_number(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = {"language": "en", "sample_rate": RATE, "entries": [*ENTRIES[:6], {**ENTRIES[9], "error": "loop"}]}
    (model / "script.json").write_text(json.dumps(script))
    assert transcribe(model, write(tmp_path / "call.wav", LEFT, RIGHT), "-f", "json") == 3
    said = capsys.readouterr()
    document = json.loads(said.out)
    assert {segment["speaker"] for segment in document["segments"]} == {"S1"}
    (gap,) = document["gaps"]
    assert gap["reason"] == "channel 2: loop"
    (line,) = said.err.splitlines()
    assert "channel 2: loop" in line


def test_damage_is_said_once(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "call.wav", LEFT, RIGHT)
    Path(path).write_bytes(Path(path).read_bytes()[: 20 * RATE * 4])
    assert transcribe(model, path) == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert "decoded 20.0 s of 24.0 s" in line


def test_a_run_that_breaks_off_leaves_no_channel_open(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: list[Spool] = []
    closed: list[Spool] = []
    make, close = Spool.__init__, Spool.close

    def make_and_tell(spool: Spool) -> None:
        make(spool)
        opened.append(spool)

    def close_and_tell(spool: Spool) -> None:
        close(spool)
        closed.append(spool)

    def run_out_of_memory(engine: ScriptedEngine, jobs: Iterable[Job]) -> Iterator[Answer]:
        next(iter(jobs))  # the first chunk of the first channel: nobody has come for the others
        raise DeviceError("out of memory")
        yield

    monkeypatch.setattr(Spool, "__init__", make_and_tell)
    monkeypatch.setattr(Spool, "close", close_and_tell)
    monkeypatch.setattr(ScriptedEngine, "decode", run_out_of_memory)
    assert transcribe(model, write(tmp_path / "call.wav", LEFT, RIGHT, SILENCE)) == 5
    assert len(opened) == 3
    assert {id(spool) for spool in closed} == {id(spool) for spool in opened}
    assert len(capsys.readouterr().err.splitlines()) == 1
