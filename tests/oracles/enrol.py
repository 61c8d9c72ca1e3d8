"""Names given to speakers by trying every way to give them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from murmur_cli.speakers.diarize import Voice
from murmur_cli.speakers.voices import VoiceVector
from murmur_cli.types import Speaker


def match_plainly(enrolled: Mapping[Speaker, VoiceVector], voices: Sequence[Voice]) -> dict[Speaker, Speaker]:
    """The one-to-one assignment of sure matches with the largest sum of cosines."""
    best: tuple[float, dict[Speaker, Speaker]] = (-1.0, {})
    for choice in itertools.product([None, *enrolled], repeat=len(voices)):
        given = [name for name in choice if name is not None]
        if len(set(given)) < len(given):
            continue
        pairs = [(voice, name) for voice, name in zip(voices, choice, strict=True) if name is not None]
        if all(_is_sure(voice, name, enrolled) for voice, name in pairs):
            total = sum(_cosine(voice.vector, enrolled[name]) for voice, name in pairs)
            if total > best[0]:
                best = (total, {voice.speaker: name for voice, name in pairs})
    return best[1]


def _cosine(left: VoiceVector, right: VoiceVector) -> float:
    return sum(float(a) * float(b) for a, b in zip(left, right, strict=True))


def _is_sure(voice: Voice, name: Speaker, enrolled: Mapping[Speaker, VoiceVector]) -> bool:
    cosine = _cosine(voice.vector, enrolled[name])
    others = [_cosine(voice.vector, vector) for other, vector in enrolled.items() if other != name]
    return voice.speech_s >= 3.0 and cosine >= 0.45 and all(cosine - other >= 0.10 for other in others)
