"""The table of faults in ``tests/README.md`` names tests that are there."""

from __future__ import annotations

import re

from conftest import ROOT

NAMED = re.compile(r"`((?:unit|property|integration|e2e)/test_\w+\.py)::(test_\w+)`")


def test_every_test_of_the_table_is_there() -> None:
    table = (ROOT / "tests" / "README.md").read_text(encoding="utf-8")
    named = NAMED.findall(table)
    assert len(named) == table.count("::")
    assert len(named) > 80
    missing = [
        f"{path}::{name}"
        for path, name in named
        if f"\ndef {name}(" not in (ROOT / "tests" / path).read_text(encoding="utf-8")
    ]
    assert missing == []
