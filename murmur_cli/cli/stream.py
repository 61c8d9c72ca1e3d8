"""``murmur stream``: what is said, while it is said."""

from __future__ import annotations

import os
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from murmur_cli.cli import options as cli
from murmur_cli.cli.inputs import read_context, split_formats
from murmur_cli.cli.live_input import ListMicrophonesOptions, find_input, print_microphones
from murmur_cli.errors import OutputError, UsageError
from murmur_cli.options import (
    LIVE_FORMATS,
    BiasOptions,
    CaptionOptions,
    ModelOptions,
    OutputOptions,
    RunOptions,
    StreamOptions,
)

if TYPE_CHECKING:
    from rich.console import Console

    from murmur_cli.audio.wav_file import GrowingWav
    from murmur_cli.cli.captions import Captions
    from murmur_cli.cli.render import Talk
    from murmur_cli.engine import StreamEngine
    from murmur_cli.transcript.outputs import OutputPlan

__all__ = ["OPTIONS", "LiveBiasOptions", "LiveModelOptions", "LiveOutputOptions", "LiveRunOptions", "stream"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveModelOptions:
    """Those of ``ModelOptions`` that make sense for one session."""

    model: str = "auto"
    device: str = "auto"
    dtype: str = "auto"
    offline: bool = False
    force: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveOutputOptions:
    """Those of ``OutputOptions`` that make sense while somebody speaks."""

    format: tuple[str, ...] = ()
    output: str | None = None
    overwrite: bool = False
    speaker_names: str | None = None
    no_speakers: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveRunOptions:
    """Those of ``RunOptions`` that make sense for one session."""

    color: str = "auto"
    quiet: bool = False
    verbose: bool = False
    debug: bool = False
    json_errors: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveBiasOptions:
    """Those of ``BiasOptions`` that make sense for one session."""

    bias: tuple[str, ...] = ()
    phrase: tuple[str, ...] = ()
    bias_strength: str = "medium"
    bias_display: str = "model"


OPTIONS = (
    StreamOptions,
    LiveModelOptions,
    LiveBiasOptions,
    LiveOutputOptions,
    CaptionOptions,
    LiveRunOptions,
    ListMicrophonesOptions,
)
"""The records that the command builds: their fields are its options."""

_Source = Annotated[
    Path | None,
    typer.Argument(
        help="What to hear: a file, or - for stdin; a microphone if not given.", metavar="[FILE|-]", readable=False
    ),
]


def stream(
    source: _Source = None,
    microphone: cli.Microphone = None,
    list_microphones: cli.ListMicrophones = False,
    realtime: cli.Realtime = False,
    duration: cli.Duration = None,
    on_lag: cli.OnLag = "wait",
    save_audio: cli.SaveAudio = None,
    input_format: cli.InputFormat = None,
    input_rate: cli.InputRate = None,
    input_channels: cli.InputChannels = None,
    format: cli.LiveFormat = None,
    output: cli.Output = None,
    overwrite: cli.Overwrite = False,
    speaker_names: cli.SpeakerNames = None,
    no_speakers: cli.NoSpeakers = False,
    captions: cli.Captions = None,
    step: cli.Step = 1.0,
    model: cli.Model = "auto",
    device: cli.Device = "auto",
    dtype: cli.Dtype = "auto",
    language: cli.Language = None,
    context: cli.Context = None,
    context_minutes: cli.ContextMinutes = 6.0,
    bias: cli.Bias = None,
    phrase: cli.Phrase = None,
    bias_strength: cli.BiasStrength = "medium",
    bias_display: cli.BiasDisplay = "model",
    offline: cli.Offline = False,
    force: cli.Force = False,
    color: cli.Color = "auto",
    quiet: cli.Quiet = False,
    verbose: cli.Verbose = False,
    debug: cli.Debug = False,
    json_errors: cli.JsonErrors = False,
) -> int:
    """Transcribe live speech from a microphone or a pipe, or a file as if it were live.

    \b
    Examples:
      murmur stream
      arecord -f S16_LE -r 16000 | murmur stream -
      ffmpeg -i URL -f s16le -ar 16000 -ac 1 - | murmur stream - -f jsonl
      murmur stream talk.m4a --realtime -f srt -o talk.srt
    """
    if list_microphones:
        return print_microphones()
    formats = split_formats(format)
    options = StreamOptions(
        language=language,
        context=read_context(context),
        context_minutes=context_minutes,
        on_lag=on_lag,
        realtime=realtime,
        duration=duration,
        save_audio=save_audio,
        microphone=microphone,
        input_format=input_format,
        input_rate=input_rate,
        input_channels=input_channels,
        step=step,
    )
    model_options = ModelOptions(model=model, device=device, dtype=dtype, offline=offline, force=force)
    output_options = OutputOptions(
        format=formats, output=output, overwrite=overwrite, speaker_names=speaker_names, no_speakers=no_speakers
    )
    bias_options = BiasOptions(
        bias=tuple(bias or ()), phrase=tuple(phrase or ()), bias_strength=bias_strength, bias_display=bias_display
    )
    run_options = RunOptions(color=color, quiet=quiet, verbose=verbose, debug=debug, json_errors=json_errors)
    shown, name = CaptionOptions(captions=captions), None if source is None else str(source)
    return _run(name, model_options, options, bias=bias_options, output=output_options, shown=shown, run=run_options)


def _run(
    source: str | None,
    model: ModelOptions,
    options: StreamOptions,
    *,
    bias: BiasOptions,
    output: OutputOptions,
    shown: CaptionOptions,
    run: RunOptions,
) -> int:
    from murmur_cli.audio.wav_file import GrowingWav
    from murmur_cli.cli.captions import make_captions
    from murmur_cli.cli.keywords import read_lists
    from murmur_cli.cli.live_keywords import LiveKeywords, reload_signal
    from murmur_cli.cli.live_outputs import Display, choose_outputs, write_session
    from murmur_cli.cli.live_report import LiveReport
    from murmur_cli.cli.render import Talk, make_console
    from murmur_cli.cli.stop import stop_wish
    from murmur_cli.engine import Extras, require_extras
    from murmur_cli.speakers.labels import to_labels
    from murmur_cli.stream import Wishes, transcribe_live
    from murmur_cli.transcript.outputs import plan_outputs

    console = make_console(run)
    talk, labels = Talk(console, run), to_labels(output)
    name, open_input = find_input(source, options, talk)
    (plan,) = plan_outputs([name], output)
    _check_outputs(plan, options, overwrite=output.overwrite)
    outputs = choose_outputs(plan, output, shown, is_quiet=run.quiet)
    if outputs.display is Display.LINES:
        talk.note(f"captions are written plainly: TERM={os.environ.get('TERM', '')} cannot redraw")
    given = read_lists(bias)
    engine = _load(model, options, talk, console, quiet=run.quiet, names_speakers=labels.are_shown)
    usual = StreamOptions()
    wanted = Extras(
        context=options.context is not None,
        step=options.step != usual.step,
        context_minutes=options.context_minutes != usual.context_minutes,
        bias=given.are_there,
    )
    require_extras(engine, wanted)
    talk.detail(f"{engine.info.model} on {engine.info.device}, {engine.info.precision}")
    with stop_wish() as wish, ExitStack() as stack:
        recorder: GrowingWav | None = None
        if options.save_audio is not None:
            recorder = stack.enter_context(GrowingWav(options.save_audio, sample_rate=engine.sample_rate))
        captions: Captions | None = None
        if outputs.display is Display.CAPTIONS:
            captions = stack.enter_context(make_captions(run, shown, is_stopped=wish.is_there))
        keywords: LiveKeywords | None = None
        wishes = Wishes(wish.is_there)
        if given.are_there:
            keywords = LiveKeywords(given, engine.keyword_lists(), talk)
            stack.enter_context(reload_signal(keywords))
            wishes = Wishes(wish.is_there, keywords.current)
        place = "stdin" if name == "-" else name
        report = LiveReport(talk, labels, name=place, captions=captions, shows_drafts=outputs.shows_drafts)
        events = transcribe_live(
            open_input(engine.sample_rate),
            engine,
            options=options,
            recorder=recorder,
            wishes=wishes,
            observer=report,
        )
        stack.enter_context(closing(events))
        try:
            said = events if keywords is None else keywords.follow(events)
            write_session(report.iter_labelled(said), outputs, stack, captions=captions)
        except OutputError as error:
            report.fail(error)
        wish.settle()
    return report.exit_code


def _load(
    model: ModelOptions, options: StreamOptions, talk: Talk, console: Console, *, quiet: bool, names_speakers: bool
) -> StreamEngine:
    from murmur_cli.cli.pull import PullDisplay
    from murmur_cli.models.load import load_stream_engine

    with PullDisplay(console, quiet=quiet) as pull:
        return load_stream_engine(
            model, options=options, on_note=talk.note, on_progress=pull.show, names_speakers=names_speakers
        )


def _check_outputs(plan: OutputPlan, options: StreamOptions, *, overwrite: bool) -> None:
    """Refuse what cannot be written live, or would be written over.

    Raises:
        UsageError: It is so.
    """
    from murmur_cli.audio.wav_file import check_wav_path

    for target in plan.targets:
        if target.format_name not in LIVE_FORMATS:
            problem = f"{target.format_name} cannot be written live"
            hint = f"choose from {', '.join(LIVE_FORMATS)}; 'murmur convert' makes the others of json"
            raise UsageError(problem, where="--format", hint=hint)
        if target.path is None and target.format_name not in ("txt", "jsonl"):
            problem = f"{target.format_name} cannot be written to a pipe live"
            raise UsageError(problem, where="--format", hint="name a file with --output, or take txt or jsonl")
    if options.save_audio is None:
        return
    check_wav_path(options.save_audio, overwrite=overwrite)
    taken = [plan.source, *(str(target.path) for target in plan.targets if target.path is not None)]
    if os.path.realpath(options.save_audio) in map(os.path.realpath, taken):
        raise UsageError("this file is in use already", where=options.save_audio, hint="choose another name")
