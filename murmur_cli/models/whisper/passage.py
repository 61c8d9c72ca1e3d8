"""What a window says, and what that is worth: tokens and their times made into words."""

from __future__ import annotations

import math
from dataclasses import dataclass

from murmur_cli.decode.repetition import compression_ratio, find_loop, is_spoken
from murmur_cli.models.whisper.guards import Verdict, is_hopeless, judge
from murmur_cli.models.whisper.task import Reading
from murmur_cli.models.whisper.times import Stretch, clean_times, find_unread
from murmur_cli.models.whisper.words import TokenWord, split_words
from murmur_cli.types import Chunk, Word

__all__ = ["Draft", "Passage", "choose_passage", "make_passage"]

_COMPRESSED = 2.4  # openai/whisper@v20240930, whisper/transcribe.py, compression_ratio_threshold
_UNREAD_S = 2.0  # seconds of speech between two words that make a text doubtful


@dataclass(frozen=True, slots=True)
class Draft:
    """What the model wrote about a window.

    Attributes:
        reading: The text in tokens.
        pieces: The bytes of every token.
        starts: Seconds of the window at which every token begins, and at which the last one ends.
        no_speech: The model's probability that nobody speaks.
    """

    reading: Reading
    pieces: tuple[bytes, ...]
    starts: tuple[float, ...]
    no_speech: float


@dataclass(frozen=True, slots=True)
class Passage:
    """What a window says.

    Attributes:
        window: The window, in samples.
        words: With clean times, in seconds of the window.
        verdict: What the text is worth.
        mean_logprob: Of the text.
        unread: Where in the window there is much speech without words.
        broken_s: Where in the window the words break off, because what follows cannot be believed.
        changed: One per word: a list of keywords chose some of it.
    """

    window: Chunk
    words: tuple[Word, ...]
    verdict: Verdict
    mean_logprob: float
    unread: tuple[Stretch, ...]
    broken_s: float | None
    changed: tuple[bool, ...] = ()

    @property
    def is_good(self) -> bool:
        """The text can be believed."""
        return self.verdict in (Verdict.GOOD, Verdict.SILENT)

    @property
    def is_doubtful(self) -> bool:
        """Another reading may be better."""
        return not self.is_good or bool(self.unread)

    @property
    def ends_early(self) -> bool:
        """The text can be believed, but there is much speech behind it, and nowhere else."""
        return (
            self.verdict is Verdict.GOOD
            and bool(self.words)
            and len(self.unread) == 1
            and self.unread[0].start >= self.words[-1].end
        )


def make_passage(window: Chunk, draft: Draft, *, sample_rate: int, spaced: bool) -> Passage:
    """Judge what the model wrote, and make words of what can be believed.

    Args:
        window: What it wrote about, in samples.
        draft: What it wrote.
        sample_rate: Samples per second of the window.
        spaced: The language writes spaces between words.
    """
    text = b"".join(draft.pieces).decode("utf-8", errors="ignore")
    loop = find_loop(draft.reading.tokens)
    repeats = loop is not None or compression_ratio(text) > _COMPRESSED
    loops = repeats and not (draft.reading.ended and is_spoken(loop, draft.starts))
    verdict = judge(draft.reading, no_speech=draft.no_speech, loops=loops)
    if verdict is Verdict.SILENT:
        return Passage(window, (), verdict, draft.reading.mean_logprob, unread=(), broken_s=None)
    speech = [_to_stretch(window, part.start, part.end, sample_rate) for part in window.speech]
    token_words = split_words(draft.pieces, spaced=spaced) if any(map(str.isalnum, text)) else []
    words = clean_times([_to_word(word, draft) for word in token_words], speech)
    unread = find_unread(words, speech, least_s=_UNREAD_S)
    believed = words
    if is_hopeless(draft.reading) or (verdict is Verdict.UNLIKELY and unread):
        believed = []  # unlikely, and too few words for the speech: noise put into words
    elif loops and loop is not None:
        believed = words[: sum(word.last <= loop.start for word in token_words)]
    is_broken = verdict is Verdict.CUT_OFF or len(believed) < len(words)
    return Passage(
        window=window,
        words=tuple(believed),
        verdict=verdict,
        mean_logprob=draft.reading.mean_logprob,
        unread=tuple(find_unread(believed, speech, least_s=_UNREAD_S)),
        broken_s=(believed[-1].end if believed else speech[0].start) if is_broken else None,
        changed=tuple(any(draft.reading.changed[w.first : w.last]) for w in token_words[: len(believed)]),
    )


def choose_passage(plain: Passage, listed: Passage, excused: Passage) -> Passage:
    """Choose between what was read without a list, and with it: no list makes speech of noise, nor noise of speech.

    Args:
        plain: Read without the list.
        listed: Read with it.
        excused: The same as ``listed``, but what the list chose does not count against it.
    """
    if plain.verdict in (Verdict.SILENT, Verdict.UNLIKELY):
        return plain
    if listed.verdict is Verdict.GOOD:
        return listed
    return excused if plain.verdict is excused.verdict is Verdict.GOOD else plain


def _to_word(word: TokenWord, draft: Draft) -> Word:
    logprobs = draft.reading.logprobs[word.first : word.last]
    probability = sum(math.exp(logprob) for logprob in logprobs) / len(logprobs)
    return Word(draft.starts[word.first], draft.starts[word.last], word.text, min(1.0, probability))


def _to_stretch(window: Chunk, start: int, end: int, sample_rate: int) -> Stretch:
    return Stretch((start - window.span.start) / sample_rate, (end - window.span.start) / sample_rate)
