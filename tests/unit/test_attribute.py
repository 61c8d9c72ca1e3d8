"""Words of an engine that knows no speakers go to the turns."""

from __future__ import annotations

import time

import pytest
from transcript_samples import make_segment, make_words

from murmur_cli.speakers.attribute import attribute
from murmur_cli.types import Segment, Speaker, Turn, Word

TWO = [Turn(0.0, 2.0, Speaker("S1")), Turn(2.0, 4.0, Speaker("S2"))]


def say(segments: list[Segment], turns: list[Turn]) -> list[tuple[str | None, str]]:
    return [(segment.speaker, segment.text) for segment in attribute(segments, turns)]


def spoken(*words: tuple[str, float, float], text: str | None = None, language: str = "en") -> Segment:
    """A segment of these words, from the first to the last."""
    made = tuple(Word(start, end, word, 0.9) for word, start, end in words)
    spelled = "".join(word.text for word in made).strip() if text is None else text
    return make_segment(made[0].start, made[-1].end, spelled, words=made, language=language)


def test_a_segment_is_cut_where_the_speaker_changes() -> None:
    segment = make_segment(0.0, 4.0, "how are you fine", words=make_words("how are you fine", 0.0, 4.0))
    turns = [Turn(0.0, 3.1, Speaker("S1")), Turn(3.0, 4.0, Speaker("S2"))]
    parts = attribute([segment], turns)
    assert [(part.speaker, part.text, part.start, part.end) for part in parts] == [
        ("S1", "how are you", 0.0, 3.0),
        ("S2", "fine", 3.0, 4.0),
    ]
    assert parts[1].words[0].text == " fine"
    assert {part.language for part in parts} == {"en"}


def test_a_segment_of_one_speaker_keeps_its_times() -> None:
    segment = make_segment(0.0, 2.0, "how are you", words=make_words("how are you", 0.3, 1.7))
    (part,) = attribute([segment], TWO)
    assert (part.start, part.end, part.speaker) == (0.0, 2.0, "S1")


def test_a_word_without_a_turn_goes_to_the_nearest() -> None:
    turns = [Turn(0.0, 1.0, Speaker("S1")), Turn(5.0, 6.0, Speaker("S2"))]
    assert say([spoken((" early", 1.5, 2.5)), spoken((" late", 3.5, 4.5))], turns) == [("S1", "early"), ("S2", "late")]


def test_who_began_keeps_a_word_that_both_cover() -> None:
    turns = [Turn(1.0, 3.0, Speaker("S1")), Turn(0.0, 2.0, Speaker("S2"))]
    segment = spoken((" mine", 0.5, 1.0), (" both", 1.2, 1.8), (" yours", 2.2, 2.8))
    assert say([segment], turns) == [("S2", "mine both"), ("S1", "yours")]


def test_turns_of_one_speaker_that_touch_are_one() -> None:
    turns = [Turn(0.0, 1.0, Speaker("S1")), Turn(1.0, 3.0, Speaker("S1")), Turn(0.5, 3.0, Speaker("S2"))]
    assert say([spoken((" word", 1.2, 1.8))], turns) == [("S1", "word")]


def test_most_overlap_counts_before_who_began() -> None:
    turns = [Turn(0.0, 1.0, Speaker("S1")), Turn(1.0, 2.5, Speaker("S2")), Turn(2.0, 4.0, Speaker("S1"))]
    assert say([spoken((" word", 2.0, 4.0))], turns) == [("S1", "word")]


@pytest.mark.parametrize(("end", "expected"), [(1.35, "S1"), (1.45, "S2")])
def test_a_lone_short_word_joins_those_around_it(end: float, expected: str) -> None:
    turns = [Turn(0.0, 3.0, Speaker("S1")), Turn(1.0, 1.5, Speaker("S2"))]
    turns[0:1] = [Turn(0.0, 1.0, Speaker("S1")), Turn(1.5, 3.0, Speaker("S1"))]
    segment = spoken((" one", 0.2, 0.9), (" two", 1.0, end), (" three", 1.6, 2.2))
    speakers = [part.speaker for part in attribute([segment], turns) for _ in part.words]
    assert speakers == ["S1", expected, "S1"]


def test_alternating_short_words_do_not_swap() -> None:
    turns = [Turn(i * 0.3, i * 0.3 + 0.3, Speaker("S1" if i % 2 == 0 else "S2")) for i in range(5)]
    segment = spoken(*((f" w{i}", i * 0.3, i * 0.3 + 0.3) for i in range(5)))
    assert say([segment], turns) == [("S1", "w0 w1 w2 w3 w4")]


def test_a_short_answer_of_its_own_stays() -> None:
    turns = [Turn(0.0, 2.0, Speaker("S1")), Turn(2.0, 2.3, Speaker("S2")), Turn(2.3, 4.0, Speaker("S1"))]
    segments = [spoken((" so", 0.5, 1.9)), spoken((" Yes.", 2.0, 2.3)), spoken((" then", 2.4, 3.9))]
    assert say(segments, turns) == [("S1", "so"), ("S2", "Yes."), ("S1", "then")]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([(" Well", 1.0, 1.9), (".", 2.5, 3.5), (" Yes", 3.6, 3.9)], ["Well.", "Yes"]),
        ([(" Well", 1.0, 1.9), (" …", 2.5, 3.5), (" Yes", 3.6, 3.9)], ["Well …", "Yes"]),
        ([(" Well", 1.0, 1.9), ("?!", 2.0, 2.0), ('"', 2.1, 2.2), (" Yes", 3.6, 3.9)], ['Well?!"', "Yes"]),
        ([(" So", 1.0, 1.5), (' "', 1.6, 1.8), ("Yes", 2.6, 3.9), ('"', 3.9, 3.9)], ["So", '"Yes"']),
        ([(" So", 1.0, 1.5), (" (", 1.6, 1.8), ("yes", 2.6, 3.9), (").", 3.9, 3.9)], ["So", "(yes)."]),
        ([(" Si", 1.0, 1.5), (" ¿", 1.6, 1.8), ("no", 2.6, 3.9), ("?", 3.9, 3.9)], ["Si", "¿no?"]),
        ([(" Ann", 1.0, 1.9), ("'s", 2.0, 2.2), (" dog", 2.6, 3.9)], ["Ann's", "dog"]),
        ([(" twenty", 1.0, 1.9), ("-", 2.0, 2.1), ("two", 2.1, 2.3), (" dogs", 2.6, 3.9)], ["twenty-two", "dogs"]),
        ([(" 3", 1.0, 1.9), (".5", 2.0, 2.1), ("%", 2.1, 2.3), (" dogs", 2.6, 3.9)], ["3.5%", "dogs"]),
        (
            [("你", 1.0, 1.3), ("好", 1.3, 1.9), ("。", 2.0, 2.1), ("好", 2.1, 2.6), ("的", 2.6, 3.0)],
            ["你好。", "好的"],
        ),
        ([("好", 1.0, 1.9), ("《", 1.9, 2.0), ("书", 2.1, 2.6), ("》", 2.6, 3.0)], ["好", "《书》"]),
        ([("好。", 1.0, 1.9), ("OK", 2.1, 2.6), ("吗", 2.6, 3.0)], ["好。", "OK吗"]),
        ([("用", 1.0, 1.3), ("Python", 1.3, 1.9), ("写", 2.1, 3.0)], ["用Python", "写"]),
        ([("สวัส", 1.0, 1.9), ("ดี", 2.1, 2.6), ("ครับ", 2.6, 3.0)], ["สวัส", "ดีครับ"]),
    ],
)
def test_nothing_is_torn_from_what_it_is_written_with(
    words: list[tuple[str, float, float]], expected: list[str]
) -> None:
    assert say([spoken(*words)], TWO) == list(zip(["S1", "S2"], expected, strict=True))


def test_times_of_punctuation_mean_nothing() -> None:
    segment = spoken((" Well", 1.0, 1.5), (" yes", 1.5, 1.9), (".", 1.9, 9.0))
    assert say([segment], TWO) == [("S1", "Well yes.")]


def test_a_segment_without_words_goes_whole_to_who_has_most_of_it() -> None:
    turns = [Turn(0.0, 2.0, Speaker("S1")), Turn(2.0, 5.0, Speaker("S2")), Turn(5.0, 7.0, Speaker("S1"))]
    assert say([make_segment(0.0, 7.0, "all of this")], turns) == [("S1", "all of this")]


def test_words_that_do_not_spell_the_text_are_not_trusted_with_it() -> None:
    segment = spoken((" one", 0.0, 1.9), (" two", 2.1, 3.0), text="one and two")
    (part,) = attribute([segment], TWO)
    assert (part.speaker, part.text, part.words) == ("S1", "one and two", segment.words)


def test_a_speaker_that_is_known_stays() -> None:
    segment = make_segment(0.0, 4.0, "one two", speaker="Ann", words=make_words("one two", 0.0, 4.0))
    assert attribute([segment], TWO) == (segment,)


def test_without_turns_nothing_changes() -> None:
    segment = make_segment(0.0, 4.0, "one two", words=make_words("one two", 0.0, 4.0))
    assert attribute([segment], []) == (segment,)
    assert attribute([], TWO) == ()


def test_2_hours_are_no_burden() -> None:
    """One person never stops: a walk over all turns of others would not be linear."""
    turns = [Turn(i * 3.6, i * 3.6 + 3.5, Speaker(f"S{i % 6 + 1}")) for i in range(2_000)]
    turns.append(Turn(0.0, 7_200.0, Speaker("S7")))
    text = "a b c d e f g h i j"
    starts = [turn.start for turn in turns[:-1]]
    segments = [make_segment(at, at + 3.6, text, words=make_words(text, at, at + 3.6)) for at in starts]
    before = time.process_time()
    parts = attribute(segments, turns)
    seconds = time.process_time() - before
    assert sum(len(part.words) for part in parts) == 20_000
    assert seconds < 2.0
