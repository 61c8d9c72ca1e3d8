"""Which lists a run listens for: what was asked for, for which recording, and what is said of it."""

from __future__ import annotations

import io
import os
import signal
from collections.abc import Mapping
from pathlib import Path

import pytest
from rich.console import Console

from murmur_cli.bias import cache
from murmur_cli.bias.cache import ListCache
from murmur_cli.bias.keywords import KeywordList
from murmur_cli.bias.mbias import Compiled, save_compiled
from murmur_cli.bias.vocabulary import Vocabulary
from murmur_cli.cli.keywords import BatchKeywords, Keywords, prepare, read_lists
from murmur_cli.cli.live_keywords import LiveKeywords, reload_signal
from murmur_cli.cli.render import Talk
from murmur_cli.engine import Bias
from murmur_cli.errors import UsageError
from murmur_cli.models.scripted import ScriptedEngine
from murmur_cli.options import BiasOptions, RunOptions
from murmur_cli.transcript.events import Committed, SessionEnd
from murmur_cli.types import KeywordHit, Word

BYTES = Vocabulary(tuple(bytes([byte]) for byte in range(256)), lambda text: list(text.encode()), "bytes")
LETTERS = Vocabulary((*BYTES.pieces, b"e"), BYTES.encode, "bytes and one more")


class Ear(ScriptedEngine):
    """An engine of bytes."""

    def __init__(self) -> None:
        super().__init__(())

    def keyword_lists(self) -> ListCache:
        return ListCache(BYTES, None)


@pytest.fixture
def said() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def talk(said: io.StringIO) -> Talk:
    return Talk(Console(file=said, width=1000), RunOptions())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write({"names.txt": "Ann Lee\nBob\n", "drugs.csv": "phrase,weight\nAspirin,2\n", "off.txt": "Carl :0\n"})
    return tmp_path


def write(contents: Mapping[str, str]) -> None:
    for name, content in contents.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(content, encoding="utf-8")


def make(talk: Talk, **given: tuple[str, ...] | str | None) -> Keywords:
    return prepare(read_lists(BiasOptions(**given)), ListCache(BYTES, None), talk)


def names(bias: Bias | None) -> list[str]:
    return [] if bias is None else [keyword.display for keyword in bias.keywords.keywords]


def test_lists_and_phrases_are_listened_for_together(folder: Path, talk: Talk, said: io.StringIO) -> None:
    keywords = make(talk, bias=("names.txt", "drugs.csv"), phrase=("New York | nyc",), bias_strength="low")
    bias = keywords.of("any.wav")
    assert names(bias) == ["Ann Lee", "Bob", "Aspirin", "New York"]
    assert bias is not None
    assert bias.margin == 2.0
    assert keywords.everything.n_phrases == 5
    assert said.getvalue() == ""


def test_nothing_is_asked_for_by_default(talk: Talk, said: io.StringIO) -> None:
    given = read_lists(BiasOptions())
    assert not given.are_there
    keywords = BatchKeywords(given, ["a.wav"], talk)
    keywords.prepare(ScriptedEngine(()))  # which cannot be given any
    keywords.sum_up()
    assert keywords.of("a.wav") is None
    assert said.getvalue() == ""


def test_a_compiled_list_is_read_and_one_of_another_model_refused(
    folder: Path, talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = make(talk, bias=("names.txt",)).of("a.wav")
    assert plain is not None
    save_compiled(Path("n.mbias"), Compiled(ListCache(BYTES, None).compile(plain.keywords), plain.keywords))
    monkeypatch.setattr(cache, "build_graph", lambda *_, **__: pytest.fail("it is compiled again"))
    compiled = make(talk, bias=("n.mbias",)).of("a.wav")
    assert compiled is not None
    assert compiled.keywords.sha256 == plain.keywords.sha256
    with pytest.raises(UsageError, match=r"n\.mbias.*another"):
        prepare(read_lists(BiasOptions(bias=("n.mbias",))), ListCache(LETTERS, None), talk)
    with pytest.raises(UsageError, match=r"gone\.mbias"):
        read_lists(BiasOptions(bias=("gone.mbias",)))


def test_what_is_odd_is_said_with_its_line(folder: Path, talk: Talk, said: io.StringIO) -> None:
    write({"odd.txt": "Ann Lee\n\nxy\n"})
    make(talk, bias=("names.txt", "odd.txt"))
    lines = said.getvalue().splitlines()
    assert any("odd.txt:3" in line and "fewer than 3" in line for line in lines)
    assert any("odd.txt:1" in line and "names.txt:1" in line for line in lines)
    assert len(lines) == 2


@pytest.mark.parametrize(
    ("options", "where"),
    [
        ({"bias": ("gone.txt",)}, "gone.txt"),
        ({"bias": ("names.txt", "bad.txt")}, "bad.txt:2"),
        ({"phrase": ("x :-1",)}, "--phrase"),
        ({"bias_map": "gone.jsonl"}, "gone.jsonl"),
    ],
)
def test_what_cannot_be_meant_is_an_error(folder: Path, options: dict[str, str], where: str) -> None:
    write({"bad.txt": "good\nbad :many\n"})
    with pytest.raises(UsageError) as refusal:
        read_lists(BiasOptions(**options))
    assert refusal.value.where == where


# --- the map


def test_a_recording_has_its_own_lists_beside_those_of_all(folder: Path, talk: Talk, said: io.StringIO) -> None:
    write({"maps/m.jsonl": '{"path": "../a.wav", "lists": ["own.txt"]}\n', "maps/own.txt": "Zed Quark\n"})
    given = read_lists(BiasOptions(bias=("names.txt",), bias_map="maps/m.jsonl"))
    keywords = BatchKeywords(given, ["a.wav", "b.wav"], talk)
    keywords.prepare(Ear())
    assert names(keywords.of("a.wav")) == names(keywords.of(str(folder / "a.wav"))) == ["Ann Lee", "Bob", "Zed Quark"]
    assert names(keywords.of("b.wav")) == ["Ann Lee", "Bob"]
    keywords.sum_up()
    assert said.getvalue() == "murmur: bias: 3 phrases, 0 hits, 0 changed the text\n"


def test_a_line_for_a_recording_that_is_not_there_is_said(folder: Path, talk: Talk, said: io.StringIO) -> None:
    write({"m.jsonl": '{"path": "a.wav", "lists": []}\n{"path": "c.wav", "lists": ["names.txt"]}\n'})
    keywords = BatchKeywords(read_lists(BiasOptions(bias_map="m.jsonl")), ["a.wav"], talk)
    keywords.prepare(Ear())
    assert "m.jsonl:2" in said.getvalue()
    assert "m.jsonl:1" not in said.getvalue()
    assert keywords.of("a.wav") is None


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "not JSON"),
        ("[]", "path"),
        ('{"lists": []}', "path"),
        ('{"path": "a.wav"}', "lists"),
        ('{"path": "a.wav", "lists": "names.txt"}', "lists"),
        ('{"path": "a.wav", "lists": [1]}', "lists"),
        ('{"path": "a.wav", "lists": [], "strength": 3}', "strength"),
        ('{"path": "./b.wav", "lists": []}', "m.jsonl:1"),
    ],
)
def test_a_faulty_line_of_a_map_is_named(folder: Path, line: str, said: str) -> None:
    write({"m.jsonl": f'{{"path": "b.wav", "lists": ["names.txt"]}}\n\n{line}\n'})
    with pytest.raises(UsageError, match=said) as refusal:
        read_lists(BiasOptions(bias_map="m.jsonl"))
    assert refusal.value.where == "m.jsonl:3"


# --- strength


@pytest.mark.parametrize(
    ("strength", "n_phrases", "margin"),
    [("medium", 300, 3.0), ("medium", 5_000, 2.0), ("high", 100_000, 3.0), ("low", 0, 2.0), ("2.5", 100_000, 2.5)],
)
def test_a_long_list_is_heard_less_eagerly_unless_a_number_is_given(
    strength: str, n_phrases: int, margin: float
) -> None:
    assert BiasOptions(bias_strength=strength).fit_margin(n_phrases) == pytest.approx(margin)


# --- live


def committed(text: str, *hits: KeywordHit) -> Committed:
    words = tuple(Word(0.0, 1.0, text, 0.5) for text in (text,))
    return Committed(0.0, 1.0, text, None, "model", True, None, 1.0, words, hits)


def open_live(talk: Talk, **given: tuple[str, ...] | str) -> LiveKeywords:
    return LiveKeywords(read_lists(BiasOptions(**given)), ListCache(BYTES, None), talk)


def test_a_signal_has_the_lists_read_again(folder: Path, talk: Talk, said: io.StringIO) -> None:
    keywords = open_live(talk, bias=("names.txt",))
    before = keywords.current()
    handler = signal.getsignal(signal.SIGUSR1)
    with reload_signal(keywords):
        write({"names.txt": "Zed Quark\n"})
        assert keywords.current() is before
        os.kill(os.getpid(), signal.SIGUSR1)
        assert names(keywords.current()) == ["Zed Quark"]
        now = keywords.current()
        write({"names.txt": "good\nbad :many\n"})
        os.kill(os.getpid(), signal.SIGUSR1)
        assert keywords.current() is now
    assert signal.getsignal(signal.SIGUSR1) is handler
    first, second = said.getvalue().splitlines()
    assert "1 phrases" in first
    assert "names.txt:2" in second
    assert "stay" in second


def test_what_was_heard_live_is_spelled_and_counted(folder: Path, talk: Talk, said: io.StringIO) -> None:
    keywords = open_live(talk, phrase=("ComfyUI",), bias_display="list")
    hits = (KeywordHit(0.0, 0.5, "ComfyUI", True), KeywordHit(0.5, 1.0, "ComfyUI", False))
    event, _ = keywords.follow(iter([committed("comfyui", *hits), SessionEnd(1.0, 1, 0, "input", None)]))
    assert isinstance(event, Committed)
    assert (event.text, event.words[0].text) == ("ComfyUI", "ComfyUI")
    assert said.getvalue() == "murmur: bias: 1 phrases, 2 hits, 1 changed the text\n"
    plain = open_live(talk, phrase=("ComfyUI",))
    assert [event.text for event in plain.follow(iter([committed("comfyui")]))] == ["comfyui"]


def test_lists_that_are_switched_off_are_no_error(folder: Path, talk: Talk) -> None:
    bias = make(talk, bias=("off.txt",)).of("a.wav")
    assert bias is not None
    assert bias.keywords.n_phrases == 0
    assert isinstance(bias.keywords, KeywordList)
