"""How a phrase's bonus is spread over its characters, by the tokens in which the model would write it."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from murmur_cli.bias.fold import fold, fold_character, is_word
from murmur_cli.bias.vocabulary import Vocabulary

__all__ = ["AllocationOptions", "Phrase", "allocate", "measure_rarity", "tidy"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationOptions:
    """How much a phrase earns, and where in it.

    Attributes:
        first_score: What its first token earns, before damping.
        later_score: What token ``i`` earns, counted from 0, to which ``ln(i + 1)`` is added.
        sharpness: How much of a token's bonus comes late in its bytes, as an exponent: byte ``j`` gets a share in
            proportion to ``exp((j + 1) ** sharpness)``.
        frequent_rank: A first token up to this rank, which is about its place by frequency, begins so many other
            words that it earns nothing: its share goes to the later tokens.
        rare_rank: From this rank on it keeps its share; in between, part of it, by the logarithm.

    Source:
        The weights of tokens: NVIDIA-NeMo/NeMo, pull request 15800, context_score and depth_scaling. The damping was
        found on LibriSpeech test-other with Whisper base.
    """

    first_score: float = 1.0
    later_score: float = 1.0
    sharpness: float = 10.0
    frequent_rank: int = 300
    rare_rank: int = 20_000


@dataclass(frozen=True, slots=True)
class Phrase:
    """A folded phrase; ``potential`` is, after each of its characters, what it has earned up to there.

    An open phrase may go on in the same word.
    """

    text: str
    potential: tuple[float, ...]
    is_open: bool


def tidy(text: str) -> str:
    """Bring a phrase into the form in which it is tokenised: composed, with single spaces."""
    return unicodedata.normalize("NFC", " ".join(text.split()))


def allocate(
    text: str, vocabulary: Vocabulary, options: AllocationOptions, *, weight: float, is_open: bool
) -> Phrase | None:
    """Spread the bonus of a phrase over its characters; None if the tokenizer does not write the phrase as it is.

    Args:
        text: As a user writes it, tidy; it has a character that is no space.
        vocabulary: Of the model.
        options: How much, and where.
        weight: Multiplies everything.
        is_open: The phrase may go on in the same word.
    """
    lead = " " if is_word(fold_character(text[0])[0]) else ""
    tokens = list(vocabulary.encode(lead + text))
    if lead and vocabulary.pieces[tokens[0]] == b" ":
        tokens, lead = tokens[1:], ""
    pieces = [vocabulary.pieces[token] or b"" for token in tokens]
    if b"".join(pieces).decode(errors="replace") != lead + text:
        return None
    earned = _spread(pieces, _weigh(tokens, options), options.sharpness, n_skipped=len(lead))
    potential: list[float] = []
    place = len(lead)
    for character in text:
        place += len(character.encode())
        before = potential[-1] if potential else 0.0
        potential += [before] * (len(fold_character(character)) - 1) + [weight * earned[place - 1]]
    return Phrase(fold(text), tuple(potential), is_open)


def measure_rarity(token: int, options: AllocationOptions) -> float:
    """Tell how rare a token is by its number, from 0 for a frequent one to 1."""
    span = math.log(options.rare_rank) - math.log(options.frequent_rank)
    return min(max((math.log(token + 1) - math.log(options.frequent_rank)) / span, 0.0), 1.0)


def _weigh(tokens: Sequence[int], options: AllocationOptions) -> list[float]:
    """What each token earns."""
    later = [options.later_score + math.log(i + 1) for i in range(1, len(tokens))]
    if not later:
        return [options.first_score]
    first = options.first_score * measure_rarity(tokens[0], options)
    more = (options.first_score - first) / sum(later)
    return [first, *(each * (1 + more) for each in later)]


def _spread(pieces: Sequence[bytes], weights: Sequence[float], sharpness: float, *, n_skipped: int) -> list[float]:
    """What is earned up to the end of each byte; the first ``n_skipped`` bytes earn nothing."""
    earned, total = [0.0] * n_skipped, 0.0
    for number, (piece, weight) in enumerate(zip(pieces, weights, strict=True)):
        n_bytes = len(piece) - (n_skipped if number == 0 else 0)
        heights = [(j + 1.0) ** sharpness - float(n_bytes) ** sharpness for j in range(n_bytes)]
        shares = [math.exp(height) for height in heights]
        scale, running = weight / sum(shares), 0.0
        for share in shares[:-1]:
            running += share * scale
            earned.append(total + running)
        total += weight
        earned.append(total)
    return earned
