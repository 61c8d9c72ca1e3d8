"""One person per channel, as call centres record: the channels' transcripts become one, merged in time.

Nothing is cut: where two people talk at once, both segments stand whole, and overlap.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from murmur_cli.speakers.diarize import name_speaker
from murmur_cli.types import BiasUse, DecodeError, Gap, Hypothesis, RecordingId, Segment, Transcript

__all__ = ["ChannelMerger", "forget_speakers", "merge_channels"]


class ChannelMerger:
    """Brings the channels of each file together again, in whatever order they are finished."""

    def __init__(self) -> None:
        self._files: dict[RecordingId, tuple[RecordingId, ...]] = {}  # by each of its channels
        self._finished: dict[RecordingId, Transcript] = {}

    def expect(self, channels: Iterable[RecordingId]) -> None:
        """Take note that these recordings, in their order, are the channels of one file."""
        file = tuple(channels)
        self._files.update(dict.fromkeys(file, file))

    def iter_files(self, transcripts: Iterable[Transcript]) -> Iterator[Transcript]:
        """Yield one transcript for each file, as soon as its last channel is finished.

        Args:
            transcripts: In any order, each after ``expect`` named it. A recording that it never named is a
                file by itself, and is passed on as it is.
        """
        for transcript in transcripts:
            file = self._files.get(transcript.recording_id)
            if file is None:
                yield transcript
                continue
            self._finished[transcript.recording_id] = transcript
            if all(channel in self._finished for channel in file):
                yield merge_channels([self._finished.pop(channel) for channel in file])


def forget_speakers(answer: Hypothesis | DecodeError) -> Hypothesis | DecodeError:
    """Leave out of an answer about a channel who speaks: it is one person, in all chunks, whatever the engine heard."""
    if isinstance(answer, DecodeError):
        return answer
    return replace(answer, segments=tuple(replace(told, speaker=None) for told in answer.segments))


def merge_channels(transcripts: Sequence[Transcript]) -> Transcript:
    """Merge the transcripts of one recording's channels.

    The speaker of channel 1 is S1, that of channel 2 is S2, whoever speaks first, and also where a channel
    is silent: the number says which channel it was, and ``--speaker-names S1=Agent,S2=Caller`` means the same
    people in every call.

    Args:
        transcripts: One for each channel, in the order of the channels.

    Returns:
        A transcript with the segments in order of their starts, of the channels where they start at once.
        Each gap names its channel. The language is that of the channels on which somebody speaks, if it is one.

    Raises:
        ValueError: There is no channel.
    """
    if not transcripts:
        raise ValueError("a recording has at least one channel")
    segments: list[Segment] = []
    gaps: list[Gap] = []
    for index, transcript in enumerate(transcripts):
        segments.extend(replace(segment, speaker=name_speaker(index)) for segment in transcript.segments)
        gaps.extend(replace(gap, reason=f"channel {index + 1}: {gap.reason}") for gap in transcript.gaps)
    spoken = [transcript for transcript in transcripts if transcript.segments] or transcripts
    languages = {transcript.language for transcript in spoken}
    damages = dict.fromkeys(each.damage for each in transcripts if each.damage is not None)
    return replace(
        transcripts[0],
        segments=tuple(sorted(segments, key=lambda segment: segment.start)),
        gaps=tuple(sorted(gaps, key=lambda gap: (gap.start, gap.end))),
        duration=max(transcript.duration for transcript in transcripts),
        language=languages.pop() if len(languages) == 1 else None,
        damage="; ".join(damages) or None,
        bias=_merge_uses([transcript.bias for transcript in transcripts if transcript.bias is not None]),
    )


def _merge_uses(uses: Sequence[BiasUse]) -> BiasUse | None:
    """Put the keywords that were heard on all channels in order; all were listened to with the same list."""
    if not uses:
        return None
    hits = sorted((hit for use in uses for hit in use.hits), key=lambda hit: hit.start)
    return replace(uses[0], hits=tuple(hits))
