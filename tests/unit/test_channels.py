"""One person per channel: transcripts merged in time, and brought together file by file."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import pytest
from transcript_samples import make_segment, make_transcript, make_words

from murmur_cli.speakers.channels import ChannelMerger, merge_channels
from murmur_cli.types import Gap, RecordingId, Transcript


def test_segments_come_in_order_of_time_and_channels_name_the_speakers() -> None:
    agent = make_transcript([make_segment(2, 5, "hello"), make_segment(9, 10, "bye")])
    caller = make_transcript([make_segment(0, 1, "hm"), make_segment(3, 4, "hi"), make_segment(9, 9.5, "well")])
    merged = merge_channels([agent, caller])
    assert [(segment.start, segment.end, segment.speaker, segment.text) for segment in merged.segments] == [
        (0, 1, "S2", "hm"),
        (2, 5, "S1", "hello"),
        (3, 4, "S2", "hi"),
        (9, 10, "S1", "bye"),
        (9, 9.5, "S2", "well"),
    ]


def test_nothing_is_changed_but_the_speaker() -> None:
    segment = make_segment(2, 5, "one two", speaker="c0-S3", words=make_words("one two", 2, 5))
    (merged,) = merge_channels([make_transcript([segment])]).segments
    assert merged == make_segment(2, 5, "one two", speaker="S1", words=segment.words)


def test_a_silent_channel_keeps_its_number() -> None:
    merged = merge_channels([make_transcript([]), make_transcript([make_segment(0, 1, "hm")])])
    assert [segment.speaker for segment in merged.segments] == ["S2"]


def test_gaps_name_their_channel() -> None:
    first = make_transcript([], gaps=[Gap(5.0, 6.0, "loop")])
    second = make_transcript([], gaps=[Gap(1.0, 2.0, "memory")])
    assert merge_channels([first, second]).gaps == (
        Gap(1.0, 2.0, "channel 2: memory"),
        Gap(5.0, 6.0, "channel 1: loop"),
    )


def test_the_rest_is_that_of_the_recording() -> None:
    first = make_transcript([], duration=10.0, damage="ends early", source="call.wav", language="en")
    second = make_transcript([make_segment(0, 1, "ja")], duration=12.0, damage="ends early", language="de")
    merged = merge_channels([first, second])
    assert (merged.source, merged.duration, merged.damage, merged.language) == ("call.wav", 12.0, "ends early", "de")
    both = merge_channels([make_transcript([make_segment(0, 1, "so")]), second])
    assert both.language is None
    assert merge_channels([first]).language == "en"


def test_there_is_a_channel() -> None:
    with pytest.raises(ValueError, match="channel"):
        merge_channels([])


def make_channel(recording_id: int, text: str) -> Transcript:
    return make_transcript([make_segment(recording_id, 60, text)], source=text[0], recording_id=recording_id)


def merge(transcripts: list[Transcript]) -> list[Transcript]:
    """Recordings 0, 4 and 1 are the channels of a file, 3 and 5 those of another; 2 is a file by itself."""
    merger = ChannelMerger()
    merger.expect(map(RecordingId, (0, 4, 1)))
    merger.expect(map(RecordingId, (3, 5)))
    return list(merger.iter_files(transcripts))


def test_channels_come_together_whatever_the_order() -> None:
    finished = [make_channel(i, text) for i, text in enumerate(["a1", "a3", "c", "b1", "a2", "b2"])]
    expected = {
        0: merge_channels([finished[0], finished[4], finished[1]]),
        2: finished[2],
        3: merge_channels([finished[3], finished[5]]),
    }
    for order in permutations(range(6)):
        ready = {0: max(map(order.index, (0, 4, 1))), 2: order.index(2), 3: max(map(order.index, (3, 5)))}
        assert merge([finished[i] for i in order]) == [expected[i] for i in sorted(expected, key=ready.__getitem__)]


def test_a_file_is_ready_with_its_last_channel_and_not_before() -> None:
    merger, taken = ChannelMerger(), []
    merger.expect(map(RecordingId, (0, 1)))
    merger.expect(map(RecordingId, (2, 3)))

    def finish() -> Iterator[Transcript]:
        for i in (1, 3, 0, 2):
            taken.append(i)
            yield make_channel(i, "x")

    files = merger.iter_files(finish())
    assert next(files).recording_id == 0
    assert taken == [1, 3, 0]


def test_a_file_of_which_a_channel_is_missing_is_no_file() -> None:
    assert merge([make_channel(0, "a1"), make_channel(4, "a2"), make_channel(5, "b2")]) == []
