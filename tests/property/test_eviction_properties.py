"""Eviction against a plain list of positions, for answers of any kind, and what holds whatever the model writes."""

from __future__ import annotations

import json
import unicodedata
from dataclasses import replace
from functools import cache
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.eviction import PlainEviction, decode_bytes
from tokenizers import Tokenizer
from vibevoice_models import make_tokenizer

from murmur_cli.decode.cells import RowCells
from murmur_cli.decode.entries import Entry, OpenEntry, iter_entries
from murmur_cli.decode.eviction import EvictionOptions, EvictionWatcher, RowLayout, most_cells
from murmur_cli.decode.follow import AnswerFollower, TextFollower
from murmur_cli.decode.frontier import FrontierOptions

# --- answers

SPOILS = [
    '{"Start":',
    '"End":9',
    '"',
    "}",
    "{",
    ",",
    '{"Start":1,"End":2}',
    "[Music]",
    "é",
    "你好",
    "\U0001f600",
    "]",
    "\n",
]
BYTES = [b"\xf0\x9f", b"\x98", b"\x80", b"\xe4", b"\xff", b"\xef\xbf\xbd"]


@st.composite
def entries(draw: st.DrawFn, now: float) -> tuple[float, str]:
    """An entry, most often a sound one, and where the next one begins if it is."""
    begin = now + draw(st.sampled_from([0.0, 0.0, 0.4, 2.0, -3.0, 12.0]))
    end = begin + draw(st.sampled_from([0.2, 1.0, 3.0, 8.0]))
    absurd = st.sampled_from([-3.0, 0.0, 7.0, 14.5, 39.0, 1e9])
    claimed = [draw(absurd) if draw(st.integers(0, 9)) == 0 else time for time in (begin, end)]
    content = draw(st.sampled_from(["one", "two three", "你好 é", "a" * 60, 'said "no"', "x}, {y", ""]))
    who = draw(st.sampled_from([{"Speaker": 0}, {"Speaker": 1}, {"Speaker": 2}, {}]))
    entry = {"Start": round(claimed[0], 2), "End": round(claimed[1], 2)} | who | {"Content": content}
    written = json.dumps(entry, separators=draw(st.sampled_from([None, (",", ":")])))
    if draw(st.integers(0, 7)) == 0:
        cut = draw(st.integers(0, len(written)))
        written = written[:cut] + draw(st.sampled_from(SPOILS)) + written[cut + draw(st.integers(0, 3)) :]
    return end, written


@st.composite
def answers(draw: st.DrawFn) -> bytes:
    now, parts = 0.0, [b"assistant\n["] if draw(st.booleans()) else []
    for _ in range(draw(st.integers(0, 12))):
        now, written = draw(entries(now))
        parts += [written.encode(), b","]
        if draw(st.integers(0, 9)) == 0:
            parts.append(draw(st.sampled_from([*BYTES, *(spoil.encode() for spoil in SPOILS)])))
    return b"".join(parts) + draw(st.sampled_from([b"", b"]", b"no no no " * 20]))


def cut(tokens: bytes, sizes: list[int]) -> list[list[int]]:
    """The tokens as they come between looks: sizes are used in turn."""
    looks: list[list[int]] = []
    while tokens:
        n = sizes[len(looks) % len(sizes)]
        looks.append(list(tokens[:n]))
        tokens = tokens[n:]
    return looks


# --- text and entries, as they come

any_bytes = st.lists(st.sampled_from([*BYTES, "é".encode(), "\U0001f600".encode(), b"a"]) | st.binary(max_size=3))
sizes = st.lists(st.integers(1, 7), min_size=1, max_size=4)


@given(any_bytes.map(b"".join), sizes)
def test_text_comes_whole_however_characters_are_split(text: bytes, sizes: list[int]) -> None:
    follower = TextFollower(decode_bytes)
    read, seen = "", []
    for tokens in cut(text, sizes):
        read += follower.read(tokens)
        seen += tokens
        assert read == decode_bytes(seen).removesuffix("\ufffd")


@given(
    st.text(st.sampled_from("ab \n{}é你好\U0001f600\U0001f468\u200d\U0001f469\ufffd") | st.characters(), max_size=30),
    sizes,
)
def test_a_real_tokenizer_splits_characters_like_that(text: str, sizes: list[int]) -> None:
    tokenizer = load_tokenizer()
    follower = TextFollower(lambda tokens: tokenizer.decode(list(tokens), skip_special_tokens=True))
    tokens = tokenizer.encode(f"<|im_start|>assistant\n{text}x<|im_end|>", add_special_tokens=False).ids
    read = ""
    while tokens:
        read += follower.read(tokens[: sizes[0]])
        tokens, sizes = tokens[sizes[0] :], [*sizes[1:], sizes[0]]
    assert read == f"assistant\n{unicodedata.normalize('NFC', text)}x"


@cache
def load_tokenizer() -> Tokenizer:
    return Tokenizer.from_str(make_tokenizer())


@given(answers(), st.lists(st.integers(1, 60), min_size=1, max_size=6))
def test_text_and_tokens_may_be_cut_anywhere(answer: bytes, sizes: list[int]) -> None:
    """What is settled never changes, and with what is not it is what a parser finds in the whole text."""
    follower = AnswerFollower(decode_bytes)
    settled: list[Entry] = []
    text = b""
    for tokens in cut(answer, sizes):
        reading = follower.read(tokens)
        settled += [piece for piece in reading.settled if isinstance(piece, Entry)]
        text += bytes(tokens)
        whole = list(iter_entries(decode_bytes(text).removesuffix("\ufffd")))
        now = [*settled, *(piece for piece in reading.unsettled if isinstance(piece, Entry))]
        assert [place_nowhere(piece) for piece in now] == [place_nowhere(p) for p in whole if isinstance(p, Entry)]
        assert isinstance(reading.unsettled[-1] if reading.unsettled else None, OpenEntry) is isinstance(
            whole[-1] if whole else None, OpenEntry
        )
        assert (reading.open_tokens is not None) is bool(whole and isinstance(whole[-1], OpenEntry))
    assert follower.n_tokens == len(answer)


@pytest.mark.parametrize("rest", ["", ",", " c", ",{", " c {"])
def test_an_entry_may_go_on_that_seemed_to_have_ended(rest: str) -> None:
    """Its text holds quotes and braces: nothing but the beginning of another entry says for sure that it is over."""
    follower = AnswerFollower(decode_bytes)
    answer = f'[{{"Start":0,"End":1,"Content":"a "b"}}{rest} d"}},{{"Start":1,'
    settled = [piece for byte in answer.encode() for piece in follower.read([byte]).settled]
    reading = follower.read(b'"End":2,"Content":"e"},{"Start":2,"End":3,"Content":"f"},{"Start":3}]')
    (entry, *_) = [*settled, *reading.settled]
    assert isinstance(entry, Entry)
    assert entry.content == f'a "b"}}{rest} d'


def place_nowhere(entry: Entry) -> Entry:
    return replace(entry, first=0, past=0)


# --- eviction

options = st.builds(
    EvictionOptions,
    policy=st.sampled_from(["both", "speech", "output", "none"]),
    speech=st.builds(
        FrontierOptions,
        sink=st.integers(0, 6),
        margin=st.integers(0, 20),
        speaker_pin=st.integers(0, 5),
        onset_pin=st.integers(0, 3),
        max_jump=st.integers(0, 90),
    ),
    output_sink=st.integers(0, 5),
    output_window=st.integers(1, 60),
    output_header=st.integers(0, 45),
)


@st.composite
def rows(draw: st.DrawFn) -> RowLayout:
    before, n_frames, after = draw(st.integers(0, 5)), draw(st.integers(0, 300)), draw(st.integers(1, 5))
    return RowLayout(
        n_prompt=before + n_frames + after,
        audio_start=before,
        n_frames=n_frames,
        frames_per_s=7.5,
        max_tokens=draw(st.integers(1, 1500)),
    )


@settings(max_examples=120)
@given(options, rows(), answers(), st.integers(3, 30), st.integers(0, 9))
def test_what_is_forgotten_is_what_a_plain_list_says(
    options: EvictionOptions, row: RowLayout, answer: bytes, n_steps: int, n_before: int
) -> None:
    tokens = list(answer[: row.max_tokens])
    prefix = find_prefix(answer[: row.max_tokens - 1], n_before)
    n_cells = most_cells(options, row, n_steps=n_steps, n_prefix=len(prefix))
    watcher = EvictionWatcher(options, row, decode_bytes, n_steps=n_steps, prefix=prefix)
    plain = PlainEviction(options, row, n_cells, n_steps, prefix)
    cells = RowCells(row.n_prompt + len(prefix))
    begins = range(len(prefix) + 1, len(tokens), n_steps)  # the first token comes of the prompt
    for begin, end in pairwise((len(prefix), *begins[1:])):
        cells.take(row.n_prompt + end - 1 - cells.n_positions)
        assert cells.end - 1 <= n_cells
        orders = watcher.look(tokens[begin:end])
        assert sorted(orders.forget) == plain.look(tokens[begin:end])  # so none is named twice
        assert orders.halt is None
        cells.forget(orders.forget)
        assert cells.count_kept(cells.n_positions) == len(plain.held)
        check_what_stays(options, row, plain)
    cells.take(max(row.n_prompt + len(tokens) - 1 - cells.n_positions, 0))
    assert cells.end - 1 <= n_cells


def find_prefix(answer: bytes, n_entries: int) -> list[int]:
    """The first entries with the comma behind them, if the answer has so many."""
    past = 0
    for _ in range(n_entries):
        past = answer.find(b"},", past) + 2
    prefix = list(answer[:past]) if past > 1 else []
    *_, last = [None, *iter_entries(decode_bytes(prefix))]
    return [] if isinstance(last, OpenEntry) else prefix


def check_what_stays(options: EvictionOptions, row: RowLayout, plain: PlainEviction) -> None:
    held, n = set(plain.held), len(plain.tokens)
    frames = {position - row.audio_start for position in held if 0 <= position - row.audio_start < row.n_frames}
    prompt = set(range(row.n_prompt)) - set(range(row.audio_start, row.audio_start + row.n_frames))
    assert prompt <= held
    assert set(range(min(options.speech.sink, row.n_frames))) <= frames
    tokens = {position - row.n_prompt for position in held if position >= row.n_prompt}
    assert set(range(min(options.output_sink, n - 1))) <= tokens
    assert set(range(max(n - options.output_window, 0), n - 1)) <= tokens
    if not options.drops_speech:
        assert len(frames) == row.n_frames
    if options.policy == "none":
        assert len(tokens) == n - 1


@settings(max_examples=100)
@given(options, rows(), answers(), st.integers(8, 60))
def test_audio_goes_only_where_the_text_has_been(
    options: EvictionOptions, row: RowLayout, answer: bytes, n_steps: int
) -> None:
    """Whatever is forgotten at a look lies before the newest entry and before the end of the one before it."""
    row = replace(row, max_tokens=len(answer) + 1)
    watcher = EvictionWatcher(replace(options, policy="speech"), row, decode_bytes, n_steps=n_steps)
    for end in range(1, len(answer) + 1, n_steps):
        gone = watcher.look(list(answer[max(end - n_steps, 0) : end])).forget
        frames = [position - row.audio_start for position in gone if position < row.n_prompt]
        pieces = [p for p in iter_entries(decode_bytes(answer[:end])) if isinstance(p, Entry | OpenEntry)]
        inside = [p for p in pieces if p.start is not None and 0 <= int(p.start * row.frames_per_s) <= row.n_frames]
        if frames:
            newest, before = inside[-1], inside[-2]
            assert isinstance(before, Entry)
            limit = min(newest.start or 0.0, before.end) * row.frames_per_s - options.speech.margin
            assert max(frames) < limit
            assert min(frames) >= options.speech.sink
