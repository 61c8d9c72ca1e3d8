"""What is forgotten when: the cases that explain the rules."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest

from murmur_cli.decode.eviction import POLICIES, EvictionOptions, EvictionWatcher, RowLayout, most_cells
from murmur_cli.decode.frontier import FrontierOptions
from murmur_cli.decode.watch import Orders
from murmur_cli.decode.watchers import Watchers

N_STEPS = 16
BARE = FrontierOptions(speaker_pin=0, onset_pin=0)


def make_row(seconds: int, max_tokens: int | None = None) -> RowLayout:
    n_frames = seconds * 15 // 2
    return RowLayout(
        n_prompt=n_frames + 61,
        audio_start=30,
        n_frames=n_frames,
        frames_per_s=7.5,
        max_tokens=max_tokens or 12 * seconds,
    )


class Story:
    """An answer that is told piece by piece, with a token for every character."""

    def __init__(self, options: EvictionOptions, row: RowLayout) -> None:
        self.row = row
        self.watcher = EvictionWatcher(options, row, lambda tokens: "".join(map(chr, tokens)), n_steps=N_STEPS)
        self.frames: set[int] = set()  # that are forgotten
        self.tokens: set[int] = set()  # likewise
        self.n_tokens = 0

    def tell(self, text: str) -> Story:
        for first in range(0, len(text), N_STEPS):
            self.n_tokens += len(text[first : first + N_STEPS])
            for position in self.watcher.look([ord(character) for character in text[first : first + N_STEPS]]).forget:
                is_audio = position < self.row.n_prompt
                place = position - (self.row.audio_start if is_audio else self.row.n_prompt)
                held = self.frames if is_audio else self.tokens
                assert place not in held
                held.add(place)
        return self


def hear(seconds: int, speech: FrontierOptions = BARE) -> Story:
    return Story(EvictionOptions(policy="speech", speech=speech), make_row(seconds, 100_000))


def write(start: float, end: float, speaker: int | str = 0, content: str = "x") -> str:
    return f'{{"Start":{start:.2f},"End":{end:.2f},"Speaker":{speaker},"Content":"{content}"}},'


# --- audio


def test_the_front_follows_the_text() -> None:
    story = hear(300)
    for k in range(60):
        story.tell(write(5 * k, 5 * k + 5))
        assert max(story.frames, default=0) < max(5 * k * 7.5 - 64, 1)
    assert story.frames == set(range(32, int(295 * 7.5) - 64))


def test_nothing_is_forgotten_before_there_is_something_to_forget() -> None:
    assert hear(300).tell("assistant\n[" + write(0, 5) + write(5, 12) + '{"Start":12.00,"End":').frames == set()


def test_audio_is_kept_while_an_entry_is_open_however_long_it_is() -> None:
    story = hear(300).tell(write(0, 50) + '{"Start":50.00,"End":200.00,"Speaker":0,"Content":"' + "one " * 500)
    assert story.frames == set(range(32, 375 - 64))


def test_who_is_spoken_over_is_still_heard() -> None:
    """The second entry lies in the first one: what comes after it may begin before the first one ends."""
    story = hear(300).tell(write(0, 40, 0) + write(20, 22, 1))
    assert story.frames == set(range(32, 150 - 64))
    assert max(story.tell(write(23, 24, 1)).frames) < 22 * 7.5 - 64


@pytest.mark.parametrize(
    ("entries", "reached"),
    [
        ([(0, 10), (10, 100), (100, 105)], 10),  # claims 90 s more, and nothing confirms it
        ([(0, 10), (10, 100), (100, 105), (105, 110)], 100),
        ([(0, 10), (10, 100), (100, 250), (250, 255)], 10),  # one jump after the other: which is right?
        ([(0, 10), (10, 100), (100, 250), (250, 255), (255, 256)], 250),
        ([(0, 10), (10, 280), (12, 14), (14, 20)], 14),  # a single slip does not move the front
        ([(0, 10), (285, 290), (12, 14), (14, 20)], 14),
        ([(0, 70), (70, 75)], 0),
        ([(0, 60), (60, 75)], 60),
    ],
)
def test_a_jump_is_believed_when_it_is_confirmed(entries: Sequence[tuple[int, int]], reached: int) -> None:
    story = hear(300).tell("".join(write(*entry) for entry in entries))
    assert story.frames == set(range(32, int(reached * 7.5) - 64))


@pytest.mark.parametrize(
    "text",
    [
        write(5000, 5001) * 9,
        write(-50, -40) * 9,
        '{"Start":"half past","End":100,"Content":"x"},' * 9,
        '{"Start":100.00,"End":200.00},' * 9,
        '{"Start' * 99,
        "[100.00, 200.00, one two three] " * 99,
        "\x00\ud800}{" * 99,
    ],
)
def test_what_is_no_entry_of_this_chunk_moves_nothing(text: str) -> None:
    assert hear(300).tell("[" + write(0, 5) + text).frames == set()
    assert hear(300).tell("[" + write(0, 20) + text + write(20, 30)).frames == set(range(32, 150 - 64))


def test_times_that_go_back_bring_nothing_back() -> None:
    story = hear(300).tell(write(0, 50) + write(50, 60))
    gone = set(story.frames)
    assert story.tell(write(3, 4) + write(4, 9) + write(9, 40)).frames == gone
    assert story.tell(write(40, 60) + write(60, 65)).frames > gone


def test_the_newest_entry_has_the_last_word() -> None:
    """All of it comes at once: what was believed on the way does not count."""
    story = hear(300)
    text = "[" + write(0, 50) + write(50, 60) + write(60, 70) + '{"Start":20.00,"End":'
    assert story.watcher.look([ord(character) for character in text]).forget == [30 + k for k in range(32, 150 - 64)]


def test_first_words_of_speakers_and_starts_are_pinned() -> None:
    story = hear(60, FrontierOptions(sink=4, margin=0, speaker_pin=15, onset_pin=2))
    story.tell(write(2, 3, 0) + write(10, 10.5, 1) + write(20, 21, 0) + write(30, 40, 1) + write(40, 41, 0))
    kept = set(range(450)) - story.frames
    first = range(15, 15 + 8)  # all that speaker 0 says there, and 7 frames more of the next entry
    rest = range(150, 150 + 7)
    second, more = range(75, 75 + 4), range(225, 225 + 11)
    onsets = {start + side for start in (15, 75, 150, 225, 300) for side in (-2, -1, 0, 1)}
    assert kept == set(range(4)) | {*first, *rest, *second, *more} | onsets | {*range(300, 450)}


def test_nobody_is_no_speaker() -> None:
    story = hear(60, FrontierOptions(sink=0, margin=0, speaker_pin=15, onset_pin=0))
    story.tell(write(0, 10, '"N/A"', "[Silence]") + write(10, 20, 3) + write(20, 30, 3))
    assert set(range(150)) - story.frames == set(range(75, 90))


# --- the answer


def test_the_answer_keeps_its_beginning_and_its_end() -> None:
    story = Story(EvictionOptions(policy="output"), make_row(300)).tell("no json at all " * 100)
    assert story.tokens == set(range(8, 1500 - 512))
    assert story.frames == set()


def test_the_open_entry_keeps_its_header() -> None:
    story = Story(EvictionOptions(policy="output", output_window=100, output_header=60), make_row(300))
    head = '{"Start":10.00,"End":90.00,"Speaker":0,"Content":"'
    story.tell("[" + write(0, 10, 0, "y" * 200))
    first = story.n_tokens
    story.tell(head + "z" * 400)
    held = set(range(story.n_tokens)) - story.tokens
    assert set(range(first, first + len(head))) <= held
    assert len(held) <= 8 + 100 + 60 + N_STEPS
    story.tell('"},' + "w" * N_STEPS)
    assert set(range(first, first + len(head))) <= story.tokens


@pytest.mark.parametrize("policy", POLICIES)
def test_an_answer_that_goes_nowhere_stays_in_its_room(policy: str) -> None:
    options, row = EvictionOptions(policy=policy), make_row(300)
    story = Story(options, row).tell(
        "[" + write(0, 5) + '{"Start":5.00,"End":9.00,"Speaker":0,"Content":"' + "no " * 1150
    )
    n_held = row.n_prompt + story.n_tokens - 1 + N_STEPS - len(story.frames) - len(story.tokens)
    assert n_held <= most_cells(options, row, n_steps=N_STEPS)
    if policy == "speech":
        assert n_held == most_cells(options, row, n_steps=N_STEPS)  # no more is forgotten than must be
        header = set(range(8, max(story.tokens))) - story.tokens
        assert len(header) <= 32 + N_STEPS  # the oldest have gone, but for what is open


@pytest.mark.parametrize(
    ("policy", "seconds", "cells"),
    [
        ("none", 300, 2311 + 3600),
        ("speech", 300, 2311 + 2700 - 1125),
        ("output", 300, 2311 + 585),
        ("both", 300, 2311 + 585),
        ("both", 30, 286 + 360),  # all of the answer
        ("speech", 30, 286 + 360),
        ("speech", 3600, 27_061 + 18_900),
    ],
)
def test_rooms(policy: str, seconds: int, cells: int) -> None:
    assert most_cells(EvictionOptions(policy=policy), make_row(seconds), n_steps=N_STEPS) == cells


def test_a_beginning_that_is_read_with_the_prompt_needs_room() -> None:
    options, row = EvictionOptions(policy="both"), make_row(300)
    assert most_cells(options, row, n_steps=N_STEPS, n_prefix=2000) == 2311 + 2016


@pytest.mark.parametrize("n_tokens", [32_768])
def test_a_look_takes_as_long_as_what_is_new(n_tokens: int) -> None:
    entries = "".join(write(k, k + 1, k % 3, "one two three four five six seven") for k in range(n_tokens // 70))
    begin = time.process_time()
    story = Story(EvictionOptions(policy="both"), make_row(3600, n_tokens)).tell(entries[:n_tokens])
    assert time.process_time() - begin < 5.0
    assert len(story.tokens) > 30_000


@pytest.mark.parametrize(
    "wrong", [{"policy": "some"}, {"output_window": 0}, {"output_sink": -1}, {"output_header": -1}]
)
def test_options_are_checked(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"no such policy|too small"):
        EvictionOptions(**wrong)


@pytest.mark.parametrize("name", ["sink", "margin", "speaker_pin", "onset_pin", "max_jump"])
def test_frames_are_no_less_than_none(name: str) -> None:
    with pytest.raises(ValueError, match="negative"):
        FrontierOptions(**{name: -1})


# --- several watchers


class Says:
    def __init__(self, *orders: Orders) -> None:
        self._orders = list(orders)
        self.seen: list[int] = []

    def look(self, tokens: Sequence[int]) -> Orders:
        self.seen += tokens
        return self._orders.pop(0)


def test_what_one_forgets_is_forgotten_and_the_first_reason_counts() -> None:
    first = Says(Orders([1, 2]), Orders([3], "one"), Orders())
    second = Says(Orders([7]), Orders([8], "two"), Orders((), "three"))
    both = Watchers([first, second])
    assert [both.look([k]) for k in range(3)] == [Orders([1, 2, 7]), Orders([3, 8], "one"), Orders([], "three")]
    assert first.seen == second.seen == [0, 1, 2]
