"""Several watchers of one row, as one."""

from __future__ import annotations

from collections.abc import Sequence

from murmur_cli.decode.watch import Orders, Watcher

__all__ = ["Watchers"]


class Watchers:
    """Asks all of them at every look: what one forgets is forgotten, and the first that ends the row gives the reason.

    Args:
        watchers: In the order in which they are asked.
    """

    def __init__(self, watchers: Sequence[Watcher]) -> None:
        self._watchers = tuple(watchers)

    def look(self, tokens: Sequence[int]) -> Orders:
        """Put together what all of them say."""
        orders = [watcher.look(tokens) for watcher in self._watchers]
        halts = [order.halt for order in orders if order.halt is not None]
        return Orders(
            forget=[position for order in orders for position in order.forget],
            halt=halts[0] if halts else None,
        )
