"""``murmur score``: figures on stdout, talk on stderr, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from murmur_cli.cli.app import run


@pytest.fixture
def pair(tmp_path: Path) -> list[str]:
    """A reference of four words, and a hypothesis of which one is wrong."""
    paths = [tmp_path / "ref.stm", tmp_path / "hyp.stm"]
    for path, text in zip(paths, ["good morning to you", "good morning to me"], strict=True):
        path.write_text(f"talk 1 A 0 2 {text}\n", encoding="utf-8")
    return [str(path) for path in paths]


def test_every_figure_is_a_line(pair: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["score", *pair]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    lines = said.out.splitlines()
    assert [line.split()[:2] for line in lines[:4]] == [
        ["WER", "25.00"],
        ["cpWER", "25.00"],
        ["tcpWER", "25.00"],
        ["ORC-WER", "25.00"],
    ]
    assert lines[-1] == "1 recording, 2.0 s of audio"


def test_json_is_one_object(pair: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--metric", "wer,tcpwer", "--collar", "3", "--normalizer", "none", "--json"]
    assert run(["score", *pair, *options]) == 0
    described = json.loads(capsys.readouterr().out)
    assert [(f["metric"], f["collar_s"], f["substitutions"]) for f in described["figures"]] == [
        ("wer", None, 1),
        ("tcpwer", 3.0, 1),
    ]
    assert {f["normalizer"] for f in described["figures"]} == {"none"}


def test_what_is_left_out_is_said(pair: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    turns = tmp_path / "hyp.rttm"
    turns.write_text("SPEAKER talk 1 0 1 <NA> <NA> S1 <NA> <NA>\n", encoding="utf-8")
    assert run(["score", pair[0], str(turns)]) == 0
    said = capsys.readouterr()
    assert [line.split()[0] for line in said.out.splitlines()] == ["DER", "DER", "1"]
    assert said.err.startswith("murmur: no wer, cpwer, tcpwer, orcwer: ")
    assert run(["score", pair[0], str(turns), "-q"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["REF", "missing.stm"], 1),
        (["REF", "REF", "--metric", "bleu"], 2),
        (["REF", "REF", "--normalizer", "german"], 2),
        (["REF", "REF", "--collar", "0"], 2),
        (["REF"], 2),
        ([], 2),
    ],
)
def test_what_cannot_be_scored_is_one_line(
    arguments: list[str], code: int, pair: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["score", *(pair[0] if argument == "REF" else argument for argument in arguments)]) == code
    said = capsys.readouterr()
    assert said.out == ""
    assert len(said.err.splitlines()) == 1


def test_a_recording_without_a_partner_is_1(
    pair: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.stm"
    other.write_text("another 1 A 0 2 good morning\nyet-another 1 A 0 2 good morning\n", encoding="utf-8")
    assert run(["score", pair[0], str(other)]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert ["talk" in said.err, "another" in said.err] == [True, True]
