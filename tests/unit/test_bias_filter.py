"""Keywords in the slot decoder, with a model that says what it is told to: what flips, and what never does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise

import pytest
import torch
from scripted_logits import END, JSON_KIT, LINE_KIT, PIECES, ScriptedDecoder, encode, make_bias
from torch import Tensor

from murmur_cli.decode import loop
from murmur_cli.decode.bias_filter import BiasFilter, RowBias
from murmur_cli.decode.loop import decode_rows
from murmur_cli.decode.loop_guard import LoopGuard
from murmur_cli.decode.rows import DecodedRow, Row
from murmur_cli.models.vibevoice.live_bias import LiveBias

OPENING = '{"Start":0,"Content":"'
CLOSING = '"}]'

Step = Mapping[str | int, float]
"""Texts of tokens, or tokens, and their logits."""


def to_script(steps: Sequence[str | int | Step]) -> list[dict[int, float]]:
    """A text alone is wanted without alternatives."""
    script: list[dict[int, float]] = []
    for step in steps:
        if isinstance(step, str):
            script += [{token: 0.0} for token in encode(step)]
        else:
            wanted = {step: 0.0} if isinstance(step, int) else step
            script.append({_to_token(name): logit for name, logit in wanted.items()})
    return script


def _to_token(name: str | int) -> int:
    if isinstance(name, int):
        return name
    (token,) = encode(name)
    return token


def decode(
    steps: Sequence[str | int | Step], biases: Sequence[RowBias | None], *, temperature: float = 0.0
) -> list[DecodedRow]:
    script = to_script([*steps, END])
    rows = [
        Row(
            key,
            1,
            len(script),
            partial(torch.zeros, 1, 1, 1),
            temperature=temperature,
            seed=3,
            bias=bias,
        )
        for key, bias in enumerate(biases)
    ]
    decoded = decode_rows(rows, ScriptedDecoder(script), n_slots=len(rows), stop_token=END)  # type: ignore[arg-type]
    return sorted(decoded, key=lambda row: row.key)


def read(row: DecodedRow) -> str:
    return b"".join(PIECES[token] or b"?" for token in row.tokens).decode()


def write(steps: Sequence[str | int | Step], bias: RowBias | None) -> str:
    (row,) = decode(steps, [bias])
    return read(row)


# --- what flips


NEAR_MISS: tuple[str | Step, ...] = (
    OPENING,
    " we saw",
    {" a": 0.0, " New": -1.0},
    {" la": 0.0, " York": -2.0},
    CLOSING,
)


def test_a_near_miss_flips_with_the_list_and_not_without() -> None:
    distractors = tuple(f"{first}{second}" for first in "bcdefghi" for second in ("le York", " la saw", "xy", ", d"))
    with_list, with_others, without = decode(
        NEAR_MISS, [make_bias("New York", *distractors), make_bias(*distractors), None]
    )
    assert read(with_list) == f"{OPENING} we saw New York{CLOSING}"
    assert read(with_others) == read(without) == f"{OPENING} we saw a la{CLOSING}"
    changed = [read_token(token) for token, is_changed in zip(*parts(with_list), strict=True) if is_changed]
    assert changed == [" New", " York"]
    assert with_list.stopped
    assert with_others.changed == (False,) * len(with_others.tokens)
    assert without.changed == ()


def parts(row: DecodedRow) -> tuple[tuple[int, ...], tuple[bool, ...]]:
    return row.tokens, row.changed


def read_token(token: int) -> str:
    return (PIECES[token] or b"?").decode()


def test_nothing_is_raised_beyond_the_margin() -> None:
    steps = [OPENING, " New", {" a": 0.0, " York": -2.5}, CLOSING]
    assert write(steps, make_bias("New York", margin=2.6)) == f"{OPENING} New York{CLOSING}"
    assert write(steps, make_bias("New York", margin=2.4)) == f"{OPENING} New a{CLOSING}"


def test_a_keyword_of_one_token_must_be_likely_by_itself() -> None:
    """Frequent as it is, it has half of the margin, counted from certainty: 1.5 nats are a share of 22 %."""
    sure = [OPENING, " we", {" a": 0.0, " la": -1.2}, CLOSING]  # 23 %
    assert write(sure, make_bias("la")) == f"{OPENING} we la{CLOSING}"
    unsure = [OPENING, " we", {" a": 0.0, " la": -1.2, " b": -3.0}, CLOSING]  # 22 %, and 4 % for another
    assert write(unsure, make_bias("la")) == f"{OPENING} we a{CLOSING}"
    assert write(unsure, make_bias("la", margin=4.0)) == f"{OPENING} we la{CLOSING}"


def test_chance_draws_from_what_is_raised() -> None:
    steps = [OPENING, *[{" a": 0.0, " la": -1.0}, {" b": 0.0, " c": -0.1, " d": -0.1, " we": -0.1}] * 40, CLOSING]
    counts = [read(row).count(" la") for row in decode(steps, [make_bias("la"), None], temperature=2.0)]
    assert counts[0] > 22 > counts[1] > 0


@pytest.mark.parametrize("bias", [None, make_bias(), make_bias("saw York")])
def test_what_is_not_heard_changes_nothing(bias: RowBias | None) -> None:
    assert write(NEAR_MISS, bias) == f"{OPENING} we saw a la{CLOSING}"


# --- what never does


@pytest.mark.parametrize(
    ("steps", "phrase"),
    [
        (["{", {'"Speaker"': 0.0, " New": -0.5}, ":", {"0": 0.0, " New": -0.5, "New": -0.6}, CLOSING], "New"),
        ([OPENING, " we", {'"': 0.0, " la": -0.5}, "}]"], "la"),
        ([OPENING, " we", {CLOSING: 0.0, " la": -0.5}], "la"),
        ([OPENING, " we", {'"},': 0.0, " la": -0.5}], "la"),
        ([OPENING, " we", {END: 0.0, " la": -0.5}], "la"),
        ([OPENING, " we", {'s"': 0.0, " la": -0.5}, "}]"], "la"),
        ([OPENING, " we", {" a": 0.0, 's"': -0.5}, CLOSING], "wes"),  # it carries text, and ends it
        ([OPENING, " we", {" \n": 0.0, " York": -0.5}, " Speaker 0:", CLOSING], "we York"),
        ([OPENING, " New", {" York": 0.0, "\n York": -0.5}, CLOSING], "New York"),
        ([OPENING, " we \n", {" Speaker": 0.0, "Speakers": -0.5}, " 0:", CLOSING], "Speakers Corner"),
        ([OPENING, " we \n", " Speaker", {" 0": 0.0, " Corner": -0.5}, ":", CLOSING], "Speaker Corner"),
        ([OPENING, " we \n", {" la": 0.0, " Speaker": -0.5}, CLOSING], "Speaker 0"),
        ([OPENING, " we", "\\n", {" la": 0.0, " Speaker": -0.5}, CLOSING], "Speaker"),
        ([OPENING, " we", {"\\": 0.0, " la": -0.5}, '"', CLOSING], "la"),
        ([OPENING, " a app", {"le": 0.0, END: -0.5, CLOSING: -0.4}, CLOSING], "app"),
    ],
)
def test_frames_ends_and_speakers_are_as_without(steps: Sequence[str | int | Step], phrase: str) -> None:
    bias = make_bias(phrase, margin=20.0)
    (row,) = decode(steps, [bias])
    assert read(row) == write(steps, None)
    assert not any(row.changed)


def test_an_end_gains_nothing_by_what_is_taken_back() -> None:
    steps = [OPENING, " we", {" a": 0.0, " app": -0.5}, {"le": 0.0, END: -0.5}, CLOSING]
    assert write(steps, make_bias("app")) == f"{OPENING} we apple{CLOSING}"


def test_behind_a_name_the_text_is_on_again() -> None:
    steps = [OPENING, " we \n", " Speaker 0:", {" a": 0.0, " la": -0.5}, CLOSING]
    assert " 0: la" in write(steps, make_bias("la"))


def test_words_go_on_where_they_were_not_raised() -> None:
    """A token that the gate holds back is still text: no keyword begins in the word that it begins."""
    steps = [OPENING, " we \n", " app", {"le": 0.0, "0": -0.5}, CLOSING]
    assert "apple" in write(steps, make_bias("0"))


# --- loops


LOOPING: tuple[str | Step, ...] = (
    OPENING,
    *({name: 0.0, " la": -1.0} for name in [" a", " b", " c", " d", " we", " saw", " the"] * 4),
    CLOSING,
)


def test_a_loop_switches_the_list_off_until_the_text_ends() -> None:
    text = write([*LOOPING, *LOOPING], make_bias("la"))
    first, second = text.split(CLOSING)[:2]
    for part in (first, second):
        assert part.count(" la") == 8
        assert part.endswith(" b c d we saw the a b c d we saw the a b c d we saw the")


@pytest.mark.parametrize(("period", "n_needed"), [(1, 8), (2, 8), (3, 9), (5, 15), (16, 48), (17, None)])
def test_what_counts_as_a_loop(period: int, n_needed: int | None) -> None:
    guard = LoopGuard(2, torch.device("cpu"))
    rows, loud = slice(0, 1), []
    for place in range(4 * period + 8):
        guard.read(torch.tensor([100 + place % period]), torch.tensor([True]), rows)
        loud.append(bool(guard.is_quiet[0]))
    assert (loud.index(True) + 1 if any(loud) else None) == n_needed
    assert all(after or not before for before, after in pairwise(loud))
    assert not guard.is_quiet[1]
    guard.read(torch.tensor([100]), torch.tensor([False]), rows)
    assert not guard.is_quiet[0]


# --- rows come and go


def test_rows_have_their_own_lists_one_after_the_other() -> None:
    biases = [
        make_bias("New York"),
        None,
        make_bias("la"),
        make_bias("New York"),
        make_bias("d"),
        None,
        make_bias("la"),
    ]
    steps = [OPENING, {" a": 0.0, " New": -0.3, " la": -0.1, " d": -0.2}, CLOSING]
    alone = [write(steps, bias) for bias in biases]
    assert [text.removeprefix(OPENING).removesuffix(CLOSING) for text in alone] == [
        *(" New", " a", " la", " New", " d", " a", " la")
    ]
    script = to_script([*steps, END])
    rows = [Row(key, 1, len(script), partial(torch.zeros, 1, 1, 1), bias=bias) for key, bias in enumerate(biases)]
    decoded = decode_rows(rows, ScriptedDecoder(script), n_slots=2, stop_token=END)  # type: ignore[arg-type]
    assert {row.key: read(row) for row in decoded} == dict(enumerate(alone))


def test_lists_are_given_up_when_their_last_row_has_gone() -> None:
    bias_filter = BiasFilter(JSON_KIT, 2, torch.device("cpu"))
    first, other = make_bias("New York"), make_bias("la")
    assert bias_filter.seat(0, first)  # new on the device
    assert not bias_filter.seat(1, first)
    assert not bias_filter.seat(0, None)
    assert not bias_filter.drop_left()
    assert bias_filter.seat(1, other)
    assert bias_filter.drop_left()
    assert not bias_filter.drop_left()


@pytest.mark.parametrize(
    ("lists", "n_recordings"),
    [
        (("la", "la", "la"), 1),
        (("la", "d", "la"), 3),
        ((None, "la", None), 2),
        ((None, None), 1),
        (("la", "d", "d"), 2),
    ],
)
def test_steps_are_recorded_anew_where_lists_have_moved(
    lists: Sequence[str | None], n_recordings: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded: list[Callable[[], None]] = []

    def record(step: Callable[[], None]) -> Callable[[], None]:
        step()  # as a warm-up does: what it changes is put back
        recorded.append(step)
        return step

    monkeypatch.setattr(loop, "find_recorder", lambda _: record)
    steps = [OPENING, *[{" a": 0.0, " la": -0.5, " d": -0.6}] * 5, CLOSING]
    script = to_script([*steps, END])
    rows = [
        Row(key, 1, len(script), partial(torch.zeros, 1, 1, 1), bias=None if phrase is None else make_bias(phrase))
        for key, phrase in enumerate(lists)
    ]
    decoded = decode_rows(rows, ScriptedDecoder(script), n_slots=1, stop_token=END)  # type: ignore[arg-type]
    texts = [read(row) for row in sorted(decoded, key=lambda row: row.key)]
    assert texts == [f"{OPENING}{f' {phrase or chr(97)}' * 5}{CLOSING}" for phrase in lists]
    assert len(recorded) == n_recordings


def test_a_list_that_comes_while_others_are_under_way_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded: list[Callable[[], None]] = []
    monkeypatch.setattr(loop, "find_recorder", lambda _: lambda step: recorded.append(step) or step)
    script = to_script([OPENING, *[{" a": 0.0, " la": -0.5, " d": -0.6}] * 50, END])
    rows = [
        Row(key, 1, max_tokens, partial(torch.zeros, 1, 1, 1), bias=None if phrase is None else make_bias(phrase))
        for key, (phrase, max_tokens) in enumerate([("la", 60), (None, 20), ("d", 10)])
    ]
    decoded = decode_rows(rows, ScriptedDecoder(script), n_slots=2, stop_token=END)  # type: ignore[arg-type]
    assert {row.key: " d" in read(row) for row in decoded} == {0: False, 1: False, 2: True}
    assert len(recorded) > 1


@pytest.mark.parametrize("is_cut", [False, True])
def test_what_is_begun_goes_on_in_the_next_chunk_unless_this_one_was_cut(*, is_cut: bool) -> None:
    live = LiveBias(torch.device("cpu"))
    live.listen(make_bias("New York", kit=LINE_KIT))
    live.begin_chunk()
    for logits in to_logits([{" we": 0.0}, {" a": 0.0, " New": -1.0}]):
        token = live.choose(logits)
        live.read(token)
    assert read_token(token) == " New"
    assert live.end_chunk(encode(" we New"), is_cut=is_cut) == (False, True)
    live.begin_chunk()
    (logits,) = to_logits([{" la": 0.0, " York": -2.5}])
    assert read_token(live.choose(logits)) == (" la" if is_cut else " York")


def to_logits(steps: Sequence[str | int | Step]) -> list[Tensor]:
    decoder, n = ScriptedDecoder(to_script(steps)), len(steps)
    return [decoder.to_logits(torch.tensor([[place]])) for place in range(n)]


def test_a_row_goes_on_where_its_prefix_ends() -> None:
    gate = JSON_KIT.gate
    prefix = encode('[{"Start":0,"Content":"we"},{"Start":')
    bias = RowBias(JSON_KIT, make_bias("la").graph, 3.0, gate.read(gate.start, prefix))
    steps = [{"0": 0.0, " la": -0.5}, ',"Content":"', " we", {" a": 0.0, " la": -0.5}, CLOSING]
    assert write(steps, bias) == f'0,"Content":" we la{CLOSING}'


def test_lines_are_text_from_their_first_word_on() -> None:
    near = {" a": 0.0, " la": -0.5}
    steps = [near, near, " \n", near, near, " \n Speaker 0:", near]
    assert write(steps, make_bias("la", kit=LINE_KIT)) == " a la \n a la \n Speaker 0: la"
