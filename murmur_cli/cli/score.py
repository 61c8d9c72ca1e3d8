"""``murmur score``: how far transcripts are from their references."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from murmur_cli.cli import options as cli
from murmur_cli.options import METRICS, NORMALIZERS, RunOptions, ScoreOptions

__all__ = ["OPTIONS", "ReportOptions", "score"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions:
    """How the figures are written."""

    json: bool = False
    quiet: bool = False
    debug: bool = False
    json_errors: bool = False


OPTIONS = (ScoreOptions, ReportOptions)
"""The records that the command builds: their fields are its options."""

_KINDS = "stm, rttm, seglst or murmur's json; or a folder of such files."

_Reference = Annotated[Path, typer.Argument(help=f"What was said: {_KINDS}", metavar="REF", readable=False)]
_Hypothesis = Annotated[Path, typer.Argument(help=f"What was recognised: {_KINDS}", metavar="HYP", readable=False)]
_Metric = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        help=f"What to count: {', '.join(METRICS)}. Several with commas; all that can be had if not given.",
        metavar="METRIC",
    ),
]
_Normalizer = Annotated[
    str, typer.Option("--normalizer", help=f"How words are spelled alike: {', '.join(NORMALIZERS)}.", metavar="NAME")
]
_Collar = Annotated[
    float, typer.Option("--collar", help="How far from its place a word may be for tcpwer, in seconds.")
]
_Bias = Annotated[
    list[str] | None,
    typer.Option(
        "--bias",
        help="A list of keywords (see docs/keywords.md): how well they are heard is counted too. Repeatable.",
        metavar="FILE",
    ),
]
_Json = Annotated[bool, typer.Option("--json", help="Write JSON, with the counts of every recording.")]


def score(
    reference: _Reference,
    hypothesis: _Hypothesis,
    metric: _Metric = None,
    normalizer: _Normalizer = "whisper-english",
    collar: _Collar = 5.0,
    bias: _Bias = None,
    json: _Json = False,
    quiet: cli.Quiet = False,
    debug: cli.Debug = False,
    json_errors: cli.JsonErrors = False,
) -> None:
    """Count the errors of transcripts: WER, cpWER, tcpWER, ORC-WER, DER; how well keywords are heard.

    Word errors need the extra: pip install 'murmur-asr[eval]'; without it the exit code is 1. Recordings are paired by
    name, or as the only ones; one without a partner is an error.

    \b
    Examples:
      murmur score reference.stm talk.json
      murmur score references/ transcripts/ --json
      murmur score reference.rttm talk.rttm --metric der
      murmur score reference.stm talk.json --bias names.txt
    """
    from murmur_cli.cli.render import Talk, make_console
    from murmur_cli.score import score_files
    from murmur_cli.score.report import render_json, render_table

    run = RunOptions(quiet=quiet, debug=debug, json_errors=json_errors)
    metrics = tuple(dict.fromkeys(name for given in metric or () for name in given.split(",")))
    options = ScoreOptions(metric=metrics, normalizer=normalizer, collar=collar, bias=tuple(bias or ()))
    found = score_files(reference, hypothesis, options)
    talk = Talk(make_console(run), run)
    for note in found.notes:
        talk.note(note)
    typer.echo(render_json(found) if json else render_table(found), nl=False)
