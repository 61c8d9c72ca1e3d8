"""The keywords of a live session: SIGUSR1 has their lists read again."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType
from typing import TYPE_CHECKING

from murmur_cli.bias.cache import ListCache
from murmur_cli.bias.hits import HitFinder
from murmur_cli.cli.keywords import GivenLists, HitCount, prepare, read_lists
from murmur_cli.engine import Bias
from murmur_cli.errors import UsageError
from murmur_cli.transcript.events import Committed, Draft, LiveEvent, SessionEnd
from murmur_cli.transcript.keywords import respell_text, respell_words

if TYPE_CHECKING:
    from murmur_cli.cli.render import Talk

__all__ = ["LiveKeywords", "reload_signal"]


class LiveKeywords:
    """What is listened for now.

    Args:
        given: What was asked for; there is something.
        lists: Of the model.
        talk: Hears what is odd about lists, and whether they could be read again.

    Raises:
        UsageError: Something about a list cannot be meant.
    """

    def __init__(self, given: GivenLists, lists: ListCache, talk: Talk) -> None:
        self._lists = lists
        self._talk = talk
        self._options = given.options
        self._keywords = prepare(given, lists, talk)
        self._finder = self._make_finder()
        self._is_old = False
        self._count = HitCount()

    def hear(self, number: int, frame: FrameType | None) -> None:
        """Take a signal for a wish to read the lists again."""
        del number, frame
        self._is_old = True

    def current(self) -> Bias | None:
        """Say what to listen for; the same object until the lists are read again.

        A list that cannot be read or meant any more leaves all as it was.
        """
        if self._is_old:
            self._is_old = False
            try:
                self._keywords = prepare(read_lists(self._options), self._lists, self._talk)
            except UsageError as error:
                self._talk.warn(f"{error}; the keywords stay as they were")
            else:
                self._finder = self._make_finder()
                self._talk.note(f"bias: {self._keywords.everything.n_phrases} phrases from here on")
        return self._keywords.common

    def follow(self, events: Iterator[LiveEvent]) -> Iterator[LiveEvent]:
        """Pass events on, with keywords spelled as they are wanted, and sum up at the end."""
        for event in events:
            match event:
                case Committed():
                    self._count.add(event.hits)
                    text, words = respell_text(event.text, self._finder), respell_words(event.words, self._finder)
                    yield replace(event, text=text, words=words)
                case Draft():
                    yield replace(event, text=respell_text(event.text, self._finder))
                case _:
                    yield event
            if isinstance(event, SessionEnd):
                self._talk.note(self._count.describe(self._keywords.everything))

    def _make_finder(self) -> HitFinder:
        """Make what finds the keywords that are to be spelled as in their list."""
        return self._keywords.to_spell(self._keywords.common)


@contextmanager
def reload_signal(keywords: LiveKeywords) -> Iterator[None]:
    """Let SIGUSR1 have the lists read again; what it did before is restored at the end."""
    before = signal.signal(signal.SIGUSR1, keywords.hear)
    try:
        yield
    finally:
        signal.signal(signal.SIGUSR1, before)
