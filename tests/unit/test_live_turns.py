"""Who says which words of one utterance."""

from __future__ import annotations

import numpy as np

from murmur_cli.speakers.live_turns import hear_turns, split_segments
from murmur_cli.speakers.online import OnlineSpeakers
from murmur_cli.speakers.voices import VOICE_SIZE, VoiceVector
from murmur_cli.types import HypSegment, Samples, Span, Speaker, Turn, Word

RATE = 16_000
ANN, BOB = Speaker("S1"), Speaker("S2")


class Pitched:
    """Takes the sign of a signal for a voice."""

    def __init__(self) -> None:
        self.heard: list[int] = []

    def embed(self, samples: Samples) -> VoiceVector:
        self.heard.append(len(samples))
        vector = np.zeros(VOICE_SIZE, np.float32)
        vector[0 if samples[0] > 0 else 1] = 1.0
        return vector


def span(start_s: float, end_s: float) -> Span:
    return Span(round(start_s * RATE), round(end_s * RATE))


def make_segment(*words: tuple[float, float, str]) -> HypSegment:
    made = tuple(Word(start, end, text, 0.9) for start, end, text in words)
    text = "".join(word.text for word in made).strip()
    return HypSegment(made[0].start, made[-1].end, text, None, made, "en")


def test_each_part_between_pauses_is_heard_by_itself_and_without_them() -> None:
    signal = np.ones(10 * RATE, np.float32)
    signal[5 * RATE :] = -1.0
    embedder, speakers = Pitched(), OnlineSpeakers()
    speech = [span(0, 1), span(1.25, 2), span(5, 6), span(6.5, 7.5), span(7.75, 8)]
    turns = hear_turns(speech, speakers, embedder, read=lambda part: signal[part.start : part.end])
    assert turns == [Turn(0.0, 2.0, ANN), Turn(5.0, 8.0, BOB)]
    assert embedder.heard == [round(1.75 * RATE), round(2.25 * RATE)]
    assert hear_turns([span(9, 9.3)], speakers, embedder, read=lambda part: signal[part.start : part.end]) == [
        Turn(9.0, 9.3, BOB)  # too short to be heard
    ]
    assert len(embedder.heard) == 2


def test_a_segment_is_split_where_the_speaker_changes() -> None:
    segments = [
        make_segment((0.0, 0.5, " One"), (0.5, 1.9, " two,"), (2.2, 2.6, " three,"), (3.1, 3.5, " four.")),
        make_segment((4.0, 4.5, " Five.")),
    ]
    turns = [Turn(0.0, 2.0, ANN), Turn(2.4, 2.7, ANN), Turn(3.0, 5.0, BOB)]
    parts = list(split_segments(segments, turns))
    assert [(part.start, part.end, part.text, speaker) for part, speaker in parts] == [
        (0.0, 2.6, "One two, three,", ANN),
        (3.1, 3.5, "four.", BOB),
        (4.0, 4.5, "Five.", BOB),
    ]
    assert [word for part, _ in parts for word in part.words] == [w for segment in segments for w in segment.words]


def test_a_word_in_a_pause_is_said_by_the_nearer_one() -> None:
    turns = [Turn(0.0, 2.0, ANN), Turn(3.0, 5.0, BOB)]
    near = make_segment((2.1, 2.5, " Near"), (2.5, 2.9, " far"))
    assert [(part.text, speaker) for part, speaker in split_segments([near], turns)] == [("Near", ANN), ("far", BOB)]
