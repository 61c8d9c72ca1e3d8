"""A recording whose chunks are all answered: who its speakers are, and one transcript.

What the engine says of who talks in a chunk is the truth; the diarization of the whole recording only says
who of one chunk is who of another, or names everybody where the engine names nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from murmur_cli.listen import Listener, locate_talks
from murmur_cli.speakers.attribute import attribute
from murmur_cli.speakers.diarize import Diarization, Voice, describe_shortfall
from murmur_cli.speakers.enrol import describe_unheard, match_enrolled
from murmur_cli.speakers.evidence import LocalTalk
from murmur_cli.speakers.local_voices import gather_voices
from murmur_cli.speakers.naming import number_speakers, rename_speakers
from murmur_cli.speakers.reconcile import reconcile
from murmur_cli.transcript.stitch import Answers, RecordingFacts, stitch
from murmur_cli.types import Transcript

__all__ = ["finish_recording", "needs_diarization"]


def needs_diarization(facts: RecordingFacts, answers: Answers) -> bool:
    """Tell whether it must be known who spoke when, however the chunks will be answered that are still open."""
    places = {talk.place for talk in locate_talks(facts, answers)}
    return len(places) > 1 if places else bool(stitch(facts, answers).segments)


def finish_recording(
    facts: RecordingFacts, answers: Answers, *, listener: Listener | None, on_note: Callable[[str], None]
) -> Transcript:
    """Put the answers of a recording together, and name who speaks.

    Speakers are S1, S2, … by first appearance in the transcript, or have the name of an enrolled voice.

    Args:
        facts: What the transcript says of it beside the words.
        answers: Every chunk with its answer, in any order.
        listener: Tells people apart in it. None leaves speakers as the engine names them: nobody, or for each chunk
            apart.
        on_note: Hears what the user should know of the speakers.
    """
    if listener is None:
        return stitch(facts, answers)
    talks = locate_talks(facts, answers)
    if talks:
        named = _name_by_engine(listener, facts, answers, talks=talks)
    else:
        named = _name_by_turns(listener, facts, answers)
    if named.diarization is not None and (shortfall := describe_shortfall(named.diarization, listener.limits)):
        on_note(shortfall)
    transcript, enrolled = named.transcript, listener.models.enrolled
    names = match_enrolled(enrolled, named.voices)
    if transcript.segments and (unheard := describe_unheard(enrolled, names)):
        on_note(unheard)
    segments = rename_speakers(transcript.segments, names)
    return replace(transcript, segments=rename_speakers(segments, number_speakers(segments)))


@dataclass(frozen=True, slots=True, eq=False)
class _Named:
    """A transcript with speakers, how they sound, and the diarization that was needed for it, if one was."""

    transcript: Transcript
    voices: Sequence[Voice]
    diarization: Diarization | None = None


def _name_by_turns(listener: Listener, facts: RecordingFacts, answers: Answers) -> _Named:
    """Give the words to whoever talks, for an engine that names nobody."""
    transcript = stitch(facts, answers)
    if not transcript.segments:
        return _Named(transcript, ())
    diarization = listener.diarize()
    segments = attribute(transcript.segments, diarization.turns)
    return _Named(replace(transcript, segments=segments), diarization.voices, diarization)


def _name_by_engine(
    listener: Listener, facts: RecordingFacts, answers: Answers, *, talks: Sequence[LocalTalk]
) -> _Named:
    """Find out who the engine's speakers of each chunk are; those of a single chunk decoded as one are who they are."""
    is_split = len({talk.place for talk in talks}) > 1
    if is_split or listener.models.enrolled:
        talks = listener.hear(talks)
    diarization = listener.diarize() if is_split else None
    turns, voices = (diarization.turns, diarization.voices) if diarization else ((), ())
    cast = reconcile(talks, turns, voices=voices)
    transcript = stitch(facts, answers, speakers=cast)
    segments = attribute(transcript.segments, turns)
    return _Named(replace(transcript, segments=segments), gather_voices(talks, cast), diarization)
