"""The command ``murmur``: the one place where an error becomes an exit code."""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from types import TracebackType
from typing import Annotated

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException
from typer.main import get_command

from murmur_cli.cli import batch, bias, convert, doctor, models, score, stream
from murmur_cli.cli.render import error_line, json_error, printable
from murmur_cli.cli.settings import load_settings, name_origin, to_default_map
from murmur_cli.cli.standard import replace_standard_streams
from murmur_cli.cli.stop import Stopped, stop_signals
from murmur_cli.cli.versions import render_versions
from murmur_cli.errors import DeviceError, ExitCode, MurmurError, UsageError

__all__ = ["app", "main", "run"]

_EXIT_CODES = "Exit codes: " + "; ".join(f"{code.value} {code.meaning}" for code in ExitCode) + "."

app = typer.Typer(
    name="murmur", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, epilog=_EXIT_CODES
)
app.command("batch", epilog=_EXIT_CODES)(batch.batch)
app.command("stream", epilog=_EXIT_CODES)(stream.stream)
app.command("convert", epilog=_EXIT_CODES)(convert.convert)
app.command("score", epilog=_EXIT_CODES)(score.score)
app.add_typer(bias.app, name="bias")
app.add_typer(models.app, name="models")
app.command("doctor", epilog=_EXIT_CODES)(doctor.doctor)


@app.callback(invoke_without_command=True)
def _murmur(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the versions of murmur and its backends.")] = False,
    json: Annotated[bool, typer.Option("--json", help="With --version: write JSON.")] = False,
) -> None:
    """Transcribe long recordings and live speech: who said what, when.

    \b
    Examples:
      murmur batch meeting.m4a > meeting.txt
      murmur batch *.mp3 -f srt,json -o transcripts/
      arecord -f S16_LE -r 16000 | murmur stream -
      murmur convert transcripts/talk.json -f ass
    """
    if version:
        typer.echo(render_versions(as_json=json))
        raise typer.Exit
    if json:
        raise UsageError(
            "goes with --version alone", where="--json", hint="commands that write JSON take it themselves"
        )
    if context.invoked_subcommand is None:
        raise UsageError("a command is missing", hint="see 'murmur --help'")


def main() -> None:
    """Run the command line and leave with its exit code."""
    # Read once, when torch is imported: on a busy machine threads that spin while they wait cost ten times as much.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    replace_standard_streams()
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command line in this process.

    Returns:
        The exit code. Errors have been said on stderr, one line each.
    """
    # Looked for before anything is parsed: what is wrong with the command line is to be said so, too.
    flags = set(takewhile(lambda argument: argument != "--", arguments))
    manner = _Manner(debug="--debug" in flags, json_errors="--json-errors" in flags)
    manner.prepare_streams()
    try:
        with stop_signals():
            return _invoke(arguments)
    except MurmurError as error:
        return manner.fail(error)
    except TyperException as error:
        return manner.fail(_to_usage_error(error))
    except MemoryError:
        return manner.fail(DeviceError("out of memory", hint="try a smaller --max-chunk-s or a smaller --model"))
    except BrokenPipeError:
        return _let_reader_go()
    except Stopped as stopped:
        return manner.stop(stopped)


@dataclass(frozen=True, slots=True)
class _Manner:
    """How errors are said: with a traceback, as JSON."""

    debug: bool
    json_errors: bool

    def prepare_streams(self) -> None:
        """UTF-8 whatever the locale says; and one line, not a traceback, for an error that nobody foresaw."""
        for standard in (sys.stdout, sys.stderr):
            if isinstance(standard, io.TextIOWrapper):
                standard.reconfigure(encoding="utf-8", errors="surrogateescape")
        if not self.debug:
            sys.excepthook = self._say_unforeseen

    def fail(self, error: MurmurError) -> int:
        """Say an error, and give its exit code."""
        if self.debug:
            traceback.print_exc()
        sys.stderr.write(error_line(error, is_json=self.json_errors) + "\n")
        return error.exit_code

    def stop(self, stopped: Stopped) -> int:
        """Say that somebody ended the run, and give its exit code."""
        line = f"murmur: {stopped}"
        if self.json_errors:
            line = json_error("Stopped", str(stopped), exit_code=stopped.exit_code)
        sys.stderr.write(line + "\n")
        return stopped.exit_code

    def _say_unforeseen(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        del trace
        line = f"murmur: internal error: {printable(f'{kind.__name__}: {error}')}; --debug shows where"
        if self.json_errors:
            line = json_error(kind.__name__, f"internal error: {error}", hint="--debug shows where", exit_code=1)
        sys.stderr.write(line + "\n")


def _invoke(arguments: Sequence[str]) -> int:
    command = get_command(app)
    assert isinstance(command, TyperGroup)
    if arguments and not arguments[0].startswith("-") and Path(arguments[0]).is_file():
        name = printable(arguments[0])
        raise UsageError("a file is not a command", where=name, hint=f"did you mean 'murmur batch {name}'?")
    # Help of murmur itself, and the doctor, have to work where the settings are wrong.
    reads_settings = bool(arguments) and not arguments[0].startswith("-") and arguments[0] != "doctor"
    settings = load_settings(command, os.environ) if reads_settings else ()
    try:
        defaults = to_default_map(settings)
        code = command.main(args=list(arguments), prog_name="murmur", standalone_mode=False, default_map=defaults)
        sys.stdout.flush()
    except SystemExit:  # Typer's answer, in this mode, to one thing only: a closed pipe
        return _let_reader_go()
    except UsageError as error:
        named = name_origin(error, settings, arguments)
        if named is None:
            raise
        raise named from error
    return int(code or 0)


def _to_usage_error(error: TyperException) -> MurmurError:
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "murmur"
    message = error.format_message().strip() or "a command is missing"
    return UsageError(message[:1].lower() + message[1:].rstrip("."), hint=f"see '{command} --help'")


def _let_reader_go() -> int:
    """Nobody reads stdout any more: leave quietly, and keep Python from flushing it at exit."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.__stdout__.fileno() if sys.__stdout__ else 1)
    return ExitCode.OK
