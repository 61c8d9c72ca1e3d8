"""The journals of one run, one for each of its files, and each held by this run alone.

Files of the same bytes have one journal. What is no ordinary file (a pipe, say) has none on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

import filelock

from murmur_cli.audio.source import Recording, open_recordings, recall_recordings
from murmur_cli.errors import BusyError
from murmur_cli.journal.file import FileJournal
from murmur_cli.journal.folder import hash_file, lock_of, name_journal, prune_folder
from murmur_cli.journal.part import PartJournal
from murmur_cli.journal.records import JournalKey, KeptOutput
from murmur_cli.options import AudioOptions, BatchOptions, SpeakerOptions
from murmur_cli.types import EngineInfo, RecordingId, Transcript
from murmur_cli.version import __version__

__all__ = ["Journals"]


_PRIVATE = 0o700  # what was said is nobody else's business


@dataclass(slots=True)
class _Held:
    """A journal, its lock, and how many inputs of the run are at it."""

    place: Path
    journal: FileJournal
    lock: filelock.BaseFileLock
    n_inputs: int = 0

    def close(self) -> None:
        """Let other runs have it."""
        self.journal.close()
        self.lock.release()


class Journals:
    """The journals of a run; use it in a ``with`` block.

    Args:
        folder: Where they are; it is made if it is not there. None: nothing is kept, nothing is resumed.
        options: What was asked for.
        engine: What decodes.
        on_note: Hears what the user should know, with the name of the file.
        list_of: Gives what stands for the keywords of a file by its name, if there are any.
    """

    def __init__(
        self,
        folder: Path | None,
        *,
        options: BatchOptions,
        engine: EngineInfo,
        on_note: Callable[[str], None],
        list_of: Callable[[str], str | None] = lambda _: None,
    ) -> None:
        self._options = replace(options, speakers=SpeakerOptions())
        self._engine = engine
        self._on_note = on_note
        self._list_of = list_of
        self._held: dict[Path, _Held] = {}
        self._parts: dict[RecordingId, PartJournal] = {}
        self._files: dict[RecordingId, _Held] = {}  # by the first recording of the file
        self._has_failed = False
        self._folder = folder
        if folder is not None:
            try:
                folder.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
                prune_folder(folder)
            except OSError as error:
                self._fail(error)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for held in self._held.values():
            held.close()

    def open(
        self, path: str, *, ids: Iterator[RecordingId], sample_rate: int, options: AudioOptions
    ) -> tuple[Recording, ...]:
        """Open a file as ``open_recordings`` does; one whose chunks are all answered is not decoded unless it is read.

        Raises:
            BusyError: Another run is at it.
            AudioError: The file cannot be read, or nothing usable is in it.
            OutputError: The temporary folder has no room for the decoded signals.
        """
        before = _look_at(path)
        held = self._hold(path)
        try:
            recordings = self._open(path, held, ids=ids, sample_rate=sample_rate, options=options)
        except BaseException:
            self._let_go(held)
            raise
        if held is None:
            return recordings
        if _look_at(path) != before:
            self._note(path, "it changed while it was read, so this run cannot be resumed")
            self._let_go(held)
            return recordings
        held.journal.keep_decoded([recording.decoded for recording in recordings])
        self._files[recordings[0].recording_id] = held
        self._parts.update({each.recording_id: held.journal.part(each.part.index) for each in recordings})
        return recordings

    def of(self, recording_id: RecordingId) -> PartJournal:
        """Hand out the journal of a recording, once; one that has none on disk gets one in memory."""
        return self._parts.pop(recording_id, None) or PartJournal()

    def announce(self, recording_id: RecordingId, output: KeptOutput) -> None:
        """Keep what is about to be written of a file: if the run is stopped then, the next one knows it for its own.

        Args:
            recording_id: The first recording of the file.
            output: Not complete so far.
        """
        if (held := self._files.get(recording_id)) is not None:
            held.journal.keep_output(output)

    def abandon(self, transcript: Transcript) -> None:
        """Let go of a file whose outputs cannot be written: the next run has all its chunks."""
        self._let_go(self._files.pop(transcript.recording_id, None))

    def finish(self, transcript: Transcript) -> None:
        """Let go of a file whose outputs are written.

        Where nothing is missing from the transcript, all that stays is what was written. Else the next run does the
        missing part again.

        Args:
            transcript: What was said in the file, by the number of its first recording.
        """
        if (held := self._files.pop(transcript.recording_id, None)) is not None:
            if not transcript.gaps and transcript.damage is None:
                held.journal.finish()
            self._let_go(held)

    def _open(
        self, path: str, held: _Held | None, *, ids: Iterator[RecordingId], sample_rate: int, options: AudioOptions
    ) -> tuple[Recording, ...]:
        if held is None or not held.journal.is_answered:
            return open_recordings(path, ids=ids, sample_rate=sample_rate, options=options)
        known = [held.journal.decoded[index] for index in sorted(held.journal.decoded)]
        return recall_recordings(path, known, ids=ids, sample_rate=sample_rate, options=options)

    def _hold(self, path: str) -> _Held | None:
        """Lock the journal of a file, and read what is in it; None: the file has none on disk."""
        sha256 = None if self._folder is None or self._has_failed else hash_file(Path(path))
        if sha256 is None or self._folder is None:
            return None
        key = JournalKey(
            input_sha256=sha256,
            options=self._options,
            engine=self._engine,
            list_sha256=self._list_of(path),
            murmur_version=__version__,
        )
        place = self._folder / name_journal(key)
        try:
            if place not in self._held:
                self._held[place] = self._lock(place, key, path)
        except OSError as error:
            self._fail(error)
            return None
        held = self._held[place]
        held.n_inputs += 1
        return held

    def _lock(self, place: Path, key: JournalKey, path: str) -> _Held:
        place.parent.mkdir(mode=_PRIVATE, exist_ok=True)
        lock = lock_of(place)
        try:
            lock.acquire()
        except filelock.Timeout as error:
            raise BusyError("another run is at it", where=path, hint="let it end, or give --no-resume") from error
        on_note = partial(self._note, path)
        try:
            return _Held(place, FileJournal(place, key, on_note=on_note, on_failure=self._fail), lock)
        except BaseException:
            lock.release()
            raise

    def _note(self, path: str, text: str) -> None:
        self._on_note(f"{path}: {text}")

    def _let_go(self, held: _Held | None) -> None:
        if held is None:
            return
        held.n_inputs -= 1
        if not held.n_inputs:
            del self._held[held.place]
            held.close()

    def _fail(self, error: OSError) -> None:
        """Say once that this run goes on without; what it has kept so far stays."""
        if not self._has_failed:
            self._has_failed = True
            problem = f"the journal cannot be written ({error.strerror or error})"
            self._on_note(f"{self._folder}: {problem}: this run cannot be resumed; --journal-dir takes another folder")


def _look_at(path: str) -> tuple[int, int] | None:
    """Give what changes with the bytes of a file."""
    try:
        about = Path(path).stat()
    except OSError:  # said when it is opened
        return None
    return about.st_size, about.st_mtime_ns
