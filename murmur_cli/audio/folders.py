"""Which files of a folder are recordings, told by their names alone: nothing is opened, so a big folder costs little.

What a folder holds beside recordings is counted, never an error: it was not named.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePath

from murmur_cli.errors import AudioError
from murmur_cli.options import PCM_FORMATS, InputOptions

__all__ = ["FolderListing", "FoundRecording", "list_recordings"]

# Of sound and film, as people and recorders spell them.
_ENDINGS = (
    "3g2 3ga 3gp aac aax ac3 adts aif aifc aiff amr ape asf au avi awb caf dff dsf dss dts dv eac3 f4a f4v flac flv "
    "gsm m2ts m4a m4b m4r m4v mka mkv mov mp2 mp3 mp4 mpc mpeg mpg mts mxf oga ogg ogm ogv oma opus ra rf64 rm snd spx "
    "tak tta ts vob voc w64 wav wave weba webm wma wmv wv"
)
# Of samples without a header.
_PCM_ENDINGS = " ".join(["pcm raw ul ulaw al sln", *PCM_FORMATS])


@dataclass(frozen=True, slots=True)
class FoundRecording:
    """A recording of a folder: its path, and the folder that it lies in, as seen from the one that was named."""

    path: str
    subfolder: str


@dataclass(frozen=True, slots=True)
class FolderListing:
    """What a folder holds: recordings in order of their names, how many other files, and what could not be read."""

    recordings: tuple[FoundRecording, ...]
    n_skipped: int
    errors: tuple[AudioError, ...]


def list_recordings(folder: str, options: InputOptions, *, is_pcm: bool) -> FolderListing:
    """Find the recordings of a folder.

    Hidden files and folders are left out, and so are folders that are links, which may lead in circles.

    Args:
        folder: Its name.
        options: Whether to look in the folders in it, and the patterns of names.
        is_pcm: Look for samples without a header, not for recordings that have one.
    """
    endings = frozenset((_PCM_ENDINGS if is_pcm else _ENDINGS).split())
    taken: list[FoundRecording] = []
    errors: list[AudioError] = []
    n_skipped = 0
    for path, name in _iter_files(folder, options, errors):
        is_wanted = _matches(name, options.include) if options.include else _has_ending(name, endings)
        if is_wanted and not _matches(name, options.exclude):
            taken.append(FoundRecording(path, name.rpartition("/")[0]))
        elif not is_wanted:
            n_skipped += 1
    if not taken and not errors:
        hint = "name another" if options.recursive else "name another, or look in the folders in it with --recursive"
        errors.append(AudioError("there is no recording in this folder", where=folder, hint=hint))
    return FolderListing(tuple(taken), n_skipped, tuple(errors))


def _iter_files(named: str, options: InputOptions, errors: list[AudioError]) -> Iterator[tuple[str, str]]:
    """Yield the path of each file, and its name below the folder that was named; files before folders."""
    waiting = [(named, "")]  # the next one last
    while waiting:
        folder, below = waiting.pop()
        try:
            found = _list_entries(folder)
        except OSError as error:
            problem = f"the folder cannot be read: {(error.strerror or str(error)).lower()}"
            errors.append(AudioError(problem, where=folder, hint="change its permissions, or --exclude it"))
            continue
        folders = []
        for entry in found:
            name = below + entry.name
            if not entry.is_dir():  # which scandir knows without asking for the file
                yield os.path.join(folder, entry.name), name  # noqa: PTH118 - a Path would drop a leading ./
            elif options.recursive and not entry.is_symlink() and not _matches(name, options.exclude):
                folders.append((entry.path, f"{name}/"))
        waiting += reversed(folders)


def _list_entries(folder: str) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return sorted((entry for entry in entries if not entry.name.startswith(".")), key=lambda entry: entry.name)


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    """Tell whether one of the patterns fits the last part of a name, or the whole where there is a slash in it."""
    return any(fnmatchcase(name if "/" in pattern else PurePath(name).name, pattern) for pattern in patterns)


def _has_ending(name: str, endings: frozenset[str]) -> bool:
    _, dot, ending = name.rpartition(".")
    return bool(dot) and ending.lower() in endings
