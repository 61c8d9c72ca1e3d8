"""Cutting into cues: nothing lost, nothing overlaps, all of it readable; read back by two other readers.

The oracle of the cutting tries every way to group the units.
"""

from __future__ import annotations

import re
from itertools import combinations, pairwise

import pysubs2
from hypothesis import given
from hypothesis import strategies as st
from transcript_samples import make_segment, make_transcript

from murmur_cli.options import SubtitleOptions
from murmur_cli.transcript.formats import render_transcript
from murmur_cli.transcript.layout import measure, partition
from murmur_cli.transcript.line_breaks import display_width, find_units, is_spaceless
from murmur_cli.transcript.notation import floor_ms
from murmur_cli.transcript.subtitles import make_cues
from murmur_cli.types import Segment, Transcript, Word

LIMITS = SubtitleOptions()
WORDS = ("yes", "no,", "well.", "extraordinarily", "I", "“quoted”", "3.5", "東京", "です。", "สวัสดี", "한국어", "a" * 50)

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=40).map(" ".join)


@st.composite
def words(draw: st.DrawFn, text: str, start: float, end: float) -> tuple[Word, ...]:
    """The words of a text, begun in order at any times, now and then overlapping or without any length."""
    spoken = text.split(" ")
    starts = sorted(draw(st.lists(st.floats(start, end), min_size=len(spoken), max_size=len(spoken))))
    return tuple(
        Word(begun, draw(st.floats(begun, end)), f" {word}" if i else word, 1.0)
        for i, (word, begun) in enumerate(zip(spoken, starts, strict=True))
    )


@st.composite
def transcripts(draw: st.DrawFn, *, overlap: bool = True) -> Transcript:
    """Segments of up to 40 s, some of them of no length, some without words, some at once."""
    segments: list[Segment] = []
    position = 0.0
    for _ in range(draw(st.integers(0, 5))):
        start = position + draw(st.floats(0.0, 3.0))
        end = start + draw(st.floats(0.0, 40.0))
        text = draw(texts)
        spoken = draw(words(text, start, end)) if draw(st.booleans()) else ()
        segments.append(
            make_segment(start, end, text, speaker=draw(st.sampled_from([None, "S1", "Ann"])), words=spoken)
        )
        position = draw(st.floats(start, end)) if overlap else end
    duration = max([1.0, *(segment.end for segment in segments)]) + draw(st.floats(0.0, 2.0))
    return make_transcript(segments, duration=duration)


def squeezed(text: str) -> str:
    return "".join(text.split())


def labelless(line: str) -> str:
    return re.sub("^(S1|Ann): ", "", line)


@given(transcripts(overlap=False))
def test_words_in_are_words_out(transcript: Transcript) -> None:
    cues = make_cues(transcript, is_labelled=False)
    said = [line for cue in cues for line in cue.lines]
    assert squeezed("".join(said)) == squeezed("".join(segment.text for segment in transcript.segments))
    # No word that writes blanks around itself is cut.
    spaced = [word for word in " ".join(said).split() if not any(map(is_spaceless, word))]
    expected = [word for segment in transcript.segments for word in segment.text.split()]
    assert spaced == [word for word in expected if not any(map(is_spaceless, word))]


@given(transcripts())
def test_cues_never_overlap_and_stay_inside(transcript: Transcript) -> None:
    cues = make_cues(transcript, is_labelled=True)
    assert sum(len(squeezed(labelless(line))) for cue in cues for line in cue.lines) == sum(
        len(squeezed(segment.text)) for segment in transcript.segments
    )
    for cue in cues:
        assert 0 <= cue.start_ms < cue.end_ms <= floor_ms(transcript.duration)
        assert cue.end_ms - cue.start_ms <= LIMITS.max_duration_ms
        assert cue.lines
        assert all(line == line.strip() and line for line in cue.lines)
    for cue, following in pairwise(cues):
        assert cue.end_ms <= following.start_ms


@given(transcripts(overlap=False))
def test_cues_are_shown_while_their_segment_is_spoken_and_held_only_to_be_read(transcript: Transcript) -> None:
    cues = make_cues(transcript, is_labelled=False)
    slack = len(cues) + 1  # ms: rounding, and one for each cue that was given no time at all
    for cue, following in zip(cues, [*cues, None][1:], strict=True):
        inside = [
            segment
            for segment in transcript.segments
            if segment.start * 1000 - slack <= cue.start_ms <= segment.end * 1000 + slack
        ]
        assert inside
        room = following.start_ms if following else floor_ms(transcript.duration)
        needed = max(LIMITS.min_duration_ms, round(sum(map(len, cue.lines)) / LIMITS.max_cps * 1000))
        if cue.end_ms > max(segment.end for segment in inside) * 1000 + slack:
            assert cue.end_ms - cue.start_ms <= needed
        readable = cue.end_ms - cue.start_ms >= min(needed, LIMITS.max_duration_ms)
        assert readable or cue.end_ms == room


@given(transcripts())
def test_lines_are_short_and_few(transcript: Transcript) -> None:
    for cue in make_cues(transcript, is_labelled=True):
        assert len(cue.lines) <= LIMITS.max_lines
        for line in cue.lines:
            is_one_unit = len(find_units(labelless(line))) == 1
            assert sum(map(display_width, line)) <= LIMITS.max_line_width or is_one_unit


@given(st.integers(1, 9), st.integers(1, 4), st.lists(st.integers(0, 20), min_size=100, max_size=100))
def test_the_partition_costs_least(n: int, reach: int, prices: list[int]) -> None:
    def cost(i: int, j: int) -> float:
        return float(prices[10 * i + j])

    def price(cuts: tuple[int, ...]) -> float:
        return sum(cost(i, j) if j - i <= reach else float("inf") for i, j in pairwise((0, *cuts, n)))

    found = partition(0, n, reach=lambda i: i + reach, cost=cost)
    everything = [cuts for k in range(n) for cuts in combinations(range(1, n), k)]
    assert (found[0], found[-1]) == (0, n)
    assert price(tuple(found[1:-1])) == min(map(price, everything))


@given(texts, st.lists(st.integers(1, 60), min_size=1, max_size=3), st.integers(0, 39))
def test_what_fits_is_what_a_typesetter_sets_word_by_word(text: str, widths: list[int], first: int) -> None:
    passage = measure(text, frozenset())
    first = min(first, len(passage.units) - 1)
    j = first
    for width in widths:
        line = ""
        while j < len(passage.units):
            unit = passage.units[j]
            longer = text[passage.units[j - line.count("\0")].begin : unit.end] if line else text[unit.begin : unit.end]
            if line and sum(map(display_width, longer)) > width:
                break
            line += "\0"
            j += 1
    assert passage.fit(first, widths) == j


def read_srt(text: str) -> list[tuple[int, int, tuple[str, ...]]]:
    """A reader that knows nothing but the format."""
    cues = []
    for number, block in enumerate(text.removesuffix("\n\n").split("\n\n") if text else [], start=1):
        head, clock, *lines = block.split("\n")
        assert head == str(number)
        found = re.fullmatch(r"(\d\d+):(\d\d):(\d\d),(\d{3}) --> (\d\d+):(\d\d):(\d\d),(\d{3})", clock)
        assert found
        h, m, s, ms, h2, m2, s2, ms2 = map(int, found.groups())
        assert max(m, s, m2, s2) < 60
        cues.append((((h * 60 + m) * 60 + s) * 1000 + ms, ((h2 * 60 + m2) * 60 + s2) * 1000 + ms2, tuple(lines)))
    return cues


@given(transcripts())
def test_srt_reads_back(transcript: Transcript) -> None:
    text = render_transcript(transcript, "srt", word_times=False)
    cues = [(cue.start_ms, cue.end_ms, cue.lines) for cue in make_cues(transcript, is_labelled=True)]
    assert read_srt(text) == cues
    events = pysubs2.SSAFile.from_string(text, "srt")
    assert [(event.start, event.end, tuple(event.plaintext.split("\n"))) for event in events] == cues


@given(transcripts())
def test_written_times_never_exceed_the_duration_nor_run_backwards(transcript: Transcript) -> None:
    rows = render_transcript(transcript, "tsv", word_times=False).splitlines()[1:]
    times = [tuple(map(int, row.split("\t")[:2])) for row in rows]
    assert all(start <= end and end / 1000 <= transcript.duration for start, end in times)
    assert [start for start, _ in times] == sorted(start for start, _ in times)


@given(st.text(), st.text())
def test_any_text_gives_a_valid_file_in_every_line_based_format(text: str, speaker: str) -> None:
    transcript = make_transcript([make_segment(1.0, 3.0, text, speaker=speaker)])
    assert len(render_transcript(transcript, "txt", word_times=False).split("\n")) == 2
    assert [row.count("\t") for row in render_transcript(transcript, "tsv", word_times=False).split("\n")] == [3, 3, 0]
    cues = read_srt(render_transcript(transcript, "srt", word_times=False))
    assert all(lines and all(lines) for _, _, lines in cues)
    blocks = render_transcript(transcript, "vtt", word_times=False).split("\n\n")
    assert blocks[0].strip() == "WEBVTT"
    assert all(block.count("-->") == 1 and len(block.strip("\n").split("\n")) >= 2 for block in blocks[1:])
