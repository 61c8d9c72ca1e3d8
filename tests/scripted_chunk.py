"""A model that knows what is said in a chunk, or what to write instead, and drives ``ChunkReading`` as engines do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from answer_texts import ToyTokenizer, write_answer, write_entry

from murmur_cli.decode.heard import MarkedText
from murmur_cli.decode.rescue import Attempt, ChunkReading
from murmur_cli.decode.runaway import RunawayWatcher
from murmur_cli.types import DecodeError, HypGap, Hypothesis, Span

RATE = 1000
BLOCK = 16  # tokens between two looks


@dataclass(frozen=True)
class Line:
    """What is said, in seconds of the chunk."""

    start: float
    end: float
    text: str
    speaker: int | None = 0


@dataclass(frozen=True)
class Outcome:
    """What became of a chunk, and what was tried."""

    result: Hypothesis | DecodeError
    attempts: list[Attempt]

    @property
    def texts(self) -> list[str]:
        return [segment.text for segment in self.hypothesis.segments]

    @property
    def hypothesis(self) -> Hypothesis:
        assert isinstance(self.result, Hypothesis), self.result
        return self.result

    @property
    def gaps(self) -> tuple[HypGap, ...]:
        return self.hypothesis.gaps

    @property
    def temperatures(self) -> list[float]:
        return [attempt.temperature for attempt in self.attempts]


Write = Callable[[Attempt], str]
"""What a model writes about an attempt, to the token that ends it; a text that ends with … never comes to an end."""


def hear(truth: Sequence[Line], attempt: Attempt) -> list[Line]:
    """What is said in the audio of an attempt and not in its prefix, in its time. Speakers are numbered anew."""
    offset = attempt.span.start / RATE
    inside = [line for line in truth if offset <= line.start < attempt.span.end / RATE]
    numbers = {speaker: i for i, speaker in enumerate(dict.fromkeys(line.speaker for line in inside))}
    heard = [Line(line.start - offset, line.end - offset, line.text, numbers[line.speaker]) for line in inside]
    return [line for line in heard if write_line(line) not in attempt.prefix]


def write_line(line: Line) -> str:
    return write_entry(line.start, line.end, line.text, line.speaker)


def write_well(truth: Sequence[Line], attempt: Attempt) -> str:
    """What a good model writes."""
    text = write_answer(map(write_line, hear(truth, attempt)))
    return text.removeprefix("assistant\n[") if attempt.prefix else text


def to_speech(lines: Sequence[Line]) -> list[Span]:
    """Where a VAD would find them."""
    return [Span(max(round((line.start - 0.2) * RATE), 0), round((line.end + 0.2) * RATE)) for line in lines]


def read_chunk(write: Write, *, seconds: float, speech: Sequence[Span], takes_last: bool = False) -> Outcome:
    """Read a chunk to its end.

    Args:
        write: The model.
        seconds: Length of the chunk.
        speech: In samples.
        takes_last: Whether of what is asked for at once the last is decoded first.
    """
    reading = ChunkReading(round(seconds * RATE), speech, sample_rate=RATE, seed=7)
    waiting, attempts = [reading.first()], []
    while waiting:
        assert not reading.is_done
        attempts.append(waiting.pop(-1 if takes_last else 0))
        text, stopped, halted = decode(write, attempts[-1])
        waiting += reading.take(attempts[-1], MarkedText(text), stopped=stopped, halted=halted)
    assert reading.is_done
    assert reading.n_retries == len(attempts) - 1
    return Outcome(reading.finish(), attempts)


def decode(write: Write, attempt: Attempt) -> tuple[str, bool, str | None]:
    """What a decoder with a watcher and a budget makes of what the model writes."""
    tokenizer = ToyTokenizer()
    written = write(attempt)
    tokens = tokenizer.encode(written)
    seconds = attempt.span.n_samples / RATE
    n_most = max(256, int(12 * seconds)) - len(tokenizer.encode(attempt.prefix))
    watcher = RunawayWatcher(tokenizer.decode, duration=seconds)
    for first in range(0, min(len(tokens), n_most), BLOCK):
        past = min(first + BLOCK, n_most)
        halted = watcher.look(tokens[first:past]).halt
        if halted is not None and past < len(tokens):
            return tokenizer.decode(tokens[:past]), False, halted
    return tokenizer.decode(tokens[: max(n_most, 0)]), len(tokens) <= n_most, None
