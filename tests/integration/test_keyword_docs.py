"""Every example of keyword lists in the documentation, and every command line, does what it says."""

from __future__ import annotations

import io
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import soundfile
from biased_engine import RATE, BiasedEngine
from transcript_samples import make_segment, make_transcript

from murmur_cli.bias.keywords import Keyword
from murmur_cli.bias.list_files import load_keywords
from murmur_cli.cli import bias as bias_cli
from murmur_cli.cli import score as score_cli
from murmur_cli.cli.app import run
from murmur_cli.models import load, silero
from murmur_cli.models import vocabulary as vocabulary_module
from murmur_cli.models.choice import Choice
from murmur_cli.models.scripted import ScriptedVad
from murmur_cli.transcript.formats import render_transcript
from murmur_cli.tune import load_samples
from murmur_cli.types import Span

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "keywords.md").read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r"```(txt|jsonl|csv|dev)\n(.*?)```", PAGE, flags=re.DOTALL))


def _iter_lines() -> Iterator[str]:
    helps = [command.callback.__doc__ or "" for command in bias_cli.app.registered_commands if command.callback]
    pages = [PAGE, (ROOT / "README.md").read_text(encoding="utf-8"), score_cli.score.__doc__ or "", *helps]
    for line in "\n".join(pages).splitlines():
        if re.match(r"\s*(\w+ .*\| )?murmur (bias|score .*--bias)", line):
            yield line.partition(" #")[0].strip()


LINES = sorted(set(_iter_lines()))


def _normal(keyword: Keyword) -> tuple[object, ...]:
    return (keyword.weight, *((form.text, form.is_open) for form in keyword.forms))


def test_the_lists_mean_what_the_page_says(tmp_path: Path) -> None:
    found = {}
    for kind in ("txt", "jsonl", "csv"):
        (tmp_path / f"list.{kind}").write_text(BLOCKS[kind], encoding="utf-8")
        keywords = load_keywords(str(tmp_path / f"list.{kind}"))
        assert keywords.warnings == ()
        found[kind] = [_normal(keyword) for keyword in keywords.keywords]
    city, andrusenko, kowalski, stem, covid, ratio = found["txt"]
    assert city == (1.0, ("New York City", False))
    assert andrusenko == (2.0, ("Andrusenko", False))
    assert kowalski == (0.0, ("Kowalski", False))
    assert stem == (1.0, ("Szypańsk", True))
    assert covid == (1.0, ("COVID-19", False), ("covid 19", False), ("covid nineteen", False))
    assert ratio == (1.0, ("Ratio 3 :2", False))
    assert found["jsonl"] == found["csv"] == [city, andrusenko, stem, covid]


def test_every_kind_of_line_is_shown() -> None:
    names = ("bias compile", "bias test", "bias tune", "bias cache", "score")
    assert {name for name in names for line in LINES if f"murmur {name}" in line} == set(names)


@pytest.fixture
def folder(tmp_path: Path, models_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with all files that the lines name; the default model is one that is soon loaded."""
    model = str(models_dir / "tiny-vibevoice-digits")
    engine = BiasedEngine({1: "he flew to new york city", 2: "she takes zoloft"}, [])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MURMUR_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(vocabulary_module, "_GPU_FILES", (".",))
    monkeypatch.setattr(vocabulary_module, "choose_model", lambda options: Choice(model, "small"))
    monkeypatch.setattr(load, "load_engine", lambda *args, **kwargs: engine)
    monkeypatch.setattr(silero, "load_silero", lambda options: ScriptedVad([Span(0, 10 * RATE)]))
    for name, seconds in (("monday", 1), ("tuesday", 2)):
        soundfile.write(f"{name}.wav", np.full(seconds * RATE, 0.1, np.float32), RATE)
    transcript = make_transcript([make_segment(0, 2, "He flew to New York City.")])
    files = {
        "names.txt": "New York City\n",
        "drugs.csv": "phrase\nZoloft\n",
        "dev.jsonl": BLOCKS["dev"].replace('city"}', 'city", "phrases": ["New York City"]}'),
        "reference.stm": "talk 1 A 0 2 he flew to new york city\n",
        "talk.json": render_transcript(transcript, "json", word_times=False),
        "meeting.json": render_transcript(transcript, "json", word_times=False),
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_the_samples_mean_what_the_page_says(folder: Path) -> None:
    (folder / "dev.jsonl").write_text(BLOCKS["dev"], encoding="utf-8")
    monday, tuesday = load_samples("dev.jsonl", load_keywords("names.txt"))
    assert (monday.audio, monday.text) == ("monday.wav", "he flew to new york city")
    assert [keyword.display for keyword in monday.keywords.keywords] == ["New York City"]
    assert [keyword.display for keyword in tuesday.keywords.keywords] == ["Andrusenko", "COVID-19"]


@pytest.mark.parametrize("line", LINES)
def test_every_command_line_works(
    line: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, _, command = line.rpartition("murmur ")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"Zoloft in new york city\n")))
    if "drugs.mbias" in command and "-o" not in command:
        assert run(["bias", "compile", "drugs.csv", "-o", "drugs.mbias"]) == 0
    capsys.readouterr()
    assert run(shlex.split(command.partition(" < ")[0])) == 0
    said = capsys.readouterr()
    assert bool(said.out) is ("--clear" not in command)
    if "bias test" in command:
        assert "kept" in said.out
