"""``murmur batch``: recordings to transcripts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from murmur_cli.cli import options as cli
from murmur_cli.cli.inputs import find_present, open_all, read_context, split_formats
from murmur_cli.errors import OutputError
from murmur_cli.options import (
    AudioOptions,
    BatchOptions,
    ChunkOptions,
    DecodeOptions,
    InputOptions,
    ModelOptions,
    OutputOptions,
    RunOptions,
    SpeakerOptions,
    SubtitleOptions,
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
    InputOptions,
    AudioOptions,
    ModelOptions,
    VadOptions,
    ChunkOptions,
    DecodeOptions,
    SpeakerOptions,
    OutputOptions,
    SubtitleOptions,
    RunOptions,
)
"""The records that the command builds: their fields are its options."""


def batch(
    paths: cli.Paths = None,
    recursive: cli.Recursive = False,
    include: cli.Include = None,
    exclude: cli.Exclude = None,
    files_from: cli.FilesFrom = None,
    null: cli.Null = False,
    channels: cli.Channels = "mix",
    audio_stream: cli.AudioStream = None,
    start: cli.Start = None,
    end: cli.End = None,
    input_format: cli.RawFormat = None,
    input_rate: cli.InputRate = None,
    input_channels: cli.InputChannels = None,
    format: cli.Format = None,
    output: cli.Output = None,
    output_template: cli.OutputTemplate = None,
    overwrite: cli.Overwrite = False,
    word_times: cli.WordTimes = None,
    speaker_names: cli.SpeakerNames = None,
    no_speakers: cli.NoSpeakers = False,
    max_line_width: cli.MaxLineWidth = 42,
    max_lines: cli.MaxLines = 2,
    max_cps: cli.MaxCps = 20.0,
    min_duration: cli.MinDuration = 0.8,
    max_duration: cli.MaxDuration = 7.0,
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
      murmur batch -r recordings/ -o transcripts/
      murmur batch film.mkv --audio-stream 2 --start 1:30:00 -f srt
      ssh recorder cat call.wav | murmur batch - --channels left
    """
    input_options = InputOptions(
        recursive=recursive,
        include=tuple(include or ()),
        exclude=tuple(exclude or ()),
        files_from=files_from,
        null=null,
    )
    formats = split_formats(format)
    output_options = OutputOptions(
        format=formats,
        output=output,
        output_template=output_template,
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
    subtitles = SubtitleOptions(
        max_line_width=max_line_width,
        max_lines=max_lines,
        max_cps=max_cps,
        min_duration=min_duration,
        max_duration=max_duration,
    )
    audio_options = AudioOptions(
        channels=channels,
        audio_stream=audio_stream,
        start=start,
        end=end,
        input_format=input_format,
        input_rate=input_rate,
        input_channels=input_channels,
    )
    options = BatchOptions(audio=audio_options, vad=vad_options, chunk=chunk, decode=decode, speakers=speaker_options)
    return _run(
        _Reading([str(path) for path in paths or ()], input_options),
        model_options,
        options,
        writing=_Writing(output_options, subtitles),
        run=run_options,
    )


@dataclass(frozen=True, slots=True)
class _Reading:
    """What is named on the command line, and how it is read."""

    named: Sequence[str]
    options: InputOptions


@dataclass(frozen=True, slots=True)
class _Writing:
    """What is written."""

    output: OutputOptions
    subtitles: SubtitleOptions


def _run(reading: _Reading, model: ModelOptions, options: BatchOptions, *, writing: _Writing, run: RunOptions) -> int:
    from murmur_cli.batch import transcribe_all
    from murmur_cli.cli.gather import gather_inputs
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
    output = writing.output
    enrolments, labels = parse_enrolments(options.speakers.enrol), to_labels(output)
    outcome = Outcome(talk, fail_fast=run.fail_fast)
    is_pcm = options.audio.input_format is not None
    inputs = gather_inputs(reading.named, reading.options, is_pcm=is_pcm, talk=talk, outcome=outcome)
    plans = plan_outputs(inputs.names, output, subfolders=inputs.subfolders, are_several=inputs.are_several)
    present = find_present(inputs.names, outcome)
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
            _write(labelled, plans[transcript.recording_id], writing, outcome)
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


def _write(transcript: Transcript, plan: OutputPlan, writing: _Writing, outcome: Outcome) -> None:
    from murmur_cli.transcript.outputs import write_outputs

    try:
        write_outputs(transcript, plan, word_times=writing.output.writes_word_times, subtitles=writing.subtitles)
    except OutputError as error:
        outcome.failed(error)
    else:
        outcome.written(transcript)
