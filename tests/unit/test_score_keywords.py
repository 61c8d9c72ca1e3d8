"""Keyword figures of ``murmur score``: by hand, on files, and where they cannot be had."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from murmur_cli.bias.keywords import Form, Keyword, KeywordList
from murmur_cli.cli.app import run
from murmur_cli.score.counts import KeywordCounts, WordErrors
from murmur_cli.score.keywords import count_keywords, to_phrases
from murmur_cli.score.normalize import load_normalizer

REFERENCE = "he saw new york city and jensen huang at nine"
HYPOTHESIS = "he saw the New York city and janson wang at york 9"


def write_pair(folder: Path) -> list[str]:
    for name, text in (("ref", REFERENCE), ("hyp", HYPOTHESIS)):
        (folder / f"{name}.stm").write_text(f"talk 1 A 0 2 {text}\n", encoding="utf-8")
    (folder / "names.txt").write_text("New York City\nJensen Huang\nYork\nnine\nSaw* :0\n", encoding="utf-8")
    return [str(folder / name) for name in ("ref.stm", "hyp.stm")]


def test_figures_are_those_counted_by_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["score", *write_pair(tmp_path), "--bias", str(tmp_path / "names.txt")]
    assert run([*command, "--metric", "wer", "--json"]) == 0
    figures = {figure["metric"]: figure for figure in json.loads(capsys.readouterr().out)["figures"]}
    assert list(figures) == ["wer", "keywords", "bwer", "uwer"]
    # New York City, York and nine (9 for the normaliser) are right; a second york is false; Jensen Huang is missed
    keywords = figures["keywords"]
    assert (keywords["said"], keywords["right"], keywords["false"]) == (4, 3, 1)
    assert (keywords["precision"], keywords["recall"], keywords["f"]) == (0.75, 0.75, 0.75)
    assert [figures[name]["errors"] for name in ("wer", "bwer", "uwer")] == [4, 3, 1]
    assert [figures[name]["length"] for name in ("wer", "bwer", "uwer")] == [10, 6, 4]
    assert keywords["by_recording"]["talk"]["right"] == 3
    assert run([*command, "--metric", "wer"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["WER", "keyword", "B-WER", "U-WER", "1"]


def test_a_phrase_with_a_hole_is_not_looked_for_and_a_mix_up_is_not_false() -> None:
    phrases = to_phrases(
        KeywordList((Keyword((Form("new york"),)), Keyword((Form("boston"),)))), load_normalizer("none")
    )
    assert count_keywords(["new", "york"], ["new", "big", "york"], phrases).keywords == KeywordCounts()
    assert count_keywords(["boston"], ["boston"], phrases).keywords == KeywordCounts(1, 1, 0)
    swapped = count_keywords(["new", "york"], ["old", "boston"], phrases)
    assert swapped.keywords == KeywordCounts(said=1, right=0, false=1)  # boston is false: york alone is no phrase
    assert count_keywords([], ["boston"], phrases).listed == WordErrors(insertions=1)


def test_nothing_said_and_nothing_heard_is_no_rate() -> None:
    assert (KeywordCounts().f, KeywordCounts().precision, KeywordCounts().recall) == (None, None, None)
    assert KeywordCounts(said=2).f == 0.0
    assert (KeywordCounts(3, 2, 1) + KeywordCounts(1, 0, 0)).f == pytest.approx(2 * 2 / (4 + 3))


def test_what_the_normaliser_swallows_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pair = write_pair(tmp_path)
    names = tmp_path / "odd.txt"
    names.write_text("hmm\nnine\n", encoding="utf-8")
    assert run(["score", *pair, "--bias", str(names), "--metric", "der"]) == 0
    said = capsys.readouterr()
    assert "'hmm'" in said.err
    assert [line.split()[0] for line in said.out.splitlines()] == ["DER", "DER", "keyword", "B-WER", "U-WER", "1"]


@pytest.mark.parametrize(
    ("content", "code", "place"),
    [(b"one\ntwo :-1\n", 2, ":2: "), (b"", 2, ": "), (b"ok\n\xff\n", 2, ":2: ")],
)
def test_a_bad_list_is_2_with_its_line(
    content: bytes, code: int, place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = tmp_path / "bad.txt"
    names.write_bytes(content)
    assert run(["score", *write_pair(tmp_path), "--bias", str(names)]) == code
    said = capsys.readouterr()
    assert (said.out, len(said.err.splitlines())) == ("", 1)
    assert said.err.startswith(f"murmur: {names}{place}")


def test_files_without_words_have_no_keywords(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reference, _ = write_pair(tmp_path)
    turns = tmp_path / "hyp.rttm"
    turns.write_text("SPEAKER talk 1 0 1 <NA> <NA> S1 <NA> <NA>\n", encoding="utf-8")
    assert run(["score", reference, str(turns), "--bias", str(tmp_path / "names.txt")]) == 1
    assert capsys.readouterr().out == ""


def test_a_long_list_and_a_long_talk_take_no_time() -> None:
    names = [f"{first} name {number}" for first in ("ann", "bob") for number in range(10_000)]
    phrases = to_phrases(KeywordList(tuple(Keyword((Form(name),)) for name in names)), load_normalizer("none"))
    words = " ".join(names[::4]).split()
    started = time.process_time()
    assert count_keywords(words, words, phrases).keywords == KeywordCounts(5000, 5000, 0)
    assert time.process_time() - started < 2.0
