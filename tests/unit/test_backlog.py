"""What waits to be decoded: lag against the clock, what is skipped, what is held back."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from scripted_stream import Bystander

from murmur_cli.audio.backlog import Backlog
from murmur_cli.audio.live import LiveSource
from murmur_cli.audio.wav_file import HEADER_BYTES, make_header
from murmur_cli.engine import Bias, Extras, StreamSegment, StreamUpdate
from murmur_cli.options import StreamOptions
from murmur_cli.stream import Wishes, transcribe_live
from murmur_cli.transcript.events import Committed, Lag, LiveEvent, Missing, SessionEnd
from murmur_cli.types import EngineInfo, Samples

RATE = 1000


class Blocks(LiveSource):
    """Blocks of 1 s, all at once, ``n_blocks`` of them; it is live if it says so."""

    def __init__(self, n_blocks: int, *, is_live: bool) -> None:
        super().__init__("talk.wav", sample_rate=RATE, options=StreamOptions(realtime=is_live))
        self.n_blocks = n_blocks
        self.n_given = 0

    def iter_blocks(self) -> Iterator[Samples]:
        for _ in range(self.n_blocks):
            self.n_given += 1
            yield np.zeros(RATE, np.float32)


class Clock:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(time, "monotonic", clock.monotonic)
    return clock


def wait_until_read(source: Blocks, n_blocks: int) -> None:
    for _ in range(1000):
        if source.n_given >= n_blocks:
            break
        threading.Event().wait(0.002)
    threading.Event().wait(0.01)
    assert source.n_given == n_blocks


def test_a_source_that_is_faster_than_the_clock_is_held_back_and_makes_nobody_late(clock: Clock) -> None:
    source = Blocks(500, is_live=True)
    with Backlog(source) as backlog:
        wait_until_read(source, 32)  # 30 s ahead, the block that passes them, and one in the hand
        assert backlog.behind_s == 0.0
        clock.now += 20.0
        assert backlog.behind_s == 20.0  # that audio is due now
        assert backlog.take(1.0) is not None
        assert backlog.behind_s == 19.0


def test_a_live_source_is_never_held_back(clock: Clock) -> None:
    source = Blocks(500, is_live=True)
    with Backlog(source) as backlog:
        wait_until_read(source, 32)
        clock.now += 10_000.0
        wait_until_read_all(source, backlog)
        assert backlog.waiting_s == 500.0
        assert backlog.behind_s == 500.0


def wait_until_read_all(source: Blocks, backlog: Backlog) -> None:
    for _ in range(1000):
        if backlog.waiting_s == source.n_blocks:
            return
        threading.Event().wait(0.005)


def test_what_is_skipped_is_the_oldest_and_only_what_is_late(clock: Clock) -> None:
    source = Blocks(25, is_live=True)
    with Backlog(source) as backlog:
        wait_until_read(source, 25)
        clock.now += 20.0
        assert len(backlog.skip(2.0)) == 18
        assert (backlog.behind_s, backlog.waiting_s) == (2.0, 7.0)


def test_a_stop_forgets_what_a_file_was_read_ahead_but_not_what_was_said() -> None:
    for is_live, n_left in ((False, 0), (True, 5)):
        source = Blocks(5, is_live=is_live)
        with Backlog(source) as backlog:
            wait_until_read(source, 5)
            backlog.stop()
            assert backlog.waiting_s == n_left


def test_an_error_of_the_source_comes_out_in_the_end() -> None:
    class Broken(Blocks):
        def iter_blocks(self) -> Iterator[Samples]:
            yield np.zeros(RATE, np.float32)
            raise ZeroDivisionError

    with Backlog(Broken(1, is_live=False)) as backlog:
        assert backlog.take(5.0) is not None
        while not backlog.is_over():
            assert backlog.take(5.0) is None
        with pytest.raises(ZeroDivisionError):
            backlog.settle()


class SlowEngine:
    """Takes 3 s by the clock for each second of audio, and commits each by its number when the next is heard."""

    sample_rate = RATE
    info = EngineInfo("slow", "0", "cpu", "none")
    extras = Extras()

    def __init__(self, clock: Clock, source: Blocks) -> None:
        self._clock = clock
        self._source = source
        self._n_pushed = 0

    @contextmanager
    def open(self, options: StreamOptions, *, bias: Bias | None = None) -> Iterator[SlowEngine]:
        del options, bias
        wait_until_read(self._source, self._source.n_blocks)
        yield self

    def push(self, samples: Samples) -> StreamUpdate:
        self._clock.now += 3.0 * len(samples) / RATE
        self._n_pushed += 1
        return self._commit(self._n_pushed - 1)

    def finish(self) -> StreamUpdate:
        return self._commit(self._n_pushed)

    def _commit(self, n: int) -> StreamUpdate:
        segment = StreamSegment(n - 1.0, float(n), f"{n}", None, "model", starts_line=True)
        return StreamUpdate((segment,) if n else ())


def play(clock: Clock, options: StreamOptions) -> list[LiveEvent]:
    source = Blocks(30, is_live=True)
    engine = SlowEngine(clock, source)
    return list(
        transcribe_live(
            source, engine, options=options, recorder=None, wishes=Wishes(lambda: False), observer=Bystander()
        )
    )


def test_waiting_loses_nothing_and_says_how_late_it_is(clock: Clock) -> None:
    events = play(clock, StreamOptions(realtime=True))
    texts = [event.text for event in events if isinstance(event, Committed)]
    assert texts == [f"{n}" for n in range(1, 31)]
    lags = [event for event in events if isinstance(event, Lag)]
    assert lags[0] == Lag(2.0, 4.0)
    assert all(other.at - one.at >= 5 / 3 for one, other in itertools.pairwise(lags))
    assert not any(isinstance(event, Missing) for event in events)


def test_skipping_marks_what_it_leaves_out_and_keeps_the_times_of_the_rest(clock: Clock) -> None:
    events = play(clock, StreamOptions(realtime=True, on_lag="skip"))
    spans = [(event.start, event.end) for event in events if isinstance(event, Committed)]
    spans += [(event.gap.start, event.gap.end) for event in events if isinstance(event, Missing)]
    assert any(isinstance(event, Missing) for event in events)
    assert [start for start, _ in sorted(spans)] == [0.0, *(end for _, end in sorted(spans)[:-1])]  # without a hole
    assert isinstance(events[-1], SessionEnd)
    assert events[-1].duration == 30.0 == max(end for _, end in spans)
    assert all(event.behind <= 15.0 for event in events if isinstance(event, Lag))


def test_a_header_beyond_4_gb_is_one_of_rf64() -> None:
    small, large = make_header(1000, 16_000), make_header(1 << 33, 16_000)
    assert (len(small), len(large)) == (HEADER_BYTES, HEADER_BYTES)
    assert small.startswith(b"RIFF")
    assert large.startswith(b"RF64")
    assert large[28:36] == (1 << 33).to_bytes(8, "little")
