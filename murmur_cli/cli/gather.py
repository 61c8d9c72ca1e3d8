"""Which inputs a command line means: those that it names, those in its folders, and those in a list."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from murmur_cli.errors import UsageError
from murmur_cli.options import InputOptions

if TYPE_CHECKING:
    from murmur_cli.cli.outcome import Outcome
    from murmur_cli.cli.render import Talk

__all__ = ["Inputs", "gather_inputs"]

_STDIN = "-"


@dataclass(frozen=True, slots=True)
class Inputs:
    """What is to be transcribed.

    ``names`` are paths, or ``-`` for stdin. ``subfolders`` says of each in which folder it lies, as seen from the one
    that was named. ``are_several`` says that they were not named one by one, so that there may be any number of them.
    """

    names: tuple[str, ...]
    subfolders: tuple[str, ...]
    are_several: bool


def gather_inputs(named: Sequence[str], options: InputOptions, *, is_pcm: bool, talk: Talk, outcome: Outcome) -> Inputs:
    """Find the inputs that are named, in their order, with the recordings of a folder in its place.

    Args:
        named: Files and folders; ``-`` is stdin.
        options: How folders are searched, and where more names are.
        is_pcm: The inputs have no header.
        talk: Hears how many files of folders are no recordings.
        outcome: Hears of folders without any, or that cannot be read.

    Raises:
        UsageError: Nothing is named; stdin is to be two things, or a terminal; the list cannot be read.
    """
    from murmur_cli.audio.folders import list_recordings
    from murmur_cli.audio.stdin import check_stdin

    if not named and options.files_from is None:
        raise UsageError(
            "no recording is named", hint="give files or folders, or --files-from; see 'murmur batch --help'"
        )
    n_stdin = (*named, options.files_from).count(_STDIN)
    if n_stdin:
        check_stdin()
    if n_stdin > 1 and options.files_from == _STDIN:
        raise UsageError(
            "stdin cannot be names and a recording at once", where="--files-from -", hint="save one to a file"
        )
    names: list[str] = []
    subfolders: list[str] = []
    n_folders = n_skipped = 0
    for name in (*named, *_iter_list(options)):
        if name == _STDIN or not Path(name).is_dir():
            names.append(name)
            subfolders.append("")
            continue
        listing = list_recordings(name, options, is_pcm=is_pcm)
        n_folders += 1
        n_skipped += listing.n_skipped
        names.extend(found.path for found in listing.recordings)
        subfolders.extend(found.subfolder for found in listing.recordings)
        for error in listing.errors:
            outcome.failed(error)
    if n_skipped:
        files = "1 file is" if n_skipped == 1 else f"{n_skipped} files are"
        why = "--include does not match" if options.include else "not recordings by the ending (--include takes others)"
        talk.note(f"{files} skipped in folders: {why}")
    return Inputs(tuple(names), tuple(subfolders), are_several=n_folders > 0 or options.files_from is not None)


def _iter_list(options: InputOptions) -> Iterator[str]:
    """Yield the names in the file that ``--files-from`` names; a ``-`` in it is a file of this name.

    Raises:
        UsageError: It cannot be read.
    """
    if options.files_from is None:
        return
    try:
        content = sys.stdin.buffer.read() if options.files_from == _STDIN else Path(options.files_from).read_bytes()
    except OSError as error:
        problem = f"the list cannot be read: {(error.strerror or str(error)).lower()}"
        raise UsageError(problem, where=options.files_from, hint="check the name after --files-from") from error
    for name in content.split(b"\0" if options.null else b"\n"):
        if name:
            yield "./-" if name == b"-" else os.fsdecode(name)
