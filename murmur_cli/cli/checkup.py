"""What works here: one check for each thing that murmur needs, or that some of it needs.

A check says what it found, or raises; whatever it raises becomes a line, so that the others are made, too.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from murmur_cli.errors import DeviceError, ModelUnavailableError, MurmurError, OutputError, WeightsError

__all__ = ["CHECKS", "Check", "Finding", "find_all"]

_REINSTALL = "install murmur anew: pip install --force-reinstall murmur-asr"
# What a library that is not as it should be raises when it is loaded or asked.
_FAULTS = (ImportError, OSError, RuntimeError, ValueError, TypeError, AttributeError, LookupError, AssertionError)
_LEAST_FREE = 1_000_000_000  # bytes: half an hour of audio, as it is kept while it is worked on, takes a tenth of it


@dataclass(frozen=True, slots=True)
class Check:
    """Something to look at. ``is_needed``: without it the default command does not work."""

    name: str
    look: Callable[[], str]
    is_needed: bool = True


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found; ``advice`` is there if something is wrong."""

    name: str
    found: str
    advice: str | None
    is_needed: bool

    @property
    def is_ok(self) -> bool:
        """Whether nothing is wrong."""
        return self.advice is None

    @property
    def is_fatal(self) -> bool:
        """Whether the default command does not work for it."""
        return self.is_needed and not self.is_ok


def find_all(checks: Sequence[Check]) -> Iterator[Finding]:
    """Make the checks one by one, whatever they raise."""
    for check in checks:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what they warn of is looked at here
                yield Finding(check.name, check.look(), None, check.is_needed)
        except MurmurError as error:
            place = f"{error.where}: " if error.where else ""
            yield Finding(check.name, f"{place}{error.problem}", error.hint or _REINSTALL, check.is_needed)
        except _FAULTS as error:
            yield Finding(check.name, f"{type(error).__name__}: {error}", _REINSTALL, check.is_needed)


def _look_at_python() -> str:
    encoding = sys.getfilesystemencoding()
    if encoding != "utf-8":
        raise MurmurError(f"names of files are in {encoding}", hint="set LC_ALL=C.UTF-8 or PYTHONUTF8=1")
    return f"{platform.python_version()} on {platform.system()} {platform.machine()}, {sys.executable}"


def _look_at_torch() -> str:
    from murmur_cli.models.machine import describe_torch

    return describe_torch()


def _look_at_device() -> str:
    from murmur_cli.models.machine import try_device

    return try_device()


def _look_at_gpus() -> str:
    from murmur_cli.models.machine import describe_gpus

    return describe_gpus()


def _look_at_codecs() -> str:
    from murmur_cli.audio.codecs import describe_ffmpeg, find_missing_decoders

    if missing := find_missing_decoders():
        hint = "install the wheel of av, or an FFmpeg with all decoders"
        raise MurmurError(f"{describe_ffmpeg()} cannot read {', '.join(missing)}", hint=hint)
    return describe_ffmpeg()


def _look_at_speech() -> str:
    from murmur_cli.models.silero import load_silero
    from murmur_cli.models.slots_diarizer import load_slots_diarizer
    from murmur_cli.options import VadOptions

    load_silero(VadOptions())
    load_slots_diarizer()
    return "the networks that find speech and speakers are whole"


def _look_at_recogniser() -> str:
    from murmur_cli.models.whisper import engine

    return f"{engine.__name__} loads"


def _look_at_default_weights() -> str:
    from murmur_cli.models.cache import find_weights, folder_of
    from murmur_cli.models.catalog import CatalogEntry, resolve_model
    from murmur_cli.models.choice import choose_model
    from murmur_cli.options import ModelOptions

    choice = choose_model(ModelOptions())
    known = resolve_model(choice.model)
    try:
        found = find_weights(choice.model)
    except WeightsError as error:
        hint = f"'murmur models pull {choice.model}' fetches them again"
        raise WeightsError(error.problem, where=error.where, hint=hint) from error
    if found is not None:
        return f"{choice.model} ({choice.reason}): here, {found.n_bytes / 1e6:.0f} MB"
    size = known.size if isinstance(known, CatalogEntry) else None
    _expect_download(choice.model, folder_of(choice.model), size or 0)
    return f"{choice.model} ({choice.reason}): not here; the first run fetches it, {(size or 0) / 1e6:.0f} MB"


def _expect_download(name: str, folder: Path, size: int) -> None:
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        hint = f"unset HF_HUB_OFFLINE, or run 'murmur models pull {name}' while there is a network"
        raise ModelUnavailableError(f"{name} is not here, and HF_HUB_OFFLINE is set", hint=hint)
    _measure_folder(folder.parent, least=size, change="set MURMUR_CACHE_DIR to another folder")


def _look_at_weights() -> str:
    from murmur_cli.models.cache import folder_of, list_cached

    cached = list_cached()
    damaged = [name for name, record in cached.items() if record is None]
    if damaged:
        hint = f"'murmur models pull {damaged[0]}' fetches it again, 'murmur models rm {damaged[0]}' removes it"
        raise WeightsError(f"without a record: {', '.join(damaged)}", hint=hint)
    sizes = [f"{name} {record.n_bytes / 1e6:.0f} MB" for name, record in cached.items() if record is not None]
    return f"in {folder_of('x').parent}: {', '.join(sizes) or 'none'}"


def _look_at_cache() -> str:
    from murmur_cli.models.cache import folder_of

    return _measure_folder(folder_of("x").parent, least=_LEAST_FREE, change="set MURMUR_CACHE_DIR to another folder")


def _look_at_journals() -> str:
    from murmur_cli.journal.folder import default_folder

    return _measure_folder(default_folder(), least=0, change="give --journal-dir another folder, or set XDG_STATE_HOME")


def _look_at_temporary() -> str:
    return _measure_folder(Path(tempfile.gettempdir()), least=_LEAST_FREE, change="set TMPDIR to another folder")


def _measure_folder(folder: Path, *, least: int, change: str) -> str:
    """Say how much is free where a folder is or would be made.

    Raises:
        OutputError: Nothing can be written there, or fewer than ``least`` bytes.
    """
    there = folder
    while not there.exists() and there != there.parent:
        there = there.parent
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        raise OutputError("cannot be written to", where=str(there), hint=f"make it writable, or {change}")
    free = shutil.disk_usage(there).free
    if free < least:
        problem = f"{free / 1e9:.1f} GB are free, less than {least / 1e9:.1f} GB"
        raise OutputError(problem, where=str(folder), hint=f"make room, or {change}")
    return f"{folder}, {free / 1e9:.1f} GB free"


def _look_at_microphones() -> str:
    from murmur_cli.audio.portaudio import list_microphones, load_portaudio

    portaudio = load_portaudio()
    try:
        known = list_microphones(portaudio)
    except portaudio.PortAudioError as error:
        raise DeviceError(f"PortAudio fails: {error}", hint="see whether a sound server runs") from error
    if not known:
        hint = "plug one in; files and pipes need none"
        raise DeviceError("there is none on this machine", hint=hint)
    default = next((one.name for one in known if one.is_default), "none is the default")
    return f"{len(known)} ({default})"


def _look_at_terminal() -> str:
    if not sys.stderr.isatty():
        return "stderr is none: progress is plain lines, no colour"
    term = os.environ.get("TERM", "")
    if term in ("", "dumb", "unknown"):
        hint = "set TERM as the terminal says, such as xterm-256color"
        raise MurmurError(f"TERM={term} cannot redraw: no progress bars, no live captions", hint=hint)
    columns, lines = shutil.get_terminal_size()
    return f"TERM={term}, {columns} x {lines}"


CHECKS = (
    Check("python", _look_at_python),
    Check("torch", _look_at_torch),
    Check("device", _look_at_device),
    Check("gpus", _look_at_gpus, is_needed=False),
    Check("codecs", _look_at_codecs),
    Check("speech", _look_at_speech),
    Check("recogniser", _look_at_recogniser),
    Check("model", _look_at_default_weights),
    Check("weights", _look_at_weights, is_needed=False),
    Check("cache", _look_at_cache, is_needed=False),
    Check("journals", _look_at_journals, is_needed=False),
    Check("temporary files", _look_at_temporary),
    Check("microphones", _look_at_microphones, is_needed=False),
    Check("terminal", _look_at_terminal, is_needed=False),
)
"""All checks but that of the settings, which needs the commands; what others rest on comes first."""
