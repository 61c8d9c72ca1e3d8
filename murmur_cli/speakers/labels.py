"""How the speakers of a finished transcript are called in what is written: as they are, anew, or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from murmur_cli.options import OutputOptions
from murmur_cli.speakers.naming import find_absent, parse_speaker_names, rename_speakers
from murmur_cli.types import Speaker, Transcript

__all__ = ["Labels", "describe_absent", "label_speakers", "to_labels"]


@dataclass(frozen=True, slots=True)
class Labels:
    """New names of speakers, and whether speakers are written at all."""

    names: Mapping[Speaker, Speaker]
    are_shown: bool


def to_labels(options: OutputOptions) -> Labels:
    """Read the labels out of the options.

    Raises:
        UsageError: ``--speaker-names`` cannot be read.
    """
    names = {} if options.speaker_names is None else parse_speaker_names(options.speaker_names)
    return Labels(names, are_shown=not options.no_speakers)


def label_speakers(transcript: Transcript, labels: Labels) -> Transcript:
    """Return the transcript as it is to be written; nothing but its speakers changes.

    Where speakers are not written, its provenance does not name those who were enrolled either.
    """
    if labels.are_shown:
        return replace(transcript, segments=rename_speakers(transcript.segments, labels.names))
    segments = tuple(replace(segment, speaker=None) for segment in transcript.segments)
    return replace(transcript, segments=segments, provenance=replace(transcript.provenance, enrolled=()))


def describe_absent(transcript: Transcript, labels: Labels) -> str | None:
    """Say in one clause which speakers have a new name but say nothing, None if all do."""
    absent = find_absent(labels.names, transcript.segments)
    return f"--speaker-names: nobody in it is called {' or '.join(absent)}" if absent else None
