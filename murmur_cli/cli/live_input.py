"""What a live session hears: a file, stdin or a microphone, and which microphones there are."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from murmur_cli.cli.render import printable
from murmur_cli.errors import ExitCode

if TYPE_CHECKING:
    from murmur_cli.audio.backlog import LiveInput
    from murmur_cli.cli.render import Talk
    from murmur_cli.options import StreamOptions

__all__ = ["ListMicrophonesOptions", "find_input", "print_microphones"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListMicrophonesOptions:
    """Whether microphones are listed, and nothing else is done."""

    list_microphones: bool = False


def print_microphones() -> int:
    """Write a table of them to stdout.

    Raises:
        DeviceError: PortAudio is not installed.
    """
    from murmur_cli.audio.portaudio import list_microphones, load_portaudio

    known = list_microphones(load_portaudio())
    rows = [("INDEX", "NAME", "CHANNELS", "RATE", "DEFAULT")]
    for one in known:
        default = "yes" if one.is_default else ""
        rows.append((str(one.index), printable(one.name), str(one.n_channels), str(one.sample_rate), default))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        typer.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    if not known:
        typer.echo("murmur: there is no microphone on this machine", err=True)
    return ExitCode.OK


def find_input(source: str | None, options: StreamOptions, talk: Talk) -> tuple[str, Callable[[int], LiveInput]]:
    """Find what is to be heard, before a model is loaded for nothing.

    Args:
        source: A file, ``-`` for stdin, or None for a microphone.
        options: What a session hears.
        talk: Hears what may be a misunderstanding.

    Returns:
        Its name, and what opens it at a number of samples per second.

    Raises:
        UsageError: An option would do nothing for it, or stdin is a terminal.
        AudioError: There is no such file.
        DeviceError: There is no such microphone, or PortAudio is not installed.
    """
    if source is None:
        return _find_microphone(options, talk)
    from murmur_cli.audio.live import LiveSource, check_live

    check_live(source, options)
    return source, lambda rate: LiveSource(source, sample_rate=rate, options=options)


def _find_microphone(options: StreamOptions, talk: Talk) -> tuple[str, Callable[[int], LiveInput]]:
    from murmur_cli.audio.microphone import MICROPHONE, MicrophoneSource, check_microphone
    from murmur_cli.audio.portaudio import find_microphone, load_portaudio

    check_microphone(options)
    if _is_piped():
        talk.note("a microphone is heard, stdin is not read; 'murmur stream -' reads it")
    portaudio = load_portaudio()
    microphone = find_microphone(portaudio, options.microphone)
    return MICROPHONE, lambda rate: MicrophoneSource(microphone, portaudio, sample_rate=rate, options=options)


def _is_piped() -> bool:
    """Tell whether somebody may think that stdin is heard."""
    if sys.stdin is None:
        return False
    mode = os.fstat(sys.stdin.fileno()).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)
