"""``murmur batch``: recordings to transcripts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from murmur_cli.cli import options as cli
from murmur_cli.errors import AudioError, OutputError
from murmur_cli.options import (
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
    from murmur_cli.transcript.outputs import OutputPlan
    from murmur_cli.types import RecordingId, Transcript

__all__ = ["OPTIONS", "batch"]

OPTIONS = (ModelOptions, VadOptions, ChunkOptions, DecodeOptions, SpeakerOptions, OutputOptions, RunOptions)
"""The records that the command builds: their fields are its options."""


def batch(
    paths: cli.Paths,
    format: cli.Format = None,
    output: cli.Output = None,
    overwrite: cli.Overwrite = False,
    word_times: cli.WordTimes = True,
    model: cli.Model = "auto",
    device: cli.Device = "auto",
    dtype: cli.Dtype = "auto",
    language: cli.Language = None,
    offline: cli.Offline = False,
    speakers: cli.Speakers = "auto",
    min_speakers: cli.MinSpeakers = None,
    max_speakers: cli.MaxSpeakers = None,
    diarizer: cli.Diarizer = "slots",
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
    """
    formats = tuple(name for given in format or () for name in given.split(","))
    output_options = OutputOptions(format=formats, output=output, overwrite=overwrite, word_times=word_times)
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
        speakers=speakers, min_speakers=min_speakers, max_speakers=max_speakers, diarizer=diarizer
    )
    options = BatchOptions(vad=vad_options, chunk=chunk, decode=decode, speakers=speaker_options)
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
    from murmur_cli.transcript.outputs import plan_outputs

    console = make_console(run)
    talk = Talk(console, run)
    plans = plan_outputs(paths, output)
    outcome = Outcome(talk, fail_fast=run.fail_fast)
    present = _find_present(paths, outcome)
    if not present or outcome.is_over():
        return outcome.exit_code
    with PullDisplay(console, quiet=run.quiet) as pull:
        engine = load_engine(model, on_choice=talk.note, on_progress=pull.show)
    talk.detail(f"{engine.info.model} on {engine.info.device}, {engine.info.precision}")
    speaker_models = None
    if options.speakers.speakers != "none":
        speaker_models = load_speaker_models(options.speakers.diarizer, offline=model.offline)
    recordings = _open_all(present, sample_rate=engine.sample_rate, talk=talk, outcome=outcome)
    vad = load_silero(options.vad)
    with make_progress(console, run, n_files=len(present), on_note=talk.note) as progress:
        for transcript in transcribe_all(
            recordings, engine, vad=vad, speaker_models=speaker_models, options=options, observer=progress
        ):
            _write(transcript, plans[transcript.recording_id], word_times=output.word_times, outcome=outcome)
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


def _open_all(
    paths: Sequence[tuple[RecordingId, str]], *, sample_rate: int, talk: Talk, outcome: Outcome
) -> Iterator[Recording]:
    """Open the recordings one by one; one that cannot be read is said and passed over."""
    from murmur_cli.audio.source import open_recording

    for recording_id, path in paths:
        if outcome.is_over():
            return
        try:
            recording = open_recording(path, recording_id=recording_id, sample_rate=sample_rate)
        except AudioError as error:
            outcome.failed(error)
            continue
        for note in recording.notes:
            talk.note(f"{path}: {note}")
        yield recording


def _write(transcript: Transcript, plan: OutputPlan, *, word_times: bool, outcome: Outcome) -> None:
    from murmur_cli.transcript.outputs import write_outputs

    try:
        write_outputs(transcript, plan, word_times=word_times)
    except OutputError as error:
        outcome.failed(error)
    else:
        outcome.written(transcript)
