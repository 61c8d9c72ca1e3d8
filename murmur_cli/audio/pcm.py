"""Samples without a header: what their bytes mean, and whether what was said about them can be true.

However the bytes are cut into blocks, the samples are the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from murmur_cli.errors import AudioError
from murmur_cli.types import Samples

__all__ = ["SNIFF_BYTES", "NoiseCheck", "PcmFormat", "PcmReader", "describe_rest", "is_container"]

SNIFF_BYTES = 377
"""How many bytes decide whether a stream has a header: three packets of MPEG-TS, the longest signature."""

_SIGNATURES = (
    b"RIFF",
    b"RF64",
    b"BW64",
    b"riff",
    b"FORM",
    b"fLaC",
    b"OggS",
    b"ID3",
    b".snd",
    b"caff",
    b"wvpk",
    b"MAC ",
    b"#!AMR",
    b"\x1aE\xdf\xa3",  # Matroska, WebM
    b"0&\xb2u",  # ASF, WMA
)
_MP4_BRAND = slice(4, 8)
_TS_PACKET, _TS_SYNC = 188, 0x47
# No level of a signal; float32 that is read out of integers holds such numbers, or none at all, within a few samples.
_LARGEST_SAMPLE = 2.0**31
# Bytes that are taken for something else come out as loud noise: neighbouring samples know nothing of one another.
# Speech, even at full scale, has an RMS below 0.3 and a correlation of neighbours above 0.5 (8 kHz and more).
_NOISE_RMS, _NOISE_CORRELATION = 0.2, 0.25
_NOISE_QUIET = 0.02  # what is softer than this at the beginning of a stream says nothing
_NOISE_CHECK_S = 2.0


@dataclass(frozen=True, slots=True)
class PcmFormat:
    """How samples are written: ``encoding`` is one of ``options.PCM_FORMATS``; channels are interleaved."""

    encoding: str = "s16le"
    sample_rate: int = 16_000
    n_channels: int = 1

    @property
    def n_frame_bytes(self) -> int:
        """Bytes of one sample of every channel."""
        return _SAMPLE_BYTES[self.encoding] * self.n_channels

    def __str__(self) -> str:
        channels = "1 channel" if self.n_channels == 1 else f"{self.n_channels} channels"
        return f"{self.encoding}, {self.sample_rate} Hz, {channels}"


_SAMPLE_BYTES = {"s16le": 2, "f32le": 4, "mulaw": 1, "alaw": 1}


class PcmReader:
    """Turns bytes into the mean of their channels, and keeps what is no whole sample for the next block.

    Args:
        form: What the bytes are.
        where: The stream's name, for error messages.
    """

    def __init__(self, form: PcmFormat, where: str) -> None:
        self._form = form
        self._where = where
        self._rest = b""

    @property
    def n_left(self) -> int:
        """Bytes that are not yet a sample of every channel."""
        return len(self._rest)

    def read(self, data: bytes) -> Samples:
        """Give the samples that are complete with ``data``, shape (n_samples,), possibly none.

        Raises:
            AudioError: There is a number that is no level of a signal.
        """
        data = self._rest + data
        n_whole = len(data) - len(data) % self._form.n_frame_bytes
        self._rest = data[n_whole:]
        samples = _decode(data[:n_whole], self._form.encoding)
        if self._form.encoding == "f32le" and not np.all(np.abs(samples) <= _LARGEST_SAMPLE):
            problem = "there are numbers in it that are no level of a signal"
            raise AudioError(problem, where=self._where, hint=f"is it really {self._form}? see --input-format")
        if self._form.n_channels == 1:
            return samples
        mean: Samples = samples.reshape(-1, self._form.n_channels).mean(axis=1, dtype=np.float32)
        return mean


def describe_rest(n_left: int, form: PcmFormat) -> str | None:
    """Say in one clause what is wrong where ``n_left`` bytes at the end are no whole sample; None if there are none."""
    noun = "byte" if n_left == 1 else "bytes"
    problem = f"{n_left} {noun} at its end are no whole sample of {form}: it was cut, or is no such"
    return problem if n_left else None


class NoiseCheck:
    """Listens to the first seconds that are not quiet, and tells whether they are but noise."""

    def __init__(self, sample_rate: int) -> None:
        self._n_wanted = round(_NOISE_CHECK_S * sample_rate)
        self._heard: list[Samples] = []
        self._n_heard = 0

    def add(self, samples: Samples) -> None:
        """Listen to the next samples, shape (n_samples,)."""
        if self._n_heard >= self._n_wanted:
            return
        if not self._heard:
            loud = np.flatnonzero(np.abs(samples) > _NOISE_QUIET)
            samples = samples[loud[0] :] if len(loud) else samples[:0]
        if len(samples):
            self._heard.append(samples[: self._n_wanted - self._n_heard])
            self._n_heard += len(self._heard[-1])

    @property
    def is_over(self) -> bool:
        """Whether enough was heard."""
        return self._n_heard >= self._n_wanted

    def describe_noise(self, form: PcmFormat) -> str | None:
        """Say in one clause that what was heard is but noise, if it is."""
        return f"it sounds like noise: is it really {form}? see --input-format" if self.is_noise() else None

    def is_noise(self) -> bool:
        """Tell whether what was heard is loud, and its neighbouring samples know nothing of one another."""
        if self._n_heard < 2:
            return False
        signal = np.concatenate(self._heard).astype(np.float64)
        signal -= signal.mean()
        power = float(np.square(signal).mean())
        correlation = float((signal[1:] * signal[:-1]).mean())
        return power > _NOISE_RMS**2 and abs(correlation) < _NOISE_CORRELATION * power


def is_container(head: bytes) -> bool:
    """Tell by its first ``SNIFF_BYTES`` bytes (or all, if there are fewer) whether a stream has a header."""
    if head.startswith(_SIGNATURES) or head[_MP4_BRAND] == b"ftyp":
        return True
    if len(head) == SNIFF_BYTES and all(head[i] == _TS_SYNC for i in range(0, SNIFF_BYTES, _TS_PACKET)):
        return True
    return _is_mpeg_frame(head)


def _is_mpeg_frame(head: bytes) -> bool:
    """Tell whether it begins with the header of a frame of MP3 or ADTS; a sample of PCM may look like half of one.

    Source: ISO/IEC 11172-3, section 2.4.1.3 (MP3); ISO/IEC 14496-3, table 1.A.6 (ADTS).
    """
    if len(head) < 4 or head[0] != 0xFF:
        return False
    if head[1] & 0xF6 == 0xF0:  # ADTS: layer 0; then the profile is AAC-LC, and there are 13 sampling rates
        return head[2] >> 6 == 1 and (head[2] >> 2) & 0xF <= 12
    is_layer_3 = head[1] & 0xE6 == 0xE2 and head[1] & 0x18 != 0x08
    return is_layer_3 and head[2] >> 4 not in (0, 15) and head[2] & 0x0C != 0x0C


def _decode(data: bytes, encoding: str) -> Samples:
    match encoding:
        case "s16le":
            return np.frombuffer(data, "<i2").astype(np.float32) * np.float32(2.0**-15)
        case "f32le":
            return np.frombuffer(data, "<f4").astype(np.float32)
        case "mulaw":
            return _MULAW[np.frombuffer(data, np.uint8)]
        case _:
            return _ALAW[np.frombuffer(data, np.uint8)]


def _make_mulaw() -> Samples:
    """Source: ITU-T G.711, tables 2a and 2b, scaled to 16 bits."""
    code = ~np.arange(256, dtype=np.int32) & 0xFF
    magnitude = (((code & 0x0F) * 8 + 132) << (code >> 4 & 7)) - 132
    return (np.where(code & 0x80, -magnitude, magnitude) * 2.0**-15).astype(np.float32)


def _make_alaw() -> Samples:
    """Source: ITU-T G.711, tables 1a and 1b, scaled to 16 bits."""
    code = np.arange(256, dtype=np.int32) ^ 0x55
    exponent, mantissa = code >> 4 & 7, (code & 0x0F) * 16 + 8
    magnitude = np.where(exponent == 0, mantissa, (mantissa + 256) << np.maximum(exponent - 1, 0))
    return (np.where(code & 0x80, magnitude, -magnitude) * 2.0**-15).astype(np.float32)


_MULAW = _make_mulaw()
_ALAW = _make_alaw()
