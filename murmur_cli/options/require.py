"""The check that every record makes of its fields."""

from __future__ import annotations

from murmur_cli.errors import UsageError

__all__ = ["require"]


def require(option: str, problem: str, hint: str, *, unless: bool) -> None:
    """Refuse a value.

    Args:
        option: As the user spells it.
        problem: What is wrong with it.
        hint: What to do.
        unless: It is right.

    Raises:
        UsageError: It is not.
    """
    if not unless:
        raise UsageError(problem, where=option, hint=hint)
