"""``murmur stream``: what is said, while it is said."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from murmur_cli.cli import options as cli
from murmur_cli.cli.inputs import read_context, split_formats
from murmur_cli.errors import ExitCode, OutputError, UsageError
from murmur_cli.options import LIVE_FORMATS, ModelOptions, OutputOptions, RunOptions, StreamOptions

if TYPE_CHECKING:
    from rich.console import Console

    from murmur_cli.audio.wav_file import GrowingWav
    from murmur_cli.cli.render import Talk
    from murmur_cli.engine import StreamEngine
    from murmur_cli.speakers.labels import Labels
    from murmur_cli.speech.vad import Vad
    from murmur_cli.transcript.events import LiveEvent
    from murmur_cli.transcript.live import LiveWriter
    from murmur_cli.transcript.outputs import OutputPlan
    from murmur_cli.types import Speaker

__all__ = ["OPTIONS", "LiveModelOptions", "LiveOutputOptions", "LiveRunOptions", "stream"]


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


OPTIONS = (StreamOptions, LiveModelOptions, LiveOutputOptions, LiveRunOptions)
"""The records that the command builds: their fields are its options."""

_Source = Annotated[
    Path,
    typer.Argument(help="What to hear: a file, or - for stdin.", metavar="FILE|-", readable=False),
]


def stream(
    source: _Source,
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
    model: cli.Model = "auto",
    device: cli.Device = "auto",
    dtype: cli.Dtype = "auto",
    language: cli.Language = None,
    context: cli.Context = None,
    offline: cli.Offline = False,
    force: cli.Force = False,
    color: cli.Color = "auto",
    quiet: cli.Quiet = False,
    verbose: cli.Verbose = False,
    debug: cli.Debug = False,
) -> int:
    """Transcribe live speech from a pipe, or a file as if it were live.

    \b
    Examples:
      arecord -f S16_LE -r 16000 | murmur stream - --model MODEL
      ffmpeg -i URL -f s16le -ar 16000 -ac 1 - | murmur stream - --model MODEL -f jsonl
      murmur stream talk.m4a --realtime --model MODEL -f srt -o talk.srt
    """
    formats = split_formats(format)
    options = StreamOptions(
        language=language,
        context=read_context(context),
        on_lag=on_lag,
        realtime=realtime,
        duration=duration,
        save_audio=save_audio,
        input_format=input_format,
        input_rate=input_rate,
        input_channels=input_channels,
    )
    model_options = ModelOptions(model=model, device=device, dtype=dtype, offline=offline, force=force)
    output_options = OutputOptions(
        format=formats, output=output, overwrite=overwrite, speaker_names=speaker_names, no_speakers=no_speakers
    )
    run_options = RunOptions(color=color, quiet=quiet, verbose=verbose, debug=debug)
    return _run(str(source), model_options, options, output=output_options, run=run_options)


def _run(name: str, model: ModelOptions, options: StreamOptions, *, output: OutputOptions, run: RunOptions) -> int:
    from murmur_cli.audio.live import LiveSource, check_live
    from murmur_cli.audio.wav_file import GrowingWav
    from murmur_cli.cli.render import Talk, make_console
    from murmur_cli.cli.stop import stop_wish
    from murmur_cli.engine import Extras, require_extras
    from murmur_cli.speakers.labels import to_labels
    from murmur_cli.stream import transcribe_live
    from murmur_cli.transcript.outputs import plan_outputs

    console = make_console(run)
    talk, labels = Talk(console, run), to_labels(output)
    check_live(name, options)
    (plan,) = plan_outputs([name], output)
    _check_outputs(plan, options, overwrite=output.overwrite)
    engine = _load(model, talk, console, quiet=run.quiet)
    require_extras(engine, Extras(context=options.context is not None))
    talk.detail(f"{engine.info.model} on {engine.info.device}, {engine.info.precision}")
    source = LiveSource(name, sample_rate=engine.sample_rate, options=options)
    report = _Report(talk, labels, name="stdin" if name == "-" else name)
    with stop_wish() as wish, ExitStack() as stack:
        recorder: GrowingWav | None = None
        if options.save_audio is not None:
            recorder = stack.enter_context(GrowingWav(options.save_audio, sample_rate=engine.sample_rate))
        events = transcribe_live(
            source, engine, options=options, recorder=recorder, is_stopped=wish.is_there, on_note=report.note
        )
        stack.enter_context(closing(events))
        try:
            _write(report.iter_labelled(events), plan, stack)
        except OutputError as error:
            report.fail(error)
        wish.settle()
    return report.exit_code


def _write(events: Iterator[LiveEvent], plan: OutputPlan, stack: ExitStack) -> None:
    """Write what happens to where the plan says; nothing is opened before anything is heard."""
    from murmur_cli.transcript.growing import GrowingFile, StdoutText
    from murmur_cli.transcript.live import make_writer

    writers: list[LiveWriter] = []
    for event in events:
        for target in () if writers else plan.targets:
            place = StdoutText() if target.path is None else stack.enter_context(GrowingFile(target.path))
            writers.append(make_writer(target.format_name, place))
        for writer in writers:
            writer.write(event)


def _load(model: ModelOptions, talk: Talk, console: Console, *, quiet: bool) -> StreamEngine:
    from murmur_cli.cli.pull import PullDisplay
    from murmur_cli.models.load import load_stream_engine

    hint = "give --model a VibeVoice that streams: its name (see murmur models list), folder or hub id"
    if model.model == "auto":
        raise UsageError("there is no default model for live speech yet", where="--model", hint=hint)
    with PullDisplay(console, quiet=quiet) as pull:
        engine = load_stream_engine(model, load_vad=_load_vad, on_note=talk.note, on_progress=pull.show)
    if engine is None:
        raise UsageError("this model does not hear live speech", where=model.model, hint=hint)
    return engine


def _load_vad() -> Vad:
    from murmur_cli.models.silero import load_silero
    from murmur_cli.models.vibevoice.silence import GATE_OPTIONS

    return load_silero(GATE_OPTIONS)


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


class _Report:
    """Calls speakers as they are to be called, tells the person who watches, and sums up to an exit code."""

    def __init__(self, talk: Talk, labels: Labels, *, name: str) -> None:
        self._talk = talk
        self._labels = labels
        self._name = name
        self._n_committed = 0
        self._heard: set[Speaker] = set()
        self.exit_code = ExitCode.OK

    def note(self, text: str) -> None:
        """Say something about what is heard."""
        self._talk.note(f"{self._name}: {text}")

    def fail(self, error: OutputError) -> None:
        """End a session whose output cannot be written on; what was committed is kept.

        Raises:
            OutputError: Nothing was.
        """
        if not self._n_committed:
            raise error
        self._talk.error(error)
        self.exit_code = ExitCode.PARTIAL

    def iter_labelled(self, events: Iterator[LiveEvent]) -> Iterator[LiveEvent]:
        """Pass events on, with the names of speakers that are wanted."""
        from murmur_cli.transcript.events import Committed

        for event in events:
            if not isinstance(event, Committed):
                yield event
                self._tell(event)
                continue
            speaker = event.speaker if self._labels.are_shown else None
            if speaker is not None:
                self._heard.add(speaker)
                speaker = self._labels.names.get(speaker, speaker)
            yield replace(event, speaker=speaker)
            self._n_committed += 1

    def _tell(self, event: LiveEvent) -> None:
        from murmur_cli.cli.outcome import describe_gap
        from murmur_cli.transcript.events import Lag, Missing, SessionEnd

        match event:
            case Lag():
                self._talk.note(f"behind {event.behind:.1f} s")
            case Missing():
                self._talk.warn(f"{self._name}: {describe_gap(event.gap)}")
            case SessionEnd():
                self._sum_up(event.n_segments, n_gaps=event.n_gaps, damage=event.damage)
            case _:
                pass

    def _sum_up(self, n_segments: int, *, n_gaps: int, damage: str | None) -> None:
        if damage is not None:
            self._talk.warn(f"{self._name}: {damage}")
        if not (n_segments or n_gaps):
            self.note("no speech found")
        if absent := [name for name in self._labels.names if name not in self._heard]:
            self.note(f"--speaker-names: nobody in it is called {' or '.join(absent)}")
        if n_gaps and not n_segments:
            self.exit_code = ExitCode.ERROR
        elif n_gaps or damage is not None:
            self.exit_code = ExitCode.PARTIAL
