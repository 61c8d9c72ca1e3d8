"""The status of a live session in one row: how long it lasts, how loud it is, how far behind captions are."""

from __future__ import annotations

import math

from rich.cells import cell_len
from rich.text import Text

from murmur_cli.audio.backlog import Pulse
from murmur_cli.cli.render import to_clock
from murmur_cli.stream import LAG_S

__all__ = ["make_status"]

_QUIETEST_DB, _LOUDEST_DB = -60.0, -10.0  # root mean square: the noise of a quiet room, and speech near the limit
_SHORTEST, _LONGEST = 3, 12  # cells of the meter


def make_status(pulse: Pulse, *, width: int) -> Text:
    """Draw the row; where it does not fit ``width`` cells, the level goes first, then the lag."""
    clock = Text(to_clock(int(pulse.heard_s)), "bold")
    lag = Text(f"behind {pulse.behind_s:.1f} s" if pulse.behind_s > LAG_S else "", "yellow")
    n_free = width - cell_len(clock.plain) - (cell_len(lag.plain) + 2 if lag.plain else 0) - 2
    meter = _make_meter(pulse.level, n_cells=min(n_free, _LONGEST)) if n_free >= _SHORTEST else Text()
    row = Text("  ").join(part for part in (clock, meter, lag) if part.plain)
    row.truncate(width)
    return row


def _make_meter(level: float, *, n_cells: int) -> Text:
    decibels = 20 * math.log10(max(level, 1e-9))
    share = (decibels - _QUIETEST_DB) / (_LOUDEST_DB - _QUIETEST_DB)
    n_lit = round(min(1.0, max(0.0, share)) * n_cells)
    return Text.assemble(("━" * n_lit, "green"), ("╌" * (n_cells - n_lit), "dim"))
