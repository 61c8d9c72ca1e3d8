"""How the local speakers of chunks sound: what each of them says alone, as one voice.

A part of a chunk that was decoded apart is like a chunk of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from murmur_cli.speakers.diarize import Voice
from murmur_cli.speakers.evidence import LocalTalk
from murmur_cli.speakers.timeline import leave_out, unite
from murmur_cli.speakers.voices import LEAST_VOICE_S, SpeakerEmbedder, average_voice
from murmur_cli.speakers.windows import SPEAKER_RATE
from murmur_cli.types import ChunkPart, LocalSpeaker, Samples, Speaker, Stretch

__all__ = ["gather_voices", "hear_voices"]

_MOST_S = 30.0  # more says nothing new. Source: murmur's study of diarization


def hear_voices(
    talks: Sequence[LocalTalk], *, read: Callable[[Stretch], Samples], embedder: SpeakerEmbedder
) -> list[LocalTalk]:
    """Give every local speaker a voice who talks long enough for one.

    It is taken from where nobody else of the chunk talks. Who never talks alone has a voice all the
    same, with no clean speech behind it, so that it has no vote.

    Args:
        talks: All local speakers of their chunks.
        read: Reads a stretch of the recording at ``SPEAKER_RATE``, shape (n_samples,).
        embedder: What hears a voice.
    """
    by_place: dict[ChunkPart, list[LocalTalk]] = {}
    for talk in talks:
        by_place.setdefault(talk.place, []).append(talk)
    return [_hear(talk, by_place[talk.place], read=read, embedder=embedder) for talk in talks]


def gather_voices(talks: Sequence[LocalTalk], cast: Mapping[tuple[ChunkPart, LocalSpeaker], Speaker]) -> list[Voice]:
    """Average the voices of those local speakers who are one person.

    Args:
        talks: Local speakers as ``hear_voices`` gives them.
        cast: Who they are, by their place and their number in it.

    Returns:
        A voice for everybody who was heard alone.
    """
    heard: dict[Speaker, list[LocalTalk]] = {}
    for talk in talks:
        if talk.vector is not None and talk.speech_s > 0.0:
            heard.setdefault(cast[talk.place, talk.speaker], []).append(talk)
    return [_average(speaker, own) for speaker, own in heard.items()]


def _average(speaker: Speaker, talks: Sequence[LocalTalk]) -> Voice:
    seconds = np.array([talk.speech_s for talk in talks])
    vectors = np.array([talk.vector for talk in talks])
    return Voice(speaker, average_voice(vectors, seconds), float(seconds.sum()))


def _hear(
    talk: LocalTalk, chunk: Sequence[LocalTalk], *, read: Callable[[Stretch], Samples], embedder: SpeakerEmbedder
) -> LocalTalk:
    clean = leave_out(talk.stretches, [each for other in chunk if other is not talk for each in other.stretches])
    clean_s = sum(each.end - each.start for each in clean)
    heard = _take_first(clean if clean_s >= LEAST_VOICE_S else unite(talk.stretches))
    samples = np.concatenate([np.zeros(0, np.float32), *(read(stretch) for stretch in heard)])
    if len(samples) < LEAST_VOICE_S * SPEAKER_RATE:
        return talk
    return replace(talk, vector=embedder.embed(samples), speech_s=min(clean_s, len(samples) / SPEAKER_RATE))


def _take_first(stretches: Sequence[Stretch]) -> list[Stretch]:
    taken: list[Stretch] = []
    room = _MOST_S
    for stretch in stretches:
        if room <= 0.0:
            break
        taken.append(Stretch(stretch.start, min(stretch.end, stretch.start + room)))
        room -= stretch.end - stretch.start
    return taken
