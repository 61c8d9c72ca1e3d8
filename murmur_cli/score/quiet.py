"""Keep libraries from talking on stderr about what is no business of the user's."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["only_errors"]


@contextmanager
def only_errors(logger_name: str) -> Iterator[None]:
    """Let a library's logger pass errors only, and restore its level at the end."""
    logger = logging.getLogger(logger_name)
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)
