"""Audio as it comes: from a pipe, with or without a header, or from a file that is played.

Whatever the source, it gives blocks of mono samples at the engine's rate, and however its bytes are cut into blocks,
the samples are the same.
"""

from __future__ import annotations

import os
import select
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event

from murmur_cli.audio.container import open_container, open_container_stream
from murmur_cli.audio.damage import describe_damage
from murmur_cli.audio.decoder import Decoder
from murmur_cli.audio.downmix import mix_to_mono
from murmur_cli.audio.pcm import SNIFF_BYTES, NoiseCheck, PcmFormat, PcmReader, describe_rest, is_container
from murmur_cli.audio.resample import Resampler
from murmur_cli.audio.stdin import STDIN, check_stdin
from murmur_cli.errors import AudioError, UsageError
from murmur_cli.options import StreamOptions
from murmur_cli.types import Samples

__all__ = ["LiveSource", "check_live", "iter_first"]

_READ_BYTES = 1 << 16  # what a pipe of Linux holds
_POLL_S = 0.2  # so soon does a source that waits for its pipe see that it is to end
_PACED_S = 0.1  # of the blocks of a file that is played at its own pace
_LIVE_BLOCK = 1600  # samples: 0.1 s at 16 kHz of a container in a pipe


class LiveSource:
    """A source that is read once, from front to back, in one thread; ``stop`` ends it from another.

    It is live where audio comes at the pace of the clock, so that somebody waits for what is said.

    Args:
        name: As the user gave it.
        sample_rate: Samples per second of the blocks.
        options: How the input is written, at what pace it comes, and after how long it ends.
    """

    def __init__(self, name: str, *, sample_rate: int, options: StreamOptions) -> None:
        self.name = name
        self.is_live = _is_live(name, options)
        self.sample_rate = sample_rate
        self.damage: str | None = None
        self.notes: list[str] = []
        self._options = options
        self._stopped = Event()
        self._is_unheard = True

    def stop(self) -> None:
        """Let the source end soon, as if nothing more came."""
        self._stopped.set()

    def iter_blocks(self) -> Iterator[Samples]:
        """Yield the signal in blocks, each of shape (n_samples,), never empty.

        Where it has ended by itself, ``damage`` says in one clause what was wrong with it. ``notes`` grows at any time.

        Raises:
            AudioError: It cannot be read, or there is not one sample in it.
            UsageError: Something was said about its samples, but it says that itself.
        """
        duration, n_given = self._options.duration, 0
        paced = self._pace(self._iter_resampled())
        for block in iter_first(paced, duration=duration, sample_rate=self.sample_rate):
            n_given += len(block)
            yield block
        if duration is not None and n_given == _count_wanted(duration, self.sample_rate):
            self.damage = None
        elif self._is_unheard and not self._stopped.is_set():
            raise AudioError("there is not one sample in it", where=self._place, hint="is anything written into it?")

    @property
    def _place(self) -> str:
        return "stdin" if self.name == STDIN else self.name

    def _iter_resampled(self) -> Iterator[Samples]:
        resampler = Resampler(self.sample_rate)
        for samples, sample_rate in self._iter_heard():
            if len(samples):
                self._is_unheard = False
            yield from resampler.push(samples, sample_rate)
        yield from resampler.finish()

    def _pace(self, blocks: Iterator[Samples]) -> Iterator[Samples]:
        """Give each block when its audio would be over, if the file is to be played at its own pace."""
        if not self._options.realtime:
            yield from blocks
            return
        n_paced, n_given, start = max(1, round(_PACED_S * self.sample_rate)), 0, time.monotonic()
        for block in blocks:
            for begin in range(0, len(block), n_paced):
                part = block[begin : begin + n_paced]
                n_given += len(part)
                if self._stopped.wait(max(0.0, start + n_given / self.sample_rate - time.monotonic())):
                    return
                yield part

    def _iter_heard(self) -> Iterator[tuple[Samples, int]]:
        """Yield mono blocks and their rates."""
        if self.name != STDIN and self._options.input_format is None:
            self._refuse_pcm_options()
            with open_container(self.name) as container:
                yield from self._decode(Decoder(container, self.name))
            return
        with _open_bytes(self.name) as descriptor:
            stream = _ByteStream(descriptor, self._stopped)
            if self._options.input_format is None and is_container(stream.peek(SNIFF_BYTES)):
                self._refuse_pcm_options()
                with open_container_stream(stream, self._place) as container:
                    yield from self._decode(Decoder(container, self._place, n_block=_LIVE_BLOCK))
                if self._is_unheard and not self._stopped.is_set():
                    problem = "nothing in it can be heard without going back, which a pipe cannot"
                    hint = "files of phones have their index at the end: save it to a file, and give that"
                    raise AudioError(problem, where=self._place, hint=hint)
                return
            yield from self._read_pcm(stream)

    def _decode(self, decoder: Decoder) -> Iterator[tuple[Samples, int]]:
        for block in decoder.iter_blocks():
            yield mix_to_mono(block.channels, block.layout), block.sample_rate
            if self._stopped.is_set():
                return
        self.notes += decoder.notes
        if not self._stopped.is_set():
            self.damage = describe_damage(decoder.settle())

    def _read_pcm(self, stream: _ByteStream) -> Iterator[tuple[Samples, int]]:
        options = self._options
        form = PcmFormat(options.input_format or "s16le", options.input_rate or 16_000, options.input_channels or 1)
        reader, check = PcmReader(form, self._place), NoiseCheck(form.sample_rate)
        is_checked = False
        while data := stream.read(_READ_BYTES):
            samples = reader.read(data)
            check.add(samples)
            if check.is_over and not is_checked:
                is_checked = True
                self._say_noise(check, form)
            yield samples, form.sample_rate
        if not is_checked:
            self._say_noise(check, form)
        if not self._stopped.is_set():
            self.damage = describe_rest(reader.n_left, form)

    def _say_noise(self, check: NoiseCheck, form: PcmFormat) -> None:
        if noise := check.describe_noise(form):
            self.notes.append(noise)

    def _refuse_pcm_options(self) -> None:
        for option, value in (
            ("--input-rate", self._options.input_rate),
            ("--input-channels", self._options.input_channels),
        ):
            if value is not None:
                problem = f"{self._place} has a header that says this"
                raise UsageError(problem, where=option, hint="leave it out, or say --input-format if that is no header")


def iter_first(blocks: Iterator[Samples], *, duration: float | None, sample_rate: int) -> Iterator[Samples]:
    """Pass on the blocks of the first ``duration`` seconds, at least one sample, or all; none is empty."""
    n_left = None if duration is None else _count_wanted(duration, sample_rate)
    for block in blocks:
        taken = block[:n_left]
        if len(taken):
            yield taken
        if n_left is not None:
            n_left -= len(taken)
            if n_left == 0:
                return


def _count_wanted(duration: float, sample_rate: int) -> int:
    return max(1, round(duration * sample_rate))


def check_live(name: str, options: StreamOptions) -> None:
    """Look at what is to be heard, before a model is loaded for nothing.

    Args:
        name: A file, or ``-`` for stdin.
        options: What a session hears.

    Raises:
        UsageError: stdin is a terminal; or an option would do nothing for this source.
        AudioError: There is no such file.
    """
    if options.microphone is not None:
        problem = f"{'stdin' if name == STDIN else 'a file'} is to be heard already"
        raise UsageError(problem, where="--microphone", hint=f"leave it out, or leave {name} out")
    if name == STDIN:
        check_stdin()
        if options.realtime:
            raise UsageError("stdin comes at its own pace", where="--realtime", hint="leave it out")
    elif not Path(name).exists():
        raise AudioError("no such file", where=name, hint="check the name")
    if options.on_lag == "skip" and not _is_live(name, options):
        problem = "a file waits, so nothing needs to be skipped"
        raise UsageError(problem, where="--on-lag skip", hint="leave it out, or add --realtime")


def _is_live(name: str, options: StreamOptions) -> bool:
    if name != STDIN:
        return options.realtime
    return not stat.S_ISREG(os.fstat(sys.stdin.fileno()).st_mode)


class _ByteStream:
    """What a descriptor gives, as it comes; a wait ends when the source is stopped."""

    def __init__(self, descriptor: int, stopped: Event) -> None:
        self._descriptor = descriptor
        self._stopped = stopped
        self._peeked = b""

    def peek(self, n_bytes: int) -> bytes:
        """Look at the first bytes, as many as there are."""
        while len(self._peeked) < n_bytes and (data := self._read(n_bytes - len(self._peeked))):
            self._peeked += data
        return self._peeked

    def read(self, n_bytes: int) -> bytes:
        """Give up to ``n_bytes``, none at the end."""
        if self._peeked:
            data, self._peeked = self._peeked[:n_bytes], self._peeked[n_bytes:]
            return data
        return self._read(n_bytes)

    def _read(self, n_bytes: int) -> bytes:
        while not self._stopped.is_set():
            if select.select([self._descriptor], [], [], _POLL_S)[0]:
                return os.read(self._descriptor, n_bytes)
        return b""


@contextmanager
def _open_bytes(name: str) -> Iterator[int]:
    if name == STDIN:
        yield sys.stdin.fileno()
        return
    try:
        with Path(name).open("rb", buffering=0) as file:
            yield file.fileno()
    except OSError as error:
        problem = f"cannot be read: {error.strerror or error}"
        raise AudioError(problem, where=name, hint="check the name and the disk") from error
