"""Where the user keeps what programs write for themselves."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import platformdirs

from murmur_cli.errors import UsageError

__all__ = ["find_cache_folder", "find_config_folder", "find_state_folder"]


def find_cache_folder() -> Path:
    """Say where what can be had again is kept: in MURMUR_CACHE_DIR, or in the user's cache folder.

    Raises:
        UsageError: The user has no home, as in containers and services.
    """
    named = os.environ.get("MURMUR_CACHE_DIR")
    hint = "set it, or let MURMUR_CACHE_DIR name a folder"
    return _find(lambda: named or platformdirs.user_cache_dir("murmur"), hint)


def find_config_folder() -> Path | None:
    """Say where the user's own settings are; None: the user has no home, so there are none."""
    try:
        return _find(lambda: platformdirs.user_config_dir("murmur"), "set it")
    except UsageError:
        return None


def find_state_folder() -> Path:
    """Say where is kept what a later run goes on with.

    Raises:
        UsageError: The user has no home.
    """
    return _find(lambda: platformdirs.user_state_dir("murmur"), "set it, or give --journal-dir or --no-resume")


def _find(find: Callable[[], str], hint: str) -> Path:
    try:
        folder = Path(find()).expanduser()
    except RuntimeError as error:
        raise UsageError("there is no home folder to keep anything in", where="HOME", hint=hint) from error
    if folder.parts[:1] == ("~",):  # some versions of platformdirs leave what they cannot find
        raise UsageError("there is no home folder to keep anything in", where="HOME", hint=hint)
    return folder
