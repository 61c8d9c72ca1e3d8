"""The weights that come with murmur, in ``diarization/`` beside this module.

A file is used only if it is, byte for byte, the one whose hash stands in ``SHA256SUMS``.
"""

from __future__ import annotations

import hashlib
from importlib import resources
from importlib.resources.abc import Traversable

from safetensors.torch import load
from torch import Tensor

from murmur_cli.errors import WeightsError

__all__ = ["read_bundled"]

_REINSTALL = "install murmur anew: pip install --force-reinstall murmur-asr"


def read_bundled(name: str) -> dict[str, Tensor]:
    """Read the tensors of one of the bundled files.

    Args:
        name: The file's name.

    Raises:
        WeightsError: The file is missing, or not the one that came with murmur.
    """
    folder = resources.files("murmur_cli.models").joinpath("diarization")
    path = folder.joinpath(name)
    try:
        expected, content = _read_sums(folder)[name], path.read_bytes()
    except (OSError, KeyError, ValueError) as error:
        raise WeightsError("cannot be read", where=str(path), hint=_REINSTALL) from error
    if hashlib.sha256(content).hexdigest() != expected:
        raise WeightsError("not the weights that came with murmur", where=str(path), hint=_REINSTALL)
    return load(content)


def _read_sums(folder: Traversable) -> dict[str, str]:
    lines = folder.joinpath("SHA256SUMS").read_text(encoding="ascii").splitlines()
    return {name: digest for digest, name in (line.split() for line in lines)}
