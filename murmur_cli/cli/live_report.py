"""What the person who watches a live session is told, and what it comes to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from murmur_cli.errors import ExitCode, OutputError

if TYPE_CHECKING:
    from murmur_cli.audio.backlog import Backlog
    from murmur_cli.cli.captions import Captions
    from murmur_cli.cli.render import Talk
    from murmur_cli.speakers.labels import Labels
    from murmur_cli.transcript.events import LiveEvent, SessionEnd
    from murmur_cli.types import Speaker

__all__ = ["LiveReport"]


class LiveReport:
    """Calls speakers as they are to be called, tells the person who watches, and sums up to an exit code.

    It is the session's ``LiveObserver``. ``captions`` tell of lag themselves, and make room for what is said.
    """

    def __init__(self, talk: Talk, labels: Labels, *, name: str, captions: Captions | None, shows_drafts: bool) -> None:
        self._talk = talk
        self._labels = labels
        self._name = name
        self._captions = captions
        self.shows_drafts = shows_drafts
        if captions is not None:
            talk.step_aside(captions.aside)
        self._n_committed = 0
        self._heard: set[Speaker] = set()
        self.exit_code = ExitCode.OK

    def listening(self, backlog: Backlog) -> None:
        """Let captions show how the session is."""
        if self._captions is not None:
            self._captions.listen_to(backlog)

    def noted(self, text: str) -> None:
        """Say something about what is heard."""
        self._talk.note(f"{self._name}: {text}")

    def fail(self, error: OutputError) -> None:
        """End a session whose output cannot be written on; what was committed is kept.

        Raises:
            OutputError: Nothing was.
        """
        if not self._n_committed:
            raise error
        self._talk.error(error)
        self.exit_code = ExitCode.PARTIAL

    def iter_labelled(self, events: Iterator[LiveEvent]) -> Iterator[LiveEvent]:
        """Pass events on, with the names of speakers that are wanted."""
        from murmur_cli.transcript.events import Committed, Draft

        for event in events:
            match event:
                case Draft():
                    yield replace(event, speaker=self._call(event.speaker))
                case Committed():
                    if event.speaker is not None:
                        self._heard.add(event.speaker)
                    yield replace(event, speaker=self._call(event.speaker))
                    self._n_committed += 1
                case _:
                    yield event
                    self._tell(event)

    def _call(self, speaker: Speaker | None) -> Speaker | None:
        if speaker is None or not self._labels.are_shown:
            return None
        return self._labels.names.get(speaker, speaker)

    def _tell(self, event: LiveEvent) -> None:
        from murmur_cli.cli.outcome import describe_gap
        from murmur_cli.transcript.events import Lag, Missing, SessionEnd

        match event:
            case Lag() if self._captions is None:
                self._talk.note(f"behind {event.behind:.1f} s")
            case Missing():
                self._talk.warn(f"{self._name}: {describe_gap(event.gap)}")
            case SessionEnd():
                self._sum_up(event)
            case _:
                pass

    def _sum_up(self, end: SessionEnd) -> None:
        if end.damage is not None:
            self._talk.warn(f"{self._name}: {end.damage}")
        if not (end.n_segments or end.n_gaps):
            self.noted("no speech found")
        if absent := [name for name in self._labels.names if name not in self._heard]:
            self.noted(f"--speaker-names: nobody in it is called {' or '.join(absent)}")
        if not end.n_segments and (end.n_gaps or end.reason == "lost"):
            self.exit_code = ExitCode.ERROR
        elif end.n_gaps or end.damage is not None:
            self.exit_code = ExitCode.PARTIAL
