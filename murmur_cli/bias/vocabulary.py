"""The tokens of a model as bytes, whichever library knows them, and how it writes a phrase with them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tokenizers import Tokenizer

from murmur_cli.errors import UsageError

__all__ = ["BYTE_LETTERS", "Vocabulary", "read_vocabulary"]

_HINT = "keywords need a model with a byte-level BPE tokenizer, such as Whisper or VibeVoice"


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Tokens by number.

    Attributes:
        pieces: The bytes of each token; None for one that stands for no text: control tokens, timestamps, and numbers
            that the model has and the tokenizer has not.
        encode: Writes a text in tokens as the model would, in none that stand for no text.
        sha256: Of all that these depend on.
    """

    pieces: tuple[bytes | None, ...]
    encode: Callable[[str], Sequence[int]]
    sha256: str


def read_vocabulary(path: Path, *, n_tokens: int | None = None) -> Vocabulary:
    """Read a ``tokenizer.json``.

    Args:
        path: Of the file.
        n_tokens: How many the model counts, if they are more than the tokenizer has.

    Raises:
        UsageError: It cannot be read, or it is no byte-level BPE, so that keywords cannot be followed in its tokens.
    """
    try:
        content = path.read_bytes()
        described = json.loads(content)
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot be read: {error}", where=str(path), hint=_HINT) from error
    if not isinstance(described, dict) or not _is_byte_level(described):
        raise UsageError("is not the tokenizer of a model that keywords can be given to", where=str(path), hint=_HINT)
    numbers = {str(token): int(number) for token, number in described["model"]["vocab"].items()}
    added = {int(token["id"]) for token in described.get("added_tokens") or ()}
    n_rows = max([n_tokens or 0, 1 + max(numbers.values(), default=0), 1 + max(added, default=0)])
    pieces: list[bytes | None] = [None] * n_rows
    for token, number in numbers.items():
        if number not in added:
            pieces[number] = _to_bytes(token, path) or None
    merges = described["model"]["merges"]
    lost = _find_lost_merge(numbers, merges)
    if lost is not None:
        merges.insert(0, " ".join(lost) if isinstance(merges[0], str) else [*lost])
    sha256 = hashlib.sha256(content + f" {n_rows} {lost}".encode()).hexdigest()
    return Vocabulary(tuple(pieces), _make_encode(described, path), sha256)


def _is_byte_level(described: Mapping[str, object]) -> bool:
    model, before = described.get("model"), described.get("pre_tokenizer")
    is_bpe = isinstance(model, dict) and isinstance(model.get("vocab"), dict) and model.get("type", "BPE") == "BPE"
    is_bpe = is_bpe and isinstance(model, dict) and isinstance(model.get("merges"), list)
    return is_bpe and "ByteLevel" in _iter_types(before)


def _iter_types(before: object) -> Iterator[str]:
    if isinstance(before, dict):
        yield str(before.get("type"))
        for each in before.get("pretokenizers") or ():
            yield from _iter_types(each)


def _find_lost_merge(numbers: Mapping[str, int], merges: Sequence[str | Sequence[str]]) -> str | None:
    """Find the token of two bytes that comes before all that merges make, and that none makes: the first was lost.

    Multilingual Whispers are published without theirs, a space and a t: by their files " the" would be two tokens, and
    that is not how the models write it.
    """
    made = ["".join(merge.split(" ") if isinstance(merge, str) else merge) for merge in merges]
    first = min((numbers[token] for token in made if token in numbers), default=0) - 1
    names = [token for token, number in numbers.items() if number == first and len(token) == 2]
    return names[0] if names else None


def _make_encode(described: Mapping[str, object], path: Path) -> Callable[[str], Sequence[int]]:
    """Build the tokenizer without its added tokens, so that no text can become one of them."""
    plain = {**described, "added_tokens": [], "post_processor": None, "truncation": None, "padding": None}
    try:
        tokenizer = Tokenizer.from_str(json.dumps(plain))
    except Exception as error:  # tokenizers raises nothing more special
        raise UsageError(f"is no tokenizer: {error}", where=str(path), hint=_HINT) from error

    def encode(text: str) -> Sequence[int]:
        ids: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    return encode


def _to_bytes(token: str, path: Path) -> bytes:
    try:
        return bytes(BYTE_LETTERS[letter] for letter in token)
    except KeyError as error:
        problem = f"has a token that stands for no bytes: {token!r}"
        raise UsageError(problem, where=str(path), hint=_HINT) from error


def _make_alphabet() -> dict[str, int]:
    """List the letter of every byte: printable ones stand for themselves, the others for U+0100 onward.

    Source:
        openai/gpt-2, src/encoder.py, bytes_to_unicode.
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(0x100) if byte not in set(printable)]
    letters = [*map(chr, printable), *(chr(0x100 + index) for index in range(len(others)))]
    return dict(zip(letters, [*printable, *others], strict=True))


BYTE_LETTERS = _make_alphabet()
"""The byte that each letter of byte-level BPE stands for."""
