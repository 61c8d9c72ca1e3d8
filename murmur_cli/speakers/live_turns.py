"""Who says which words of one utterance: parts between its pauses, each the voice of one person."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby, pairwise

import numpy as np

from murmur_cli.speakers.online import OnlineSpeakers, split_at_pauses
from murmur_cli.speakers.voices import LEAST_VOICE_S, SpeakerEmbedder
from murmur_cli.types import SPEECH_RATE, HypSegment, Samples, Span, Speaker, Turn

__all__ = ["hear_turns", "split_segments"]


def hear_turns(
    speech: Sequence[Span], speakers: OnlineSpeakers, embedder: SpeakerEmbedder, *, read: Callable[[Span], Samples]
) -> list[Turn]:
    """Hear who speaks in an utterance, part by part.

    Args:
        speech: What is spoken of it: sorted disjoint spans, without padding, in samples at ``SPEECH_RATE``.
        speakers: Of the session so far; the utterance is added to them.
        embedder: Hears how a voice sounds.
        read: Gives the signal of a span, shape (n_samples,).

    Returns:
        A turn for each part, from its first to its last speech, in seconds of the session.
    """
    turns = []
    for part in split_at_pauses(speech):
        heard = np.concatenate([read(span) for span in part])
        speech_s = len(heard) / SPEECH_RATE
        vector = embedder.embed(heard) if speech_s >= LEAST_VOICE_S else None
        speaker = speakers.assign(vector, speech_s=speech_s)
        turns.append(Turn(part[0].start / SPEECH_RATE, part[-1].end / SPEECH_RATE, speaker))
    return turns


def split_segments(segments: Sequence[HypSegment], turns: Sequence[Turn]) -> Iterator[tuple[HypSegment, Speaker]]:
    """Split segments where the speaker changes, word by word.

    Args:
        segments: With words, on the clock of the turns.
        turns: In order, at least one; a word in the pause between two is said by the nearer one.

    Yields:
        Segments with their speakers, in order; together they have all words.
    """
    borders = [(left.end + right.start) / 2 for left, right in pairwise(turns)]
    for segment in segments:
        said = [
            (turns[sum((word.start + word.end) / 2 > at for at in borders)].speaker, word) for word in segment.words
        ]
        for speaker, group in groupby(said, key=lambda pair: pair[0]):
            words = tuple(word for _, word in group)
            text = "".join(word.text for word in words).strip()
            yield replace(segment, start=words[0].start, end=words[-1].end, text=text, words=words), speaker
