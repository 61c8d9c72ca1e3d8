"""The tokens of a VibeVoice: its tokenizer, and the numbers of those that steer it.

Numbers are read by name from the tokenizer of the checkpoint, never assumed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tokenizers import Tokenizer

from murmur_cli.errors import WeightsError

__all__ = ["Vocabulary", "find_chunk_end", "read_vocabulary"]

_END = "<|endoftext|>"
_PAD = "<|image_pad|>"
_AUDIO_BEGIN, _AUDIO_END, _AUDIO = "<|object_ref_start|>", "<|object_ref_end|>", "<|box_start|>"
_CHUNK_END = "<|text_chunk_end|>"
_NAMES = (_END, "<|im_start|>", "<|im_end|>", _AUDIO_BEGIN, _AUDIO_END, _AUDIO, _PAD)
_HINT = "give the tokenizer that was published with the weights, or Qwen2.5's"


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """A tokenizer and its special tokens.

    Attributes:
        tokenizer: It takes control tokens in a text for what they are.
        end: Ends an answer, and nothing else does.
        pad: Stands where nothing stands.
        audio_begin: Before the audio.
        audio_end: After the audio.
        audio: The placeholder of one frame.
        specials: All tokens that steer the model.
    """

    tokenizer: Tokenizer
    end: int
    pad: int
    audio_begin: int
    audio_end: int
    audio: int
    specials: frozenset[int]

    def encode(self, text: str) -> list[int]:
        """Turn a text into tokens; a control token in it becomes one."""
        return self.tokenizer.encode(text, add_special_tokens=False).ids

    def decode(self, tokens: Sequence[int]) -> str:
        """Turn tokens into text, without those that steer the model."""
        return self.tokenizer.decode(list(tokens), skip_special_tokens=True)

    def decode_text(self, tokens: Sequence[int]) -> str:
        """Turn tokens into text, without any that were added to those of the language."""
        added = self.tokenizer.get_added_tokens_decoder()
        return self.decode([token for token in tokens if token not in added])


def read_vocabulary(folder: Path) -> Vocabulary:
    """Read ``tokenizer.json`` of a checkpoint.

    Raises:
        WeightsError: There is none, it cannot be read, or it lacks a token that the model needs.
    """
    path = folder / "tokenizer.json"
    if not path.is_file():
        raise WeightsError("the tokenizer is missing", where=str(path), hint=_HINT)
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # tokenizers raises nothing more special
        raise WeightsError(f"is no tokenizer: {error}", where=str(path), hint=_HINT) from error
    tokenizer.no_truncation()  # a file may ask for either, which would cut or fill prompts
    tokenizer.no_padding()
    numbers = {name: _find_token(tokenizer, name, path) for name in _NAMES}
    added = tokenizer.get_added_tokens_decoder()
    return Vocabulary(
        tokenizer=tokenizer,
        end=numbers[_END],
        pad=numbers[_PAD],
        audio_begin=numbers[_AUDIO_BEGIN],
        audio_end=numbers[_AUDIO_END],
        audio=numbers[_AUDIO],
        specials=frozenset(number for number, token in added.items() if token.special),
    )


def find_chunk_end(vocabulary: Vocabulary, *, where: Path) -> int:
    """Find the token that ends a chunk of a live session.

    Args:
        vocabulary: The model's tokens.
        where: The checkpoint's folder, for messages.

    Raises:
        WeightsError: There is none: the tokenizer is not that of a model that streams.
    """
    return _find_token(vocabulary.tokenizer, _CHUNK_END, where / "tokenizer.json")


def _find_token(tokenizer: Tokenizer, name: str, path: Path) -> int:
    number = tokenizer.token_to_id(name)
    if number is None or tokenizer.encode(name, add_special_tokens=False).ids != [number]:
        raise WeightsError(f"has no token {name}, so it is not VibeVoice's", where=str(path), hint=_HINT)
    return number
