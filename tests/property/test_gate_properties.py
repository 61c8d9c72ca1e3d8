"""Where an answer is text: by automata over bytes, the same as by regular expressions."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st
from oracles.bias_filter import is_json_open, is_line_open
from scripted_logits import JSON_KIT, LINE_KIT, PIECES

from murmur_cli.decode.gate import TEXT

_SCRAPS = (
    *('"Content":"', '"Content"', '"Cont', '"', "\\", "\\\\", '\\"', "\\n", "\\u00e9", "\\u12", '"}', ":", " ", "\t"),
    *("\n", "\r", "Speaker", "Spea", "S", " 0", "7", "New York", "é", "n", "t", "u", '{"Start":1,'),
)
texts = st.lists(st.sampled_from(_SCRAPS), max_size=14).map(lambda scraps: "".join(scraps).encode())
contents = texts.map(lambda text: b'[{"Content":"' + text)


@settings(max_examples=200)
@given(st.one_of(texts, contents))
@example(b'"Content"Content":"a')
@example(b'"Content" : "a\\\\nb')
@example(b'"Content":"\\n Speaker 0:x')
def test_texts_of_json(text: bytes) -> None:
    gate = JSON_KIT.gate
    assert (gate.read(gate.start, text) == TEXT) == is_json_open(text)  # the first 256 tokens are bytes


@settings(max_examples=150)
@given(texts)
def test_texts_of_lines(text: bytes) -> None:
    gate = LINE_KIT.gate
    assert (gate.read(gate.start, text) == TEXT) == is_line_open(text)


@given(contents, st.sampled_from([JSON_KIT, LINE_KIT]))
def test_tokens_do_what_their_bytes_do(text: bytes, kit: object) -> None:
    gate = kit.gate  # type: ignore[attr-defined]
    state = gate.read(gate.start, text)
    for token, piece in enumerate(PIECES):
        after = gate.read(state, piece or b"")
        assert gate.read(state, [token]) == after
        stays = piece is not None and all(gate.read(TEXT, piece[:n]) == TEXT for n in range(len(piece) + 1))
        assert gate.is_spoken[token] == stays
