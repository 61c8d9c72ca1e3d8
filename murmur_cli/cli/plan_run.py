"""What a run of ``murmur batch`` is about, before anything is loaded: its inputs, its outputs and its keywords."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from murmur_cli.cli.gather import gather_inputs
from murmur_cli.cli.inputs import find_present
from murmur_cli.cli.keywords import BatchKeywords, read_lists
from murmur_cli.cli.outcome import Outcome
from murmur_cli.cli.resume import choose_folder
from murmur_cli.journal.finished import FinishedOutputs
from murmur_cli.options import (
    BatchOptions,
    BiasOptions,
    InputOptions,
    JournalOptions,
    OutputOptions,
    RunOptions,
    SubtitleOptions,
)
from murmur_cli.speakers.enrol import Enrolment, parse_enrolments
from murmur_cli.speakers.labels import Labels, to_labels
from murmur_cli.transcript.outputs import OutputPlan, plan_outputs

if TYPE_CHECKING:
    from murmur_cli.cli.render import Talk
    from murmur_cli.types import RecordingId

__all__ = ["Reading", "RunPlan", "Writing", "plan_run"]


@dataclass(frozen=True, slots=True)
class Reading:
    """What is named on the command line, how it is read, and what is listened for."""

    named: Sequence[str]
    options: InputOptions
    bias: BiasOptions


@dataclass(frozen=True, slots=True)
class Writing:
    """What is written."""

    output: OutputOptions
    subtitles: SubtitleOptions


@dataclass(frozen=True, slots=True, eq=False)
class RunPlan:
    """What is to be done.

    Attributes:
        present: The inputs that are there, and which each is.
        outputs: Where the transcripts of each input go, also of those that are not there.
        keywords: What is listened for.
        enrolments: Whose voices are known.
        labels: How speakers are called.
        folder: Of the journals; None without them.
        finished: What earlier runs wrote.
        outcome: Of the run so far.
    """

    present: Sequence[tuple[RecordingId, str]]
    outputs: Sequence[OutputPlan]
    keywords: BatchKeywords
    enrolments: Sequence[Enrolment]
    labels: Labels
    folder: Path | None
    finished: FinishedOutputs
    outcome: Outcome

    @property
    def is_over(self) -> bool:
        """Whether there is nothing to do, or what went wrong ends the run."""
        return not self.present or self.outcome.is_over()


def plan_run(
    reading: Reading, writing: Writing, options: BatchOptions, *, journal: JournalOptions, run: RunOptions, talk: Talk
) -> RunPlan:
    """Find out what is to be done, and refuse what cannot be.

    Raises:
        MurmurError: What was asked for cannot be.
    """
    output = writing.output
    enrolments, labels = parse_enrolments(options.speakers.enrol), to_labels(output)
    given = read_lists(reading.bias)
    outcome = Outcome(talk, fail_fast=run.fail_fast)
    is_pcm = options.audio.input_format is not None
    inputs = gather_inputs(reading.named, reading.options, is_pcm=is_pcm, talk=talk, outcome=outcome)
    folder = choose_folder(journal)
    finished = FinishedOutputs(folder)
    outputs = plan_outputs(
        inputs.names,
        output,
        subfolders=inputs.subfolders,
        are_several=inputs.are_several,
        is_own=finished.owns,
        makes_folders=not run.dry_run,
    )
    keywords = BatchKeywords(given, inputs.names, talk)
    present = find_present(inputs.names, outcome)
    return RunPlan(present, outputs, keywords, enrolments, labels, folder, finished, outcome)
