"""What a batch run takes from those before it, and leaves to the next."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from murmur_cli.cli.outcome import Outcome
from murmur_cli.journal.codec import to_json
from murmur_cli.journal.finished import FinishedOutputs, Standing
from murmur_cli.journal.folder import default_folder
from murmur_cli.journal.records import KeptOutput
from murmur_cli.options import BatchOptions, JournalOptions, OutputOptions, SubtitleOptions
from murmur_cli.transcript.outputs import OutputPlan, OutputTarget, refuse_existing
from murmur_cli.types import EngineInfo, RecordingId
from murmur_cli.version import __version__

if TYPE_CHECKING:
    from murmur_cli.speakers.voices import VoiceVector
    from murmur_cli.types import Speaker

__all__ = ["Asked", "choose_folder", "find_open"]


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """All that decides what is in the outputs of an input, beside the input; ``enrolled`` are names and voices.

    ``keywords`` gives what stands for those of an input by its name, and for how they are spelled.
    """

    options: BatchOptions
    output: OutputOptions
    subtitles: SubtitleOptions
    engine: EngineInfo
    enrolled: Mapping[Speaker, VoiceVector]
    keywords: Callable[[str], str | None] = lambda _: None

    def digest(self, source: str, format_name: str) -> str:
        """Give what stands for all of it, the name of an input, and a format."""
        output = self.output
        about = [
            __version__,
            source,
            format_name,
            to_json(self.options),
            to_json(self.subtitles),
            to_json(self.engine),
            {name: to_json(vector) for name, vector in sorted(self.enrolled.items())},
            [output.writes_word_times, output.speaker_names, output.no_speakers],
            self.keywords(source),
        ]
        return hashlib.sha256(json.dumps(about, sort_keys=True).encode("ascii")).hexdigest()

    def list_outputs(self, plan: OutputPlan) -> list[tuple[str, str]]:
        """Give the real path of every file of a plan, and what stands for all that decides what is in it."""
        return [
            (os.path.realpath(target.path), self.digest(plan.source, target.format_name))
            for target in plan.targets
            if target.path is not None
        ]

    def describe(self, source: str, target: OutputTarget, text: str) -> KeptOutput | None:
        """Say what is going to be written to a target; stdout keeps nothing."""
        if target.path is None:
            return None
        sha256 = hashlib.sha256(text.encode()).hexdigest()
        return KeptOutput(
            os.path.realpath(target.path), sha256, self.digest(source, target.format_name), complete=False
        )


def choose_folder(options: JournalOptions) -> Path | None:
    """Say where journals are; None: nowhere."""
    if options.no_resume:
        return None
    return default_folder() if options.journal_dir is None else Path(options.journal_dir)


def find_open(
    present: Sequence[tuple[RecordingId, str]],
    plans: Sequence[OutputPlan],
    *,
    asked: Asked,
    finished: FinishedOutputs,
    outcome: Outcome,
) -> list[tuple[RecordingId, str]]:
    """Give the inputs that there is something to do for; what is up to date is said, unless it is overwritten.

    Raises:
        UsageError: An output is of a run that was asked for something else.
    """
    if asked.output.overwrite:
        return list(present)
    standings = [finished.judge(path, asked.list_outputs(plans[recording_id])) for recording_id, path in present]
    for (recording_id, _), standing in zip(present, standings, strict=True):
        if standing is Standing.OTHER:
            paths = (target.path for target in plans[recording_id].targets)
            raise refuse_existing(next(path for path in paths if path is not None and path.exists()))
    for (_, path), standing in zip(present, standings, strict=True):
        if standing is Standing.UP_TO_DATE:
            outcome.up_to_date(path)
    return [item for item, standing in zip(present, standings, strict=True) if standing is Standing.OPEN]
