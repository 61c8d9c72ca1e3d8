"""How speakers are called in what is written."""

from __future__ import annotations

from dataclasses import replace

import pytest
from transcript_samples import make_segment, make_transcript

from murmur_cli.errors import UsageError
from murmur_cli.options import OutputOptions
from murmur_cli.speakers.labels import describe_absent, label_speakers, to_labels
from murmur_cli.types import Speaker, Transcript


def talk(*speakers: str | None) -> Transcript:
    return make_transcript([make_segment(i, i + 1, "so", speaker=speaker) for i, speaker in enumerate(speakers)])


def label(transcript: Transcript, **options: object) -> list[Speaker | None]:
    labelled = label_speakers(transcript, to_labels(OutputOptions(**options)))  # type: ignore[arg-type]
    before = [replace(segment, speaker=None) for segment in transcript.segments]
    assert [replace(segment, speaker=None) for segment in labelled.segments] == before
    expected = transcript.provenance
    if options.get("no_speakers"):
        expected = replace(expected, enrolled=())
    assert replace(labelled, segments=()) == replace(transcript, segments=(), provenance=expected)
    return [segment.speaker for segment in labelled.segments]


def test_speakers_stay_what_they_are_called_renamed_or_are_left_out() -> None:
    transcript = talk("S1", None, "S2", "S1", "c3-S0")
    assert label(transcript) == ["S1", None, "S2", "S1", "c3-S0"]
    assert label(transcript, speaker_names="S1=S2,c3-S0=Ann,S2=S1") == ["S2", None, "S1", "S2", "Ann"]
    assert label(transcript, no_speakers=True) == [None] * 5


def test_names_for_nobody_are_said() -> None:
    labels = to_labels(OutputOptions(speaker_names="S1=Ann,S7=Bob,S9=Cid"))
    assert "S7 or S9" in str(describe_absent(talk("S1", "S2"), labels))
    assert describe_absent(talk("S1", "S7", "S9"), labels) is None
    assert describe_absent(talk(), to_labels(OutputOptions())) is None


def test_names_that_cannot_be_read_are_refused() -> None:
    with pytest.raises(UsageError):
        to_labels(OutputOptions(speaker_names="Ann"))


def test_names_go_against_no_speakers() -> None:
    with pytest.raises(UsageError) as caught:
        OutputOptions(speaker_names="S1=Ann", no_speakers=True)
    assert caught.value.where == "--speaker-names"
