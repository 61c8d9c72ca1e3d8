"""Answers that run away are ended early, and people who repeat themselves are left alone."""

from __future__ import annotations

from itertools import cycle

import pytest
from answer_texts import ToyTokenizer, write_answer, write_entry

from murmur_cli.decode.entries import Entry, iter_entries
from murmur_cli.decode.runaway import RunawayWatcher, find_standstill

DURATION = 300.0
BLOCK = 16  # tokens between two looks


def count_until_halt(text: str, *, duration: float = DURATION, block: int = BLOCK) -> int | None:
    """The tokens that are written until the row is ended; None: it never is."""
    tokenizer = ToyTokenizer()
    tokens = tokenizer.encode(text)
    watcher = RunawayWatcher(tokenizer.decode, duration=duration)
    for first in range(0, len(tokens), block):
        if watcher.look(tokens[first : first + block]).halt is not None:
            return first + block
    return None


GOOD = [write_entry(2 * i, 2 * i + 1.5, f"and this is sentence {i}") for i in range(3)]
N_GOOD = len(ToyTokenizer().encode(write_answer(GOOD)))


def begin(start: float, end: float, content: str) -> str:
    """An answer that goes well until an entry that does not end."""
    return write_answer([*GOOD, write_entry(start, end, content).removesuffix('"}')], closed=False)


LOOPS = {
    # microsoft/VibeVoice 193, 227, 373: to the token limit
    "the same word": (begin(6, 15.99, "malo, " * 5000), 170),
    "the same word in a moment": (begin(6, 6.5, "malo, " * 5000), 60),
    "the same word in an entry as long as the chunk": (begin(6, 300, "malo, " * 5000), 770),
    "the same word where no end is known": (write_answer(GOOD).removesuffix("]") + ',{"Start":6,' + "no " * 5000, 80),
    "the same sentence": (begin(6, 12.5, "Thank you for watching this video. " * 1000), 130),
    "the same paragraph": (begin(6, 12.5, "We go on and on, and we do not come to an end of it. " * 1000), 150),
    "ever new words": (begin(6, 9.5, " ".join(f"a{chr(97 + i % 26)}{i}" for i in range(9999))), 110),
    "the same entry": (write_answer([*GOOD, *[write_entry(6, 8, "Thank you.")] * 500]), 125),
    "the same two entries": (
        write_answer([*GOOD, *[write_entry(6, 8, "Thank you."), write_entry(6, 8, "Bye.", 1)] * 500]),
        240,
    ),
    "the same text, the times creep": (
        write_answer([*GOOD, *(write_entry(6 + i / 50, 8 + i / 50, "Thank you for watching.") for i in range(500))]),
        140,
    ),
    "entries with empty content": (write_answer([*GOOD, *[write_entry(6, 8, "")] * 500]), 115),
    "entries with empty content, the times advance": (
        write_answer([*GOOD, *(write_entry(6 + i, 7 + i, "") for i in range(500))]),
        115,
    ),
    "entries without content": (write_answer([*GOOD, *['{"Start":6.00,"End":8.00,"Speaker":0}'] * 500]), 115),
    "entries behind the end": (
        write_answer([*GOOD, *(write_entry(302 + i, 303 + i, f"so {i}") for i in range(500))]),
        140,
    ),
    "line breaks": (write_answer(GOOD).removesuffix("]") + "\n" * 5000, 75),
    "nothing but braces": (write_answer(GOOD).removesuffix("]") + ", { " * 5000, 75),
}


@pytest.mark.parametrize("shape", LOOPS)
def test_a_loop_is_ended_early(shape: str) -> None:
    text, n_most = LOOPS[shape]
    n_tokens = count_until_halt(text)
    assert n_tokens is not None
    assert n_tokens - N_GOOD <= n_most
    assert n_tokens > N_GOOD


SENTENCE = "It is the same sentence that she says again and again."
DIGITS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "zero"]

SPOKEN = {
    "a sentence 20 times, in 20 entries": write_answer(
        write_entry(3.1 * i, 3.1 * i + 2.8, SENTENCE) for i in range(20)
    ),
    "a sentence 20 times, in one entry": write_answer([*GOOD, write_entry(6, 66, " ".join([SENTENCE] * 20))]),
    "yes and no": write_answer(
        write_entry(0.4 * i, 0.4 * i + 0.3, ("Yes.", "No.")[i % 2], speaker=i % 2) for i in range(200)
    ),
    "a laugh": write_answer([write_entry(6, 21, "ha " * 75 + "ha")]),
    "three who greet at once": write_answer(write_entry(1, 2, "Good morning.", speaker=i) for i in range(3)),
    "the same speaker in three versions": write_answer([write_entry(1, 2, "Good morning.")] * 3),
    "counting, in entries": write_answer(
        write_entry(0.7 * i, 0.7 * i + 0.6, f"{DIGITS[i // 10 % 10]} {DIGITS[i % 10]}") for i in range(100)
    ),
    "counting, in one entry": write_answer([write_entry(0, 90, " ".join(DIGITS * 15))]),
    "a list of digits": write_answer([write_entry(0, 12, " ".join(["7 7 3 1"] * 15))]),
    "a telephone number": write_answer([write_entry(3, 7, "0 0 0 0 0 0 0 0 0 0 0 0 0")]),
    "music and silence": write_answer(
        write_entry(4 * i, 4 * i + 4, ("[Music]", "[Silence]")[i % 2], speaker=None) for i in range(70)
    ),
    "fast speech": write_answer(
        write_entry(10 * i, 10 * i + 10, " ".join(f"{word}{chr(97 + i)}" for word in DIGITS * 9)) for i in range(20)
    ),
    "one word in no time": write_answer(write_entry(i, i, "Okay, then, so be it.") for i in range(40)),
    "people who speak at once, one after the other": write_answer(
        write_entry(40 * i + 2 * j - (20 if j > 15 else 0), 40 * i + 2 * j, "Yes.", speaker=j // 16)
        for i in range(5)
        for j in range(32)
    ),
    "three that cannot be read": write_answer([*GOOD, *[write_entry(6, 8, "")] * 3, *GOOD, "x", "y", "z"]),
}


@pytest.mark.parametrize("shape", SPOKEN)
@pytest.mark.parametrize("block", [3, BLOCK])
def test_what_can_have_been_said_goes_on(shape: str, block: int) -> None:
    assert count_until_halt(SPOKEN[shape], block=block) is None


@pytest.mark.parametrize("seconds", [0.0, 2.0, 9.5])
def test_an_entry_has_15_tokens_a_second_and_32(seconds: float) -> None:
    text = begin(6, 6 + seconds, " ".join(f"a{chr(97 + i % 26)}{i}" for i in range(999)))
    n_before = len(ToyTokenizer().encode(write_answer(GOOD, closed=False))) - 1  # one token is the end and the brace
    assert count_until_halt(text, block=1) == n_before + int(15 * seconds + 32) + 1


def test_an_entry_has_no_more_time_than_there_is_in_the_chunk() -> None:
    words = begin(6, 300, " ".join(f"a{chr(97 + i % 26)}{i}" for i in range(9999)))
    n_tokens = count_until_halt(words, duration=10.0)
    assert n_tokens is not None
    assert n_tokens - N_GOOD <= 15 * 4 + 32 + 2 * BLOCK
    assert count_until_halt(begin(-90, 8, "malo, " * 30), duration=10.0) is None
    n_tokens = count_until_halt(begin(-90, 1, "malo, " * 5000), duration=10.0)
    assert n_tokens is not None
    assert n_tokens - N_GOOD <= 100


def entries_of(*written: str) -> list[Entry]:
    return [piece for piece in iter_entries(write_answer(written)) if isinstance(piece, Entry)]


def test_of_a_loop_of_entries_the_first_turn_is_kept() -> None:
    one, two = write_entry(6, 8, "Thank you."), write_entry(8, 9, "Bye.", 1)
    assert find_standstill(entries_of(*GOOD, *[one] * 4)) == 4
    assert find_standstill(entries_of(*GOOD, *[one] * 3)) is None
    pair = cycle([one, two])
    assert find_standstill(entries_of(*GOOD, *(next(pair) for _ in range(12)))) == 5
    assert find_standstill([]) is None
