"""The picture of live captions: when it is taken, and that it asks nobody for anything."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

PROGRAM = Path(__file__).resolve().parents[2] / "tools" / "picture_captions.py"
spec = importlib.util.spec_from_file_location("picture_captions", PROGRAM)
assert spec is not None
assert spec.loader is not None
picture_captions = importlib.util.module_from_spec(spec)
spec.loader.exec_module(picture_captions)

# As tmux gives them.
COMMITTED = "\x1b[1m\x1b[36mS1:\x1b[0m\x1b[39m\x1b[49m Good morning."
DRAFT = "\x1b[1;2m\x1b[32mS2:\x1b[0;2m\x1b[39m\x1b[49m Thank you <"
STATUS = "\x1b[0;1m\x1b[39m\x1b[49m1:05\x1b[0m\x1b[39m\x1b[49m  \x1b[32m━━━\x1b[2m\x1b[39m╌╌"


@pytest.mark.parametrize(
    ("rows", "at_s", "is_worth_it"),
    [
        ([COMMITTED, DRAFT, STATUS], 65.0, True),
        ([COMMITTED, DRAFT, STATUS], 66.0, False),
        ([COMMITTED, STATUS], 10.0, False),
        ([DRAFT, "code 0"], 0.0, False),
        ([], 0.0, False),
    ],
)
def test_it_is_taken_while_a_draft_is_shown(rows: list[str], at_s: float, is_worth_it: bool) -> None:  # noqa: FBT001
    assert picture_captions.is_worth_it("\n".join(rows) + "\n\n", at_s=at_s) is is_worth_it


def test_it_shows_all_and_loads_nothing() -> None:
    svg = picture_captions.draw_svg("\n".join([COMMITTED, DRAFT, STATUS, "", ""]), title="murmur stream", columns=40)
    for text in ("S1:", "Good&#160;morning.", "Thank&#160;you&#160;&lt;", "1:05", "━━━", "murmur&#160;stream"):
        assert text in svg
    assert "@font-face" not in svg
    assert "cdnjs" not in svg
