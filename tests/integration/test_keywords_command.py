"""``murmur batch`` with keywords: what reaches the engine, and what comes of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest
import soundfile

from murmur_cli.bias.cache import ListCache
from murmur_cli.bias.vocabulary import Vocabulary
from murmur_cli.cli import transcribe
from murmur_cli.cli.batch import batch
from murmur_cli.engine import Answer, Extras, Job
from murmur_cli.errors import UsageError
from murmur_cli.models import load, silero
from murmur_cli.models.scripted import ScriptedEngine, ScriptedVad
from murmur_cli.types import Hypothesis, HypSegment, KeywordHit, Span

RATE = 16_000
BYTES = Vocabulary(tuple(bytes([byte]) for byte in range(256)), lambda text: list(text.encode()), "bytes")


class Parrot(ScriptedEngine):
    """Says the first keyword of the list, in small letters."""

    def __init__(self) -> None:
        super().__init__(())

    @property
    def extras(self) -> Extras:
        return Extras(bias=True)

    def keyword_lists(self) -> ListCache:
        return ListCache(BYTES, None)

    def decode(self, jobs: Iterable[Job]) -> Iterator[Answer]:
        for job in jobs:
            name = "nothing" if job.bias is None else job.bias.keywords.keywords[-1].display
            hits = () if job.bias is None else (KeywordHit(0.0, 1.0, name, True),)
            said = HypSegment(0.0, 1.0, f"i hear {name.lower()}", None, (), "en")
            yield Answer(job.recording_id, job.chunk.index, Hypothesis((said,), hits=hits))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(load, "load_engine", lambda *_, **__: Parrot())
    monkeypatch.setattr(silero, "load_silero", lambda _: ScriptedVad([Span(0, RATE)]))
    for name in ("a.wav", "b.wav"):
        soundfile.write(name, np.zeros((2 * RATE, 2), np.float32), RATE)
    (tmp_path / "own.txt").write_text("Zed Quark\n", encoding="utf-8")
    (tmp_path / "m.jsonl").write_text('{"path": "b.wav", "lists": ["own.txt"]}\n', encoding="utf-8")
    (tmp_path / "out").mkdir()
    return tmp_path


def read(name: str) -> dict[str, dict[str, object]]:
    return json.loads(Path("out", name).read_text("utf-8"))


@pytest.mark.parametrize("channels", ["mix", "speakers"])
def test_each_recording_is_heard_with_its_list(folder: Path, capsys: pytest.CaptureFixture[str], channels: str) -> None:
    paths = [Path("a.wav"), Path("b.wav")]
    speakers = "none" if channels == "mix" else "auto"
    given = {"phrase": ["Ann Lee"], "bias_map": "m.jsonl", "bias_display": "list", "channels": channels}
    assert batch(paths, format=["json"], output="out", speakers=speakers, **given) == 0
    n_channels = 1 if channels == "mix" else 2
    for name, n_phrases, phrase in (("a.json", 1, "Ann Lee"), ("b.json", 2, "Zed Quark")):
        use = read(name)["bias"]
        assert (use["phrases"], use["strength"]) == (n_phrases, 3.0)
        hits = [{"phrase": phrase, "start": 0.0, "end": 1.0, "changed": True}] * n_channels
        assert use["hits"] == hits
        assert {segment["text"] for segment in read(name)["segments"]} == {f"i hear {phrase}"}
    assert read("a.json")["bias"]["sha"] != read("b.json")["bias"]["sha"]
    n_hits = 2 * n_channels
    assert f"bias: 2 phrases, {n_hits} hits, {n_hits} changed the text" in capsys.readouterr().err


def test_without_keywords_nothing_is_said_of_them(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert batch([Path("a.wav")], format=["json"], output="out", speakers="none") == 0
    assert "bias" not in read("a.json")
    assert "bias" not in capsys.readouterr().err


def run(folder: Path, **given: object) -> str:
    options = {"format": ["json"], "output": "out", "speakers": "none", "journal_dir": str(folder / "journal")}
    assert batch([Path("a.wav")], **options, **given) == 0
    return read("a.json")["segments"][0]["text"]


def test_a_finished_file_is_up_to_date_for_its_own_list_alone(folder: Path) -> None:
    assert run(folder, phrase=["Ann Lee"]) == "i hear ann lee"
    before = Path("out", "a.json").stat().st_mtime_ns
    assert run(folder, phrase=["Ann Lee"]) == "i hear ann lee"
    assert Path("out", "a.json").stat().st_mtime_ns == before
    for other in ({"phrase": ["Bob"]}, {"phrase": ["Ann Lee"], "bias_display": "list"}, {}):
        with pytest.raises(UsageError, match=r"a\.json"):
            run(folder, **other)


@pytest.mark.parametrize("other", [{"phrase": ["Bob"]}, {"phrase": ["Bob"], "bias_strength": "high"}])
def test_what_was_heard_with_one_list_is_not_taken_for_another(
    folder: Path, monkeypatch: pytest.MonkeyPatch, other: dict[str, object]
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    for phrase in ("Ann Lee", "Bob"):
        with monkeypatch.context() as patch:
            patch.setattr(transcribe, "_write", stop)
            with pytest.raises(KeyboardInterrupt):
                run(folder, phrase=[phrase])
    assert run(folder, **other) == "i hear bob"
    use = read("a.json")["bias"]
    assert use["strength"] == (4.0 if "bias_strength" in other else 3.0)
