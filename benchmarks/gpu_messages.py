"""What ``gpu_steps.py`` says on the way, without torch, which may be what is missing."""

from __future__ import annotations

import sys

__all__ = ["say", "shorten"]


def say(what: str) -> None:
    """Tell whoever waits what is going on."""
    print(f"gpu_steps.py: {what}", file=sys.stderr, flush=True)


def shorten(error: Exception) -> str:
    """Give the first line of an error's message, or its kind if there is none."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
