"""What is wanted of an engine, and whether it does that."""

from __future__ import annotations

from murmur_cli.engine.extras import Extras
from murmur_cli.engine.recogniser import Recogniser
from murmur_cli.errors import UsageError
from murmur_cli.types import EngineInfo

__all__ = ["refuse_keywords", "require_extras"]


_EXTRAS = {
    "word_times": ("--word-times", "gives no times of words"),
    "context": ("--context", "reads no text beforehand"),
    "acoustic_noise": ("--acoustic-noise", "hears without noise"),
    "batch_size": ("--batch-size", "decodes chunks one by one"),
    "evict": ("--evict", "forgets nothing of a chunk while it decodes it"),
    "stats": ("--stats", "keeps no statistics"),
    "step": ("--step", "shows no drafts"),
    "context_minutes": ("--context-minutes", "has no context that grows"),
    "bias": ("--bias", "cannot be given keywords"),
}


_LEAVE_OUT = "leave it out, or choose another --model"


def require_extras(engine: Recogniser, wanted: Extras) -> None:
    """Refuse to run where an option would do nothing.

    Raises:
        UsageError: The engine does not do one of the things that are wanted.
    """
    for name, (option, problem) in _EXTRAS.items():
        if getattr(wanted, name) and not getattr(engine.extras, name):
            raise UsageError(f"{engine.info.model} {problem}", where=option, hint=_LEAVE_OUT)


def refuse_keywords(info: EngineInfo) -> UsageError:
    """Say that a model cannot be given keywords."""
    option, problem = _EXTRAS["bias"]
    return UsageError(f"{info.model} {problem}", where=option, hint=_LEAVE_OUT)
