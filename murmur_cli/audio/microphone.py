"""A microphone as a source of a live session.

PortAudio calls back in a thread that must never wait: there, blocks are only queued. What is lost is counted and said.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from queue import Empty, Full, Queue
from threading import Event

from murmur_cli.audio.downmix import mix_to_mono
from murmur_cli.audio.live import iter_first
from murmur_cli.audio.portaudio import Frames, InputStream, Microphone, PortAudio, StreamStatus
from murmur_cli.audio.resample import Resampler
from murmur_cli.errors import AudioError, DeviceError, UsageError
from murmur_cli.options import StreamOptions
from murmur_cli.types import Samples

__all__ = ["MICROPHONE", "MicrophoneSource", "check_microphone"]

MICROPHONE = "microphone"
"""What it is called among the inputs, whichever device it is."""

_BLOCK_S = 0.05
_MOST_QUEUED = 1200  # blocks, a minute: whoever reads them only resamples and passes them on
_MOST_CHANNELS = 2  # sound servers offer 32 of any device; they mix them down to as many as are asked for
_POLL_S = 0.2
_STALL_S = 5.0  # so long may a sound server, or a headset that changes its profile, take until its first block
_NOTE_EVERY_S = 5.0


@dataclass(frozen=True, slots=True, eq=False)
class _Block:
    """What was heard at once; ``has_lost``: there was more before it, which is gone."""

    frames: Frames
    has_lost: bool


class MicrophoneSource:
    """What a microphone hears, as a ``backlog.LiveInput``.

    Args:
        microphone: Which one.
        portaudio: Who opens it.
        sample_rate: Samples per second of the blocks. The device is opened at this rate if it takes it, else at its
            own.
        options: After how long it ends.
    """

    def __init__(
        self, microphone: Microphone, portaudio: PortAudio, *, sample_rate: int, options: StreamOptions
    ) -> None:
        self.name = MICROPHONE
        self.is_live = True
        self.sample_rate = sample_rate
        self.notes: list[str] = []
        self._microphone = microphone
        self._portaudio = portaudio
        self._duration = options.duration
        self._queue: Queue[_Block] = Queue(_MOST_QUEUED)
        self._has_dropped = False  # since the last block that is queued
        self._stopped = Event()
        self._n_lost = 0
        self._first_lost_s = 0.0
        self._said_s = -_NOTE_EVERY_S

    @property
    def damage(self) -> str | None:
        """Say in one clause what was lost."""
        if not self._n_lost:
            return None
        times = "once" if self._n_lost == 1 else f"{self._n_lost} times"
        return f"audio was lost {times}, first at {self._first_lost_s:.1f} s: this machine was too busy to hear it"

    def stop(self) -> None:
        """Let the source end soon."""
        self._stopped.set()

    def iter_blocks(self) -> Iterator[Samples]:
        """Yield the signal in blocks, each of shape (n_samples,), never empty.

        Raises:
            DeviceError: The microphone cannot be opened.
            AudioError: Nothing comes from it any more.
        """
        with self._open() as (stream, opened_rate):
            yield from iter_first(
                self._iter_resampled(stream, opened_rate), duration=self._duration, sample_rate=self.sample_rate
            )

    @contextmanager
    def _open(self) -> Iterator[tuple[InputStream, int]]:
        own_rate = self._microphone.sample_rate
        rates = [self.sample_rate] if own_rate == self.sample_rate else [self.sample_rate, own_rate]
        stream, opened_rate = self._open_at(rates)
        try:
            self.notes.append(f"hearing {self._microphone.name}, {opened_rate} Hz")
            yield stream, opened_rate
        finally:
            stream.abort()
            stream.close()

    def _open_at(self, rates: list[int]) -> tuple[InputStream, int]:
        """Open the device at the first rate that it takes."""
        problem = ""
        for rate in rates:
            try:
                return self._start_at(rate), rate
            except self._portaudio.PortAudioError as error:
                problem = str(error)
        hint = "is another program using it? see --list-microphones"
        raise DeviceError(f"cannot be opened: {problem}", where=f"microphone {self._microphone.name}", hint=hint)

    def _start_at(self, rate: int) -> InputStream:
        stream = self._portaudio.InputStream(
            device=self._microphone.index,
            samplerate=rate,
            channels=min(_MOST_CHANNELS, self._microphone.n_channels),
            dtype="float32",
            blocksize=round(_BLOCK_S * rate),
            callback=self._hear,
        )
        try:
            stream.start()
        except self._portaudio.PortAudioError:
            stream.close()
            raise
        return stream

    def _hear(self, frames: Frames, n_frames: int, times: object, status: StreamStatus) -> None:
        """Queue a block; PortAudio calls this in its own thread, and its array is gone afterwards."""
        del n_frames, times
        block = _Block(frames.copy(), has_lost=self._has_dropped or status.input_overflow)
        try:
            self._queue.put_nowait(block)
            self._has_dropped = False
        except Full:
            self._has_dropped = True

    def _iter_resampled(self, stream: InputStream, opened_rate: int) -> Iterator[Samples]:
        resampler, n_heard = Resampler(self.sample_rate), 0
        try:
            for block in self._iter_queued(stream):
                # Devices often begin with an overflow: what was before the first block is no part of the session.
                if block.has_lost and n_heard:
                    self._count_lost(n_heard / opened_rate)
                n_heard += len(block.frames)
                yield from resampler.push(_mix(block.frames), opened_rate)
        except AudioError:
            yield from resampler.finish()
            raise

    def _iter_queued(self, stream: InputStream) -> Iterator[_Block]:
        heard_at, has_heard = time.monotonic(), False
        while not self._stopped.is_set():
            is_active = stream.active  # before the queue is looked at: what came last is still in it
            try:
                block = self._queue.get(timeout=_POLL_S)
            except Empty:
                if not is_active:
                    raise AudioError("the device is gone", where=MICROPHONE, hint="is it still plugged in?") from None
                if time.monotonic() - heard_at > _STALL_S:
                    problem = f"nothing comes from the device{' any more' if has_heard else ''}"
                    raise AudioError(problem, where=MICROPHONE, hint="is it still plugged in?") from None
                continue
            heard_at, has_heard = time.monotonic(), True
            yield block

    def _count_lost(self, at_s: float) -> None:
        self._first_lost_s = self._first_lost_s if self._n_lost else at_s
        self._n_lost += 1
        if at_s - self._said_s >= _NOTE_EVERY_S:
            self._said_s = at_s
            self.notes.append(f"audio was lost at {at_s:.1f} s")


def check_microphone(options: StreamOptions) -> None:
    """Refuse what would do nothing for a microphone.

    Raises:
        UsageError: There is such an option.
    """
    for option, is_given, why in (
        ("--realtime", options.realtime, "a microphone comes at its own pace"),
        ("--input-format", options.input_format is not None, "a microphone says this itself"),
        ("--input-rate", options.input_rate is not None, "a microphone says this itself"),
        ("--input-channels", options.input_channels is not None, "a microphone says this itself"),
    ):
        if is_given:
            raise UsageError(
                why, where=option, hint="leave it out, or name what is to be heard: a file, or - for stdin"
            )


def _mix(frames: Frames) -> Samples:
    """Add the channels up as those of a file."""
    channels = [frames[:, i] for i in range(frames.shape[1])]
    return mix_to_mono(channels, ("FL", "FR")[: len(channels)])
