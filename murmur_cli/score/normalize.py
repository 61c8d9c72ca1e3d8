"""How texts are brought to one spelling before words are compared, by name and version."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata

from murmur_cli.score.extra import missing_extra

__all__ = ["Normalizer", "load_normalizer"]


@dataclass(frozen=True, slots=True)
class Normalizer:
    """``apply`` takes a text and returns it in one spelling; ``version`` names the package that does it."""

    name: str
    version: str | None
    apply: Callable[[str], str]

    def __str__(self) -> str:
        return self.name if self.version is None else f"{self.name} ({self.version})"


def load_normalizer(name: str) -> Normalizer:
    """Load one of ``options.NORMALIZERS``.

    Raises:
        MurmurError: The extra ``eval`` is not installed.
        ValueError: There is no such normaliser.

    Source:
        Whisper, arXiv:2212.04356, appendix C, as whisper-normalizer repeats it.
    """
    if name == "none":
        return Normalizer(name, None, str)
    if name != "whisper-english":
        raise ValueError(f"no such normaliser: {name}")
    try:
        from whisper_normalizer.english import EnglishTextNormalizer  # noqa: PLC0415 - not needed without it
    except ModuleNotFoundError as error:
        raise missing_extra("the Whisper English normaliser", error) from error
    version = f"whisper-normalizer {metadata.version('whisper-normalizer')}"
    return Normalizer(name, version, EnglishTextNormalizer())
