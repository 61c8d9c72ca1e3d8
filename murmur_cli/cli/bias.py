"""``murmur bias``: lists of keywords, before they are used."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from murmur_cli.cli import options as cli
from murmur_cli.errors import ExitCode, OutputError, UsageError
from murmur_cli.options import (
    NORMALIZERS,
    BatchOptions,
    CompileOptions,
    DecodeOptions,
    ExplainOptions,
    ModelOptions,
    RunOptions,
    TuneOptions,
)

if TYPE_CHECKING:
    from rich.console import Console

    from murmur_cli.bias.vocabulary import Vocabulary
    from murmur_cli.cli.render import Talk

__all__ = ["OPTIONS", "CacheOptions", "TalkOptions", "app", "compile_list", "explain", "show_cache", "tune"]

_MOST_WARNINGS = 100  # that are said one by one


@dataclass(frozen=True, slots=True, kw_only=True)
class TalkOptions:
    """How a command behaves towards the person who watches it."""

    quiet: bool = False
    debug: bool = False
    json_errors: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheOptions:
    """What becomes of the cache, and how errors are said."""

    clear: bool = False
    json_errors: bool = False


OPTIONS: dict[str, tuple[type, ...]] = {
    "compile": (CompileOptions, TalkOptions),
    "test": (ExplainOptions, TalkOptions),
    "tune": (TuneOptions, TalkOptions),
    "cache": (CacheOptions,),
}
"""The records that each command builds: their fields are its options."""

_List = Annotated[str, typer.Argument(help="Keywords: txt, jsonl or csv.", metavar="LIST")]
_AnyList = Annotated[str, typer.Argument(help="Keywords: txt, jsonl or csv; or compiled: mbias.", metavar="LIST")]
_Text = Annotated[
    str, typer.Argument(help="A text; a transcript, if it ends with .json; - reads lines from stdin.", metavar="TEXT")
]
_Samples = Annotated[
    list[str],
    typer.Argument(help="A list for all recordings, if wanted; and recordings with their words.", metavar="[LIST] DEV"),
]
_Output = Annotated[
    str | None, typer.Option("--output", "-o", help="Write the compiled list here, too.", metavar="FILE.mbias")
]
_Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace a file that exists.")]
_Strict = Annotated[bool, typer.Option("--strict", help="End with exit code 2 if there is a warning.")]
_Json = Annotated[bool, typer.Option("--json", help="Write JSON.")]
_Color = Annotated[str, typer.Option("--color", help="Colour: auto, always, never.", metavar="WHEN")]
_Normalizer = Annotated[
    str, typer.Option("--normalizer", help=f"How words are spelled alike: {', '.join(NORMALIZERS)}.", metavar="NAME")
]
_Clear = Annotated[bool, typer.Option("--clear", help="Empty the cache.")]

app = typer.Typer(no_args_is_help=True, help="Compile, try and tune lists of keywords.")


@app.command("compile")
def compile_list(
    path: _List,
    model: cli.Model = "auto",
    output: _Output = None,
    overwrite: _Overwrite = False,
    strict: _Strict = False,
    offline: cli.Offline = False,
    json: _Json = False,
    quiet: cli.Quiet = False,
    debug: cli.Debug = False,
    json_errors: cli.JsonErrors = False,
) -> None:
    """Check a list, and compile it for a model: once, for all runs that follow.

    \b
    Examples:
      murmur bias compile names.txt
      murmur bias compile names.txt --strict --json
      murmur bias compile drugs.csv -o drugs.mbias
    """
    from murmur_cli.bias.cache import ListCache, default_folder, find_odd_tokens
    from murmur_cli.bias.list_files import load_keywords
    from murmur_cli.bias.mbias import Compiled, save_compiled
    from murmur_cli.cli.bias_report import CompileReport, render_compiled

    options = CompileOptions(model=model, output=output, overwrite=overwrite, strict=strict, offline=offline, json=json)
    run = RunOptions(quiet=quiet, debug=debug, json_errors=json_errors)
    if output is not None and Path(output).exists() and not overwrite:
        raise UsageError("it exists already", where=output, hint="give --overwrite, or another --output")
    keywords = load_keywords(path)
    vocabulary = _find_vocabulary(options.model, offline=options.offline, run=run)
    warnings = (*keywords.warnings, *find_odd_tokens(keywords, vocabulary))
    _warn(warnings, run)
    if warnings and options.strict:
        raise UsageError(f"has {len(warnings)} warnings", where=path, hint="mend it, or leave --strict out")
    started = time.perf_counter()
    cache = ListCache(vocabulary, default_folder())
    graph = cache.compile(keywords)
    seconds = time.perf_counter() - started
    cache.classes()  # are kept with the list, so that the next run finds all that it needs
    if options.output is not None:
        save_compiled(Path(options.output), Compiled(graph, keywords))
    typer.echo(render_compiled(CompileReport(path, graph, seconds, options.output, warnings), json=json), nl=False)


@app.command("test")
def explain(
    path: _AnyList,
    text: _Text,
    model: cli.Model = "auto",
    offline: cli.Offline = False,
    color: _Color = "auto",
    json: _Json = False,
    quiet: cli.Quiet = False,
    debug: cli.Debug = False,
    json_errors: cli.JsonErrors = False,
) -> None:
    """Show where a list's keywords are in a text, and what each token of it earns.

    \b
    Examples:
      murmur bias test names.txt "He flew to new york city."
      murmur bias test names.txt talk.json
      pdftotext agenda.pdf - | murmur bias test names.txt - --json
    """
    from murmur_cli.bias.explain import Explainer
    from murmur_cli.cli.bias_report import render_explanations, write_explanations
    from murmur_cli.cli.bias_texts import load_compiled_list, read_passages
    from murmur_cli.cli.render import make_console

    options = ExplainOptions(model=model, offline=offline, color=color, json=json)
    run = RunOptions(quiet=quiet, debug=debug, json_errors=json_errors, color=options.color)
    passages = read_passages(text)
    compiled, vocabulary, classes = load_compiled_list(
        path, lambda: _find_vocabulary(options.model, offline=options.offline, run=run)
    )
    _warn(compiled.keywords.warnings, run)
    explainer = Explainer(compiled, vocabulary, classes)
    explained = [(passage, explainer.explain(passage.text)) for passage in passages]
    if options.json:
        typer.echo(render_explanations(explained), nl=False)
        return
    n_shown = write_explanations(explained, make_console(run, stderr=False))
    if len(explained) > 1:
        _make_talk(run).note(f"{n_shown} of {len(explained)} lines have a keyword")


@app.command()
def tune(
    paths: _Samples,
    model: cli.Model = "auto",
    device: cli.Device = "auto",
    dtype: cli.Dtype = "auto",
    language: cli.Language = None,
    offline: cli.Offline = False,
    force: cli.Force = False,
    normalizer: _Normalizer = "whisper-english",
    json: _Json = False,
    quiet: cli.Quiet = False,
    debug: cli.Debug = False,
    json_errors: cli.JsonErrors = False,
) -> ExitCode:
    """Recognise recordings whose words are known at several strengths: what it gains, and what it costs.

    Each line of DEV is {"audio": "a.wav", "text": "what is said"}; a line may have "phrases" of its own, in place
    of the list. Needs the extra: pip install 'murmur-asr[eval]'.

    \b
    Examples:
      murmur bias tune names.txt dev.jsonl
      murmur bias tune dev.jsonl --json
    """
    options = TuneOptions(
        model=model,
        device=device,
        dtype=dtype,
        language=language,
        offline=offline,
        force=force,
        normalizer=normalizer,
        json=json,
    )
    return _tune(paths, options, RunOptions(quiet=quiet, debug=debug, json_errors=json_errors))


@app.command("cache")
def show_cache(clear: _Clear = False, json_errors: cli.JsonErrors = False) -> None:
    """Show the compiled lists that are kept for other runs, and how many bytes they take.

    \b
    Examples:
      murmur bias cache
      murmur bias cache --clear
    """
    del json_errors  # heeded where errors end, in cli/app.py
    from murmur_cli.bias.cache import clear_cache, default_folder, list_cached
    from murmur_cli.cli.bias_report import render_cache

    folder = default_folder()
    try:
        if clear:
            typer.echo(f"murmur: {folder}: {clear_cache(folder)} bytes freed", err=True)
        else:
            typer.echo(render_cache(folder, list_cached(folder)), nl=False)
    except OSError as error:
        problem = f"cannot be read or emptied: {error.strerror or error}"
        raise OutputError(problem, where=str(folder), hint="look at its permissions") from error


def _tune(paths: Sequence[str], options: TuneOptions, run: RunOptions) -> ExitCode:
    from murmur_cli.bias.list_files import load_keywords
    from murmur_cli.cli.bias_report import STRENGTHS, describe_trial, render_trials, to_margin
    from murmur_cli.cli.pull import PullDisplay
    from murmur_cli.models.load import load_engine
    from murmur_cli.models.silero import load_silero
    from murmur_cli.score.normalize import load_normalizer
    from murmur_cli.tune import Tuner, load_samples, require_bias

    if len(paths) > 2:
        raise UsageError(f"one list and one file at most, not {len(paths)} names", hint="see 'murmur bias tune --help'")
    talk = _make_talk(run)
    common = load_keywords(paths[0]) if len(paths) == 2 else None
    samples = load_samples(paths[-1], common)
    _warn(common.warnings if common else (), run)
    normalizer = load_normalizer(options.normalizer)
    batch = BatchOptions(decode=DecodeOptions(language=options.language))
    model = ModelOptions(
        model=options.model, device=options.device, dtype=options.dtype, offline=options.offline, force=options.force
    )
    with PullDisplay(_make_console(run), quiet=run.quiet) as pull:
        engine = load_engine(model, options=batch, on_note=talk.note, on_progress=pull.show)
    require_bias(engine)
    tuner = Tuner(engine, vad=load_silero(batch.vad), options=batch, normalizer=normalizer, on_note=talk.warn)
    trials = []
    for name in STRENGTHS:
        trials.append((name, tuner.try_margin(samples, to_margin(name))))
        talk.note(describe_trial(*trials[-1]))
    typer.echo(
        render_trials(trials, n_recordings=len(samples), normalizer=str(normalizer), json=options.json), nl=False
    )
    return ExitCode.PARTIAL if any(trial.n_gaps for _, trial in trials) else ExitCode.OK


def _find_vocabulary(model: str, *, offline: bool, run: RunOptions) -> Vocabulary:
    from murmur_cli.cli.pull import PullDisplay
    from murmur_cli.models.vocabulary import find_vocabulary

    with PullDisplay(_make_console(run), quiet=run.quiet) as pull:
        return find_vocabulary(model, offline=offline, on_note=_make_talk(run).note, on_progress=pull.show)


def _warn(warnings: Sequence[str], run: RunOptions) -> None:
    talk = _make_talk(run)
    for warning in warnings[:_MOST_WARNINGS]:
        talk.warn(warning)
    if len(warnings) > _MOST_WARNINGS:
        talk.warn(f"and {len(warnings) - _MOST_WARNINGS} more warnings; --json has them all")


def _make_console(run: RunOptions) -> Console:
    from murmur_cli.cli.render import make_console

    return make_console(run)


def _make_talk(run: RunOptions) -> Talk:
    from murmur_cli.cli.render import Talk

    return Talk(_make_console(run), run)
