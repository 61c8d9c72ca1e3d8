"""However captions are wrapped and resized, what was committed stands there once, in order."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from murmur_cli.cli.caption_lines import CaptionLines
from murmur_cli.transcript.events import Committed, Draft
from murmur_cli.types import Speaker

texts = st.text(alphabet="ab .,-今。ー\u0e40\u0e01é", min_size=1, max_size=40)
pieces = st.tuples(texts, st.sampled_from([None, "S1", "S2"]), st.booleans(), st.integers(2, 30))


def squeeze(text: str) -> str:
    return "".join(text.split())


def spell(committed: Sequence[Committed]) -> str:
    """The oracle: all lines as one text without blanks, each after its speaker where another one spoke before."""
    spelt, speaker = "", None
    for event in committed:
        if event.starts_line:
            spelt += f"{event.speaker}:" if event.speaker not in (None, speaker) else ""
            speaker = event.speaker
        spelt += event.text
    return squeeze(spelt)


@given(st.lists(pieces, max_size=12), st.none() | st.integers(1, 4))
def test_nothing_is_lost_and_no_row_is_too_wide(drawn: list[tuple[str, str | None, bool, int]], n: int | None) -> None:
    lines, committed, stood = CaptionLines(n_shown=n), [], ""
    for text, name, starts_line, width in drawn:
        speaker = None if name is None else Speaker(name)
        starts = starts_line or not committed or not squeeze(text) or not squeeze(committed[-1].text)
        event = Committed(0.0, 0.0, text, speaker, "model", starts_line=starts, latency=None, heard_s=0.0)
        lines.take(event)
        lines.take(Draft(0.0, text, speaker))
        rows = lines.arrange(width)
        committed.append(event)
        stood += "".join(row.plain for row in rows.fixed)
        assert max((cell_len(row.plain.rstrip()) for row in (*rows.fixed, *rows.loose)), default=0) <= width
        assert n is None or (len(rows.loose) <= n and not rows.fixed)
    lines.finish()
    rows = lines.arrange(20)
    stood += "".join(row.plain for row in (*rows.fixed, *rows.loose))
    if n is None:
        assert squeeze(stood) == spell(committed)
    else:
        assert spell(committed).endswith(squeeze(stood)) or not committed
