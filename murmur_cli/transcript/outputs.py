"""Which transcript goes where, decided before any work; and files that appear whole or not at all.

What could go wrong with names, folders and existing files is an error of the plan, not one after hours of
work.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from murmur_cli.errors import UsageError
from murmur_cli.options import FORMATS, OutputOptions, SubtitleOptions
from murmur_cli.transcript.formats import render_transcript
from murmur_cli.transcript.naming import NamedInput, name_output
from murmur_cli.transcript.places import Places
from murmur_cli.transcript.writing import describe_refusal, reporting, write_text_atomically
from murmur_cli.types import Transcript

__all__ = [
    "OutputPlan",
    "OutputTarget",
    "plan_outputs",
    "refuse_existing",
    "write_outputs",
]

_STDIO = "-"
_DEFAULT_FORMAT = "txt"
_CHAINABLE = ("txt", "jsonl")  # several of these can follow one another in one stream
_SUBTITLES = SubtitleOptions()
_MAX_NAME_BYTES = 255  # of one part of a path: NAME_MAX of Linux and macOS


@dataclass(frozen=True, slots=True)
class OutputTarget:
    """A format, and the file that it is written to; ``path`` None means stdout."""

    format_name: str
    path: Path | None


@dataclass(frozen=True, slots=True)
class OutputPlan:
    """Where the transcript of one input goes; ``source`` is the input as the user wrote it."""

    source: str
    targets: tuple[OutputTarget, ...]


def plan_outputs(
    inputs: Sequence[str],
    options: OutputOptions,
    *,
    subfolders: Sequence[str] = (),
    are_several: bool = False,
    is_own: Callable[[str, Path], bool] | None = None,
    makes_folders: bool = True,
) -> list[OutputPlan]:
    """Decide where each transcript goes, and make the folders below ``--output`` that are not there.

    One input in one format goes to stdout, several inputs or formats to files beside the inputs. With
    ``--output`` they go to that file, into that folder, or (``-``) to stdout. A template means files.

    Args:
        inputs: Names as the user wrote them; ``-`` is stdin.
        options: What was asked for; without a format the suffix of the output file decides, else it is txt.
        subfolders: Where each lies in the folder that was searched for it, made again in ``--output``; or none.
        are_several: Take them for several even where there is one.
        is_own: Tells whether an output of an input that exists is murmur's own, and so no reason to refuse.
        makes_folders: Make them; else look whether that could be done.

    Returns:
        One plan for each input, in their order.

    Raises:
        UsageError: Two inputs, or an input and an output, would be the same file; an output exists and
            may not be replaced; a name is too long; a folder is missing or cannot be written to; what
            goes to stdout could not be told apart there; a format would hold nothing without speakers.
    """
    _refuse_repeats(inputs, places := Places())
    formats = tuple(dict.fromkeys(options.format))
    output, template, makes_them = options.output, options.output_template, False
    is_one = len(inputs) * max(1, len(formats)) == 1 and template is None and not are_several
    if output == "":
        raise UsageError("the name is empty", where="--output", hint="give a file, a folder, or - for stdout")
    if output == _STDIO or (output is None and is_one):
        plans = _plan_stdout(inputs, formats)
    elif output is not None and is_one and not _names_folder(output):
        plans = [_plan_file(inputs[0], formats, output)]
    else:
        placed = zip(inputs, subfolders or [""] * len(inputs), strict=True)
        named = [NamedInput(source, below, number) for number, (source, below) in enumerate(placed, start=1)]
        plans = [_plan_files(each, formats, options) for each in named]
        makes_them = output is not None or template is not None
    if options.no_speakers:
        _refuse_speakers_alone(plans)
    _refuse_collisions(plans, places)
    _check_files(plans, overwrite=options.overwrite, is_own=is_own)
    wanted = [plan for plan in plans if output is not None or _is_there(plan.source)]
    _settle_folders(wanted, makes_them=makes_them and makes_folders, may_lack=makes_them)
    return plans


def write_outputs(
    transcript: Transcript,
    plan: OutputPlan,
    *,
    word_times: bool,
    subtitles: SubtitleOptions = _SUBTITLES,
    announce: Callable[[OutputTarget, str], None] | None = None,
) -> None:
    """Write a transcript to where its plan says.

    Args:
        transcript: What was said.
        plan: Where it goes.
        word_times: Whether the times of words are written where there are any.
        subtitles: What cues are like.
        announce: Hears what will be written before anything is: each target, and its text.

    Raises:
        OutputError: A file or stdout cannot be written to.
        BrokenPipeError: Nobody reads stdout any more.
    """
    texts = [
        render_transcript(transcript, target.format_name, word_times=word_times, subtitles=subtitles)
        for target in plan.targets
    ]
    rendered = list(zip(plan.targets, texts, strict=True))
    if announce is not None:
        for target, text in rendered:
            announce(target, text)
    for target, text in rendered:
        if target.path is not None:
            write_text_atomically(target.path, text)
            continue
        with reporting(where="stdout"):
            sys.stdout.write(text)
            sys.stdout.flush()


def _plan_stdout(inputs: Sequence[str], formats: Sequence[str]) -> list[OutputPlan]:
    name = formats[0] if formats else _DEFAULT_FORMAT
    if len(formats) > 1:
        raise UsageError("stdout takes one format", where="--output -", hint="give a folder, or one --format")
    if len(inputs) > 1 and name not in _CHAINABLE:
        problem = f"several {name} transcripts cannot follow one another on stdout"
        raise UsageError(problem, where="--output -", hint=f"give a folder, or --format {' or '.join(_CHAINABLE)}")
    return [OutputPlan(source, (OutputTarget(name, None),)) for source in inputs]


def _plan_file(source: str, formats: Sequence[str], output: str) -> OutputPlan:
    path = Path(output)
    suffix = path.suffix.removeprefix(".").lower()
    name = formats[0] if formats else suffix if suffix in FORMATS else _DEFAULT_FORMAT
    return OutputPlan(source, (OutputTarget(name, path),))


def _plan_files(given: NamedInput, formats: Sequence[str], options: OutputOptions) -> OutputPlan:
    folder, template, names = options.output, options.output_template, formats or (_DEFAULT_FORMAT,)
    paths = [name_output(given, name, folder=folder, template=template) for name in names]
    return OutputPlan(given.source, tuple(map(OutputTarget, names, paths)))


def _names_folder(output: str) -> bool:
    return output.endswith("/") or stat.S_ISDIR(_mode_of(Path(output)))


def _refuse_repeats(inputs: Sequence[str], places: Places) -> None:
    seen: set[str] = set()
    for source in inputs:
        folder, name = os.path.split(source)
        place = source if source == _STDIO else f"{places.find_folder(folder)}/{name}"
        if place in seen:
            raise UsageError("this input is given twice", where=source, hint="name it once")
        seen.add(place)


def _refuse_speakers_alone(plans: Sequence[OutputPlan]) -> None:
    if any(target.format_name == "rttm" for plan in plans for target in plan.targets):
        hint = "write another format, or leave --no-speakers out"
        raise UsageError("rttm holds nothing but who speaks when", where="--no-speakers", hint=hint)


def _refuse_collisions(plans: Sequence[OutputPlan], places: Places) -> None:
    """No output may be an input or the output of another input, by whatever name it goes."""
    inputs = {places.find(plan.source): plan.source for plan in plans if plan.source != _STDIO}
    takers: dict[str, str] = {}
    for plan in plans:
        for path in _iter_files([plan]):
            place = places.find(path)
            if place in inputs:
                problem = f"the transcript of {plan.source} would replace this input"
                raise UsageError(problem, where=inputs[place], hint="choose another file or folder with --output")
            if takers.get(place) == plan.source:
                problem = f"two of its formats would be the same file: {path}"
                raise UsageError(problem, where=plan.source, hint="put {ext} into --output-template")
            if place in takers:
                problem = f"the transcript would be the same file as that of {takers[place]}: {path}"
                raise UsageError(problem, where=plan.source, hint="rename one, or add --output-template '{name}.{ext}'")
            takers[place] = plan.source


def _check_files(plans: Sequence[OutputPlan], *, overwrite: bool, is_own: Callable[[str, Path], bool] | None) -> None:
    for source, path in ((plan.source, path) for plan in plans for path in _iter_files([plan])):
        n_bytes, mode = len(os.fsencode(path.name)), _mode_of(path)
        if n_bytes > _MAX_NAME_BYTES:
            problem = f"the name of the transcript would be {n_bytes} bytes long, more than {_MAX_NAME_BYTES}"
            raise UsageError(problem, where=str(path), hint="give a shorter one with --output FILE")
        if mode and not stat.S_ISREG(mode):
            problem = "a transcript cannot take the place of what is not an ordinary file"
            raise UsageError(problem, where=str(path), hint="choose another name, or stdout with --output -")
        if mode and not overwrite and not (is_own and is_own(source, path)):
            raise refuse_existing(path)


def refuse_existing(path: Path) -> UsageError:
    """Say that an output is there already."""
    hint = "give --overwrite to replace it, or another --output"
    return UsageError("the transcript exists already", where=str(path), hint=hint)


def _settle_folders(plans: Sequence[OutputPlan], *, makes_them: bool, may_lack: bool) -> None:
    """Make the folders of all files, or look whether they are there, or could be made."""
    for folder in sorted({path.parent for path in _iter_files(plans)}):
        if makes_them:
            _make_folder(folder)
        while may_lack and not _mode_of(folder) and folder != folder.parent:
            folder = folder.parent  # noqa: PLW2901 - the one in which it would be made
        if not stat.S_ISDIR(_mode_of(folder)):
            raise UsageError("there is no such folder", where=str(folder), hint="make it, or choose another --output")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise UsageError("the folder cannot be written to", where=str(folder), hint="choose another --output")


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        problem = f"the folder cannot be made: {describe_refusal(error)}"
        raise UsageError(problem, where=str(folder), hint="choose another --output") from error


def _iter_files(plans: Sequence[OutputPlan]) -> Iterator[Path]:
    for plan in plans:
        for target in plan.targets:
            if target.path is not None:
                yield target.path


def _is_there(source: str) -> bool:
    """Tell whether an input exists. One that does not is an error of its own later, and the others go on."""
    return source == _STDIO or _mode_of(Path(source)) != 0


def _mode_of(path: Path) -> int:
    """Return the mode of what ``path`` leads to, or 0 where it leads to nothing that can be looked at."""
    try:
        return path.stat().st_mode
    except OSError:
        return 0
