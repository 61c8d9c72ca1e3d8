"""``murmur bias tune`` with an engine that hears a keyword the better the more it may be raised."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile
from biased_engine import RATE, BiasedEngine, Mishearing

from murmur_cli.cli.app import run
from murmur_cli.engine import Extras
from murmur_cli.models import load, silero
from murmur_cli.models.scripted import ScriptedVad
from murmur_cli.types import Span

Said = pytest.CaptureFixture[str]


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BiasedEngine:
    """Two recordings, of 1 s and 2 s, with a keyword each that is heard from 2 and from 4 nats on."""
    monkeypatch.chdir(tmp_path)
    texts = {1: "we met andrusenko today", 2: "take zoloft daily"}
    found = BiasedEngine(texts, [Mishearing("andrusenko", "and rusty", 2), Mishearing("zoloft", "so loft", 4)])
    (tmp_path / "audio").mkdir()
    for seconds in texts:
        soundfile.write(tmp_path / "audio" / f"{seconds}.wav", np.full(seconds * RATE, 0.1, np.float32), RATE)
    lines = [{"audio": f"audio/{seconds}.wav", "text": text} for seconds, text in texts.items()]
    (tmp_path / "dev.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    (tmp_path / "names.txt").write_text("andrusenko\nzoloft\n", encoding="utf-8")
    monkeypatch.setattr(load, "load_engine", lambda *args, **kwargs: found)
    monkeypatch.setattr(silero, "load_silero", lambda options: ScriptedVad([Span(0, 10 * RATE)]))
    return found


def test_every_strength_is_tried_and_counted(engine: BiasedEngine, capsys: Said) -> None:
    assert run(["bias", "tune", "names.txt", "dev.jsonl", "--json"]) == 0
    said = capsys.readouterr()
    tried = json.loads(said.out)["strengths"]
    assert [(each["strength"], each["nats"]) for each in tried] == [
        ("off", None),
        ("1", 1.0),
        ("low", 2.0),
        ("medium", 3.0),
        ("high", 4.0),
        ("6", 6.0),
    ]
    assert [each["keywords"]["right"] for each in tried] == [0, 0, 1, 1, 2, 2]
    assert [each["keywords"]["said"] for each in tried] == [2] * 6
    assert [each["wer"]["rate"] == 0 for each in tried] == [False] * 4 + [True] * 2
    assert tried[0]["wer"]["length"] == 7
    assert tried[0]["bwer"]["length"] == 2
    assert [bias and bias.margin for bias in engine.biases] == [None, None, 1, 1, 2, 2, 3, 3, 4, 4, 6, 6]
    names = [line.removeprefix("murmur: strength ").partition(":")[0] for line in said.err.splitlines()]
    assert names == ["off", "1", "low", "medium", "high", "6"]


def test_the_table_and_the_plots(engine: BiasedEngine, capsys: Said) -> None:
    assert run(["bias", "tune", "names.txt", "dev.jsonl", "-q"]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    blocks = said.out.strip("\n").split("\n\n")
    assert len(blocks) == 4
    assert [line.split()[0] for line in blocks[0].splitlines()] == [
        "strength",
        "off",
        "1",
        "low",
        "medium",
        "high",
        "6",
    ]
    stars = [[line.index("*") for line in block.splitlines()[1:]] for block in blocks[1:3]]
    assert stars[0] == sorted(stars[0])
    assert stars[1] == sorted(stars[1], reverse=True)
    assert stars[0][0] < stars[0][2] < stars[0][4]
    assert blocks[3].startswith("2 recordings, 7 words, 2 keywords")


def test_a_line_may_have_its_own_phrases(engine: BiasedEngine, capsys: Said) -> None:
    lines = [
        {"audio": "audio/1.wav", "text": "we met andrusenko today", "phrases": ["andrusenko | andrusenco"]},
        {"audio": "audio/2.wav", "text": "take zoloft daily", "phrases": ["zoloft", "daily"]},
    ]
    Path("own.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert run(["bias", "tune", "own.jsonl", "--json", "-q"]) == 0
    tried = json.loads(capsys.readouterr().out)["strengths"]
    assert [each["keywords"]["right"] for each in tried] == [1, 1, 2, 2, 3, 3]  # daily is always heard
    assert {each["keywords"]["said"] for each in tried} == {3}
    given = [[keyword.display for keyword in bias.keywords.keywords] for bias in engine.biases if bias]
    assert given[:2] == [["andrusenko"], ["zoloft", "daily"]]


def test_what_was_not_transcribed_is_3(engine: BiasedEngine, capsys: Said) -> None:
    engine.fails_at = 2
    assert run(["bias", "tune", "names.txt", "dev.jsonl", "--json", "-q"]) == 3
    said = capsys.readouterr()
    assert [each["n_gaps"] for each in json.loads(said.out)["strengths"]] == [1] * 6
    assert "audio/2.wav: not transcribed from 0.0 s" in said.err


def test_a_model_that_cannot_be_given_keywords_is_2(
    engine: BiasedEngine, monkeypatch: pytest.MonkeyPatch, capsys: Said
) -> None:
    monkeypatch.setattr(BiasedEngine, "extras", Extras())
    assert run(["bias", "tune", "names.txt", "dev.jsonl"]) == 2
    said = capsys.readouterr()
    assert (said.out, len(said.err.splitlines())) == ("", 1)
    assert "cannot be given keywords" in said.err
    assert engine.biases == []


@pytest.mark.parametrize(
    "line",
    [
        "{",
        '{"audio": "audio/1.wav"}',
        '{"audio": "audio/1.wav", "text": 5}',
        '{"audio": "audio/1.wav", "text": "x", "phrase": ["y"]}',
        '{"audio": "audio/1.wav", "text": "x", "phrases": "y"}',
        '{"audio": "audio/1.wav", "text": "x", "phrases": []}',
        '{"audio": "audio/1.wav", "text": "x", "phrases": ["name :-1"]}',
        '{"audio": "audio/9.wav", "text": "x"}',
        '{"audio": "./audio/1.wav", "text": "y"}',
        "[1]",
        "[" * 20_000,
        "\udcff",
    ],
)
def test_a_bad_line_is_2_with_its_place(line: str, engine: BiasedEngine, capsys: Said) -> None:
    good = b'{"audio": "audio/1.wav", "text": "x"}\n\n'
    Path("bad.jsonl").write_bytes(good + line.encode(errors="surrogateescape") + b"\n")
    assert run(["bias", "tune", "names.txt", "bad.jsonl"]) == 2
    said = capsys.readouterr()
    assert (said.out, len(said.err.splitlines())) == ("", 1)
    assert said.err.startswith("murmur: bad.jsonl:3: ")


@pytest.mark.parametrize(
    "arguments",
    [
        ["dev.jsonl"],  # its lines have no phrases
        ["names.txt", "empty.jsonl"],
        ["names.txt", "missing.jsonl"],
        ["missing.txt", "dev.jsonl"],
        ["names.txt", "dev.jsonl", "dev.jsonl"],
        ["names.txt", "dev.jsonl", "--normalizer", "german"],
        ["names.txt", "dev.jsonl", "--dtype", "int3"],
    ],
)
def test_a_wrong_call_is_2(arguments: list[str], engine: BiasedEngine, capsys: Said) -> None:
    Path("empty.jsonl").write_text("\n", encoding="utf-8")
    assert run(["bias", "tune", *arguments]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_recording_that_cannot_be_read_is_an_error(engine: BiasedEngine, capsys: Said) -> None:
    Path("audio/2.wav").write_bytes(b"no audio")
    assert run(["bias", "tune", "names.txt", "dev.jsonl"]) == 1
    said = capsys.readouterr()
    assert (said.out, "audio/2.wav" in said.err) == ("", True)
