"""What all recognisers tell of themselves."""

from __future__ import annotations

from typing import Protocol

from murmur_cli.bias.cache import ListCache
from murmur_cli.engine.extras import Extras
from murmur_cli.types import EngineInfo

__all__ = ["Recogniser"]


class Recogniser(Protocol):
    """A model that is ready to hear."""

    @property
    def sample_rate(self) -> int:
        """Samples per second that it must be given."""
        ...

    @property
    def info(self) -> EngineInfo:
        """Which model this is and how it runs."""
        ...

    @property
    def extras(self) -> Extras:
        """What it does that others do not."""
        ...

    def keyword_lists(self) -> ListCache:
        """What compiles lists of keywords for the model.

        Raises:
            UsageError: It cannot be given any.
        """
        ...
