"""The microphones of this machine, as PortAudio knows them.

The library is loaded when somebody asks for a microphone: nothing else needs it, and on Linux it has to be installed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, TypedDict

import numpy as np
import numpy.typing as npt

from murmur_cli.errors import DeviceError

__all__ = [
    "Frames",
    "InputStream",
    "Microphone",
    "PortAudio",
    "StreamStatus",
    "find_microphone",
    "list_microphones",
    "load_portaudio",
]

_MOST_NAMED = 12  # of the microphones in an error message: ALSA makes up dozens
_SEE_ALL = "'murmur stream --list-microphones' shows them all"

Frames: TypeAlias = npt.NDArray[np.float32]
"""What a microphone gives, shape (n_frames, n_channels), full scale is [-1, 1]."""


class StreamStatus(Protocol):
    """What is said of a block."""

    @property
    def input_overflow(self) -> bool:
        """Something before the block, or in it, was lost."""
        ...


class InputStream(Protocol):
    """A microphone that is open; between ``start`` and ``abort`` it calls back in a thread of its own."""

    @property
    def active(self) -> bool:
        """Whether anything can still come."""
        ...

    def start(self) -> None:
        """Begin to hear."""
        ...

    def abort(self) -> None:
        """Hear no more, at once."""
        ...

    def close(self) -> None:
        """Let the device go."""
        ...


class _OpenStream(Protocol):
    def __call__(
        self,
        *,
        device: int,
        samplerate: float,
        channels: int,
        dtype: str,
        blocksize: int,
        callback: Callable[[Frames, int, object, StreamStatus], None],
    ) -> InputStream: ...


class _DeviceFacts(TypedDict):
    """What is read of a device."""

    name: str
    max_input_channels: int
    default_samplerate: float


class _Defaults(Protocol):
    @property
    def device(self) -> Sequence[int]: ...


class PortAudio(Protocol):
    """What is used of the module ``sounddevice``."""

    @property
    def default(self) -> _Defaults:
        """The first of its devices is the input; -1 if there is none."""
        ...

    @property
    def InputStream(self) -> _OpenStream:  # noqa: N802 - it is a class
        """Opens a device."""
        ...

    @property
    def PortAudioError(self) -> type[Exception]:  # noqa: N802 - it is a class
        """What it raises."""
        ...

    def query_devices(self) -> Sequence[_DeviceFacts]:
        """Tell of all devices, those that only play too; their places are their numbers."""
        ...


@dataclass(frozen=True, slots=True)
class Microphone:
    """A device that hears. ``index`` is PortAudio's number of it, ``sample_rate`` the one that it has by itself."""

    index: int
    name: str
    n_channels: int
    sample_rate: int
    is_default: bool


def load_portaudio() -> PortAudio:
    """Load PortAudio.

    Raises:
        DeviceError: It is not installed.
    """
    try:
        import sounddevice  # noqa: PLC0415 - it loads a library that few machines have
    except OSError as error:
        hint = "install the package libportaudio2 (apt install libportaudio2), or pipe audio into 'murmur stream -'"
        raise DeviceError("PortAudio, which hears it, is not installed", where="microphone", hint=hint) from error
    portaudio: PortAudio = sounddevice
    return portaudio


def list_microphones(portaudio: PortAudio) -> list[Microphone]:
    """List what can hear, in PortAudio's order."""
    default = portaudio.default.device[0]
    return [
        Microphone(i, facts["name"], facts["max_input_channels"], round(facts["default_samplerate"]), i == default)
        for i, facts in enumerate(portaudio.query_devices())
        if facts["max_input_channels"] > 0
    ]


def find_microphone(portaudio: PortAudio, wanted: str | None) -> Microphone:
    """Find the microphone that a user means.

    Args:
        portaudio: Who knows them.
        wanted: A number, a name, or a part of one, in capitals or not; None for the default one.

    Raises:
        DeviceError: There is none, or more than one.
    """
    known = list_microphones(portaudio)
    if not known:
        hint = "plug one in, name a file, or pipe audio into 'murmur stream -'"
        raise DeviceError("there is none on this machine", where="microphone", hint=hint)
    found = [microphone for microphone in known if _is_meant(microphone, wanted)]
    if wanted is not None and len(found) > 1:  # the whole name of one may be a part of another's
        found = [one for one in found if one.name.casefold() == wanted.casefold()] or found
    if len(found) == 1:
        return found[0]
    where = "microphone" if wanted is None else f"--microphone {wanted}"
    if wanted is None:
        raise DeviceError("none is the default", where=where, hint=f"give --microphone: {_name(known)}")
    if not found:
        raise DeviceError("there is no such microphone", where=where, hint=f"there is {_name(known)}")
    raise DeviceError(f"this may be {_name(found)}", where=where, hint="give its number")


def _is_meant(microphone: Microphone, wanted: str | None) -> bool:
    if wanted is None:
        return microphone.is_default
    if wanted.isdecimal():
        return microphone.index == int(wanted)
    return wanted.casefold() in microphone.name.casefold()


def _name(microphones: Sequence[Microphone]) -> str:
    named = ", ".join(f"{one.index} ({one.name})" for one in microphones[:_MOST_NAMED])
    return named if len(microphones) <= _MOST_NAMED else f"{named} and more: {_SEE_ALL}"
