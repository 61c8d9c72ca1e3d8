"""``murmur convert``: finished transcripts in other formats, without a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from murmur_cli.cli import options as cli
from murmur_cli.cli.inputs import split_formats
from murmur_cli.errors import ExitCode, OutputError, TranscriptError
from murmur_cli.options import OutputOptions, RunOptions, SubtitleOptions

if TYPE_CHECKING:
    from murmur_cli.cli.render import Talk
    from murmur_cli.types import Transcript

__all__ = ["OPTIONS", "ConvertOptions", "convert"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertOptions:
    """How the command behaves towards the person who watches it."""

    quiet: bool = False
    debug: bool = False
    json_errors: bool = False


OPTIONS = (OutputOptions, SubtitleOptions, ConvertOptions)
"""The records that the command builds: their fields are its options."""

_Transcripts = Annotated[
    list[Path],
    typer.Argument(help="What murmur batch -f json wrote; - is stdin.", metavar="FILE…", readable=False),
]


def convert(
    paths: _Transcripts,
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
    quiet: cli.Quiet = False,
    debug: cli.Debug = False,
    json_errors: cli.JsonErrors = False,
) -> int:
    """Write finished transcripts in other formats.

    \b
    Examples:
      murmur convert talk.json -f srt > talk.srt
      murmur convert talk.json -f srt,ass,stm -o out/
      murmur convert out/*.json -f rttm -o turns/
      murmur convert talk.json -f vtt --max-lines 1 --max-line-width 37
      murmur convert talk.json --speaker-names "S1=Ann Lee,S2=Bob"
    """
    formats = split_formats(format)
    options = OutputOptions(
        format=formats,
        output=output,
        output_template=output_template,
        overwrite=overwrite,
        word_times=word_times,
        speaker_names=speaker_names,
        no_speakers=no_speakers,
    )
    subtitles = SubtitleOptions(
        max_line_width=max_line_width,
        max_lines=max_lines,
        max_cps=max_cps,
        min_duration=min_duration,
        max_duration=max_duration,
    )
    return _run(
        [str(path) for path in paths],
        options,
        subtitles,
        run=RunOptions(quiet=quiet, debug=debug, json_errors=json_errors),
    )


def _run(paths: Sequence[str], options: OutputOptions, subtitles: SubtitleOptions, *, run: RunOptions) -> ExitCode:
    from murmur_cli.cli.render import Talk, make_console
    from murmur_cli.speakers.labels import describe_absent, label_speakers, to_labels
    from murmur_cli.transcript.outputs import plan_outputs, write_outputs
    from murmur_cli.transcript.read import load_transcript
    from murmur_cli.types import RecordingId

    talk = Talk(make_console(run), run)
    labels = to_labels(options)
    n_failed = 0
    for i, plan in enumerate(plan_outputs(paths, options)):
        try:
            transcript = load_transcript(plan.source, recording_id=RecordingId(i))
            labelled = label_speakers(transcript, labels)
            write_outputs(labelled, plan, word_times=options.writes_word_times, subtitles=subtitles)
        except (TranscriptError, OutputError) as error:
            talk.error(error)
            n_failed += 1
        else:
            _say_what_is_missing(transcript, plan.source, talk)
            if absent := describe_absent(transcript, labels):
                talk.note(f"{plan.source}: {absent}")
    if n_failed == len(paths):
        return ExitCode.ERROR
    return ExitCode.PARTIAL if n_failed else ExitCode.OK


def _say_what_is_missing(transcript: Transcript, name: str, talk: Talk) -> None:
    """Most formats hold only what was said: say here what the recording holds beside that."""
    if transcript.damage is not None:
        talk.note(f"{name}: {transcript.damage}")
    for gap in transcript.gaps:
        talk.note(f"{name}: not transcribed from {gap.start:.1f} s to {gap.end:.1f} s: {gap.reason}")
    if not transcript.segments and not transcript.gaps:
        talk.note(f"{name}: no speech in it")
