"""What the language model reads before it writes: who it is, the audio, and what is wanted.

The texts are those that the model was trained with, token for token. What a user writes cannot steer it: no
control token comes in through a context.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NewType

from transformers.models.whisper.tokenization_whisper import LANGUAGES

from murmur_cli.models.vibevoice.frames import SAMPLE_RATE, count_frames
from murmur_cli.models.vibevoice.vocabulary import Vocabulary
from murmur_cli.models.whisper.languages import find_language

__all__ = [
    "PlainText",
    "Prompt",
    "build_prompt",
    "check_wishes",
    "encode_stream_prompt",
    "make_extra_info",
    "strip_control_tokens",
]

PlainText = NewType("PlainText", str)
"""A text without control tokens."""

_SYSTEM = "You are a helpful assistant that transcribes audio input into text output in JSON format."
_KEYS = "transcribe it with these keys: Start time, End time, Speaker ID, Content"
_STREAM = (
    "You are a helpful assistant that transcribes audio input into text output. Please transcribe the following audios"
    " streamingly with these keys: speaker, content"
)
_CONTROL = re.compile(r"<\|.*?\|>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Prompt:
    """The tokens of a prompt; ``n_frames`` placeholders from ``audio_start`` on stand for the audio."""

    tokens: tuple[int, ...]
    audio_start: int
    n_frames: int


def strip_control_tokens(text: str) -> tuple[PlainText, bool]:
    """Take everything of the form ``<|…|>`` out of a user's text.

    What is left after one pass may have come together to a new one, so it is repeated.

    Returns:
        The text, and whether anything was taken out.
    """
    left = text
    while (shorter := _CONTROL.sub("", left)) != left:
        left = shorter
    return PlainText(left), left != text


def make_extra_info(context: PlainText | None, *, language: str | None) -> PlainText | None:
    """Put together what the model is told beside the audio.

    Args:
        context: The user's text.
        language: A code such as ``de``. It is a wish: the model has no other way to be told, and may ignore it.

    Returns:
        One text, or None where there is nothing to tell.
    """
    name = LANGUAGES[language].title() if language in LANGUAGES else language
    wish = f"The spoken language is {name}." if name else ""
    plain, _ = strip_control_tokens(" ".join(part for part in (wish, context or "") if part.strip()))
    return plain or None


def check_wishes(context: str | None, *, language: str | None, on_note: Callable[[str], None]) -> None:
    """Say what becomes of a user's wishes.

    Args:
        context: The user's text.
        language: What the user calls the spoken language.
        on_note: Is told.

    Raises:
        UsageError: There is no such language.
    """
    if language is not None:
        find_language(language, codes=LANGUAGES)
        on_note("--language: the model is told, but need not obey")
    if context is not None and strip_control_tokens(context)[1]:
        on_note("--context: what looks like the model's control tokens, <|…|>, was taken out")


def build_prompt(vocabulary: Vocabulary, *, n_samples: int, extra_info: PlainText | None) -> Prompt:
    """Write the prompt of a chunk.

    Args:
        vocabulary: The model's tokens.
        n_samples: Length of the audio, before it is filled up to whole frames.
        extra_info: What the model should know, see ``make_extra_info``.

    Source:
        microsoft/VibeVoice-ASR-HF, chat_template.jinja, as transformers@v5.24.0,
        models/vibevoice_asr/processing_vibevoice_asr.py fills it in. There is no generation prompt.
    """
    n_frames = count_frames(n_samples)
    wish = f"with extra info: {extra_info}\n\nPlease" if extra_info else "please"
    before = vocabulary.encode(f"<|im_start|>system\n{_SYSTEM}<|im_end|>\n<|im_start|>user\n")
    after = vocabulary.encode(f"\nThis is a {n_samples / SAMPLE_RATE:.2f} seconds audio, {wish} {_KEYS}<|im_end|>\n")
    # A special token is a border that no other token crosses: these parts are the whole, tokenised.
    audio = (vocabulary.audio_begin, *(vocabulary.audio,) * n_frames, vocabulary.audio_end)
    return Prompt((*before, *audio, *after), audio_start=len(before) + 1, n_frames=n_frames)


def encode_stream_prompt(vocabulary: Vocabulary, *, extra_info: PlainText | None) -> list[int]:
    """Write what a session begins with: plain text, without a chat template.

    Args:
        vocabulary: The model's tokens.
        extra_info: What the model should know, see ``make_extra_info``.

    Source:
        microsoft/VibeVoice@1541f59.
    """
    wish = f" and extra info: {extra_info}" if extra_info else ""
    return vocabulary.encode(f"{_STREAM}{wish}\n")
