"""What was heard and is not decoded yet: filled by a thread of its own, so that nobody who speaks has to wait.

A source that is faster than the clock (a file, a pipe that somebody fills at once) is held back; one that is as fast
as the clock never is, however far decoding falls behind.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from threading import Condition
from types import TracebackType
from typing import Protocol, Self

from murmur_cli.audio.levels import measure_level
from murmur_cli.types import Samples

__all__ = ["Backlog", "Heard", "LiveInput", "Pulse"]

_AHEAD_S = 30.0  # so much is read ahead of the clock at most
_LEVEL_S = 0.1  # a level is that of so much sound
_SILENT_AFTER_S = 0.5  # where nothing comes any more, there is no level


class LiveInput(Protocol):
    """A source that is read once, from front to back, in one thread; ``stop`` ends it from another."""

    notes: list[str]

    @property
    def name(self) -> str:
        """As the user gave it."""
        ...

    @property
    def is_live(self) -> bool:
        """Whether audio comes at the pace of the clock, so that somebody waits for what is said."""
        ...

    @property
    def sample_rate(self) -> int:
        """Samples per second of the blocks."""
        ...

    @property
    def damage(self) -> str | None:
        """What was wrong with it, in one clause, once it has ended."""
        ...

    def stop(self) -> None:
        """Let the source end soon, as if nothing more came."""
        ...

    def iter_blocks(self) -> Iterator[Samples]:
        """Yield the signal in blocks, each of shape (n_samples,), never empty; ``notes`` grows at any time.

        Raises:
            MurmurError: It cannot be read, or not any more.
        """
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Heard:
    """A block of the signal, shape (n_samples,), and when it came, on the monotonic clock."""

    samples: Samples
    at: float


@dataclass(frozen=True, slots=True)
class Pulse:
    """How a session is: seconds that came, how far decoding is behind, and the newest level.

    The level is a root mean square; full scale is 1.
    """

    heard_s: float
    behind_s: float
    level: float


class Backlog:
    """Reads a source in a thread, between ``__enter__`` and ``__exit__``; ``take`` gives its blocks in order."""

    def __init__(self, source: LiveInput) -> None:
        self._source = source
        self._waiting: deque[Heard] = deque()
        self._n_waiting = 0  # samples; so are the two below
        self._n_received = 0
        self._n_taken = 0
        self._began_at: float | None = None
        self._level = 0.0
        self._level_at = 0.0
        self._is_stopped = False
        self._has_ended = False
        self._changed = Condition()
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="listen")
        self._reading: Future[None] | None = None

    def __enter__(self) -> Self:
        self._reading = self._executor.submit(self._read)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        self._executor.shutdown()

    @property
    def is_live(self) -> bool:
        """Whether somebody waits for what is said."""
        return self._source.is_live

    @property
    def received_s(self) -> float:
        """Seconds of audio that came so far."""
        return self._n_received / self._source.sample_rate

    @property
    def waiting_s(self) -> float:
        """Seconds of audio that nobody has taken yet."""
        return self._n_waiting / self._source.sample_rate

    @property
    def behind_s(self) -> float:
        """How far the blocks that were taken are behind the clock, in seconds; 0 for a source that is not live.

        What came before its time does not count: a pipe that is filled at once makes nobody late.
        """
        if not self._source.is_live or self._began_at is None:
            return 0.0
        due_s = min(self.received_s, time.monotonic() - self._began_at)
        return max(0.0, due_s - self._n_taken / self._source.sample_rate)

    def feel_pulse(self) -> Pulse:
        """Tell how the session is, from any thread."""
        is_quiet = time.monotonic() - self._level_at > _SILENT_AFTER_S
        return Pulse(self.received_s, self.behind_s, 0.0 if is_quiet else self._level)

    def take(self, timeout_s: float) -> Heard | None:
        """Give the next block, or None if none comes in time or the source has ended (``is_over``)."""
        with self._changed:
            if not self._waiting and not self._has_ended:
                self._changed.wait(timeout_s)
            return self._pop() if self._waiting else None

    def is_over(self) -> bool:
        """Tell whether nothing will come any more."""
        with self._changed:
            return not self._waiting and self._has_ended

    def skip(self, keep_s: float) -> list[Heard]:
        """Take the oldest blocks at once, until the rest is no more than ``keep_s`` seconds behind the clock."""
        skipped = []
        with self._changed:
            while self._waiting and self.behind_s > keep_s:
                skipped.append(self._pop())
        return skipped

    def stop(self) -> None:
        """Hear no more; what was heard can still be taken if the source is live, else nobody has asked for it yet."""
        self._source.stop()
        with self._changed:
            self._is_stopped = True
            if not self._source.is_live:
                self._waiting.clear()
                self._n_waiting = 0
            self._changed.notify_all()

    def settle(self) -> None:
        """Raise what the source raised, once it is over."""
        if self._reading is not None:
            self._reading.result()

    def _pop(self) -> Heard:
        heard = self._waiting.popleft()
        self._n_waiting -= len(heard.samples)
        self._n_taken += len(heard.samples)
        self._changed.notify_all()
        return heard

    def _read(self) -> None:
        try:
            for samples in self._source.iter_blocks():
                if not self._put(samples):
                    return
        finally:
            with self._changed:
                self._has_ended = True
                self._changed.notify_all()

    def _put(self, samples: Samples) -> bool:
        """Queue a block as soon as there is room; tell whether more is wanted."""
        level = measure_level([samples[-round(_LEVEL_S * self._source.sample_rate) :]]).rms
        with self._changed:
            now = time.monotonic()
            self._began_at = now if self._began_at is None else self._began_at
            while self._is_ahead() and not self._is_stopped:
                self._changed.wait(1.0)
            if self._is_stopped:
                return False
            self._waiting.append(Heard(samples, time.monotonic()))
            self._n_waiting += len(samples)
            self._n_received += len(samples)
            self._level, self._level_at = level, time.monotonic()
            self._changed.notify_all()
        return True

    def _is_ahead(self) -> bool:
        assert self._began_at is not None
        ahead_s = self.received_s - (time.monotonic() - self._began_at)
        return self.waiting_s > _AHEAD_S and (ahead_s > _AHEAD_S or not self._source.is_live)
