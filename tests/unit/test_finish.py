"""Who is who in a finished recording: the engine's speakers of each chunk, or the turns of a diarization."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile

from murmur_cli.audio.source import Recording, open_recording
from murmur_cli.batch import Listeners, transcribe_all
from murmur_cli.engine import Answer, Job
from murmur_cli.listen import SpeakerModels
from murmur_cli.models.scripted import ScriptedEngine, ScriptedVad, ScriptEntry
from murmur_cli.options import AudioOptions, BatchOptions, ChunkOptions, SpeakerOptions
from murmur_cli.speakers.diarize import Diarization, Voice
from murmur_cli.speakers.limits import SpeakerLimits
from murmur_cli.speakers.voices import VOICE_SIZE, VoiceVector
from murmur_cli.types import Chunk, Hypothesis, RecordingId, Samples, Span, Speaker, Transcript, Turn

RATE = 16_000
OPTIONS = BatchOptions(chunk=ChunkOptions(max_chunk_s=10.0))
S1, S2, S3, ANN = Speaker("S1"), Speaker("S2"), Speaker("S3"), Speaker("Ann")
LOW, MIDDLE, HIGH = 200, 800, 3000  # Hz: three people


class Watch:
    """An observer that remembers what was noted."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def planned(self, recording: Recording, chunks: tuple[Chunk, ...]) -> None: ...

    def answered(self, recording: Recording, chunk: Chunk, answer: Answer) -> None: ...

    def noted(self, recording: Recording, text: str) -> None:
        self.notes.append(f"{recording.source}: {text}")


class ScriptedDiarizer:
    """Finds the turns that it was told."""

    def __init__(self, *turns: Turn, voices: Sequence[Voice] = (), forced: bool = False) -> None:
        self._diarization = Diarization(turns, tuple(voices), forced)
        self.n_samples: list[int] = []

    def turns(self, blocks: Iterable[Samples], limits: SpeakerLimits) -> Diarization:
        self.n_samples.append(sum(len(block) for block in blocks))
        return self._diarization


def to_voice(pitch: float) -> VoiceVector:
    """One direction for each person."""
    nearest = min(range(3), key=lambda person: abs(np.log(pitch / (LOW, MIDDLE, HIGH)[person])))
    vector: VoiceVector = np.eye(VOICE_SIZE, dtype=np.float32)[nearest]
    return vector


class PitchEmbedder:
    """Knows people by the pitch of their tone, at 16 kHz."""

    def embed(self, samples: Samples) -> VoiceVector:
        crossings = np.count_nonzero(np.diff(np.signbit(samples)))
        return to_voice(crossings / 2 / (len(samples) / RATE))


def write_tones(folder: Path, tones: Sequence[tuple[float, float, float]], seconds: float = 30.0) -> str:
    """Write a recording with a tone (start, end, pitch) for everybody who talks."""
    signal = np.zeros(round(seconds * 48_000))
    time = np.arange(len(signal)) / 48_000
    for start, end, pitch in tones:
        here = (time >= start) & (time < end)
        signal[here] += 0.1 * np.sin(2 * np.pi * pitch * time[here])
    path = folder / "a.wav"
    soundfile.write(path, signal, 48_000)
    return str(path)


SPEECH = ((1.0, 8.5), (10.0, 17.5), (19.0, 26.5))  # one chunk each, at 10 s


def transcribe(
    path: str,
    script: Sequence[ScriptEntry],
    diarizer: ScriptedDiarizer | None,
    *,
    options: BatchOptions = OPTIONS,
    enrolled: Mapping[Speaker, VoiceVector] | None = None,
    rate: int = RATE,
    speech: Sequence[tuple[float, float]] = SPEECH,
    engine: ScriptedEngine | None = None,
) -> tuple[Transcript, Watch]:
    watch = Watch()
    models = None if diarizer is None else SpeakerModels(diarizer, PitchEmbedder(), enrolled or {})
    (transcript,) = transcribe_all(
        iter([open_recording(path, recording_id=RecordingId(0), sample_rate=rate)]),
        engine or ScriptedEngine(script, sample_rate=rate),
        listeners=Listeners(
            ScriptedVad([Span(round(start * RATE), round(end * RATE)) for start, end in speech]), models
        ),
        options=options,
        observer=watch,
    )
    return transcript, watch


def say(*entries: tuple[float, float, int | None]) -> list[ScriptEntry]:
    return [ScriptEntry(start, end, f"at {start:g}", speaker=speaker) for start, end, speaker in entries]


def who(transcript: Transcript) -> list[Speaker | None]:
    return [segment.speaker for segment in transcript.segments]


UNNAMED = say((1.5, 4, None), (10.5, 12, None), (20, 22, None))


def test_the_diarizer_hears_the_whole_recording_and_names_the_segments(tmp_path: Path) -> None:
    diarizer = ScriptedDiarizer(Turn(1.0, 12.0, S1), Turn(19.0, 26.0, S2))
    transcript, watch = transcribe(write_tones(tmp_path, [(0, 30, LOW)]), UNNAMED, diarizer)
    assert who(transcript) == [S1, S1, S2]
    assert diarizer.n_samples == [30 * RATE]
    assert watch.notes == []


def test_who_is_found_but_says_nothing_leaves_no_hole_in_the_numbers(tmp_path: Path) -> None:
    diarizer = ScriptedDiarizer(Turn(0.0, 0.5, S1), Turn(1.0, 12.0, S2), Turn(19.0, 26.0, S3))
    transcript, _ = transcribe(write_tones(tmp_path, [(0, 30, LOW)]), UNNAMED, diarizer)
    assert who(transcript) == [S1, S1, S2]


def test_more_speakers_than_can_be_told_apart_are_said(tmp_path: Path) -> None:
    options = replace(OPTIONS, speakers=SpeakerOptions(speakers="3"))
    path = write_tones(tmp_path, [(0, 30, LOW)])
    _, watch = transcribe(path, UNNAMED, ScriptedDiarizer(Turn(1.0, 26.0, S1)), options=options)
    (note,) = watch.notes
    assert note.startswith(f"{path}: 3 speakers were asked for")


TWO_PEOPLE = [(1, 4, LOW), (4, 8, HIGH), (10, 14, HIGH), (14, 17, LOW), (19, 22, LOW), (22, 26, HIGH)]
TURNS = tuple(Turn(start, end, S1 if pitch == LOW else S2) for start, end, pitch in TWO_PEOPLE)


@pytest.mark.parametrize("rate", [RATE, 24_000])
@pytest.mark.parametrize("numbers", [(0, 1, 0, 1, 0, 1), (5, 2, 0, 9, 1, 0)])
def test_people_keep_their_names_across_chunks_however_each_chunk_numbers_them(
    tmp_path: Path, numbers: Sequence[int], rate: int
) -> None:
    script = say(*((start, end, number) for (start, end, _), number in zip(TWO_PEOPLE, numbers, strict=True)))
    transcript, _ = transcribe(write_tones(tmp_path, TWO_PEOPLE), script, ScriptedDiarizer(*TURNS), rate=rate)
    assert who(transcript) == [S1, S2, S2, S1, S1, S2]


def test_without_diarization_names_hold_in_their_chunk_alone(tmp_path: Path) -> None:
    script = say((1, 4, 0), (4, 8, 1), (10, 14, 0))
    transcript, _ = transcribe(write_tones(tmp_path, TWO_PEOPLE), script, None)
    assert who(transcript) == ["c0-S0", "c0-S1", "c1-S0"]


def test_the_speakers_of_a_single_chunk_need_no_diarizer(tmp_path: Path) -> None:
    diarizer = ScriptedDiarizer(Turn(1.0, 8.0, S1))
    transcript, _ = transcribe(write_tones(tmp_path, TWO_PEOPLE), say((1, 1.3, 7), (1.4, 4, 3), (4, 8, 7)), diarizer)
    assert who(transcript) == [S1, S2, S1]
    assert diarizer.n_samples == []


def test_two_speakers_of_a_chunk_are_two_people_even_in_one_turn(tmp_path: Path) -> None:
    script = say((1, 4, 0), (4, 8, 1), (10, 14, 0))
    diarizer = ScriptedDiarizer(Turn(1.0, 26.0, S1))
    transcript, _ = transcribe(write_tones(tmp_path, [(0, 30, LOW)]), script, diarizer)
    first, second, _ = who(transcript)
    assert {first, second} == {S1, S2}


def test_somebody_whom_the_diarizer_missed_is_one_new_person_in_all_chunks(tmp_path: Path) -> None:
    tones = [(1, 4, LOW), (4, 8, MIDDLE), (10, 13, LOW), (13, 17, MIDDLE), (19, 22, LOW), (22, 26, MIDDLE)]
    script = say(*((start, end, 0 if pitch == LOW else 1) for start, end, pitch in tones))
    low_turns = (Turn(start, end, S1) for start, end, pitch in tones if pitch == LOW)
    diarizer = ScriptedDiarizer(*low_turns, voices=[Voice(S1, to_voice(LOW), 9.0)])
    transcript, _ = transcribe(write_tones(tmp_path, tones), script, diarizer)
    assert who(transcript) == [S1, S2, S1, S2, S1, S2]


def test_a_segment_that_the_engine_left_unnamed_goes_to_who_talks_there(tmp_path: Path) -> None:
    script = say((1, 4, 0), (4, 8, 1), (10, 14, None), (14, 17, 0), (19, 22, 0))
    transcript, _ = transcribe(write_tones(tmp_path, TWO_PEOPLE), script, ScriptedDiarizer(*TURNS))
    assert who(transcript) == [S1, S2, S2, S1, S1]


def iter_scripts() -> Iterator[list[ScriptEntry]]:
    """The engine names nobody; people in several chunks; people in one chunk."""
    yield say(*((start, end, None) for start, end, _ in TWO_PEOPLE))
    yield say(*((start, end, 0 if pitch == LOW else 1) for start, end, pitch in TWO_PEOPLE))
    yield say(*((start, end, 0 if pitch == LOW else 1) for start, end, pitch in TWO_PEOPLE[:2]))


@pytest.mark.parametrize("script", list(iter_scripts()))
def test_an_enrolled_voice_has_its_name_and_the_others_their_numbers(tmp_path: Path, script: list[ScriptEntry]) -> None:
    voices = [Voice(S1, to_voice(LOW), 9.0), Voice(S2, to_voice(HIGH), 12.0)]
    diarizer = ScriptedDiarizer(*TURNS, voices=voices)
    enrolled = {ANN: to_voice(LOW), Speaker("Bob"): to_voice(MIDDLE)}
    path = write_tones(tmp_path, TWO_PEOPLE)
    transcript, watch = transcribe(path, script, diarizer, enrolled=enrolled)
    assert who(transcript) == [ANN, S1, S1, ANN, ANN, S1][: len(script)]
    assert watch.notes == [f"{path}: nobody in it is surely Bob"]
    assert transcript.provenance.enrolled == (ANN, "Bob")


def test_a_recording_in_which_nothing_is_said_is_not_diarized(tmp_path: Path) -> None:
    diarizer = ScriptedDiarizer(Turn(1.0, 26.0, S1))
    transcript, watch = transcribe(write_tones(tmp_path, [(0, 30, LOW)]), [], diarizer, enrolled={ANN: to_voice(LOW)})
    assert transcript.segments == ()
    assert diarizer.n_samples == []
    assert watch.notes == []


# One chunk would be too long: it is cut inside speech at 11 s, in the middle of a sentence of the higher voice.
LONG_SPEECH = ((1.0, 19.0),)
LONG_TONES = [(1, 5, LOW), (5, 15, HIGH), (15, 19, LOW)]
LONG_TURNS = tuple(Turn(start, end, S1 if pitch == LOW else S2) for start, end, pitch in LONG_TONES)
CUT_SENTENCE = [
    ScriptEntry(1.0, 5.0, "Well.", speaker=0),
    ScriptEntry(5.0, 10.9, "And then the", speaker=1),
    ScriptEntry(11.0, 15.0, "committee decided.", speaker=0),
    ScriptEntry(15.0, 19.0, "Did it?", speaker=1),
]


def show(transcript: Transcript) -> list[tuple[str, Speaker | None]]:
    return [(segment.text, segment.speaker) for segment in transcript.segments]


def test_a_sentence_cut_in_two_is_joined_when_it_is_known_that_one_person_says_both(tmp_path: Path) -> None:
    path = write_tones(tmp_path, LONG_TONES)
    transcript, _ = transcribe(path, CUT_SENTENCE, ScriptedDiarizer(*LONG_TURNS), speech=LONG_SPEECH)
    assert show(transcript) == [("Well.", S1), ("And then the committee decided.", S2), ("Did it?", S1)]
    assert (transcript.segments[1].start, transcript.segments[1].end) == (5.0, 15.0)
    unknown, _ = transcribe(path, CUT_SENTENCE, None, speech=LONG_SPEECH)
    assert [text for text, _ in show(unknown)] == ["Well.", "And then the", "committee decided.", "Did it?"]


def test_on_a_channel_all_is_said_by_one_person_and_a_sentence_cut_in_two_is_joined(tmp_path: Path) -> None:
    options = replace(OPTIONS, audio=AudioOptions(channels="speakers"))
    path = write_tones(tmp_path, LONG_TONES)
    transcript, _ = transcribe(path, CUT_SENTENCE, None, options=options, speech=LONG_SPEECH)
    assert show(transcript) == [("Well.", None), ("And then the committee decided.", None), ("Did it?", None)]


class ApartEngine(ScriptedEngine):
    """Decodes what is said from 4 s of a chunk on apart, and numbers its speakers anew."""

    def decode(self, jobs: Iterable[Job]) -> Iterator[Answer]:
        for answer in super().decode(jobs):
            assert isinstance(answer.result, Hypothesis)
            told = [replace(each, part=int(each.start >= 4.0)) for each in answer.result.segments]
            yield replace(answer, result=replace(answer.result, segments=tuple(told)))


def test_people_keep_their_names_in_a_part_of_a_chunk_that_is_decoded_apart(tmp_path: Path) -> None:
    tones = [(1, 3, LOW), (3, 5, HIGH), (5, 7, HIGH), (7, 8.5, LOW)]
    turns = [Turn(start, end, S1 if pitch == LOW else S2) for start, end, pitch in tones]
    script = say((1, 3, 0), (3, 5, 1), (5, 7, 0), (7, 8.5, 1))
    path = write_tones(tmp_path, tones)
    diarizer = ScriptedDiarizer(*turns)
    transcript, _ = transcribe(path, script, diarizer, engine=ApartEngine(script), speech=SPEECH[:1])
    assert who(transcript) == [S1, S2, S2, S1]
    assert diarizer.n_samples == [30 * RATE]
    apart, _ = transcribe(path, script, None, engine=ApartEngine(script), speech=SPEECH[:1])
    assert who(apart) == ["c0-S0", "c0-S1", "c0.1-S0", "c0.1-S1"]
