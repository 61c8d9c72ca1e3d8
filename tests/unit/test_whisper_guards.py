"""What a text is worth: loops, budgets, silence, and what becomes of windows that went wrong."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from murmur_cli.decode.repetition import Loop, compression_ratio, find_loop, is_spoken
from murmur_cli.models.whisper.guards import Verdict, judge, plan_budget
from murmur_cli.models.whisper.passage import Draft, Passage, make_passage
from murmur_cli.models.whisper.rescue import read_speech
from murmur_cli.models.whisper.task import Reading
from murmur_cli.models.whisper.times import Stretch
from murmur_cli.types import Chunk, Span

RATE = 100
PHRASE = (" tell", " me", " what", " happened")


def window(start_s: float, end_s: float) -> Chunk:
    span = Span(round(start_s * RATE), round(end_s * RATE))
    return Chunk(0, span, (span,), forced_cut=False)


def draft(
    words: Sequence[str], starts: Sequence[float], *, logprob: float = -0.2, no_speech: float = 0.0, ended: bool = True
) -> Draft:
    tokens = tuple(sorted(set(words)).index(word) for word in words)
    reading = Reading(tokens, (logprob,) * (len(words) + ended), ended)
    return Draft(reading, tuple(word.encode() for word in words), tuple(starts), no_speech)


def evenly(n_words: int, duration_s: float) -> list[float]:
    return [duration_s * index / n_words for index in range(n_words + 1)]


def read(window: Chunk, written: Draft) -> Passage:
    return make_passage(window, written, sample_rate=RATE, spaced=True)


def text_of(passage: Passage) -> str:
    return "".join(word.text for word in passage.words)


# --- repetition


def test_a_phrase_said_seven_times_is_kept() -> None:
    words = PHRASE * 7
    passage = read(window(0, 21), draft(words, evenly(len(words), 21)))
    assert passage.verdict is Verdict.GOOD
    assert text_of(passage) == "".join(words)


def test_a_loop_that_nobody_could_speak_is_cut_off_where_it_begins() -> None:
    words = (" so", " he", " said", *PHRASE * 20)
    starts = [0.0, 1.0, 2.0, *(3.0 + index / 40 for index in range(81))]
    passage = read(window(0, 10), draft(words, starts))
    assert passage.verdict is Verdict.LOOPING
    assert text_of(passage) == " so he said"
    assert passage.broken_s == pytest.approx(3.0)


def test_a_loop_that_the_budget_ended_is_a_loop_however_slow() -> None:
    words = PHRASE * 7
    passage = read(window(0, 21), draft(words, evenly(len(words), 21), ended=False))
    assert passage.verdict is Verdict.LOOPING
    assert text_of(passage) == ""


def test_repeats_that_stand_still_are_not_spoken() -> None:
    loop = Loop(0, 20, 4)
    assert is_spoken(loop, evenly(20, 10))
    bunched = [0.0] * 4 + [0.1] * 4 + [0.2] * 4 + [9.0] * 4 + [9.5] * 5
    assert not is_spoken(loop, bunched)
    assert not is_spoken(loop, evenly(20, 1))


def test_ordinary_repetition_is_no_loop() -> None:
    assert find_loop([1, 2, 3, 1, 2, 3, 4, 5] * 2) is None
    assert find_loop([7, 7, 7, 7]) is None
    assert find_loop([9, *[5, 6] * 8]) == Loop(1, 17, 2)
    assert compression_ratio("no, " * 50) > 2.4 > compression_ratio("There is iron, they say, in all our blood.")


# --- verdicts


@pytest.mark.parametrize(
    ("logprob", "no_speech", "loops", "ended", "verdict"),
    [
        (-0.3, 0.9, False, True, Verdict.GOOD),
        (-1.1, 0.5, False, True, Verdict.UNLIKELY),
        (-1.1, 0.7, False, True, Verdict.SILENT),
        (-0.1, 0.7, True, True, Verdict.SILENT),
        (-0.1, 0.5, True, True, Verdict.LOOPING),
        (-0.1, 0.5, False, False, Verdict.CUT_OFF),
    ],
)
def test_verdicts(*, logprob: float, no_speech: float, loops: bool, ended: bool, verdict: Verdict) -> None:
    assert judge(Reading((1,), (logprob,), ended), no_speech=no_speech, loops=loops) is verdict


def test_silence_has_no_words_and_no_gap() -> None:
    passage = read(window(0, 3), draft([" Thank", " you."], [0.0, 0.5, 1.0], logprob=-1.2, no_speech=0.8))
    assert (passage.words, passage.broken_s, passage.is_doubtful) == ((), None, False)


def test_a_text_of_dots_is_no_text() -> None:
    passage = read(window(0, 3), draft([" .", " .", " ."], [0.0, 0.5, 1.0, 1.5]))
    assert passage.words == ()
    assert passage.unread == (Stretch(0.0, 3.0),)


def test_an_unlikely_text_of_few_words_is_not_believed() -> None:
    sparse = draft([" Thank", " you."], [0.0, 0.5, 1.0], logprob=-1.2)
    assert read(window(0, 9), sparse).words == ()
    assert read(window(0, 9), sparse).broken_s == 0.0
    assert text_of(read(window(0, 1), sparse)) == " Thank you."


def test_speech_without_words_makes_a_text_doubtful() -> None:
    words = PHRASE * 2
    passage = read(window(0, 12), draft(words, evenly(8, 4.0)))
    assert passage.is_good
    assert passage.is_doubtful
    assert passage.ends_early
    assert passage.unread == (Stretch(passage.words[-1].end, 12.0),)


def test_probabilities_are_those_of_the_tokens() -> None:
    passage = read(window(0, 1), draft([" Thank", " you."], [0.0, 0.5, 1.0], logprob=math.log(0.25)))
    assert [word.probability for word in passage.words] == pytest.approx([0.25, 0.25])


def test_budgets_grow_with_the_window_up_to_a_limit() -> None:
    assert plan_budget(0.5, n_positions=444) < plan_budget(5.0, n_positions=444) <= plan_budget(28.0, n_positions=444)
    assert plan_budget(28.0, n_positions=444) == 224
    assert plan_budget(28.0, n_positions=20) == 20


# --- rescue


class FakeReader:
    """Reads windows of up to ``longest_s`` well; what it does with longer ones is told."""

    def __init__(self, *, longest_s: float, else_words: float = 0.0, verdict: Verdict = Verdict.LOOPING) -> None:
        self.longest_s = longest_s
        self.else_words = else_words  # seconds of words at the start of longer windows
        self.verdict = verdict
        self.asked: list[list[Span]] = []
        self.sampled: list[Span] = []

    def read(self, windows: Sequence[Chunk]) -> list[Passage]:
        self.asked.append([w.span for w in windows])
        return [self._read(w) for w in windows]

    def sample(self, windows: Sequence[Chunk]) -> list[Passage]:
        self.sampled += [w.span for w in windows]
        return [read(w, self._speak(w, w.span.n_samples / RATE)) for w in windows]

    def _read(self, window: Chunk) -> Passage:
        duration_s = window.span.n_samples / RATE
        if duration_s <= self.longest_s:
            return read(window, self._speak(window, duration_s))
        if self.verdict is Verdict.GOOD:
            return read(window, self._speak(window, self.else_words))
        return read(window, draft(PHRASE * 9, evenly(36, duration_s), ended=False))

    @staticmethod
    def _speak(window: Chunk, spoken_s: float) -> Draft:
        words = [f" w{window.span.start + second}" for second in range(max(1, round(spoken_s)))]
        return draft(words, evenly(len(words), spoken_s))


def cut(window: Chunk, near: Span) -> list[Chunk]:
    middle = (near.start + near.end) // 2
    return [
        Chunk(i, Span(a, b), (Span(a, b),), forced_cut=False)
        for i, (a, b) in enumerate([(window.span.start, middle), (middle, window.span.end)])
    ]


def rescue(reader: FakeReader, *windows: Chunk) -> list[list[Passage]]:
    return read_speech(reader, windows, split=cut, sample_rate=RATE)


def test_good_windows_are_read_once() -> None:
    reader = FakeReader(longest_s=30)
    assert len(rescue(reader, window(0, 20), window(20, 30))) == 2
    assert reader.asked == [[Span(0, 2000), Span(2000, 3000)]]


def test_a_looping_window_is_read_in_parts() -> None:
    (passages,) = rescue(FakeReader(longest_s=8), window(0, 28))
    assert [p.window.span for p in passages] == [Span(0, 700), Span(700, 1400), Span(1400, 2100), Span(2100, 2800)]
    assert all(p.is_good and not p.is_doubtful for p in passages)


def test_what_cannot_be_cut_further_is_sampled() -> None:
    reader = FakeReader(longest_s=1)
    (passages,) = rescue(reader, window(0, 3))
    assert reader.sampled == [Span(0, 300)]
    assert [p.verdict for p in passages] == [Verdict.GOOD]


def test_a_text_that_ends_early_goes_on_from_there() -> None:
    reader = FakeReader(longest_s=15, else_words=14.0, verdict=Verdict.GOOD)
    (passages,) = rescue(reader, window(0, 28))
    head, tail = passages
    assert text_of(head) == "".join(f" w{second}" for second in range(14))
    assert tail.window.span == Span(head.window.span.end, 2800)
    assert reader.asked[1] == [tail.window.span]
    assert not tail.is_doubtful


def test_parts_are_not_taken_where_they_are_no_better() -> None:
    reader = FakeReader(longest_s=0, else_words=0.0)
    reader.sample = lambda windows: [reader._read(w) for w in windows]  # type: ignore[method-assign]
    (passages,) = rescue(reader, window(0, 28))
    assert all(not p.is_good and p.words == () and p.broken_s is not None for p in passages)
