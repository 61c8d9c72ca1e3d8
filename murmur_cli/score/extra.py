"""What ``murmur score`` needs beyond murmur itself: the extra ``eval``."""

from __future__ import annotations

from murmur_cli.errors import MurmurError

__all__ = ["missing_extra"]


def missing_extra(what: str, error: ModuleNotFoundError) -> MurmurError:
    """An error that names the package that is missing, what needs it, and how to get it."""
    problem = f"{what} needs the package {error.name}, which is not installed"
    return MurmurError(problem, where="score", hint="pip install 'murmur-asr[eval]'")
