"""A recording whose chunks are all answered: who its speakers are, and one transcript.

What the engine says of who talks in a chunk is the truth; the diarization of the whole recording only says
who of one chunk is who of another, or names everybody where the engine names nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from murmur_cli.audio.source import Recording
from murmur_cli.speakers.attribute import attribute
from murmur_cli.speakers.diarize import Diarization, Diarizer, Voice, describe_shortfall
from murmur_cli.speakers.enrol import describe_unheard, match_enrolled
from murmur_cli.speakers.evidence import LocalTalk
from murmur_cli.speakers.limits import SpeakerLimits
from murmur_cli.speakers.local_voices import gather_voices, hear_voices
from murmur_cli.speakers.naming import number_speakers, rename_speakers
from murmur_cli.speakers.reconcile import reconcile
from murmur_cli.speakers.voices import SpeakerEmbedder, VoiceVector
from murmur_cli.transcript.stitch import Answers, RecordingFacts, locate_speakers, stitch
from murmur_cli.types import Speaker, Transcript

__all__ = ["SpeakerModels", "finish_recording"]

_NO_DIARIZATION = Diarization((), (), forced=False)


@dataclass(frozen=True, slots=True, eq=False)
class SpeakerModels:
    """What tells people apart: in time, by voice, and by the voices that the user has named."""

    diarizer: Diarizer
    embedder: SpeakerEmbedder
    enrolled: Mapping[Speaker, VoiceVector] = field(default_factory=dict)


def finish_recording(
    recording: Recording,
    facts: RecordingFacts,
    answers: Answers,
    *,
    models: SpeakerModels | None,
    limits: SpeakerLimits,
    on_note: Callable[[str], None],
) -> Transcript:
    """Put the answers of a recording together, and name who speaks.

    Speakers are S1, S2, … by first appearance in the transcript, or have the name of an enrolled voice.

    Args:
        recording: Open.
        facts: What the transcript says of it beside the words.
        answers: Every chunk with its answer, in any order.
        models: None leaves speakers as the engine names them: nobody, or for each chunk apart.
        limits: How many people a diarization may find.
        on_note: Hears what the user should know of the speakers.
    """
    if models is None:
        return stitch(facts, answers)
    name_people = _name_by_engine if locate_speakers(facts, answers) else _name_by_turns
    transcript, voices = name_people(_Listener(recording, models, limits, on_note), facts, answers)
    names = match_enrolled(models.enrolled, voices)
    if transcript.segments and (unheard := describe_unheard(models.enrolled, names)):
        on_note(unheard)
    segments = rename_speakers(transcript.segments, names)
    return replace(transcript, segments=rename_speakers(segments, number_speakers(segments)))


@dataclass(frozen=True, slots=True)
class _Listener:
    """A recording, and what can tell people apart in it."""

    recording: Recording
    models: SpeakerModels
    limits: SpeakerLimits
    on_note: Callable[[str], None]

    def diarize(self) -> Diarization:
        diarization = self.models.diarizer.turns(self.recording.iter_vad_blocks(), self.limits)
        if shortfall := describe_shortfall(diarization, self.limits):
            self.on_note(shortfall)
        return diarization


def _name_by_turns(listener: _Listener, facts: RecordingFacts, answers: Answers) -> tuple[Transcript, Sequence[Voice]]:
    """Give the words to whoever talks, for an engine that names nobody."""
    transcript = stitch(facts, answers)
    if not transcript.segments:
        return transcript, ()
    diarization = listener.diarize()
    return replace(transcript, segments=attribute(transcript.segments, diarization.turns)), diarization.voices


def _name_by_engine(listener: _Listener, facts: RecordingFacts, answers: Answers) -> tuple[Transcript, Sequence[Voice]]:
    """Find out who the engine's speakers of each chunk are; those of a single chunk decoded as one are who they are."""
    located = locate_speakers(facts, answers)
    talks = [LocalTalk(place, speaker, stretches) for (place, speaker), stretches in located.items()]
    is_split = len({talk.place for talk in talks}) > 1
    if is_split or listener.models.enrolled:
        talks = hear_voices(talks, read=listener.recording.speech, embedder=listener.models.embedder)
    diarization = listener.diarize() if is_split else _NO_DIARIZATION
    cast = reconcile(talks, diarization.turns, voices=diarization.voices)
    transcript = stitch(facts, answers, speakers=cast)
    segments = attribute(transcript.segments, diarization.turns)
    return replace(transcript, segments=segments), gather_voices(talks, cast)
