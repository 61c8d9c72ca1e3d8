"""``murmur bias compile``, ``test`` and ``cache``: figures on stdout, talk on stderr, and hostile lists."""

from __future__ import annotations

import inspect
import io
import json
import re
import sys
import time
from pathlib import Path

import pytest
from transcript_samples import make_segment, make_transcript

from murmur_cli.bias.explain import SCALE
from murmur_cli.bias.store import BiasStore
from murmur_cli.cli.app import run
from murmur_cli.errors import WeightsError
from murmur_cli.models import vocabulary as vocabulary_module
from murmur_cli.models.choice import Choice
from murmur_cli.models.vocabulary import load_vocabulary
from murmur_cli.transcript.formats import render_transcript

Said = pytest.CaptureFixture[str]


@pytest.fixture
def model(models_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A model whose tokenizer is soon read, and an empty cache."""
    monkeypatch.setenv("MURMUR_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return str(models_dir / "tiny-vibevoice-digits")


def write(name: str, content: str | bytes) -> str:
    Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
    return name


def test_a_list_is_compiled_once_and_its_figures_are_data(model: str, capsys: Said) -> None:
    write("names.txt", "New York City\nAndrusenko :2\nSzypańsk*\nOff :0\n")
    assert run(["bias", "compile", "names.txt", "--model", model]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    figures = dict(line.split() for line in said.out.splitlines())
    assert list(figures) == ["phrases", "states", "arcs", "bytes", "seconds", "warnings"]
    assert (figures["phrases"], figures["warnings"]) == ("3", "0")

    assert run(["bias", "compile", "names.txt", "--model", model, "--json", "-o", "x.mbias"]) == 0
    described = json.loads(capsys.readouterr().out)
    assert {name: str(described[name]) for name in ("phrases", "states", "arcs", "bytes")} == {
        name: figures[name] for name in ("phrases", "states", "arcs", "bytes")
    }
    assert (described["list"], described["output"], described["warnings"]) == ("names.txt", "x.mbias", [])

    assert run(["bias", "cache"]) == 0
    *files, total = capsys.readouterr().out.splitlines()
    assert sorted(line.split("  ")[1] for line in files) == ["3 phrases", "a tokenizer"]
    n_bytes = sum(path.stat().st_size for path in Path("cache/bias").iterdir())
    assert total.startswith(f"2 files, {n_bytes} bytes")
    assert run(["bias", "cache", "--clear"]) == 0
    assert f"{n_bytes} bytes freed" in capsys.readouterr().err
    assert list(Path("cache/bias").iterdir()) == []
    assert run(["bias", "cache"]) == 0
    assert capsys.readouterr().out.startswith("0 files, 0 bytes")


def test_warnings_have_their_line_and_strict_refuses_them(model: str, capsys: Said) -> None:
    write("names.txt", "New York\n# no\nnew YORK\nab\n")
    command = ["bias", "compile", "names.txt", "--model", model]
    assert run(command) == 0
    said = capsys.readouterr()
    lines = [line.removeprefix("murmur: names.txt:")[:2] for line in said.err.splitlines()]
    assert sorted(lines) == ["3:", "4:"]
    assert run([*command, "--strict", "-o", "x.mbias"]) == 2
    said = capsys.readouterr()
    assert (said.out, len(said.err.splitlines())) == ("", 3)
    assert not Path("x.mbias").exists()


def test_many_warnings_are_counted(model: str, capsys: Said) -> None:
    write("names.txt", "New York\n" * 500)
    assert run(["bias", "compile", "names.txt", "--model", model]) == 0
    said = capsys.readouterr()
    assert len(said.err.splitlines()) == 101
    assert "399 more" in said.err.splitlines()[-1]
    assert said.out.splitlines()[-1].split() == ["warnings", "499"]


def test_a_file_is_not_replaced_unasked(model: str, capsys: Said) -> None:
    write("names.txt", "New York\n")
    write("x.mbias", "mine")
    command = ["bias", "compile", "names.txt", "--model", model, "-o"]
    assert run([*command, "x.mbias"]) == 2
    assert Path("x.mbias").read_text(encoding="utf-8") == "mine"
    assert run([*command, "x.mbias", "--overwrite"]) == 0
    assert run([*command, "x.txt"]) == 2
    assert not Path("x.txt").exists()
    capsys.readouterr()


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("weight.txt", "fine\nname :-1\n", 2),
        ("weight.txt", "name :lots\n", 1),
        ("nul.txt", "fine\n\nab\0c\n", 3),
        ("direction.txt", "fine\nabc\u202edef\n", 2),
        ("bytes.txt", b"fine\nab\xff\n", 2),
        ("long.txt", "x" * 201 + "\n", 1),
        ("huge.txt", b"x" * 10_000_000 + b"\n", 1),
        ("deep.jsonl", "[" * 15_000 + "\n", 1),
        ("field.jsonl", '{"phrase": "a name", "wait": 2}\n', 1),
        ("huge.csv", b'phrase\n"' + b"x" * 10_000_000, 2),
        ("column.csv", "word\nfine\n", 1),
        ("empty.txt", "", None),
        ("comments.txt", "# nothing\n", None),
        ("many.txt", "".join(f"phrase {i}\n" for i in range(100_001)), None),
        ("compiled.mbias", b"\0\xff", None),
    ],
)
def test_what_cannot_be_meant_is_2_with_one_line(
    name: str, content: str | bytes, line: int | None, model: str, capsys: Said
) -> None:
    write(name, content)
    assert run(["bias", "compile", name, "--model", model]) == 2
    said = capsys.readouterr()
    assert (said.out, len(said.err.splitlines())) == ("", 1)
    assert said.err.startswith(f"murmur: {name}: " if line is None else f"murmur: {name}:{line}: ")
    assert len(said.err) < 400
    assert not Path("cache").exists()


@pytest.mark.parametrize("name", ["missing.txt", "."])
def test_what_is_no_file_is_2(name: str, model: str, capsys: Said) -> None:
    assert run(["bias", "compile", name, "--model", model]) == 2
    assert run(["bias", "test", name, "some text", "--model", model]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_ten_thousand_phrases_are_served(model: str, capsys: Said) -> None:
    write("names.txt", "".join(f"{i:04d}\n" for i in range(10_000)))
    assert run(["bias", "compile", "names.txt", "--model", model, "-q"]) == 0
    assert capsys.readouterr().out.split()[:2] == ["phrases", "10000"]


def test_control_tokens_in_a_list_are_text(model: str, capsys: Said) -> None:
    write("names.txt", "<|endoftext|>\n<|im_end|>\n")
    assert run(["bias", "test", "names.txt", "so <|endoftext|> it is", "--model", model, "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["texts"]
    assert [hit["phrase"] for hit in found["hits"]] == ["<|endoftext|>"]
    assert "<|endoftext|>" not in [token["text"] for token in found["tokens"]]
    assert found["kept"] > 0


def test_a_text_is_explained(model: str, capsys: Said) -> None:
    write("names.txt", "New York City\n")
    command = ["bias", "test", "names.txt", "--model", model]
    assert run([*command, "He flew to new york city."]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    text, hit, tokens = said.out.splitlines()
    assert text == "He flew to new york city."
    kept = re.fullmatch(r"  11-24  New York City  kept (\d+\.\d\d)", hit)
    assert kept is not None
    scores = [float(score) for score in re.findall(r" ([+-]\d+\.\d\d)", tokens)]
    assert sum(scores) == pytest.approx(float(kept[1]), abs=0.02 * len(scores))

    assert run([*command, "he flew to new yorkshire"]) == 0
    text, hit, tokens = capsys.readouterr().out.splitlines()
    assert hit.strip() == "no keyword"
    assert sum(float(score) for score in re.findall(r" ([+-]\d+\.\d\d)", tokens)) == pytest.approx(0, abs=0.1)


def test_what_is_unfinished_at_the_end_is_taken_back(model: str, capsys: Said) -> None:
    write("names.txt", "New York City\n")
    assert run(["bias", "test", "names.txt", "he saw new york cit", "--model", model, "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["texts"]
    assert max(token["score"] for token in found["tokens"]) > 1
    assert found["settled"] == pytest.approx(-sum(token["score"] for token in found["tokens"]), abs=0.01)
    assert (found["hits"], found["kept"]) == ([], pytest.approx(0, abs=0.001))


@pytest.mark.parametrize("part", [None, "text_config", "decoder_config"])
def test_tokens_are_as_many_as_the_model_counts(part: str | None, model: str) -> None:
    sizes = {"vocab_size": 5000}
    write("config.json", json.dumps({"model_type": "any", **({part: sizes} if part else sizes)}))
    write("tokenizer.json", (Path(model) / "tokenizer.json").read_bytes())
    assert len(load_vocabulary(Path(), name="mine").pieces) == 5000
    write("config.json", "{")
    with pytest.raises(WeightsError):
        load_vocabulary(Path(), name="mine")


def test_colour_is_for_terminals_and_changes_nothing_else(
    model: str, monkeypatch: pytest.MonkeyPatch, capsys: Said
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    write("names.txt", "New York City\n")
    command = ["bias", "test", "names.txt", "to new york city", "--model", model]
    assert run(command) == 0
    plain = capsys.readouterr().out
    assert run([*command, "--color", "always"]) == 0
    coloured = capsys.readouterr().out
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain
    assert run([*command, "--color", "pink"]) == 2


def test_lines_of_stdin_and_segments_of_transcripts(model: str, monkeypatch: pytest.MonkeyPatch, capsys: Said) -> None:
    write("names.txt", "New York\n")
    assert run(["bias", "compile", "names.txt", "--model", model, "-q", "-o", "names.mbias"]) == 0
    capsys.readouterr()
    lines = ["I was in new york", "nothing here", "New York!"]
    transcript = make_transcript([make_segment(i, i + 1, text) for i, text in enumerate(lines)])
    write("talk.json", render_transcript(transcript, "json", word_times=False))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("\n".join(lines).encode())))
    for given in ("-", "talk.json"):
        assert run(["bias", "test", "names.mbias", given, "--model", model]) == 0
        said = capsys.readouterr()
        assert said.err == "murmur: 2 of 3 lines have a keyword\n"
        assert [line[:7].strip() for line in said.out.splitlines()[1::3]] == ["9-17", "0-8"]
    assert run(["bias", "test", "names.mbias", "absent.json", "--model", model]) == 1
    assert run(["bias", "test", "names.mbias", "\udcff", "--model", model]) == 2
    capsys.readouterr()


def test_a_list_of_another_tokenizer_is_refused(model: str, whisper_base: Path, capsys: Said) -> None:
    write("names.txt", "New York\n")
    assert run(["bias", "compile", "names.txt", "--model", model, "-q", "-o", "names.mbias"]) == 0
    capsys.readouterr()
    assert run(["bias", "test", "names.mbias", "new york", "--model", str(whisper_base)]) == 2
    assert "another model" in capsys.readouterr().err


def test_a_model_without_a_tokenizer_is_refused(model: str, capsys: Said) -> None:
    write("names.txt", "New York\n")
    Path("scripted").mkdir()
    write("scripted/config.json", '{"model_type": "scripted"}')
    assert run(["bias", "compile", "names.txt", "--model", "scripted"]) == 2
    write("scripted/tokenizer.json", '{"model": {"type": "Unigram", "vocab": []}}')
    assert run(["bias", "compile", "names.txt", "--model", "scripted"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_the_default_model_is_that_of_batch(model: str, monkeypatch: pytest.MonkeyPatch, capsys: Said) -> None:
    write("names.txt", "New York\n")
    monkeypatch.setattr(vocabulary_module, "_GPU_FILES", (".",))
    monkeypatch.setattr(vocabulary_module, "choose_model", lambda options: Choice(model, "of a GPU"))
    assert run(["bias", "compile", "names.txt"]) == 0
    assert capsys.readouterr().err == f"murmur: model {model}: of a GPU; --model takes another\n"
    monkeypatch.setattr(vocabulary_module, "_GPU_FILES", ())
    assert run(["bias", "compile", "names.txt", "--offline"]) in (0, 4)  # 4 where its files are not here
    assert "model whisper-base: " in capsys.readouterr().err


def test_scores_are_scaled_as_in_a_decoder() -> None:
    assert inspect.signature(BiasStore.add).parameters["strength"].default == SCALE


def test_a_cached_list_is_quickly_there(model: str, capsys: Said) -> None:
    write("names.txt", "".join(f"name {i}\n" for i in range(1000)))
    command = ["bias", "compile", "names.txt", "--model", model, "--json"]
    assert run(command) == 0
    capsys.readouterr()
    started = time.process_time()
    assert run(command) == 0
    assert json.loads(capsys.readouterr().out)["seconds"] < 1.0
    assert time.process_time() - started < 2.0
