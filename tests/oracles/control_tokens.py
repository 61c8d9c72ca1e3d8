"""Control tokens taken out of a text the slow way: character by character, and all over again while there are any."""

from __future__ import annotations

__all__ = ["strip"]


def strip(text: str) -> str:
    """Leave out every ``<|…|>``, the shortest from the left, until there is none."""
    kept, position = "", 0
    while position < len(text):
        end = text.find("|>", position + 2) if text.startswith("<|", position) else -1
        if end >= 0:
            position = end + 2
        else:
            kept += text[position]
            position += 1
    return kept if kept == text else strip(kept)
