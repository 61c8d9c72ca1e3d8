"""Which murmur this is, and which backends it runs with: read of what is installed, without loading it."""

from __future__ import annotations

import json
import platform

from murmur_cli.version import __version__

__all__ = ["BACKENDS", "find_versions", "render_versions"]

BACKENDS = ("torch", "transformers", "tokenizers", "silero-vad", "pyannote.audio", "av", "soxr", "sounddevice")
"""The packages that decide what a run can do and what it answers."""


def find_versions() -> dict[str, str | None]:
    """Find the versions of murmur, Python and the backends; None stands for one that is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    found: dict[str, str | None] = {"murmur": __version__, "python": platform.python_version()}
    for name in BACKENDS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return found


def render_versions(*, as_json: bool) -> str:
    """Write the versions as lines of a name and a version, or as a JSON object."""
    found = find_versions()
    if as_json:
        return json.dumps(found, indent=2)
    return "\n".join(f"{name} {number or 'is not installed'}" for name, number in found.items())
