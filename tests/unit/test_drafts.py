"""When a draft of what is still open is decoded, and what becomes of it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event

import numpy as np
import pytest
from scripted_stream import Bystander

from murmur_cli.audio.backlog import Backlog, Heard
from murmur_cli.audio.live import LiveSource
from murmur_cli.engine import Bias, Extras, StreamDraft, StreamSegment, StreamUpdate
from murmur_cli.models.scripted import ScriptedStreamEngine, ScriptEntry
from murmur_cli.options import StreamOptions
from murmur_cli.stream import Wishes, transcribe_live
from murmur_cli.transcript.events import Committed, Draft, LiveEvent
from murmur_cli.types import EngineInfo, Gap, Samples, Speaker

RATE = 1000
ANN = Speaker("S1")


class Paced(LiveSource):
    """Blocks of 0.1 s; each comes when the one before is dealt with."""

    def __init__(self, seconds: float, *, is_live: bool = True) -> None:
        super().__init__("talk.wav", sample_rate=RATE, options=StreamOptions(realtime=is_live))
        self.is_wanted = Event()
        self._n_blocks = round(seconds * 10)

    def iter_blocks(self) -> Iterator[Samples]:
        for _ in range(self._n_blocks):
            self.is_wanted.wait(10.0)
            self.is_wanted.clear()
            yield np.zeros(RATE // 10, np.float32)


class Recogniser:
    """Commits every 3 s what was said in them, or a gap; a draft tells how much of them was heard."""

    sample_rate = RATE
    info = EngineInfo("recogniser", "0", "cpu", "none")
    extras = Extras(step=True)

    def __init__(self, *, draft_s: float = 0.0, is_faulty: bool = False) -> None:
        self.asked_at: list[float] = []
        self._n_heard = 0
        self._draft_s = draft_s  # what it takes by the clock
        self.clock = 100.0
        self._is_faulty = is_faulty

    @contextmanager
    def open(self, options: StreamOptions, *, bias: Bias | None = None) -> Iterator[Recogniser]:
        del options, bias
        yield self

    def push(self, samples: Samples) -> StreamUpdate:
        self._n_heard += len(samples)
        if self._n_heard % (3 * RATE):
            return StreamUpdate()
        end = self._n_heard / RATE
        if self._is_faulty:
            return StreamUpdate(gaps=(Gap(end - 3.0, end, "loop"),))
        return StreamUpdate((StreamSegment(end - 3.0, end, f"{end:g}", ANN, "model", starts_line=True),))

    def draft(self) -> StreamDraft | None:
        self.asked_at.append(self._n_heard / RATE)
        self.clock += self._draft_s
        heard_s = self._n_heard % (3 * RATE) / RATE
        return StreamDraft(self.asked_at[-1] - heard_s, f"{heard_s:g}", ANN) if heard_s else None

    def finish(self) -> StreamUpdate:
        return StreamUpdate()


def play(source: Paced, engine: Recogniser, *, step: float = 1.0, shows_drafts: bool = True) -> list[LiveEvent]:
    take, options, observer = Backlog.take, StreamOptions(step=step), Bystander(shows_drafts=shows_drafts)

    def ask(backlog: Backlog, timeout_s: float) -> Heard | None:
        source.is_wanted.set()
        return take(backlog, timeout_s)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Backlog, "take", ask)
        events = transcribe_live(
            source, engine, options=options, recorder=None, wishes=Wishes(lambda: False), observer=observer
        )
        return list(events)


def describe(events: list[LiveEvent]) -> list[tuple[float, str]]:
    return [(event.start, event.text) for event in events if isinstance(event, Draft | Committed)]


def test_a_draft_comes_every_step_and_goes_before_what_is_committed() -> None:
    engine = Recogniser()
    events = play(Paced(4.0), engine)
    assert engine.asked_at == [1.0, 2.0, 3.0, 3.2]  # where nothing was open, soon again
    expected = [(0.0, "1"), (0.0, "2"), (0.0, ""), (0.0, "3"), (3.0, "0.2"), (3.0, "")]
    assert describe(events) == expected


def test_a_gap_takes_the_draft_away_too() -> None:
    events = play(Paced(3.0), Recogniser(is_faulty=True))
    assert describe(events) == [(0.0, "1"), (0.0, "2"), (0.0, "")]


def test_nothing_is_drafted_that_nobody_sees_or_waits_for(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Recogniser()
    play(Paced(5.0), engine, shows_drafts=False)
    events = play(Paced(5.0, is_live=False), engine)
    assert engine.asked_at == []
    assert not any(isinstance(event, Draft) for event in events)
    monkeypatch.setattr(Backlog, "waiting_s", 0.1)  # something always is to be done
    play(Paced(5.0), engine)
    assert engine.asked_at == []


def test_drafts_take_half_of_the_time_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Recogniser(draft_s=0.7)
    monkeypatch.setattr(time, "monotonic", lambda: engine.clock)
    play(Paced(5.0), engine, step=0.1)
    assert engine.asked_at == [0.1, 1.5, 2.9, 4.3]


def test_drafts_change_nothing_that_is_committed() -> None:
    for shows_drafts in (False, True):
        events = play(Paced(7.0), Recogniser(), step=0.1, shows_drafts=shows_drafts)
        assert [event.text for event in events if isinstance(event, Committed)] == ["3", "6"]


def test_the_scripted_drafts_share_the_time_of_their_entry() -> None:
    script = (ScriptEntry(0.5, 1.5, "One two.", 0, drafts=("One", "One too")), ScriptEntry(1.5, 2.0, "Three."))
    engine = ScriptedStreamEngine(script, sample_rate=RATE)
    seen = []
    with engine.open(StreamOptions()) as decoder:
        for _ in range(18):
            decoder.push(np.zeros(RATE // 10, np.float32))
            draft = decoder.draft()
            seen.append(draft.text if draft else None)
    assert seen == [*[None] * 5, *["One"] * 4, *["One too"] * 5, *[None] * 4]
    assert (engine.extras.step, ScriptedStreamEngine(script[1:]).extras.step) == (True, False)
