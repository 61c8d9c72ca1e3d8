"""Who speaks in a recording, and how that sounds: found out once, and kept in its journal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from murmur_cli.audio.source import Recording
from murmur_cli.journal.part import PartJournal
from murmur_cli.journal.records import KeptDiarization, KeptPerson, KeptVoice, KeptVoices
from murmur_cli.options import SpeakerOptions
from murmur_cli.speakers.diarize import Diarization, Diarizer, Voice
from murmur_cli.speakers.evidence import LocalTalk
from murmur_cli.speakers.limits import SpeakerLimits, to_limits
from murmur_cli.speakers.local_voices import hear_voices
from murmur_cli.speakers.voices import SpeakerEmbedder, VoiceVector
from murmur_cli.transcript.stitch import Answers, RecordingFacts, locate_speakers
from murmur_cli.types import ChunkPart, LocalSpeaker, Speaker

__all__ = ["Listener", "SpeakerModels", "locate_talks"]


@dataclass(frozen=True, slots=True, eq=False)
class SpeakerModels:
    """What tells people apart: in time, by voice, and by the voices that the user has named."""

    diarizer: Diarizer
    embedder: SpeakerEmbedder
    enrolled: Mapping[Speaker, VoiceVector] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Listener:
    """A recording, what can tell people apart in it, and what was found out of them so far."""

    recording: Recording
    models: SpeakerModels
    options: SpeakerOptions
    journal: PartJournal

    @property
    def limits(self) -> SpeakerLimits:
        """How many people a diarization may find."""
        return to_limits(self.options)

    @property
    def has_diarized(self) -> bool:
        """Whether it is known who spoke when."""
        return self.journal.find_diarization(self._asked) is not None

    @property
    def _asked(self) -> str:
        return f"{self.options.diarizer} {self.limits.least} {self.limits.most}"

    def diarize(self) -> Diarization:
        """Say who spoke when."""
        kept = self.journal.find_diarization(self._asked)
        if kept is None:
            found = self.models.diarizer.turns(self.recording.iter_vad_blocks(), self.limits)
            people = tuple([KeptPerson(voice.speaker, voice.vector, voice.speech_s) for voice in found.voices])
            kept = KeptDiarization(self.journal.part, self._asked, found.turns, people, found.forced)
            self.journal.keep(kept)
        voices = tuple([Voice(person.speaker, person.vector, person.speech_s) for person in kept.people])
        return Diarization(kept.turns, voices, kept.forced)

    def hear(self, talks: Sequence[LocalTalk]) -> list[LocalTalk]:
        """Give every local speaker a voice who talks long enough for one."""
        by_chunk: dict[int, list[LocalTalk]] = {}
        for talk in talks:
            by_chunk.setdefault(talk.place.chunk, []).append(talk)
        heard = {
            (talk.place, talk.speaker): talk for index, own in by_chunk.items() for talk in self.hear_chunk(index, own)
        }
        return [heard[talk.place, talk.speaker] for talk in talks]

    def hear_chunk(self, index: int, talks: Sequence[LocalTalk]) -> list[LocalTalk]:
        """Give the local speakers of one chunk their voices."""
        kept = self.journal.voices.get(index)
        if kept is None:
            heard = hear_voices(talks, read=self.recording.speech, embedder=self.models.embedder)
            voices = [KeptVoice(talk.place.part, talk.speaker, talk.vector, talk.speech_s) for talk in heard]
            kept = KeptVoices(self.journal.part, index, tuple(voices))
            self.journal.keep(kept)
        known = {(ChunkPart(index, voice.place), LocalSpeaker(voice.speaker)): voice for voice in kept.voices}
        voices_of = [known[talk.place, talk.speaker] for talk in talks]
        return [
            replace(talk, vector=voice.vector, speech_s=voice.speech_s)
            for talk, voice in zip(talks, voices_of, strict=True)
        ]


def locate_talks(facts: RecordingFacts, answers: Answers) -> list[LocalTalk]:
    """Find where in the recording each local speaker of each part of a chunk talks; nobody where none is named."""
    located = locate_speakers(facts, answers)
    return [LocalTalk(place, speaker, stretches) for (place, speaker), stretches in located.items()]
