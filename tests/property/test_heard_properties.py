"""Hits in a text that comes in pieces, and what the list changed of it: the same as in the whole text."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from murmur_cli.bias.hits import HitFinder
from murmur_cli.bias.keywords import Form, Keyword, KeywordList
from murmur_cli.decode.heard import MarkedText, find_hits, mark_text
from murmur_cli.engine import StreamSegment
from murmur_cli.models.vibevoice.live_hits import LiveHits
from murmur_cli.types import KeywordHit, Speaker

WORDS = ("we", "saw", "New", "York", "City", "app", "é", "la", ",")
PHRASES = ("New York", "la la", "app", "é", "York la", "we")
FINDER = HitFinder(KeywordList(tuple(Keyword((Form(phrase),)) for phrase in PHRASES)))

words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=12)


def decode(tokens: list[int]) -> str:
    return bytes(tokens).decode(errors="replace")


@dataclass(frozen=True)
class Line:
    start: float
    end: float
    text: str


@given(words, st.data())
def test_marks_are_where_tokens_are(said: list[str], data: st.DataObject) -> None:
    text = " ".join(said)
    tokens = list(text.encode())
    changed = data.draw(st.lists(st.booleans(), min_size=len(tokens), max_size=len(tokens)))
    marked = mark_text(decode, tokens, changed)
    assert marked.text == text
    byte_of = list(accumulate((len(letter.encode()) for letter in text), initial=0))
    for place in range(len(text)):
        expected = any(changed[byte_of[place] : byte_of[place + 1]])
        assert any(place in marks for marks in marked.changed) == expected
    first, past = sorted(data.draw(st.tuples(*[st.integers(0, len(text))] * 2)))
    cut = marked.cut(first, past).put_behind("{")
    assert cut.text == "{" + text[first:past]
    for place in range(first, past):
        assert any(place - first + 1 in marks for marks in cut.changed) == any(place in m for m in marked.changed)


@given(words, st.sets(st.integers(0, 11)))
@example(["New", "York"], {1})
def test_hits_of_a_segment_know_what_was_changed(said: list[str], changed: set[int]) -> None:
    r"""The model's own text has frames, escapes and tags, in which no keyword is counted."""
    begins = list(accumulate((len(word) + 1 for word in said), initial=0))
    ranges = [range(begins[i], begins[i] + len(said[i])) for i in sorted(changed) if i < len(said)]
    written = MarkedText(" ".join(said), tuple(ranges)).put_behind('"Content":"')
    text = " ".join(said)
    hits = list(find_hits(FINDER, [Line(2.0, 4.0, text)], written))
    assert [hit.phrase for hit in hits] == [hit.keyword.display for hit in FINDER.find(text)]
    for hit, found in zip(hits, FINDER.find(text), strict=True):
        assert hit.changed == any(found.start <= place < found.end for marks in ranges for place in marks)
        assert abs(hit.start - (2.0 + 2.0 * found.start / len(text))) < 1e-9
        assert abs(hit.end - (2.0 + 2.0 * found.end / len(text))) < 1e-9


@given(words, st.sets(st.integers(0, 11)), st.sets(st.integers(1, 11)), st.integers(0, 1))
def test_hits_of_a_session_are_those_of_its_text(
    said: list[str], changed: set[int], borders: set[int], n_held: int
) -> None:
    """Chunks end with words; what users see comes later than what was written, or not."""
    live = LiveHits(decode)
    live.listen(FINDER)
    text, whole = "", " ".join(said)
    hits: list[KeywordHit] = []
    cuts = [0, *sorted(border for border in borders if border < len(said)), len(said)]
    waiting: list[StreamSegment] = []
    for begin, end in pairwise(cuts):
        pieces = [(" " if i else "") + said[i] for i in range(begin, end)]
        tokens = [byte for piece in pieces for byte in piece.encode()]
        marks = [begin + i in changed for i, piece in enumerate(pieces) for _ in piece.encode()]
        live.read(tokens, marks)
        waiting.append(StreamSegment(len(text), len(text + "".join(pieces)), "".join(pieces), Speaker("S1"),
                                     "chunk", starts_line=not text))  # fmt: skip
        text += "".join(pieces)
        for segment in live.place([waiting.pop(0)] if len(waiting) > n_held else []):
            hits += segment.hits
    hits += [hit for segment in live.place(waiting) for hit in segment.hits]
    found = []
    for hit in FINDER.find(whole):
        words_before, n_words = whole[: hit.start].count(" "), hit.keyword.display.count(" ") + 1
        is_changed = any(words_before + i in changed for i in range(n_words))
        found.append((hit.keyword.display, float(hit.end), is_changed))
    assert [(hit.phrase, hit.end, hit.changed) for hit in hits] == found


def test_a_session_is_found_in_with_one_list_and_then_another() -> None:
    live = LiveHits(decode)
    segment = StreamSegment(0.0, 1.0, " we saw", None, "chunk", starts_line=False)
    assert live.place([segment]) == [segment]
    live.listen(FINDER)
    (found,) = live.place([segment])
    assert [hit.phrase for hit in found.hits] == ["we"]
    live.listen(None)
    assert live.place([segment]) == [segment]


def test_what_is_told_is_not_told_again_as_a_part_of_more() -> None:
    live = LiveHits(decode)
    live.listen(HitFinder(KeywordList(tuple(Keyword((Form(phrase),)) for phrase in ("New York", "New York City")))))
    pieces = ["we saw New York", " City", " and New York City"]
    segments = [StreamSegment(0.0, 1.0, piece, None, "chunk", starts_line=False) for piece in pieces]
    assert [[hit.phrase for hit in segment.hits] for segment in live.place(segments)] == [
        *(["New York"], [], ["New York City"])
    ]


def test_what_is_kept_of_a_long_line_is_enough() -> None:
    live = LiveHits(decode)
    live.listen(FINDER)
    n_hits = 0
    for i in range(300):
        piece = " York la" if i % 2 else " saw New"
        live.read(list(piece.encode()), ())
        (segment,) = live.place([StreamSegment(i, i + 1, piece, None, "chunk", starts_line=False)])
        n_hits += len(segment.hits)
        assert [(hit.start, hit.end) for hit in segment.hits] == ([(i, i + 5 / 8)] if i % 2 else [])
    assert n_hits == 150
