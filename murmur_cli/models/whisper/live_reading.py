"""An utterance read while people wait: with little silence behind it, and once more if that was not enough.

With all the silence that the encoder can hear a reading takes half as long again. With little, the model now and then
says a part twice; what reads like that is read again with all of it.
"""

from __future__ import annotations

from murmur_cli.decode.repetition import says_again
from murmur_cli.models.whisper.checkpoint import Checkpoint
from murmur_cli.models.whisper.chunk_reading import read_chunk
from murmur_cli.models.whisper.ear import Ear
from murmur_cli.models.whisper.seams import shift_reading
from murmur_cli.speech.utterances import Utterance
from murmur_cli.speech.vad import VAD_RATE
from murmur_cli.types import Hypothesis

__all__ = ["SILENCE_S", "read_utterance"]

SILENCE_S = 6.0
"""What the encoder hears behind an utterance, at first, in seconds: with 3 s and less, many texts loop."""


def read_utterance(checkpoint: Checkpoint, utterance: Utterance, *, language: str, ear: Ear | None) -> Hypothesis:
    """Read all that is heard of an utterance, what is known of it too; times are those of the session.

    Args:
        checkpoint: The model.
        utterance: At 16 kHz.
        language: Its code.
        ear: What is listened for.
    """
    chunk, samples = utterance.chunk, utterance.samples
    said = read_chunk(checkpoint, chunk, samples, language=language, silence_s=SILENCE_S, ear=ear)
    if said.gaps or says_again([word.text for segment in said.segments for word in segment.words]):
        said = read_chunk(checkpoint, chunk, samples, language=language, ear=ear)
    return shift_reading(said, chunk.span.start / VAD_RATE)
