"""Compiled lists in memory and on the disk: found again, made anew when damaged, refused from a user when wrong."""

from __future__ import annotations

import dataclasses
import hashlib
import threading
from pathlib import Path

import numpy as np
import pytest

from murmur_cli.bias import arcs as arcs_module
from murmur_cli.bias import cache as cache_module
from murmur_cli.bias.allocation import AllocationOptions
from murmur_cli.bias.cache import ListCache, clear_cache, default_folder, find_odd_tokens, list_cached
from murmur_cli.bias.index import classify_tokens
from murmur_cli.bias.keywords import join_lists
from murmur_cli.bias.list_files import parse_phrase
from murmur_cli.bias.mbias import Compiled, load_compiled, read_compiled, save_compiled
from murmur_cli.bias.packed import BiasList
from murmur_cli.bias.vocabulary import Vocabulary, read_vocabulary
from murmur_cli.errors import OutputError, UsageError

BYTES = tuple(bytes([byte]) for byte in range(256))
VOCABULARY = Vocabulary((*BYTES, b" New", b"York", None), lambda text: list(text.encode()), "bytes")
KEYWORDS = parse_phrase("New York | Szypańsk* :2")


def _is_same(one: BiasList, other: BiasList) -> bool:
    pairs = ((getattr(one, field.name), getattr(other, field.name)) for field in dataclasses.fields(BiasList))
    return all(np.array_equal(a, b) for a, b in pairs)


@pytest.fixture
def compiled() -> Compiled:
    return Compiled(ListCache(VOCABULARY, None).compile(KEYWORDS), KEYWORDS)


def _refuse_to_build(*_: object, **__: object) -> BiasList:
    raise AssertionError("compiled again")


def test_a_list_is_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = ListCache(VOCABULARY, tmp_path)
    graph, classes = first.compile(KEYWORDS), first.classes()
    monkeypatch.setattr(cache_module, "build_graph", _refuse_to_build)
    monkeypatch.setattr(cache_module, "classify_tokens", _refuse_to_build)
    assert first.compile(parse_phrase("New   York | Szypańsk* :2.0")) is graph  # in memory
    second = ListCache(VOCABULARY, tmp_path)
    assert _is_same(second.compile(KEYWORDS), graph)  # on the disk
    assert all(
        np.array_equal(getattr(second.classes(), name), getattr(classes, name)) for name in ("column", "outcome")
    )


@pytest.mark.parametrize(
    ("keywords", "vocabulary", "options"),
    [
        (parse_phrase("New York | Szypańsk* :3"), VOCABULARY, AllocationOptions()),
        (KEYWORDS, dataclasses.replace(VOCABULARY, sha256="other"), AllocationOptions()),
        (KEYWORDS, VOCABULARY, AllocationOptions(first_score=2.0)),
    ],
)
def test_anything_that_matters_makes_another(
    keywords: cache_module.KeywordList,
    vocabulary: Vocabulary,
    options: AllocationOptions,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ListCache(VOCABULARY, tmp_path).compile(KEYWORDS)
    monkeypatch.setattr(cache_module, "build_graph", _refuse_to_build)
    with pytest.raises(AssertionError):
        ListCache(vocabulary, tmp_path).compile(keywords, options)


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "folder", "other"])
def test_a_damaged_file_is_made_again(damage: str, tmp_path: Path) -> None:
    graph = ListCache(VOCABULARY, tmp_path).compile(KEYWORDS)
    (path,) = tmp_path.glob("*.mbias")
    content = path.read_bytes()
    path.unlink()
    if damage == "folder":
        path.mkdir()
    elif damage == "other":
        other = ListCache(VOCABULARY, None).compile(parse_phrase("Other"))
        save_compiled(path, Compiled(other, KEYWORDS))
    else:
        middle = len(content) // 2
        flipped = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
        path.write_bytes({"cut": content[:middle], "flip": flipped, "empty": b""}[damage])
    assert _is_same(ListCache(VOCABULARY, tmp_path).compile(KEYWORDS), graph)
    if damage != "folder":
        assert path.read_bytes() == content


def test_runs_at_the_same_time_do_not_disturb_each_other(tmp_path: Path) -> None:
    graphs: list[BiasList] = []

    def run() -> None:
        for _ in range(5):
            graphs.append(ListCache(VOCABULARY, tmp_path).compile(KEYWORDS))
            clear_cache(tmp_path)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(graphs) == 20
    assert all(_is_same(graph, graphs[0]) for graph in graphs)
    assert not list(tmp_path.glob("*")) or all(each.suffix == ".mbias" for each in tmp_path.glob("*"))


def test_a_folder_that_cannot_be_written_is_as_good_as_none(tmp_path: Path) -> None:
    blocked = tmp_path / "file" / "bias"
    (tmp_path / "file").write_text("no folder")
    assert ListCache(VOCABULARY, blocked).compile(KEYWORDS).n_phrases == 2


def test_the_cache_is_listed_and_cleared(tmp_path: Path) -> None:
    cache = ListCache(VOCABULARY, tmp_path)
    cache.compile(KEYWORDS)
    cache.classes()
    (tmp_path / ".half.mbias.x").write_bytes(b"half")
    assert [each.n_phrases for each in sorted(list_cached(tmp_path), key=lambda each: each.path.suffix)] == [2, None]
    assert clear_cache(tmp_path) == sum(each.n_bytes for each in list_cached(tmp_path)) or not list(tmp_path.iterdir())
    assert list(tmp_path.iterdir()) == []
    assert list_cached(tmp_path / "none") == ()


def test_the_cache_is_where_the_user_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MURMUR_CACHE_DIR", str(tmp_path))
    assert default_folder() == tmp_path / "bias"


def test_a_compiled_list_holds_its_keywords(compiled: Compiled, tmp_path: Path) -> None:
    path = tmp_path / "list.mbias"
    save_compiled(path, compiled)
    classes = classify_tokens(VOCABULARY)
    read = load_compiled(str(path), classes)
    assert _is_same(read.graph, compiled.graph)
    assert read.keywords.keywords == KEYWORDS.keywords
    with pytest.raises(UsageError, match="another model"):
        load_compiled(str(path), dataclasses.replace(classes, sha256="other"))
    with pytest.raises(UsageError, match="damaged"):
        load_compiled(str(path), dataclasses.replace(classes, after=classes.after[:10]))
    with pytest.raises(UsageError, match="cannot be read"):
        load_compiled(str(tmp_path / "none.mbias"), classes)
    with pytest.raises(OutputError):
        save_compiled(path / "x.mbias", compiled)


@pytest.mark.parametrize(
    ("field", "index", "value"),
    [
        ("links", 310, 10**6), ("links", 310, 310), ("targets", 3, -2), ("targets", 3, 2**30), ("tokens", 0, 10**6),
        ("root_targets", (0, 0), 2**30), ("bounds", 5, 99), ("debtors", 3, 77), ("cuts", 4, 30_000),
        ("values", 0, float("nan")), ("bases", (0, 310), float("inf")),
    ],
)  # fmt: skip
def test_a_forged_file_with_a_right_checksum_is_refused(
    field: str, index: int | tuple[int, int], value: float, compiled: Compiled, tmp_path: Path
) -> None:
    array = getattr(compiled.graph, field).copy()
    array[index] = value
    path = tmp_path / "forged.mbias"
    save_compiled(path, dataclasses.replace(compiled, graph=dataclasses.replace(compiled.graph, **{field: array})))
    with pytest.raises(ValueError, match=r"\w"):
        read_compiled(path, n_tokens=len(VOCABULARY.pieces), n_cuts=len(classify_tokens(VOCABULARY).likely))


@pytest.mark.parametrize("payload", [b"", b"PK\x05\x06" + bytes(18), b"not a zip"])
def test_other_content_with_a_right_checksum_is_refused(payload: bytes, tmp_path: Path) -> None:
    path = tmp_path / "other.mbias"
    path.write_bytes(b"mbias" + hashlib.sha256(payload).digest() + payload)
    with pytest.raises(UsageError, match="damaged"):
        load_compiled(str(path), classify_tokens(VOCABULARY))


def test_no_phrase_becomes_a_control_token(models_dir: Path) -> None:
    vocabulary = read_vocabulary(models_dir / "tiny-vibevoice-digits" / "tokenizer.json", n_tokens=500)
    for phrase in ("<|endoftext|>", "<|im_start|>user", "<tool_call>", "<|box_start|><|text_chunk_end|>"):
        tokens = vocabulary.encode(phrase)
        assert b"".join(vocabulary.pieces[token] or b"?" for token in tokens) == phrase.encode()
        graph = ListCache(vocabulary, None).compile(parse_phrase(phrase))
        assert all(
            vocabulary.pieces[token] is not None for token in {*graph.tokens.tolist(), *graph.root_tokens.tolist()}
        )


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff", b'{"model": {"type": "WordPiece", "vocab": {}}}', b"[]"])
def test_a_tokenizer_that_keywords_cannot_be_followed_in_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content)
    with pytest.raises(UsageError) as refused:
        read_vocabulary(path)
    assert refused.value.where == str(path)


def test_what_the_tokenizer_changes_and_what_everybody_says_is_warned_of() -> None:
    lossy = Vocabulary(VOCABULARY.pieces, lambda text: list(text.lower().encode()), "lossy")
    keywords = parse_phrase("New York | york")
    assert len(find_odd_tokens(keywords, lossy)) == 1
    assert ListCache(lossy, None).compile(keywords).n_phrases == 1
    pieces = (*BYTES, b" the", *[None] * 20_000)
    common = Vocabulary(pieces, lambda text: [256] if text == " the" else list(text.encode()), "common")
    assert len(find_odd_tokens(parse_phrase("the"), common)) == 1
    assert find_odd_tokens(parse_phrase("then"), common) == ()


def test_stems_that_would_take_gigabytes_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stems = join_lists([parse_phrase("ab*"), parse_phrase("ba*")])
    assert ListCache(VOCABULARY, None).compile(stems).n_phrases == 2
    monkeypatch.setattr(arcs_module, "MOST_READ", 1)
    with pytest.raises(UsageError, match="stems"):
        ListCache(VOCABULARY, tmp_path).compile(stems)
    assert not list(tmp_path.glob("*.mbias"))
