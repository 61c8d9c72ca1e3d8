"""A file as a recording of any length: decoded once, mixed to mono, kept on disk.

What was decoded is the length. It costs disk space, not memory: four bytes for each sample, at the
rate of the engine and at that of speech detection (once where the two are the same).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from murmur_cli.audio.container import open_container
from murmur_cli.audio.damage import describe_damage
from murmur_cli.audio.decoder import Decoder
from murmur_cli.audio.downmix import mix_to_mono
from murmur_cli.audio.levels import Correction, Levels
from murmur_cli.audio.resample import Resampler
from murmur_cli.audio.spool import Spool
from murmur_cli.errors import AudioError
from murmur_cli.types import SPEECH_RATE, RecordingId, Samples, Span, Stretch

__all__ = ["Recording", "open_recording"]


class Recording:
    """A decoded file. Close it, or use it as a context manager, to give its disk space back.

    Args:
        recording_id: Its position in the run.
        source: Its name as the user gave it.
        spools: The samples at each rate.
        sample_rate: The engine's rate, one of those in ``spools``.
        damage: What was wrong with the file, as one clause, or None.
        notes: What else the user should know of it, a clause each.
    """

    def __init__(
        self,
        recording_id: RecordingId,
        source: str,
        *,
        spools: Mapping[int, Spool],
        sample_rate: int,
        damage: str | None,
        notes: tuple[str, ...],
    ) -> None:
        self.recording_id = recording_id
        self.source = source
        self.sample_rate = sample_rate
        self.n_samples = spools[sample_rate].n_samples
        self.damage = damage
        self.notes = notes
        self._spools = spools

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def duration(self) -> float:
        """Decoded length in seconds."""
        return self.n_samples / self.sample_rate

    def samples(self, span: Span) -> Samples:
        """Give a stretch of the signal as a view, shape (span.n_samples,), not to be written to."""
        return self._spools[self.sample_rate].read(span.start, span.end)

    def speech(self, stretch: Stretch) -> Samples:
        """Give a stretch of the signal at 16 kHz as a view, clipped to the recording."""
        spool = self._spools[SPEECH_RATE]
        start, end = (
            min(max(round(seconds * SPEECH_RATE), 0), spool.n_samples) for seconds in (stretch.start, stretch.end)
        )
        return spool.read(start, max(start, end))

    def iter_vad_blocks(self, block_s: float = 30.0) -> Iterator[Samples]:
        """Yield the whole signal at 16 kHz in blocks of ``block_s`` seconds; the last may be shorter."""
        spool = self._spools[SPEECH_RATE]
        n_block = round(block_s * SPEECH_RATE)
        for start in range(0, spool.n_samples, n_block):
            yield spool.read(start, min(start + n_block, spool.n_samples))

    def close(self) -> None:
        """Give the disk space back; views that were handed out stay valid."""
        for spool in self._spools.values():
            spool.close()


def open_recording(path: str, *, recording_id: RecordingId, sample_rate: int) -> Recording:
    """Decode the first audio stream of a file.

    Args:
        path: A file in any format that FFmpeg reads.
        recording_id: Its position in the run.
        sample_rate: Samples per second that the engine wants.

    Raises:
        AudioError: The file cannot be read, or nothing usable is in it.
        OutputError: The temporary folder has no room for the decoded signal.
    """
    with ExitStack() as on_failure:
        with open_container(path) as container:
            spools = {rate: on_failure.enter_context(Spool()) for rate in {sample_rate, SPEECH_RATE}}
            decoder = Decoder(container, path)
            correction = _spool_signal(decoder, spools)
            account = decoder.settle()
            notes = correction.notes + _note_streams(container.n_audio_streams)
        if not spools[sample_rate].n_samples:
            raise AudioError("there is not one sample in it", where=path, hint="it may be damaged, or cut short")
        for spool in spools.values():
            spool.seal()
            if correction.is_needed:
                spool.rescale(offset=correction.offset, gain=correction.gain)
        on_failure.pop_all()
    return Recording(
        recording_id, path, spools=spools, sample_rate=sample_rate, damage=describe_damage(account), notes=notes
    )


def _spool_signal(decoder: Decoder, spools: Mapping[int, Spool]) -> Correction:
    """Write the decoded signal to the spool of each rate; say what its levels call for."""
    levels = Levels()
    resamplers = [(Resampler(rate), spool) for rate, spool in spools.items()]
    for block in decoder.iter_blocks():
        mono = mix_to_mono(block.channels, block.layout)
        levels.add(mono)
        for resampler, spool in resamplers:
            for samples in resampler.push(mono, block.sample_rate):
                spool.append(samples)
    for resampler, spool in resamplers:
        for samples in resampler.finish():
            spool.append(samples)
    return levels.find_correction()


def _note_streams(n_audio_streams: int) -> tuple[str, ...]:
    return (f"it has {n_audio_streams} audio streams, the first is used",) if n_audio_streams > 1 else ()
