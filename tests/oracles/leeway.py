"""How far below certainty a token may be, told by reading it alone: does a text keep anything that is nothing else?"""

from __future__ import annotations

import math

from murmur_cli.bias.index import TokenClasses
from murmur_cli.bias.packed import BiasList


def find_leeway(graph: BiasList, classes: TokenClasses, token: int) -> float:
    """As a part of the margin; infinity for tokens that hold no whole phrase."""
    for root in (0, 1):
        state, earned = graph.step(classes, root, token)
        if earned + graph.settle(classes, state) > 1e-6:
            rarity = math.log((token + 1) / 300) / math.log(20_000 / 300)
            return 0.5 + 0.5 * min(max(rarity, 0.0), 1.0)
    return math.inf
