"""``murmur batch``: recordings to transcripts."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

from murmur_cli.cli import options as cli
from murmur_cli.errors import AudioError, OutputError
from murmur_cli.options import (
    AudioOptions,
    BatchOptions,
    ChunkOptions,
    DecodeOptions,
    ModelOptions,
    OutputOptions,
    RunOptions,
    SpeakerOptions,
    VadOptions,
)

if TYPE_CHECKING:
    from murmur_cli.audio.source import Recording
    from murmur_cli.cli.outcome import Outcome
    from murmur_cli.cli.render import Talk
    from murmur_cli.speakers.channels import ChannelMerger
    from murmur_cli.speakers.enrol import Enrolment
    from murmur_cli.speakers.voices import VoiceVector
    from murmur_cli.transcript.outputs import OutputPlan
    from murmur_cli.types import RecordingId, Speaker, Transcript

__all__ = ["OPTIONS", "batch"]

OPTIONS = (
    AudioOptions,
    ModelOptions,
    VadOptions,
    ChunkOptions,
    DecodeOptions,
    SpeakerOptions,
    OutputOptions,
    RunOptions,
)
"""The records that the command builds: their fields are its options."""


def batch(
    paths: cli.Paths,
    channels: cli.Channels = "mix",
    format: cli.Format = None,
    output: cli.Output = None,
    overwrite: cli.Overwrite = False,
    word_times: cli.WordTimes = True,
    speaker_names: cli.SpeakerNames = None,
    no_speakers: cli.NoSpeakers = False,
    model: cli.Model = "auto",
    device: cli.Device = "auto",
    dtype: cli.Dtype = "auto",
    language: cli.Language = None,
    offline: cli.Offline = False,
    speakers: cli.Speakers = "auto",
    min_speakers: cli.MinSpeakers = None,
    max_speakers: cli.MaxSpeakers = None,
    diarizer: cli.Diarizer = "slots",
    enrol: cli.Enrol = None,
    max_chunk_s: cli.MaxChunkS = 300.0,
    vad_threshold: cli.VadThreshold = 0.5,
    min_speech_ms: cli.MinSpeechMs = 150,
    min_silence_ms: cli.MinSilenceMs = 100,
    speech_pad_ms: cli.SpeechPadMs = 400,
    fail_fast: cli.FailFast = False,
    progress: cli.Progress = "auto",
    color: cli.Color = "auto",
    quiet: cli.Quiet = False,
    verbose: cli.Verbose = False,
    debug: cli.Debug = False,
) -> int:
    """Transcribe recordings.

    \b
    Examples:
      murmur batch talk.mp3
      murmur batch a.wav b.wav -f srt,json -o out/
      murmur batch x.flac -o -
      murmur batch meeting.m4a --enrol Ann=ann.wav --enrol Bob=bob.m4a
    """
    formats = tuple(name for given in format or () for name in given.split(","))
    output_options = OutputOptions(
        format=formats,
        output=output,
        overwrite=overwrite,
        word_times=word_times,
        speaker_names=speaker_names,
        no_speakers=no_speakers,
    )
    vad_options = VadOptions(
        vad_threshold=vad_threshold,
        min_speech_ms=min_speech_ms,
        min_silence_ms=min_silence_ms,
        speech_pad_ms=speech_pad_ms,
    )
    chunk, decode = ChunkOptions(max_chunk_s=max_chunk_s), DecodeOptions(language=language)
    model_options = ModelOptions(model=model, device=device, dtype=dtype, offline=offline)
    run_options = RunOptions(
        fail_fast=fail_fast, progress=progress, color=color, quiet=quiet, verbose=verbose, debug=debug
    )
    speaker_options = SpeakerOptions(
        speakers=speakers,
        min_speakers=min_speakers,
        max_speakers=max_speakers,
        diarizer=diarizer,
        enrol=tuple(enrol or ()),
    )
    audio_options = AudioOptions(channels=channels)
    options = BatchOptions(audio=audio_options, vad=vad_options, chunk=chunk, decode=decode, speakers=speaker_options)
    return _run([str(path) for path in paths], model_options, options, output=output_options, run=run_options)


def _run(
    paths: Sequence[str], model: ModelOptions, options: BatchOptions, *, output: OutputOptions, run: RunOptions
) -> int:
    from murmur_cli.batch import transcribe_all
    from murmur_cli.cli.outcome import Outcome
    from murmur_cli.cli.progress import make_progress
    from murmur_cli.cli.pull import PullDisplay
    from murmur_cli.cli.render import Talk, make_console
    from murmur_cli.models.diarizers import load_speaker_models
    from murmur_cli.models.load import load_engine
    from murmur_cli.models.silero import load_silero
    from murmur_cli.speakers.channels import ChannelMerger
    from murmur_cli.speakers.enrol import parse_enrolments
    from murmur_cli.speakers.labels import describe_absent, label_speakers, to_labels
    from murmur_cli.transcript.outputs import plan_outputs

    console = make_console(run)
    talk = Talk(console, run)
    enrolments, labels = parse_enrolments(options.speakers.enrol), to_labels(output)
    plans = plan_outputs(paths, output)
    outcome = Outcome(talk, fail_fast=run.fail_fast)
    present = _find_present(paths, outcome)
    if not present or outcome.is_over():
        return outcome.exit_code
    enrolled = _hear_enrolled(enrolments, talk) if enrolments else {}
    with PullDisplay(console, quiet=run.quiet) as pull:
        engine = load_engine(model, on_choice=talk.note, on_progress=pull.show)
    talk.detail(f"{engine.info.model} on {engine.info.device}, {engine.info.precision}")
    speaker_models = None
    if options.speakers.speakers != "none" and options.audio.channels != "speakers":
        speaker_models = load_speaker_models(options.speakers.diarizer, offline=model.offline)
        speaker_models = replace(speaker_models, enrolled=enrolled)
    merger = ChannelMerger()
    recordings = _open_all(
        present, sample_rate=engine.sample_rate, options=options.audio, merger=merger, talk=talk, outcome=outcome
    )
    vad = load_silero(options.vad)
    with make_progress(console, run, n_files=len(present), on_note=talk.note) as progress:
        transcripts = transcribe_all(
            recordings, engine, vad=vad, speaker_models=speaker_models, options=options, observer=progress
        )
        for transcript in merger.iter_files(transcripts):
            if absent := describe_absent(transcript, labels):
                talk.note(f"{transcript.source}: {absent}")
            labelled = label_speakers(transcript, labels)
            _write(labelled, plans[transcript.recording_id], word_times=output.word_times, outcome=outcome)
            if outcome.is_over():
                break
    return outcome.exit_code


def _find_present(paths: Sequence[str], outcome: Outcome) -> list[tuple[RecordingId, str]]:
    """Say at once which files are missing, before a model is fetched for nothing."""
    from murmur_cli.types import RecordingId

    present = []
    for index, path in enumerate(paths):
        if Path(path).exists():
            present.append((RecordingId(index), path))
        else:
            outcome.failed(AudioError("no such file", where=path, hint="check the name"))
    return present


def _hear_enrolled(enrolments: Sequence[Enrolment], talk: Talk) -> dict[Speaker, VoiceVector]:
    """Hear the voices, with the networks that come with murmur whatever --diarizer says, before any long work."""
    from murmur_cli.models.slots_diarizer import load_slots_diarizer
    from murmur_cli.speakers.enrolled_voices import hear_enrolled

    return hear_enrolled(enrolments, load_slots_diarizer(), on_note=talk.note)


def _open_all(
    paths: Sequence[tuple[RecordingId, str]],
    *,
    sample_rate: int,
    options: AudioOptions,
    merger: ChannelMerger,
    talk: Talk,
    outcome: Outcome,
) -> Iterator[Recording]:
    """Open the files one by one; one that cannot be read is said and passed over.

    The first recording of a file, and so its transcript, has the file's number; other channels come after all files.
    """
    from murmur_cli.audio.source import open_recordings
    from murmur_cli.types import RecordingId

    spare = map(RecordingId, count(1 + max(recording_id for recording_id, _ in paths)))
    for recording_id, path in paths:
        if outcome.is_over():
            return
        try:
            ids = chain([recording_id], spare)
            recordings = open_recordings(path, ids=ids, sample_rate=sample_rate, options=options)
        except AudioError as error:
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


def _write(transcript: Transcript, plan: OutputPlan, *, word_times: bool, outcome: Outcome) -> None:
    from murmur_cli.transcript.outputs import write_outputs

    try:
        write_outputs(transcript, plan, word_times=word_times)
    except OutputError as error:
        outcome.failed(error)
    else:
        outcome.written(transcript)
