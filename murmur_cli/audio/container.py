"""A file, opened by FFmpeg, and one of its audio streams.

FFmpeg sees nothing but this one local file: a name is never a pattern or a URL, and what it has to say
it says to nobody.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import BinaryIO, Protocol

import av
import av.logging
from av.audio.stream import AudioStream
from av.container import InputContainer
from av.stream import Disposition

from murmur_cli.audio.pcm import PcmFormat
from murmur_cli.audio.riff import find_present_fraction
from murmur_cli.errors import AudioError

__all__ = ["AudioContainer", "ReadableBytes", "open_container", "open_container_stream"]

# A local playlist may name its parts; nothing may reach for the network.
_OPTIONS = {"protocol_whitelist": "file"}
# Formats that give every stream its own duration; elsewhere it is that of the longest one.
_STATES_EACH_STREAM = ("mov",)
# FFmpeg takes names with these, and the ending of an image format, for patterns of many files
# (libavformat/img2dec.c); it gets to know such a file by its descriptor.
_PATTERN_CHARACTERS = frozenset("%*?{")
_LOG_IN_USE = Lock()  # FFmpeg has one log for all threads
_ESTIMATE_WARNING = "Estimating duration from bitrate"  # libavformat/demux.c, estimate_timings (FFmpeg 8)
_FILE_KINDS = (
    (stat.S_ISDIR, "a folder", "name the files in it"),
    (stat.S_ISFIFO, "a pipe", "save what comes out of it to a file first"),
    (lambda mode: not stat.S_ISREG(mode), "a device or socket", "name a file"),
)


@dataclass(frozen=True, slots=True)
class AudioContainer:
    """An open file and one of its audio streams.

    ``stated_s`` is the duration that the container states, in seconds, if it does state one for this
    stream. ``present_fraction`` is the part of the stated data that the file holds, if it says.
    """

    handle: InputContainer
    stream: AudioStream
    stated_s: float | None
    present_fraction: float | None

    @property
    def n_audio_streams(self) -> int:
        """How many audio streams there are to choose from."""
        return len(self.handle.streams.audio)


@contextmanager
def open_container(
    path: str, *, content: BinaryIO | None = None, pcm: PcmFormat | None = None, number: int | None = None
) -> Iterator[AudioContainer]:
    """Open a file and find an audio stream in it.

    Args:
        path: Any name of a regular file; bytes that are no UTF-8 as Python spells them (PEP 383).
        content: The file where it is open already, and ``path`` only what it is called; it stays open.
        pcm: How its samples are written, where it has no header.
        number: Which audio stream is wanted, from 1; None for the first that can be decoded.

    Raises:
        AudioError: The file cannot be read, or there is no audio in it.
    """
    with _saying_why(path), _open_regular(path) if content is None else nullcontext(content) as file:
        present_fraction = find_present_fraction(file) if pcm is None else None
        file.seek(0)
        has_name = content is None and not _PATTERN_CHARACTERS & set(path)
        # "file:" takes everything behind it for a name, but FFmpeg would take some of those for patterns.
        url = f"file:{path}" if has_name else f"file:/dev/fd/{file.fileno()}"
        handle, description, is_estimate = _open_quietly(url, path, pcm)
    with handle:
        stream = _find_audio_stream(handle, path) if number is None else _get_audio_stream(handle, path, number)
        _forget_custom_layout(stream, description)
        stated_s = None if is_estimate else _find_stated_s(handle, stream)
        yield AudioContainer(handle, stream, stated_s, present_fraction)


class ReadableBytes(Protocol):
    """Bytes that come once, in order; nothing can be skipped or read again."""

    def read(self, n_bytes: int, /) -> bytes:
        """Give up to ``n_bytes``; none at the end."""
        ...


@contextmanager
def open_container_stream(stream: ReadableBytes, name: str) -> Iterator[AudioContainer]:
    """Open what comes out of a pipe and find its first audio stream, as it comes.

    Args:
        stream: The bytes, from the first.
        name: What the stream is called, for error messages.

    Raises:
        AudioError: There is no audio in it, or it cannot be read without going back.
    """
    try:
        handle = av.open(stream, "r", metadata_errors="replace")
        description: str = handle.dumps_format()  # type: ignore[attr-defined]  # not in PyAV's stubs
    except av.FFmpegError as error:
        hint = "files of phones have their index at the end: save it to a file, and give that"
        raise AudioError("FFmpeg finds no audio that can be read from a pipe", where=name, hint=hint) from error
    with handle:
        audio = _find_audio_stream(handle, name)
        _forget_custom_layout(audio, description)
        yield AudioContainer(handle, audio, None, None)


@contextmanager
def _saying_why(path: str) -> Iterator[None]:
    """Turn a failure of the file system into an error that names the file and the reason."""
    try:
        yield
    except FileNotFoundError as error:
        problem = "the link leads nowhere" if Path(path).is_symlink() else "no such file"
        raise AudioError(problem, where=path, hint="check the name") from error
    except PermissionError as error:
        raise AudioError("not permitted to read it", where=path, hint="change its permissions") from error
    except (OSError, ValueError) as error:  # ValueError: a null character in the name
        reason = getattr(error, "strerror", None) or error
        raise AudioError(f"cannot be read: {reason}", where=path, hint="check the name and the disk") from error


def _open_regular(path: str) -> BinaryIO:
    """Open a file that has data in it; anything else that has a name could block for ever."""
    found = Path(path).stat()
    for is_kind, kind, hint in _FILE_KINDS:
        if is_kind(found.st_mode):
            raise AudioError(f"this is {kind}, not a recording", where=path, hint=hint)
    if not found.st_size:
        raise AudioError("the file is empty", where=path, hint="record or copy it again")
    return Path(path).open("rb")


def _open_quietly(url: str, path: str, pcm: PcmFormat | None) -> tuple[InputContainer, str, bool]:
    """Open a file; give FFmpeg's description of it too, and whether its duration is an estimate."""
    format_name, options = None, {}
    if pcm is not None:
        format_name = pcm.encoding  # FFmpeg calls them the same
        options = {"sample_rate": str(pcm.sample_rate), "ch_layout": f"{pcm.n_channels} channels"}
    # The only place where FFmpeg tells an estimate from a statement is its log. It is off otherwise:
    # PyAV's default, under which nothing reaches stderr.
    with _LOG_IN_USE, av.logging.Capture(local=False) as logs:
        av.logging.set_level(av.logging.INFO)
        try:
            # Tags in an old encoding are no reason to fail.
            handle = av.open(
                url, "r", format=format_name, options=options, container_options=_OPTIONS, metadata_errors="replace"
            )
            description: str = handle.dumps_format()  # type: ignore[attr-defined]  # not in PyAV's stubs
        except av.FFmpegError as error:
            hint = "it may be damaged, or of another kind than its name says"
            raise AudioError("FFmpeg finds no audio in it", where=path, hint=hint) from error
        finally:
            av.logging.set_level(None)
    return handle, description, any(_ESTIMATE_WARNING in message for _, _, message in logs)


def _find_audio_stream(handle: InputContainer, path: str) -> AudioStream:
    if not handle.streams.audio:
        raise AudioError("no audio stream in it", where=path, hint="name a file with sound")
    for stream in handle.streams.audio:
        if hasattr(stream, "codec"):  # PyAV leaves it out where FFmpeg has no decoder
            return stream
    raise AudioError("FFmpeg has no decoder for its audio", where=path, hint="convert it, to FLAC for example")


def _get_audio_stream(handle: InputContainer, path: str, number: int) -> AudioStream:
    n_streams = len(handle.streams.audio)
    if number > n_streams:
        there = "no audio stream" if not n_streams else f"only {n_streams} audio stream{'s' * (n_streams > 1)}"
        problem = f"there is {there} in it, so no number {number}"
        raise AudioError(problem, where=path, hint="give another --audio-stream, or leave it out")
    stream = handle.streams.audio[number - 1]
    if not hasattr(stream, "codec"):
        hint = "give another --audio-stream, or convert it"
        raise AudioError(f"FFmpeg has no decoder for audio stream {number}", where=path, hint=hint)
    return stream


def _forget_custom_layout(stream: AudioStream, description: str) -> None:
    """Let the decoder number the channels where their order is not one of FFmpeg's own.

    PyAV 18 frees the list of a custom order twice and takes the process with it, at the first frame
    or at the first look at ``stream.layout``. FFmpeg's description names such a list in brackets.
    """
    listed = re.search(rf"^ *Stream #0:{stream.index}\b.*: Audio: .* Hz, (\d+) channels \(", description, re.MULTILINE)
    if listed:
        stream.codec_context.options = {"ch_layout": f"{listed[1]} channels"}


def _find_stated_s(handle: InputContainer, stream: AudioStream) -> float | None:
    """Find the duration that the container states for this stream alone, in seconds."""
    format_name = handle.format.name
    is_alone = all(other is stream or other.disposition & Disposition.attached_pic for other in handle.streams)
    if format_name == "wav" or not (is_alone or format_name.startswith(_STATES_EACH_STREAM)):
        return None
    if stream.duration and stream.time_base:
        return float(stream.duration * stream.time_base)
    return handle.duration / av.time_base if is_alone and handle.duration else None
