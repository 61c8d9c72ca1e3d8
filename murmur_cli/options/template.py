"""The pattern that the names of transcripts are made from."""

from __future__ import annotations

import re
from collections.abc import Mapping

from murmur_cli.options.require import require

__all__ = ["TEMPLATE_FIELDS", "fill_template", "require_template"]

TEMPLATE_FIELDS = ("stem", "ext", "name", "dir", "n")
"""What ``--output-template`` knows: the name without its ending, the format, the name with its ending, the name of the
folder that it lies in, and the number of the recording in the run, from 1."""

_PART = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


def require_template(template: str) -> None:
    """Refuse a pattern that names no file in a folder.

    Raises:
        UsageError: It is such; or there is a field in it that nobody knows, or half a one.
    """
    option = "--output-template"
    fields = ", ".join(f"{{{name}}}" for name in TEMPLATE_FIELDS)
    for part in _PART.finditer(template):
        whole = part[0] in ("{{", "}}") or part[1] is not None
        require(option, f"a brace stands alone in {template}", "write {{ for a brace", unless=whole)
        known = part[1] is None or part[1] in TEMPLATE_FIELDS
        require(option, f"there is no field {part[0]}", f"choose from {fields}", unless=known)
    is_inside = not template.startswith("/")
    require(option, "it begins with a slash", "name the folder with --output", unless=is_inside)
    names_file = template.rpartition("/")[2] not in ("", ".", "..")
    require(option, f"{template!r} names no file", "end it with a name such as {stem}.{ext}", unless=names_file)


def fill_template(template: str, values: Mapping[str, str]) -> str:
    """Put values into the fields of a pattern that ``require_template`` let pass."""
    return _PART.sub(lambda part: part[0][0] if part[1] is None else values[part[1]], template)
