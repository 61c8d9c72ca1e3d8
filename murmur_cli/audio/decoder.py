"""An audio stream, decoded block by block.

One reader serves every format. For WAV and FLAC libsndfile saves nothing worth a second way to read
(0.1 s of CPU for an hour), and it gives up at the first broken FLAC frame where FFmpeg goes on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import av
import numpy as np
from av.audio.fifo import AudioFifo
from av.audio.frame import AudioFrame
from av.audio.plane import AudioPlane
from av.audio.stream import AudioStream
from av.packet import Packet

from murmur_cli.audio.clock import ContainerClock
from murmur_cli.audio.container import AudioContainer
from murmur_cli.audio.damage import DecodingAccount
from murmur_cli.errors import AudioError
from murmur_cli.types import Samples

__all__ = ["Block", "Decoder"]

_BLOCK_SAMPLES = 1 << 16  # 4 s at 16 kHz; Python's work on frames of 20 ms would cost as much as decoding
# Nobody records below that, and a damaged header that says 1 Hz would fill the disk.
_MIN_SAMPLE_RATE = 1000
# Some programs write integers as floats; beyond 32 bits it is no audio.
_LARGEST_SAMPLE = 2.0**31
# The integer formats of libavutil/samplefmt.h, without the "p" of the planar ones: full scale, zero.
_INTEGERS = {
    "u8": (np.uint8, 2.0**7, 2.0**7),
    "s16": (np.int16, 2.0**15, 0.0),
    "s32": (np.int32, 2.0**31, 0.0),
    "s64": (np.int64, 2.0**63, 0.0),
}
_FLOATS = {"flt": np.float32, "dbl": np.float64}


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of the signal: an array of shape (n_samples,) for each channel that ``layout`` names."""

    channels: list[Samples]
    layout: tuple[str, ...]
    sample_rate: int


class Decoder:
    """Decodes a stream once, from front to back, and keeps account of it.

    Args:
        container: An open file.
        path: Its name, for error messages.
        n_block: How many samples a block has, about.
    """

    def __init__(self, container: AudioContainer, path: str, *, n_block: int = _BLOCK_SAMPLES) -> None:
        self._n_block = n_block
        self._container = container
        self._path = path
        self._decoded_s = 0.0
        self._silence_s = 0.0
        self._is_over = False
        self._clock = ContainerClock(container)
        self._seams: set[float] = set()
        self._refused: Counter[float] = Counter()
        self._broke_off = False

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know about what was decoded so far; a clause each."""
        return self._clock.notes

    def iter_blocks(self) -> Iterator[Block]:
        """Yield the signal in blocks, each of one sample rate and layout; silence where the container leaves holes.

        Raises:
            AudioError: There are samples that are no numbers, or a sample rate that is none.
        """
        waiting, kind = AudioFifo(), None
        for frame, frame_s in self._iter_frames():
            frame_kind = (frame.format.name, frame.sample_rate, frame.layout.name)
            if frame_kind != kind:
                yield from self._drain(waiting)
                waiting, kind = AudioFifo(), frame_kind
                self._seams.add(self._decoded_s)
            length_s = frame.samples / frame.sample_rate
            reached_s = self._decoded_s + self._silence_s
            if silence_s := self._clock.place(frame_s, length_s=length_s, reached_s=reached_s):
                yield from self._drain(waiting)
                yield from self._keep_silent(frame, silence_s)
            waiting.write(frame)
            self._decoded_s += length_s
            if waiting.samples >= self._n_block:
                yield from self._drain(waiting)
        yield from self._drain(waiting)
        self._is_over = True

    def settle(self) -> DecodingAccount:
        """Give the account of what was decoded so far."""
        fraction = self._container.present_fraction
        stated_s = self._decoded_s / fraction if fraction else self._container.stated_s
        return DecodingAccount(
            decoded_s=self._decoded_s,
            reached_s=max(self._decoded_s, self._clock.covered_s),
            stated_s=stated_s if self._is_over else None,
            seams=self._seams | {self._decoded_s},
            refused=self._refused,
            broke_off=self._broke_off,
        )

    def _iter_frames(self) -> Iterator[tuple[AudioFrame, float | None]]:
        """Yield each frame with the time that the container gives it."""
        stream = self._container.stream
        try:
            for packet in self._container.handle.demux(stream):
                yield from self._decode(packet)
                # The packet that ends the stream. Asked for more, PyAV 18 fails where streams turned up
                # on the way, as they do in MPEG-TS.
                if not packet.size and packet.dts is None:
                    return
        except av.FFmpegError:
            self._broke_off = True

    def _decode(self, packet: Packet[AudioStream]) -> Iterator[tuple[AudioFrame, float | None]]:
        """Yield the frames of a packet; one that the codec refuses costs no more than itself."""
        try:
            frames = self._container.stream.decode(packet)
        except av.FFmpegError:
            self._refused[self._decoded_s] += 1
            return
        for frame in frames:
            if frame.sample_rate < _MIN_SAMPLE_RATE:
                problem = f"a sample rate of {frame.sample_rate} Hz is not that of a recording"
                raise AudioError(problem, where=self._path, hint="its header is damaged")
            frame_s = frame.time
            frame.pts = None  # or the queue would insist that there are no holes
            yield frame, frame_s

    def _keep_silent(self, frame: AudioFrame, silence_s: float) -> Iterator[Block]:
        """Yield silence like ``frame``, which comes next."""
        names = tuple(channel.name for channel in frame.layout.channels)
        n_left = round(silence_s * frame.sample_rate)
        self._silence_s += n_left / frame.sample_rate
        while n_left:
            silence = np.zeros(min(n_left, self._n_block), np.float32)
            n_left -= len(silence)
            yield Block([silence] * len(names), names, frame.sample_rate)

    def _drain(self, waiting: AudioFifo) -> Iterator[Block]:
        """Yield what is queued as one block, if anything is."""
        frame = waiting.read()
        if frame is None:
            return
        channels = _to_floats(frame)
        for samples in channels:
            if not np.abs(samples).max() <= _LARGEST_SAMPLE:
                self._refuse_number(samples, frame.sample_rate)
        names = tuple(channel.name for channel in frame.layout.channels)
        yield Block(channels, names, frame.sample_rate)

    def _refuse_number(self, samples: Samples, sample_rate: int) -> None:
        """Say where in the last ``len(samples)`` of those decoded the first is that cannot be used."""
        index = int(np.flatnonzero(~(np.abs(samples) <= _LARGEST_SAMPLE))[0])
        at_s = self._decoded_s + self._silence_s - (len(samples) - index) / sample_rate
        raise AudioError(
            f"the sample at {at_s:.3f} s is {samples[index]:g}, which is no level of a signal",
            where=self._path,
            hint="export it again, as 16-bit or 24-bit integers",
        )


def _to_floats(frame: AudioFrame) -> list[Samples]:
    """Give each channel of a frame as float32, shape (n_samples,), integers exactly as x / 2**(bits-1)."""
    n_channels = len(frame.layout.channels)
    format_name = frame.format.name.removesuffix("p") if frame.format.is_planar else frame.format.name
    dtype, full_scale, zero = _INTEGERS.get(format_name) or (_FLOATS[format_name], 1.0, 0.0)
    # Not frame.planes: beyond 8 channels PyAV 18 looks for the end of a list that has none.
    if frame.format.is_planar:
        planes = [np.frombuffer(memoryview(AudioPlane(frame, i)), dtype, frame.samples) for i in range(n_channels)]
    else:
        packed = np.frombuffer(memoryview(AudioPlane(frame, 0)), dtype, frame.samples * n_channels)
        planes = list(packed.reshape(frame.samples, n_channels).T)
    with np.errstate(over="ignore"):  # a float64 beyond float32 becomes infinite, and is refused as that
        floats = [plane.astype(np.float32) for plane in planes]
    if full_scale == 1.0:
        return floats
    return [(samples - np.float32(zero)) * np.float32(1.0 / full_scale) for samples in floats]
