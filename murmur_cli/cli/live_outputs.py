"""Where a live session is written, and what its terminal shows: captions only where nothing else goes to stdout."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from enum import Enum

from murmur_cli.cli.captions import Captions
from murmur_cli.errors import UsageError
from murmur_cli.options import CaptionOptions, OutputOptions
from murmur_cli.transcript.events import LiveEvent
from murmur_cli.transcript.growing import GrowingFile, StdoutText
from murmur_cli.transcript.live import LiveWriter, make_writer
from murmur_cli.transcript.outputs import OutputPlan, OutputTarget

__all__ = ["Display", "LiveOutputs", "choose_outputs", "write_session"]


class Display(Enum):
    """What a terminal on stdout shows of a session: captions, lines where it cannot redraw them, or nothing more."""

    CAPTIONS = "captions"
    LINES = "lines"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class LiveOutputs:
    """What is written where; captions are no target."""

    targets: tuple[OutputTarget, ...]
    display: Display

    @property
    def shows_drafts(self) -> bool:
        """Whether anybody sees drafts."""
        return self.display is Display.CAPTIONS or any(target.format_name == "jsonl" for target in self.targets)


def choose_outputs(plan: OutputPlan, output: OutputOptions, options: CaptionOptions, *, is_quiet: bool) -> LiveOutputs:
    """Decide what is shown beside the transcripts of a plan.

    Args:
        plan: Where transcripts go.
        output: What was asked of them.
        options: What was asked of captions.
        is_quiet: Whether a terminal is to show nothing but what was asked for.

    Raises:
        UsageError: Captions were asked for, and there is no terminal for them.
    """
    files = tuple(target for target in plan.targets if target.path is not None)
    is_taken = not files and bool(output.format or output.output)
    is_asked = options.captions is not None
    if is_taken or not sys.stdout.isatty():
        if is_asked:
            problem = "the transcript goes to stdout" if is_taken else "stdout is no terminal"
            raise UsageError(problem, where="--captions", hint="leave it out, or name a file with --output")
        return LiveOutputs(plan.targets, Display.NOTHING)
    if files and is_quiet and not is_asked:
        return LiveOutputs(files, Display.NOTHING)
    if os.environ.get("TERM", "").lower() in ("", "dumb", "unknown"):
        return LiveOutputs((*files, OutputTarget("txt", None)), Display.LINES)
    return LiveOutputs(files, Display.CAPTIONS)


def write_session(
    events: Iterator[LiveEvent], outputs: LiveOutputs, stack: ExitStack, *, captions: Captions | None
) -> None:
    """Write what happens; no file is opened before anything is heard.

    Raises:
        OutputError: Something cannot be written; what was written before stays.
        BrokenPipeError: Nobody reads stdout any more.
    """
    writers: list[LiveWriter] | None = None
    for event in events:
        if writers is None:
            writers = [_open_writer(target, stack) for target in outputs.targets]
            writers += [captions] if captions is not None else []
        for writer in writers:
            writer.write(event)


def _open_writer(target: OutputTarget, stack: ExitStack) -> LiveWriter:
    place = StdoutText() if target.path is None else stack.enter_context(GrowingFile(target.path))
    return make_writer(target.format_name, place)
