"""Lists of keywords in files: what is read, what is warned of, and what is refused with its line."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmur_cli.bias.keywords import Form, Keyword, KeywordList, join_lists
from murmur_cli.bias.list_files import load_keywords, parse_phrase
from murmur_cli.errors import UsageError


def _load(folder: Path, content: str | bytes, name: str = "list.txt") -> KeywordList:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return load_keywords(str(path))


def _say(keyword: Keyword) -> tuple[object, ...]:
    return (keyword.weight, *(form.text + "*" * form.is_open for form in keyword.forms))


def test_a_plain_list_has_weights_stems_aliases_quotes_and_comments(tmp_path: Path) -> None:
    read = _load(
        tmp_path,
        "\ufeff# names\n\nNew  York\tCity\r\n  Andrusenko :2\nSzypańsk*\nCOVID-19 | covid 19 | Covi* :0.5\n"
        '"Ratio 3 :2"\n"a | b" | c d :3\nStar Wars: A New Hope\nGood : bad\nC#\n'
        'M*A*S*H\nAT&T|Bell\n"quoted" word\nOff :0\n',
    )
    assert [_say(each) for each in read.keywords] == [
        (1.0, "New York City"),
        (2.0, "Andrusenko"),
        (1.0, "Szypańsk*"),
        (0.5, "COVID-19", "covid 19", "Covi*"),
        (1.0, "Ratio 3 :2"),
        (3.0, "a | b", "c d"),
        (1.0, "Star Wars: A New Hope"),
        (1.0, "Good : bad"),
        (1.0, "C#"),
        (1.0, "M*A*S*H"),
        (1.0, "AT&T|Bell"),
        (1.0, '"quoted" word'),
        (0.0, "Off"),
    ]
    assert read.keywords[3].display == "COVID-19"
    assert read.keywords[0].where == f"{tmp_path / 'list.txt'}:3"
    assert read.n_phrases == 15


def test_json_lines(tmp_path: Path) -> None:
    read = _load(
        tmp_path,
        '{"phrase": "a :2 | b*", "weight": 2, "aliases": ["x y"], "open": true}\n\n{"phrase": "é"}\n',
        "l.JSONL",
    )
    assert [_say(each) for each in read.keywords] == [(2.0, "a :2 | b**", "x y"), (1.0, "é")]


def test_a_table(tmp_path: Path) -> None:
    read = _load(
        tmp_path, 'Id,Phrase,weight,aliases,open\n1,"Smith, John",2,J. Smith|Johnny,\n\n2,Kubernet,,,yes\n', "l.csv"
    )
    assert [_say(each) for each in read.keywords] == [(2.0, "Smith, John", "J. Smith", "Johnny"), (1.0, "Kubernet*")]
    assert read.keywords[1].where.endswith(":4")


def test_warnings_name_their_lines(tmp_path: Path) -> None:
    read = _load(tmp_path, "Zürich\nab\nZÜRICH\n")
    path = tmp_path / "list.txt"
    assert [warning.split(" ")[0] for warning in read.warnings] == [f"{path}:2:", f"{path}:3:"]
    assert f"{path}:1" in read.warnings[1]
    joined = join_lists([read, parse_phrase("zürich")])
    assert len(joined.keywords) == 4
    assert len(joined.warnings) == 3


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("l.txt", "a b c\nd e f :x1\n", 2),
        ("l.txt", "abc :-1\n", 1),
        ("l.txt", "abc :1e9\n", 1),
        ("l.txt", "abc :nan\n", 1),
        ("l.txt", "abc :\u0662\u0663\n", 1),
        ("l.txt", b"abc\n\n\xff\xfe\n", 3),
        ("l.txt", "abc\nd\x00e\n", 2),
        ("l.txt", "abc\nd\x1be\n", 2),
        ("l.txt", "abc\nd\u202ee\n", 2),
        ("l.txt", "abc\nd\u200fe\n", 2),
        ("l.txt", "abc\ndef |\n", 2),
        ("l.txt", "| abc\n", 1),
        ("l.txt", "*\n", 1),
        ("l.txt", "abc\n" + "x" * 201, 2),
        ("l.txt", "abc\n" + "x" * 10_000_000, 2),
        ("l.txt", "abc\n" + "|" * 10_000_000, 2),
        ("l.txt", "abc\n" + ("a" + " " * 9_000 + ":") * 1_000, 2),
        ("l.jsonl", '{"phrase": "abc"}\n{"phrase": \n', 2),
        ("l.jsonl", '{"phrase": "\\ud800"}\n', 1),
        ("l.jsonl", '{"phrase": "abc", "wieght": 2}\n', 1),
        ("l.jsonl", '{"phrase": "abc", "weight": "2"}\n', 1),
        ("l.jsonl", '{"phrase": "abc", "weight": Infinity}\n', 1),
        ("l.jsonl", '{"phrase": "abc", "aliases": "x"}\n', 1),
        ("l.jsonl", '{"phrase": "abc", "open": 1}\n', 1),
        ("l.jsonl", '["abc"]\n', 1),
        ("l.jsonl", "[" * 15_000, 1),
        ("l.csv", "name\nabc\n", 1),
        ("l.csv", "phrase,weight\nabc,much\n", 2),
        ("l.csv", "phrase,open\nabc,perhaps\n", 2),
        ("l.csv", "phrase\nabc,def\n", 2),
        ("l.csv", 'phrase\n"abc\n', 2),
        ("l.csv", "phrase\n" + "x" * 200_000, 2),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused_with_its_line(
    name: str, content: str | bytes, line: int, tmp_path: Path
) -> None:
    began = time.process_time()
    with pytest.raises(UsageError) as refused:
        _load(tmp_path, content, name)
    assert refused.value.where == f"{tmp_path / name}:{line}"
    assert len(str(refused.value)) < 400
    assert refused.value.hint
    assert time.process_time() - began < 5


@pytest.mark.parametrize("content", ["", "\n \n", "# nothing\n"])
def test_a_list_of_nothing_is_refused(content: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no phrase"):
        _load(tmp_path, content)


def test_a_list_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none.txt", tmp_path, Path("/dev/zero")):
        with pytest.raises(UsageError):
            load_keywords(str(path))


def test_too_many_phrases_and_too_many_characters_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="100001 phrases"):
        _load(tmp_path, "".join(f"name {i}\n" for i in range(100_001)))
    with pytest.raises(UsageError, match="characters in all"):
        _load(tmp_path, "".join(f"{i:0>199}\n" for i in range(16_000)))
    many = _load(tmp_path, "".join(f"name {i}\n" for i in range(60_000)))
    with pytest.raises(UsageError, match="120000 phrases"):
        join_lists([many, many])


def test_the_hash_is_of_what_is_said_not_of_where(tmp_path: Path) -> None:
    first, second = _load(tmp_path, "New York :2\n"), _load(tmp_path, "#\nNew   York :2.0\n", "other.txt")
    assert first.sha256 == second.sha256
    assert len({parse_phrase(text).sha256 for text in ("New York", "New York*", "New York :2", "new york")}) == 4


@given(st.text(max_size=30))
def test_any_line_is_a_keyword_or_refused(line: str) -> None:
    try:
        read = parse_phrase(line)
    except UsageError:
        return
    for form in read.keywords[0].forms:
        assert isinstance(form, Form)
        assert form.text
        assert form.text == " ".join(form.text.split())
        assert form.text.isprintable() or any(each not in "\n\x00" for each in form.text)
