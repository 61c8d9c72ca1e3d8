"""What captions say: whole lines, wrapped; drafts dim, speakers in colours of their own."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.text import Text

from murmur_cli.cli.caption_lines import CaptionLines
from murmur_cli.transcript.events import Committed, Draft, Lag
from murmur_cli.types import Speaker


def commit(text: str, speaker: str | None = None, *, starts_line: bool = True) -> Committed:
    who = None if speaker is None else Speaker(speaker)
    return Committed(0.0, 1.0, text, who, "model", starts_line=starts_line, latency=None, heard_s=1.0)


def plain(rows: tuple[Text, ...]) -> list[str]:
    return [row.plain for row in rows]


def test_a_row_stands_as_soon_as_nothing_can_change_it() -> None:
    lines = CaptionLines(n_shown=None)
    lines.take(commit("This is a sentence", "S1"))
    rows = lines.arrange(15)
    assert (plain(rows.fixed), plain(rows.loose)) == (["S1: This is a"], ["sentence"])
    lines.take(commit(" that goes on.", "S1", starts_line=False))
    rows = lines.arrange(15)
    assert (plain(rows.fixed), plain(rows.loose)) == (["sentence that"], ["goes on."])
    lines.take(commit("Another.", "S1"))
    lines.take(commit("A third.", "S2"))
    lines.take(Lag(1.0, 5.0))
    rows = lines.arrange(15)
    assert (plain(rows.fixed), plain(rows.loose)) == (["goes on.", "Another."], ["S2: A third."])
    lines.finish()
    rows = lines.arrange(15)
    assert (plain(rows.fixed), plain(rows.loose)) == (["S2: A third."], [])


@pytest.mark.parametrize("n_shown", [None, 3])
def test_a_row_that_was_given_away_stays_as_it_was_drawn(n_shown: int | None) -> None:
    lines = CaptionLines(n_shown=n_shown)
    lines.take(commit("This is a sentence", "S1"))
    rows = lines.arrange(30)
    lines.take(commit(" that goes on until it is longer than its row.", "S1", starts_line=False))
    assert plain(rows.loose) == ["S1: This is a sentence"]


def test_a_draft_stands_below_until_it_is_gone() -> None:
    lines = CaptionLines(n_shown=None)
    lines.take(commit("Hello.", "S1"))
    lines.take(Draft(1.0, "What\nis", Speaker("S2")))
    assert plain(lines.arrange(20).loose) == ["S1: Hello.", "S2: What is"]
    lines.take(Draft(1.0, "What is it", Speaker("S1")))
    assert plain(lines.arrange(20).loose) == ["S1: Hello.", "What is it"]
    lines.take(Draft(1.0, "", Speaker("S1")))
    assert plain(lines.arrange(20).loose) == ["S1: Hello."]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("One two three", ["One two", "three"]),
        ("https://example.org/talk", ["https://", "example.", "org/talk"]),
        ("今日は、雨です。", ["今日は、", "雨です。"]),  # two cells each, and no row begins with a full stop
        ("x\x1b[31m y\n\tz", ["x [31m y", "z"]),
        ("", []),
    ],
)
def test_rows_fit_and_hold_no_control_characters(text: str, rows: list[str]) -> None:
    lines = CaptionLines(n_shown=None)
    lines.take(commit(text))
    lines.finish()
    assert plain(lines.arrange(8).fixed) == rows


def test_only_the_last_rows_and_again_and_again() -> None:
    lines = CaptionLines(n_shown=2)
    lines.take(commit("Hello.", "S1"))
    lines.take(commit("What is it that you say?", "S2"))
    for _ in range(2):
        rows = lines.arrange(15)
        assert (plain(rows.fixed), plain(rows.loose)) == ([], ["S2: What is it", "that you say?"])
    assert plain(lines.arrange(40).loose) == ["S1: Hello.", "S2: What is it that you say?"]
    lines.take(Draft(1.0, "Well", None))
    assert plain(lines.arrange(15).loose) == ["that you say?", "Well"]


def test_a_line_that_never_ends_is_not_kept_where_nobody_sees_it() -> None:
    lines = CaptionLines(n_shown=2)
    for i in range(1000):
        lines.take(commit(f" word {i}", starts_line=False))
        shown = plain(lines.arrange(20).loose)
    assert " ".join(shown).endswith("word 998 word 999")
    assert len(lines._open) <= 80


def test_speakers_keep_their_colours_and_only_the_draft_is_dim() -> None:
    console = Console(record=True, file=io.StringIO(), force_terminal=True, width=40, color_system="standard")
    lines = CaptionLines(n_shown=None)
    for text, speaker in (("One.", "S1"), ("Two.", "S2"), ("Three.", "S1")):
        lines.take(commit(text, speaker))
    lines.take(Draft(1.0, "Four", Speaker("S2")))
    rows = lines.arrange(39)
    for row in (*rows.fixed, *rows.loose):
        console.print(row)
    one, two, three, four = console.export_text(styles=True).splitlines()
    assert one == "\x1b[1;36mS1:\x1b[0m One."
    assert two == "\x1b[1;32mS2:\x1b[0m Two."
    assert three == "\x1b[1;36mS1:\x1b[0m Three."
    assert four == "\x1b[1;2;32mS2:\x1b[0m\x1b[2m Four\x1b[0m"
