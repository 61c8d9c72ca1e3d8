"""``murmur batch``: recordings to transcripts."""

from __future__ import annotations

from murmur_cli.cli import options as cli
from murmur_cli.cli.inputs import read_context, split_formats
from murmur_cli.options import (
    AudioOptions,
    BatchOptions,
    BiasOptions,
    ChunkOptions,
    DecodeOptions,
    InputOptions,
    JournalOptions,
    ModelOptions,
    OutputOptions,
    RunOptions,
    SpeakerOptions,
    SubtitleOptions,
    VadOptions,
)

__all__ = ["OPTIONS", "batch"]

OPTIONS = (
    InputOptions,
    AudioOptions,
    ModelOptions,
    VadOptions,
    ChunkOptions,
    DecodeOptions,
    BiasOptions,
    SpeakerOptions,
    OutputOptions,
    SubtitleOptions,
    JournalOptions,
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
    bias: cli.Bias = None,
    phrase: cli.Phrase = None,
    bias_strength: cli.BiasStrength = "medium",
    bias_display: cli.BiasDisplay = "model",
    bias_map: cli.BiasMap = None,
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
    journal_dir: cli.JournalDir = None,
    no_resume: cli.NoResume = False,
    stats: cli.Stats = None,
    fail_fast: cli.FailFast = False,
    dry_run: cli.DryRun = False,
    progress: cli.Progress = "auto",
    color: cli.Color = "auto",
    quiet: cli.Quiet = False,
    verbose: cli.Verbose = False,
    debug: cli.Debug = False,
    json_errors: cli.JsonErrors = False,
) -> int:
    """Transcribe recordings.

    \b
    Examples:
      murmur batch talk.mp3
      murmur batch a.wav b.wav -f srt,json -o out/
      murmur batch x.flac -o -
      murmur batch meeting.m4a --enrol Ann=ann.wav --enrol Bob=bob.m4a
      murmur batch -r recordings/ -o transcripts/ --dry-run
      murmur batch -r recordings/ -o transcripts/
      murmur batch film.mkv --audio-stream 2 --start 1:30:00 -f srt
      ssh recorder cat call.wav | murmur batch - --channels left
      murmur batch talk.mp3 --bias names.txt --phrase "New York City"
    """
    from murmur_cli.cli.dry_run import show_plan
    from murmur_cli.cli.plan_run import Reading, Writing
    from murmur_cli.cli.transcribe import transcribe

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
        stats=stats,
        fail_fast=fail_fast,
        dry_run=dry_run,
        progress=progress,
        color=color,
        quiet=quiet,
        verbose=verbose,
        debug=debug,
        json_errors=json_errors,
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
    bias_options = BiasOptions(
        bias=tuple(bias or ()),
        phrase=tuple(phrase or ()),
        bias_strength=bias_strength,
        bias_display=bias_display,
        bias_map=bias_map,
    )
    carry_out = show_plan if run_options.dry_run else transcribe
    return carry_out(
        Reading([str(path) for path in paths or ()], input_options, bias_options),
        model_options,
        options,
        writing=Writing(output_options, subtitles),
        journal=JournalOptions(journal_dir=journal_dir, no_resume=no_resume),
        run=run_options,
    )
