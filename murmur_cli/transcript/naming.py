"""What the file of a transcript is called, and in which folder it lies."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path, PurePath

from murmur_cli.options.template import fill_template

__all__ = ["NamedInput", "name_output"]

_STDIN, _STDIN_NAME = "-", "stdin"
_DEFAULT_TEMPLATE = "{stem}.{ext}"


@dataclass(frozen=True, slots=True)
class NamedInput:
    """What an input is known by.

    ``source`` is its name as the user wrote it, ``-`` for stdin. ``subfolder`` is where it lies in the folder that was
    searched for it, and empty for one that was named. ``number`` is its place in the run, from 1.
    """

    source: str
    subfolder: str
    number: int

    @property
    def folder(self) -> Path:
        """The folder that it lies in."""
        return Path(self.source).parent


def name_output(given: NamedInput, format_name: str, *, folder: str | None, template: str | None) -> Path:
    """Name the file of a transcript.

    Args:
        given: The input.
        format_name: What is written.
        folder: Where it is written, below which the folders of the inputs are made again; None is beside the input.
        template: Of the name, as ``options.template`` has it; None is ``{stem}.{ext}``.
    """
    name = _STDIN_NAME if given.source == _STDIN else PurePath(given.source).name
    values = {
        "stem": PurePath(name).stem,
        "ext": format_name,
        "name": name,
        "dir": PurePath(os.path.abspath(given.folder)).name or ".",  # noqa: PTH100 - a link keeps its own name
        "n": str(given.number),
    }
    place = given.folder if folder is None else Path(folder, given.subfolder)
    return place / fill_template(template or _DEFAULT_TEMPLATE, values)
