"""Tokens, words, segments and languages of Whisper, without a model."""

from __future__ import annotations

import pytest

from murmur_cli.errors import UsageError, WeightsError
from murmur_cli.models.whisper.languages import find_language
from murmur_cli.models.whisper.segments import make_segments
from murmur_cli.models.whisper.times import Stretch, clean_times
from murmur_cli.models.whisper.vocabulary import read_vocabulary
from murmur_cli.models.whisper.words import TokenWord, split_words
from murmur_cli.types import Word

SPECIALS = ["<|endoftext|>", "<|startoftranscript|>", "<|en|>", "<|haw|>", "<|transcribe|>", "<|notimestamps|>"]
SPECIALS += ["<|nospeech|>", "<|0.00|>"]


def split(*pieces: str, spaced: bool = True) -> list[TokenWord]:
    return split_words([piece.encode() for piece in pieces], spaced=spaced)


def test_punctuation_goes_with_its_word_but_not_into_its_time() -> None:
    words = split(" He", " said", ",", ' "', "Hello", " there", "!", '"', " -", " and", " $", "1", ",", "000", ".")
    assert words == [
        TokenWord(" He", 0, 1),
        TokenWord(" said,", 1, 2),
        TokenWord(' "Hello', 4, 5),
        TokenWord(' there!" -', 5, 6),
        TokenWord(" and", 9, 10),
        TokenWord(" $1,000.", 10, 14),
    ]


def test_signs_that_are_read_aloud_are_part_of_a_words_time() -> None:
    assert split(" 5", "%", ".", " &", " co") == [
        TokenWord(" 5%.", 0, 2),
        TokenWord(" &", 3, 4),
        TokenWord(" co", 4, 5),
    ]


def test_languages_without_spaces_are_split_at_characters() -> None:
    words = split_words([b"\xe4\xbd", b"\xa0", "好".encode(), "、".encode(), "「世".encode()], spaced=False)
    assert words == [TokenWord("你", 0, 2), TokenWord("好、", 2, 3), TokenWord("「世", 4, 5)]


def test_pauses_come_off_words() -> None:
    speech = [Stretch(1.0, 3.0), Stretch(5.0, 6.0)]
    words = [Word(0.0, 1.4, " a", 1.0), Word(1.4, 1.7, " b", 1.0), Word(1.7, 4.9, " c", 1.0)]
    words += [Word(4.9, 5.2, " d", 1.0), Word(5.2, 8.0, " e", 1.0)]
    cleaned = clean_times(words, speech)
    # c is clipped to the stretch that it shares most with; the median is capped, so nothing else is cut
    assert [word.start for word in cleaned] == pytest.approx([1.0, 1.4, 1.7, 5.0, 5.2])
    assert [word.end for word in cleaned] == pytest.approx([1.4, 1.7, 3.0, 5.2, 6.0])


def test_a_long_first_word_keeps_its_end_and_a_long_last_one_its_start() -> None:
    words = [Word(0.0, 4.0, " a", 1.0), *(Word(4.0 + i * 0.2, 4.2 + i * 0.2, " b", 1.0) for i in range(5))]
    words.append(Word(5.0, 9.0, " c", 1.0))
    cleaned = clean_times(words, [Stretch(0.0, 9.0)])
    assert (cleaned[0].start, cleaned[0].end) == pytest.approx((3.6, 4.0))
    assert (cleaned[-1].start, cleaned[-1].end) == pytest.approx((5.0, 5.4))


def say(*words: tuple[float, float, str]) -> list[Word]:
    return [Word(start, end, text, 0.9) for start, end, text in words]


def test_segments_end_at_sentences_and_pauses() -> None:
    words = say((0, 1, " One"), (1, 2.5, " two."), (2.6, 3, " Yes."), (3, 4, " Three"), (4, 5.1, " four."))
    words += say((5.2, 6, " five"), (7.5, 8, " six"))
    segments = make_segments(words, language="en")
    assert [s.text for s in segments] == ["One two.", "Yes. Three four.", "five", "six"]
    assert [(s.start, s.end) for s in segments] == [(0, 2.5), (2.6, 5.1), (5.2, 6), (7.5, 8)]
    assert [word for s in segments for word in s.words] == words
    assert {s.language for s in segments} == {"en"}


def test_an_abbreviation_ends_no_sentence() -> None:
    words = say((0, 1, " Then"), (1, 2.5, " Mr."), (2.6, 3, " J."), (3, 4, " Hale"), (4, 5, " left."), (5, 8, " We"))
    assert [s.text for s in make_segments(words, language="en")] == ["Then Mr. J. Hale left.", "We"]


def test_a_segment_without_sentences_is_no_longer_than_30_s() -> None:
    segments = make_segments(say(*((i, i + 1, f" w{i}") for i in range(70))), language="en")
    assert all(s.end - s.start <= 30 for s in segments)
    assert "".join(f" {s.text}" for s in segments) == "".join(f" w{i}" for i in range(70))


def test_prompts_name_language_and_task_only_where_there_is_a_choice() -> None:
    tokens = ["a", "Ġb", "Ã©", None, *SPECIALS]
    vocabulary = read_vocabulary(tokens, is_multilingual=True, where="x")
    assert vocabulary.pieces[:4] == (b"a", b" b", "é".encode(), b"")
    assert vocabulary.prompt("haw") == (5, 7, 8, 9)
    assert vocabulary.languages == {"en": 6, "haw": 7}
    assert vocabulary.unspoken == (3, 5, 6, 7, 8, 9, 10, 11)
    english = read_vocabulary(tokens, is_multilingual=False, where="x")
    assert english.prompt("en") == (5, 9)
    assert not english.languages


def test_a_tokenizer_without_whispers_tokens_is_refused() -> None:
    with pytest.raises(WeightsError):
        read_vocabulary(["a", *SPECIALS[:-3]], is_multilingual=True, where="folder")


def test_languages_by_code_and_by_name() -> None:
    codes = {"en", "de", "zh"}
    assert find_language("de", codes=codes) == "de"
    assert find_language("German", codes=codes) == "de"
    assert find_language(" mandarin ", codes=codes) == "zh"
    assert find_language("English", codes=set()) == "en"


@pytest.mark.parametrize(
    ("asked", "codes"), [("germn", {"en", "de"}), ("fr", {"en", "de"}), ("de", set()), ("", {"en"})]
)
def test_a_language_that_the_model_does_not_know_is_an_error(asked: str, codes: set[str]) -> None:
    with pytest.raises(UsageError) as caught:
        find_language(asked, codes=codes)
    assert caught.value.hint
    if asked == "germn":
        assert "german" in caught.value.hint
