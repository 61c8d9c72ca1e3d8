"""What a user may call a language, and what Whisper calls it."""

from __future__ import annotations

import difflib
from collections.abc import Collection

from transformers.models.whisper.tokenization_whisper import TO_LANGUAGE_CODE

from murmur_cli.errors import UsageError

__all__ = ["find_language"]

_ENGLISH = "en"


def find_language(language: str, *, codes: Collection[str]) -> str:
    """Find the code of a language.

    Args:
        language: A code such as ``de``, or an English name such as ``German``.
        codes: The languages that the model knows; none if it knows English only.

    Raises:
        UsageError: The model does not know it.
    """
    asked = language.strip().lower()
    code = TO_LANGUAGE_CODE.get(asked, asked)
    if code in (codes or {_ENGLISH}):
        return code
    if not codes:
        raise UsageError(f"the model knows English only, not {language}", where="--language", hint="take another model")
    names = [name for name, meant in TO_LANGUAGE_CODE.items() if meant in codes]
    near = difflib.get_close_matches(asked, [*codes, *names], n=3, cutoff=0.6)
    hint = f"did you mean {', '.join(near)}?" if near else "give a code such as en, or leave it out to detect it"
    raise UsageError(f"no such language: {language}", where="--language", hint=hint)
