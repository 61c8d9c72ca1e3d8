"""What a run is given: files to transcribe, and what options stand for."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

from murmur_cli.errors import AudioError, BusyError, OutputError, UsageError
from murmur_cli.options import AudioOptions

if TYPE_CHECKING:
    from murmur_cli.audio.source import Recording
    from murmur_cli.cli.outcome import Outcome
    from murmur_cli.cli.render import Talk
    from murmur_cli.journal.store import Journals
    from murmur_cli.speakers.channels import ChannelMerger
    from murmur_cli.types import RecordingId

__all__ = ["find_present", "open_all", "read_context", "split_formats"]


def read_context(given: str | None) -> str | None:
    """Read the file that ``--context @FILE`` names; other texts stand for themselves.

    Raises:
        UsageError: The file cannot be read, or is no text.
    """
    if given is None or not given.startswith("@"):
        return given
    path = Path(given[1:])
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError as error:
        problem = f"cannot be read: {error.strerror or error}"
        raise UsageError(problem, where=str(path), hint="check the name after --context @") from error
    except UnicodeDecodeError as error:
        raise UsageError("it is no UTF-8 text", where=str(path), hint="save it as UTF-8") from error


def split_formats(given: Sequence[str] | None) -> tuple[str, ...]:
    """Give the formats that ``--format`` names, each time several with commas."""
    return tuple(name for names in given or () for name in names.split(","))


def find_present(paths: Sequence[str], outcome: Outcome) -> list[tuple[RecordingId, str]]:
    """Say at once which files are missing, before a model is fetched for nothing."""
    from murmur_cli.types import RecordingId

    present = []
    for index, path in enumerate(paths):
        if path == "-" or Path(path).exists():
            present.append((RecordingId(index), path))
        else:
            outcome.failed(AudioError("no such file", where=path, hint="check the name"))
    return present


def open_all(
    paths: Sequence[tuple[RecordingId, str]],
    *,
    sample_rate: int,
    options: AudioOptions,
    journals: Journals,
    merger: ChannelMerger,
    talk: Talk,
    outcome: Outcome,
) -> Iterator[Recording]:
    """Open the files one by one; one that cannot be read is said and passed over.

    The first recording of a file, and so its transcript, has the file's number; other channels come after all files.
    """
    from murmur_cli.audio.source import open_recordings
    from murmur_cli.audio.stdin import STDIN, spool_stdin
    from murmur_cli.types import RecordingId

    spare = map(RecordingId, count(1 + max(recording_id for recording_id, _ in paths)))
    for recording_id, path in paths:
        if outcome.is_over():
            return
        try:
            ids = chain([recording_id], spare)
            if path == STDIN:  # what it says is known only when it is gone, so no journal has it
                with spool_stdin() as content:
                    recordings = open_recordings(
                        path, ids=ids, sample_rate=sample_rate, options=options, content=content
                    )
            else:
                recordings = journals.open(path, ids=ids, sample_rate=sample_rate, options=options)
        except (AudioError, BusyError, OutputError) as error:  # another one may have room in the temporary folder
            outcome.failed(error)
            continue
        for recording in recordings:
            for note in recording.notes:
                talk.note(f"{path}: {note}")
        if options.channels == "speakers":
            merger.expect(recording.recording_id for recording in recordings)
        yield from _hand_out(recordings)


def _hand_out(recordings: Sequence[Recording]) -> Iterator[Recording]:
    """Yield the recordings, and close those that nobody comes for."""
    waiting = deque(recordings)
    try:
        while waiting:
            yield waiting.popleft()
    finally:
        for recording in waiting:
            recording.close()
