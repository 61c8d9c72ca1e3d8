"""A file as recordings of any length: decoded once, kept on disk as its mix or channel by channel.

What was decoded is the length. It costs disk space, not memory: four bytes for each sample, at the
rate of the engine and at that of speech detection (once where the two are the same).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from murmur_cli.audio.channels import ChannelPicker
from murmur_cli.audio.container import open_container
from murmur_cli.audio.damage import describe_damage
from murmur_cli.audio.decoder import Decoder
from murmur_cli.audio.excerpt import iter_excerpt
from murmur_cli.audio.pcm import NoiseCheck, PcmFormat, describe_rest
from murmur_cli.audio.tracks import DeferredTrack, Track
from murmur_cli.errors import AudioError
from murmur_cli.options import AudioOptions
from murmur_cli.types import SPEECH_RATE, RecordingId, Samples, Span, Stretch

__all__ = ["Decoded", "Part", "Recording", "open_recording", "open_recordings", "recall_recordings"]


@dataclass(frozen=True, slots=True)
class Part:
    """Which of the recordings of its file a recording is: the one at ``index``, from 0, of ``n_parts``.

    ``starts_at`` is where in the file they begin, in seconds.
    """

    index: int = 0
    n_parts: int = 1
    starts_at: float = 0.0


_WHOLE = Part()


@dataclass(frozen=True, slots=True)
class Decoded:
    """What decoding a file tells of one of its recordings, beside the signal; see ``Recording``."""

    part: Part
    n_samples: int
    damage: str | None
    notes: tuple[str, ...]


class Recording:
    """A decoded signal. Close it, or use it as a context manager, to give its disk space back.

    Args:
        recording_id: Its number in the run.
        source: The name of its file as the user gave it.
        track: The sealed signal; the recording closes it.
        part: Which part of its file it is.
        damage: What was wrong with the file, as one clause, or None.
        notes: What else the user should know, a clause each; what holds for a whole file is said with its first part.
    """

    def __init__(
        self,
        recording_id: RecordingId,
        source: str,
        *,
        track: Track | DeferredTrack,
        part: Part = _WHOLE,
        damage: str | None,
        notes: tuple[str, ...],
    ) -> None:
        self.recording_id = recording_id
        self.source = source
        self.part = part
        self.sample_rate = track.sample_rate
        self.n_samples = track.n_samples
        self.damage = damage
        self.notes = notes
        self._track = track

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

    @property
    def decoded(self) -> Decoded:
        """What is known of it beside the signal."""
        return Decoded(self.part, self.n_samples, self.damage, self.notes)

    def samples(self, span: Span) -> Samples:
        """Give a stretch of the signal as a view, shape (span.n_samples,), not to be written to."""
        return self._track.for_engine.read(span.start, span.end)

    def speech(self, stretch: Stretch) -> Samples:
        """Give a stretch of the signal at 16 kHz as a view, clipped to the recording."""
        spool = self._track.for_speech
        start, end = (
            min(max(round(seconds * SPEECH_RATE), 0), spool.n_samples) for seconds in (stretch.start, stretch.end)
        )
        return spool.read(start, max(start, end))

    def iter_vad_blocks(self, block_s: float = 30.0) -> Iterator[Samples]:
        """Yield the whole signal at 16 kHz in blocks of ``block_s`` seconds; the last may be shorter."""
        spool = self._track.for_speech
        n_block = round(block_s * SPEECH_RATE)
        for start in range(0, spool.n_samples, n_block):
            yield spool.read(start, min(start + n_block, spool.n_samples))

    def close(self) -> None:
        """Give the disk space back; views that were handed out stay valid."""
        self._track.close()


def open_recording(path: str, *, recording_id: RecordingId, sample_rate: int) -> Recording:
    """Decode the first audio stream of a file, mixed to mono; ``open_recordings`` says the rest."""
    (recording,) = open_recordings(path, ids=iter([recording_id]), sample_rate=sample_rate, options=AudioOptions())
    return recording


def open_recordings(
    path: str,
    *,
    ids: Iterator[RecordingId],
    sample_rate: int,
    options: AudioOptions,
    content: BinaryIO | None = None,
) -> tuple[Recording, ...]:
    """Decode an audio stream of a file, once, into as many recordings as the options make of it.

    Args:
        path: A file in any format that FFmpeg reads, or of samples without a header if the options say so.
        ids: Numbers that are free in the run; as many are taken as there are recordings.
        sample_rate: Samples per second that the engine wants.
        options: One recording is the mix, or one channel; or there is one for each channel, in their order, all
            equally long.
        content: The file where it is open already, and ``path`` only what it is called; it stays open.

    Raises:
        AudioError: The file cannot be read, or nothing usable is in it.
        OutputError: The temporary folder has no room for the decoded signals.
    """
    tracks, decoded = _decode(path, sample_rate=sample_rate, options=options, content=content)
    return tuple([_hand_out(next(ids), path, track, about) for track, about in zip(tracks, decoded, strict=True)])


def recall_recordings(
    path: str, decoded: Sequence[Decoded], *, ids: Iterator[RecordingId], sample_rate: int, options: AudioOptions
) -> tuple[Recording, ...]:
    """Give the recordings of a file of which all but the signal is known; the file is decoded once that is read.

    Args:
        path: The file.
        decoded: What is known of its recordings, in their order, from when the same options made them of it.
        ids: As for ``open_recordings``, like the rest.
        sample_rate: Samples per second that the engine wants.
        options: What recordings are made of the file.

    Raises:
        AudioError: The file cannot be read any more, or is another one (from reading the signal).
        OutputError: The temporary folder has no room for the decoded signals (from reading the signal).
    """

    def decode(about: Decoded) -> Track:
        tracks, found = _decode(path, sample_rate=sample_rate, options=options)
        for track, other in zip(tracks, found, strict=True):
            if other != about:
                track.close()
        if about not in found:
            raise AudioError("it is not what it was", where=path, hint="start again")
        return tracks[about.part.index]

    return tuple(
        [
            _hand_out(
                next(ids),
                path,
                DeferredTrack(sample_rate, n_samples=about.n_samples, decode=partial(decode, about)),
                about,
            )
            for about in decoded
        ]
    )


def _hand_out(recording_id: RecordingId, path: str, track: Track | DeferredTrack, about: Decoded) -> Recording:
    return Recording(recording_id, path, track=track, part=about.part, damage=about.damage, notes=about.notes)


def _decode(
    path: str, *, sample_rate: int, options: AudioOptions, content: BinaryIO | None = None
) -> tuple[list[Track], list[Decoded]]:
    """Decode a file into sealed tracks, and say what there is to know of each."""
    with ExitStack() as on_failure:
        heard = _hear(path, options, content, sample_rate=sample_rate, on_failure=on_failure)
        if heard.opposite is not None:
            on_failure.close()
            note = f"its channels are opposite in phase, so their mix is silence: channel {heard.opposite} is used"
            options = replace(options, channels=str(heard.opposite))
            heard = _hear(path, options, content, sample_rate=sample_rate, on_failure=on_failure)
            heard = replace(heard, notes=(*heard.notes, note))
        corrections = [track.seal() for track in heard.tracks]
        if not heard.tracks or not heard.tracks[0].for_engine.n_samples:
            raise _find_nothing(path, heard, options)
        on_failure.pop_all()
    parts = [Part(index, len(heard.tracks), options.start_s) for index in range(len(heard.tracks))]
    notes = [_label(correction.notes, part) for correction, part in zip(corrections, parts, strict=True)]
    notes[0] += heard.notes
    decoded = [
        Decoded(part, track.n_samples, heard.damage, said)
        for track, part, said in zip(heard.tracks, parts, notes, strict=True)
    ]
    return list(heard.tracks), decoded


@dataclass(frozen=True, slots=True)
class _Heard:
    """What was decoded of a file; ``opposite`` is the louder channel where two cancel each other in the mix."""

    tracks: tuple[Track, ...]
    decoded_s: float
    damage: str | None
    notes: tuple[str, ...]
    opposite: int | None


def _hear(
    path: str, options: AudioOptions, content: BinaryIO | None, *, sample_rate: int, on_failure: ExitStack
) -> _Heard:
    """Decode what the options say, each signal to a track of its own; none where nothing is decoded."""
    form = _find_form(options)
    noise = NoiseCheck(form.sample_rate) if form else None
    tracks: list[Track] = []
    with open_container(path, content=content, pcm=form, number=options.audio_stream) as container:
        decoder, picker = Decoder(container, path), ChannelPicker(options, path)
        for block in iter_excerpt(decoder.iter_blocks(), start_s=options.start_s, end_s=options.end_s):
            signals = picker.pick(block)
            if noise:
                noise.add(signals[0])
            if not tracks:
                tracks = [on_failure.enter_context(Track(sample_rate)) for _ in signals]
            for track, samples in zip(tracks, signals, strict=True):
                track.push(samples, block.sample_rate)
        account = decoder.settle()
        damage = describe_damage(account)
        notes = () if options.audio_stream else _note_streams(container.n_audio_streams)
    if form and noise:
        n_bytes = Path(path).stat().st_size if content is None else os.fstat(content.fileno()).st_size
        damage = describe_rest(n_bytes % form.n_frame_bytes, form) or damage
        notes = (said,) if (said := noise.describe_noise(form)) else ()
    notes += decoder.notes + picker.notes
    return _Heard(tuple(tracks), account.decoded_s, damage, notes, picker.louder_opposite)


def _find_form(options: AudioOptions) -> PcmFormat | None:
    """Say how samples are written that have no header; None where they have one."""
    if options.input_format is None:
        return None
    return PcmFormat(options.input_format, options.input_rate or 16_000, options.input_channels or 1)


def _find_nothing(path: str, heard: _Heard, options: AudioOptions) -> AudioError:
    if heard.decoded_s and options.start_s:
        return AudioError(f"it ends at {heard.decoded_s:.1f} s", where=path, hint="let --start be before that")
    return AudioError("there is not one sample in it", where=path, hint="it may be damaged, or cut short")


def _label(notes: tuple[str, ...], part: Part) -> tuple[str, ...]:
    return notes if part.n_parts == 1 else tuple(f"channel {part.index + 1}: {note}" for note in notes)


def _note_streams(n_audio_streams: int) -> tuple[str, ...]:
    return (f"it has {n_audio_streams} audio streams, the first is used",) if n_audio_streams > 1 else ()
