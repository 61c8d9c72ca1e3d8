"""``murmur batch``: recordings to transcripts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from murmur_cli.cli import options as cli
from murmur_cli.cli.inputs import find_present, open_all, read_context, split_formats
from murmur_cli.errors import OutputError
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
    from murmur_cli.cli.outcome import Outcome
    from murmur_cli.cli.render import Talk
    from murmur_cli.engine import Extras
    from murmur_cli.speakers.enrol import Enrolment
    from murmur_cli.speakers.voices import VoiceVector
    from murmur_cli.transcript.outputs import OutputPlan
    from murmur_cli.types import Speaker, Transcript

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
    word_times: cli.WordTimes = None,
    speaker_names: cli.SpeakerNames = None,
    no_speakers: cli.NoSpeakers = False,
    model: cli.Model = "auto",
    device: cli.Device = "auto",
    dtype: cli.Dtype = "auto",
    batch_size: cli.BatchSize = "auto",
    evict: cli.Evict = "auto",
    language: cli.Language = None,
    context: cli.Context = None,
    acoustic_noise: cli.AcousticNoise = None,
    offline: cli.Offline = False,
    force: cli.Force = False,
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
    stats: cli.Stats = None,
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
    formats = split_formats(format)
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
    chunk = ChunkOptions(max_chunk_s=max_chunk_s)
    decode = DecodeOptions(language=language, context=read_context(context), acoustic_noise=acoustic_noise)
    model_options = ModelOptions(
        model=model, device=device, dtype=dtype, batch_size=batch_size, evict=evict, offline=offline, force=force
    )
    run_options = RunOptions(
        stats=stats, fail_fast=fail_fast, progress=progress, color=color, quiet=quiet, verbose=verbose, debug=debug
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
    from murmur_cli.cli.stats import StatsLog
    from murmur_cli.engine import require_extras
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
    present = find_present(paths, outcome)
    if not present or outcome.is_over():
        return outcome.exit_code
    enrolled = _hear_enrolled(enrolments, talk) if enrolments else {}
    with PullDisplay(console, quiet=run.quiet) as pull:
        engine = load_engine(model, options=options, on_note=talk.note, on_progress=pull.show)
    require_extras(engine, _name_extras(model, options, output=output, run=run))
    talk.detail(f"{engine.info.model} on {engine.info.device}, {engine.info.precision}")
    speaker_models = None
    if options.speakers.speakers != "none" and options.audio.channels != "speakers":
        speaker_models = load_speaker_models(options.speakers.diarizer, offline=model.offline)
        speaker_models = replace(speaker_models, enrolled=enrolled)
    merger = ChannelMerger()
    recordings = open_all(
        present, sample_rate=engine.sample_rate, options=options.audio, merger=merger, talk=talk, outcome=outcome
    )
    vad = load_silero(options.vad)
    with (
        make_progress(console, run, n_files=len(present), on_note=talk.note) as progress,
        StatsLog(run.stats, overwrite=output.overwrite, observer=progress) as log,
    ):
        transcripts = transcribe_all(
            recordings, engine, vad=vad, speaker_models=speaker_models, options=options, observer=log
        )
        for transcript in merger.iter_files(transcripts):
            if absent := describe_absent(transcript, labels):
                talk.note(f"{transcript.source}: {absent}")
            labelled = label_speakers(transcript, labels)
            _write(labelled, plans[transcript.recording_id], word_times=output.writes_word_times, outcome=outcome)
            if outcome.is_over():
                break
    return outcome.exit_code


def _name_extras(model: ModelOptions, options: BatchOptions, *, output: OutputOptions, run: RunOptions) -> Extras:
    """Name what was asked for that not every engine does."""
    from murmur_cli.engine import Extras

    return Extras(
        word_times=output.word_times is True,
        context=options.decode.context is not None,
        acoustic_noise=options.decode.acoustic_noise is not None,
        batch_size=model.batch_size != "auto",
        evict=model.evict not in ("auto", "none"),
        stats=run.stats is not None,
    )


def _hear_enrolled(enrolments: Sequence[Enrolment], talk: Talk) -> dict[Speaker, VoiceVector]:
    """Hear the voices, with the networks that come with murmur whatever --diarizer says, before any long work."""
    from murmur_cli.models.slots_diarizer import load_slots_diarizer
    from murmur_cli.speakers.enrolled_voices import hear_enrolled

    return hear_enrolled(enrolments, load_slots_diarizer(), on_note=talk.note)


def _write(transcript: Transcript, plan: OutputPlan, *, word_times: bool, outcome: Outcome) -> None:
    from murmur_cli.transcript.outputs import write_outputs

    try:
        write_outputs(transcript, plan, word_times=word_times)
    except OutputError as error:
        outcome.failed(error)
    else:
        outcome.written(transcript)
