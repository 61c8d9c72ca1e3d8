"""``murmur batch --dry-run``: a plan that the run keeps, and nothing that is written."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile
from conftest import ROOT

from murmur_cli import batch
from murmur_cli.cli.app import run
from murmur_cli.models import load

RATE = 16_000
SPEECH, _ = soundfile.read(ROOT / "examples" / "conversation.flac", dtype="float32", frames=24 * RATE)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a recording, a silent one, one of two channels, one that is damaged, one that is none; a model."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("MURMUR_CACHE_DIR", str(tmp_path / "cache"))
    entries = [{"start": i * 0.5, "end": i * 0.5 + 0.25, "text": f"w{i}"} for i in range(60)]
    Path("model").mkdir()
    Path("model/config.json").write_text('{"model_type": "scripted"}')
    Path("model/script.json").write_text(json.dumps({"language": "en", "sample_rate": RATE, "entries": entries}))
    Path("d/sub").mkdir(parents=True)
    soundfile.write("d/talk.flac", SPEECH, RATE)
    soundfile.write("d/sub/silence.wav", np.zeros(RATE, np.float32), RATE)
    soundfile.write("call.wav", np.stack([SPEECH[: 8 * RATE], SPEECH[8 * RATE : 16 * RATE]], axis=1), RATE)
    content = Path("d/talk.flac").read_bytes()
    Path("cut.flac").write_bytes(content[: len(content) // 3])
    Path("none.mp3").write_text("no recording")
    return tmp_path / "work"


def _call(*arguments: str, model: str = "model") -> int:
    people = [] if "speakers" in arguments else ["--speakers", "none"]
    return run(["batch", *arguments, "--model", model, *people, "--progress", "none"])


def _list_files(folder: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in sorted(folder.parent.rglob("*"))}


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["d/talk.flac"], 0),
        (["d/talk.flac", "-f", "srt,json", "-o", "out/"], 0),
        (["-r", "d", "-o", "out/deep", "-f", "txt,vtt"], 0),
        (["-r", "d", "--output-template", "t/{stem}.{ext}"], 0),
        (["call.wav", "--channels", "speakers"], 0),
        (["d/talk.flac", "--start", "4", "--end", "0:12"], 0),
        (["d/talk.flac", "gone.wav"], 3),
        (["gone.wav"], 1),
        (["none.mp3", "d/talk.flac"], 3),
        (["none.mp3", "d/talk.flac", "--fail-fast"], 1),
        (["none.mp3"], 1),
        (["cut.flac"], 3),
        (["d/talk.flac", "-o", "gone/x.txt"], 2),
        (["d/talk.flac", "d/talk.flac"], 2),
        (["d/talk.flac", "-o", "none.mp3"], 2),
        (["d/talk.flac", "--speaker-names", "S1"], 2),
        (["d/talk.flac", "--channels", "7"], 1),
        (["d/talk.flac", "--bias", "gone.txt"], 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_the_plan_is_what_the_run_does(
    arguments: list[str],
    code: int,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The run is the oracle: the same code, chunks, outputs and complaints; and before it nothing has changed."""
    before = _list_files(folder)
    with monkeypatch.context() as patch:
        patch.setattr(load, "load_scripted", lambda folder: pytest.fail("the model is loaded"))
        assert _call(*arguments, "--dry-run", "--max-chunk-s", "10") == code
    planned = capsys.readouterr()
    assert _list_files(folder) == before
    counts: list[int] = []
    plan_chunks = batch.plan_chunks
    monkeypatch.setattr(
        batch, "plan_chunks", lambda *given, **how: counts.append(len(chunks := plan_chunks(*given, **how))) or chunks
    )
    assert _call(*arguments, "--max-chunk-s", "10") == code
    said = capsys.readouterr()
    lines = planned.out.splitlines()
    rows = [line for line in lines if "; to " in line]
    assert sum(int(re.findall(r"(\d+) chunk", row)[0]) for row in rows) == sum(counts)
    outputs = {name for row in rows for name in row.rpartition("; to ")[2].split(", ")}
    made = {name for name in _list_files(folder).keys() - before.keys() if Path(name).is_file()}
    own = {str(Path(name).relative_to(folder)) for name in made if folder in Path(name).parents}
    assert outputs - {"stdout"} == own
    assert ("stdout" in outputs) == bool(said.out)
    # No speech is what a run finds out with the same words for everybody; the plan has it as a number.
    assert planned.err.splitlines() == [line for line in said.err.splitlines() if "no speech" not in line]


def test_seconds_are_those_of_the_audio(capsys: pytest.CaptureFixture[str]) -> None:
    assert _call("-r", "d", "-o", "out", "--dry-run") == 0
    _, *rows, total = capsys.readouterr().out.splitlines()
    silence, talk = sorted(rows)
    assert "0:01 (1.0 s), 0.0 s of speech, 0 chunks" in silence
    assert "0:24 (24.0 s)" in talk
    assert total.startswith("2 files: 0:25 (25.0 s)")


def test_a_folder_that_could_not_be_made_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert _call("-r", "d", "-o", "none.mp3/out", "--dry-run") == 2
    assert "none.mp3: there is no such folder" in capsys.readouterr().err


def test_a_pipe_is_heard(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path("d/talk.flac").read_bytes())))
    assert _call("-", "--dry-run") == 0
    assert "-: 0:24 (24.0 s)" in capsys.readouterr().out


def test_what_is_done_already_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert _call("d/talk.flac", "-f", "srt", "-o", "out/") == 0
    capsys.readouterr()
    assert _call("d/talk.flac", "-f", "srt", "-o", "out/", "--dry-run") == 0
    assert "earlier run" in capsys.readouterr().out
    Path("out/talk.srt").write_text("mine")
    assert _call("d/talk.flac", "-f", "srt", "-o", "out/", "--dry-run") == 2


# --- the model


def test_weights_that_are_not_here_are_not_fetched(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    before = _list_files(folder)
    assert _call("d/talk.flac", "--dry-run", model="whisper-base") == 0
    assert "whisper-base on cpu: weights not here, 0.29 GB would be fetched" in capsys.readouterr().out
    assert _call("d/talk.flac", "--dry-run", "--offline", model="whisper-base") == 4
    assert _call("d/talk.flac", "--dry-run", model="no-such-model") == 2
    assert _call("d/talk.flac", "--dry-run", "--device", "cuda:99", model="whisper-base") == 5
    assert _call("d/talk.flac", "--dry-run", model="vibevoice") == 5  # too slow on a CPU
    Path("empty").mkdir()
    Path("empty/config.json").write_text('{"model_type": "whisper"}')
    assert _call("d/talk.flac", "--dry-run", model="empty") == 4
    assert set(_list_files(folder)) - set(before) <= {str(folder / "empty"), str(folder / "empty" / "config.json")}


@pytest.mark.models
def test_the_memory_of_a_vibevoice_is_known_before(
    models_dir: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from murmur_cli.models.vibevoice import engine

    monkeypatch.setattr(engine, "load_checkpoint", lambda *given, **how: pytest.fail("the weights are read"))
    model = str(models_dir / "tiny-vibevoice-digits")
    assert _call("d/talk.flac", "--dry-run", "--batch-size", "3", model=model) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert re.search(r"0\.\d\d GB of memory, 3 chunks side by side", first)
    assert _call("d/talk.flac", "--dry-run", "--batch-size", "1000", "--max-chunk-s", "3600", model=model) in (0, 5)


def test_a_line_of_the_map_that_is_of_no_recording_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    Path("names.txt").write_text("Andrusenko\n")
    lines = [{"path": path, "lists": ["names.txt"]} for path in ("d/talk.flac", "d/tlak.flac")]
    Path("map.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert _call("d/talk.flac", "--dry-run", "--bias-map", "map.jsonl") == 0
    written = capsys.readouterr().err
    assert "map.jsonl:2" in written
    assert "map.jsonl:1" not in written
