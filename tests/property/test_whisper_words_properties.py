"""Words and their times: nothing of the text is lost, and every time is in speech and in order."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from murmur_cli.models.whisper.times import Stretch, clean_times, find_unread
from murmur_cli.models.whisper.words import split_words
from murmur_cli.types import Word

letters = st.sampled_from([*"ab .,!?'\"()-$%1", "é", "¿", "«", "你", "。", "「", "😀", "…"])


@st.composite
def token_pieces(draw: st.DrawFn) -> list[bytes]:
    """A text cut into tokens anywhere, inside characters too."""
    content = "".join(draw(st.lists(letters, max_size=30))).encode()
    cuts = sorted(draw(st.sets(st.integers(0, len(content)), max_size=20)))
    return [content[a:b] for a, b in zip([0, *cuts], [*cuts, len(content)], strict=True)]


@given(pieces=token_pieces(), spaced=st.booleans())
def test_words_hold_all_of_the_text_in_order(*, pieces: list[bytes], spaced: bool) -> None:
    words = split_words(pieces, spaced=spaced)
    assert "".join(word.text for word in words) == b"".join(pieces).decode()
    ends = [0]
    for word in words:
        assert ends[-1] <= word.first < word.last <= len(pieces)
        ends.append(word.last)


@given(content=st.binary(max_size=40), spaced=st.booleans())
def test_bytes_that_are_no_text_are_dropped(*, content: bytes, spaced: bool) -> None:
    words = split_words([bytes([byte]) for byte in content], spaced=spaced)
    assert "".join(word.text for word in words) == content.decode(errors="ignore")


@st.composite
def timed_words(draw: st.DrawFn) -> tuple[list[Word], list[Stretch]]:
    """Words without gaps between them, as an alignment gives them, and speech that need not fit them."""
    moments = sorted(draw(st.lists(st.integers(0, 1400), min_size=2, max_size=20)))
    words = [Word(a * 0.02, b * 0.02, "w", 0.5) for a, b in pairwise(moments)]
    edges = sorted(draw(st.sets(st.integers(0, 280), min_size=2, max_size=8)))
    speech = [Stretch(a / 10, b / 10) for a, b in zip(edges[::2], edges[1::2], strict=False)]
    return words, speech


@given(timed_words())
def test_clean_times_are_in_order_and_in_speech(case: tuple[list[Word], list[Stretch]]) -> None:
    words, speech = case
    cleaned = clean_times(words, speech)
    assert [word.text for word in cleaned] == [word.text for word in words]
    moments = [moment for word in cleaned for moment in (word.start, word.end)]
    assert moments == sorted(moments)
    assert speech[0].start <= moments[0]
    assert moments[-1] <= speech[-1].end


@given(timed_words())
def test_unread_speech_holds_no_word(case: tuple[list[Word], list[Stretch]]) -> None:
    words, speech = case
    cleaned = clean_times(words, speech)
    for gap in find_unread(cleaned, speech, least_s=1.0):
        assert all(word.end <= gap.start or word.start >= gap.end for word in cleaned)
        assert sum(max(0.0, part.overlap(gap.start, gap.end)) for part in speech) >= 1.0 - 1e-9
    spoken = sum(part.end - part.start for part in speech)
    assert bool(find_unread([], speech, least_s=1.0)) == (spoken >= 1.0)
