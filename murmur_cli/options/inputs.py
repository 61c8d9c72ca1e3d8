"""Which files are read."""

from __future__ import annotations

from dataclasses import dataclass

from murmur_cli.options.require import require

__all__ = ["InputOptions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class InputOptions:
    """Which files are read, beside those that are named.

    ``files_from`` is a file of names, a line each or, with ``null``, each ended by a null character; ``-`` is stdin. Of
    a folder its recordings are read, with ``recursive`` those of the folders in it too: told by their endings, or by
    ``include``. ``include`` and ``exclude`` are patterns of names as in a shell; one with a slash is one of paths below
    the folder.
    """

    recursive: bool = False
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    files_from: str | None = None
    null: bool = False

    def __post_init__(self) -> None:
        for option, patterns in (("--include", self.include), ("--exclude", self.exclude)):
            require(option, "the pattern is empty", "give one such as '*.mp3'", unless=all(patterns))
        require("--files-from", "the name is empty", "give a file, or - for stdin", unless=self.files_from != "")
        said = self.files_from is not None or not self.null
        require("--null", "says how --files-from is read", "add that, or leave it out", unless=said)
