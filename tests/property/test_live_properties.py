"""However what is heard is cut into blocks, the same is committed and written."""

from __future__ import annotations

import itertools
import os
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pysubs2
from hypothesis import given
from hypothesis import strategies as st
from scripted_stream import RATE, Bystander

from murmur_cli.audio.live import LiveSource
from murmur_cli.audio.pcm import PcmFormat, PcmReader
from murmur_cli.models.scripted import ScriptedStreamEngine, ScriptEntry
from murmur_cli.options import LIVE_FORMATS, PCM_FORMATS, StreamOptions, SubtitleOptions
from murmur_cli.stream import Wishes, transcribe_live
from murmur_cli.transcript.events import Committed
from murmur_cli.transcript.fields import parse_json
from murmur_cli.transcript.formats.subtitles import render_srt
from murmur_cli.transcript.growing import GrowingFile
from murmur_cli.transcript.live import make_writer
from murmur_cli.transcript.read import to_transcript
from murmur_cli.types import RecordingId, Samples


class Blocks(LiveSource):
    """A source of given blocks that nobody waits for."""

    def __init__(self, blocks: Sequence[Samples]) -> None:
        super().__init__("talk.wav", sample_rate=RATE, options=StreamOptions())
        self._blocks = blocks

    def iter_blocks(self) -> Iterator[Samples]:
        yield from self._blocks


def split(samples: Samples, cuts: Sequence[int]) -> list[Samples]:
    return [block for block in np.split(samples, sorted(cuts)) if len(block)]


def write(blocks: Sequence[Samples], script: Sequence[ScriptEntry], folder: Path) -> dict[str, str]:
    """What all formats hold in the end."""
    events = list(
        transcribe_live(
            Blocks(blocks),
            ScriptedStreamEngine(script, sample_rate=RATE),
            options=StreamOptions(),
            recorder=None,
            wishes=Wishes(lambda: False),
            observer=Bystander(),
        )
    )
    written = {}
    for name in LIVE_FORMATS:
        with GrowingFile(folder / name) as file:
            writer = make_writer(name, file)
            for event in events:
                writer.write(event)
        written[name] = (folder / name).read_text(encoding="utf-8")
    written["texts"] = "|".join(event.text for event in events if isinstance(event, Committed))
    return written


@st.composite
def scripts(draw: st.DrawFn) -> list[ScriptEntry]:
    """Entries one after the other, over about 20 s; some go on in the line of the one before, some fail."""
    entries, now = [], 0.0
    for _ in range(draw(st.integers(0, 8))):
        start = now + draw(st.sampled_from([0.0, 0.001, 0.3, 4.0]))
        now = start + draw(st.sampled_from([0.01, 0.4, 1.0 / 3.0, 2.9333]))
        if draw(st.booleans()) and draw(st.booleans()):
            entries.append(ScriptEntry(start, now, error="loop"))
            continue
        blank = " " if entries and draw(st.booleans()) else ""
        text = draw(st.sampled_from(["yes", "well, and so it goes on", "Done.", "東京", "a --> <b>"]))
        entries.append(ScriptEntry(start, now, blank + text, draw(st.sampled_from([None, 0, 1]))))
    return entries


@given(scripts(), st.lists(st.integers(0, 20 * RATE), max_size=30))
def test_any_split_writes_the_same_in_every_format(script: list[ScriptEntry], cuts: list[int]) -> None:
    samples = np.zeros(20 * RATE, np.float32)
    with tempfile.TemporaryDirectory() as folder:
        whole = write([samples], script, Path(folder))
        assert write(split(samples, cuts), script, Path(folder)) == whole


@given(scripts())
def test_what_is_written_live_says_what_batch_would_say(script: list[ScriptEntry]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        written = write([np.zeros(20 * RATE, np.float32)], script, Path(folder))
        transcript = to_transcript(parse_json(written["json"], where="json"), recording_id=RecordingId(0))
    spoken = [entry for entry in script if entry.error is None and entry.start < 20.0]
    assert [segment.text for segment in transcript.segments] == [entry.text.strip() for entry in spoken]
    assert len(transcript.gaps) == sum(entry.error is not None and entry.start < 20.0 for entry in script)
    live, batch = (
        pysubs2.SSAFile.from_string(text, "srt") for text in (written["srt"], render_srt(transcript, SubtitleOptions()))
    )
    assert to_letters(live) == to_letters(batch)
    assert all(cue.start < cue.end <= 20_000 for cue in live)
    assert all(one.end <= other.start for one, other in itertools.pairwise(live))
    vtt = pysubs2.SSAFile.from_string(written["vtt"], "vtt")
    assert [(cue.start, cue.end) for cue in vtt][:1] == [(cue.start, cue.end) for cue in live][:1]


def to_letters(cues: pysubs2.SSAFile) -> str:
    """The text of captions without labels and blanks, however they are cut."""
    return "".join(cue.plaintext.rpartition("1: ")[2].rpartition("2: ")[2] for cue in cues).translate(
        {ord(blank): None for blank in " \n"}
    )


@given(
    st.binary(max_size=200),
    st.sampled_from([name for name in PCM_FORMATS if name != "f32le"]),
    st.integers(1, 3),
    st.lists(st.integers(0, 200), max_size=10),
)
def test_any_split_of_bytes_gives_the_same_samples(
    data: bytes, encoding: str, n_channels: int, cuts: list[int]
) -> None:
    form = PcmFormat(encoding, RATE, n_channels)
    whole, parts = PcmReader(form, "stdin"), PcmReader(form, "stdin")
    borders = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    read = [parts.read(data[start:end]) for start, end in itertools.pairwise(borders)]
    assert np.array_equal(np.concatenate(read), whole.read(data))
    assert parts.n_left == whole.n_left == len(data) % form.n_frame_bytes


@given(st.binary(max_size=9), st.lists(st.integers(1, 3000), max_size=6), st.sampled_from([8000, 16_000, 44_100]))
def test_any_split_of_a_pipe_gives_the_same_signal(head: bytes, sizes: list[int], rate: int) -> None:
    # Not 0xFF or a letter at first: that might be a header.
    data = b"\0" + head + np.arange(-4000, 4000, dtype="<i2").tobytes()
    heard = [hear(data, sizes, rate), hear(data, [len(data)], rate)]
    assert np.array_equal(*heard)


def hear(data: bytes, sizes: list[int], rate: int) -> Samples:
    """What a source makes of bytes that are written to its pipe in pieces of these sizes."""
    reading, writing = os.pipe()

    def feed() -> None:
        rest = data
        with os.fdopen(writing, "wb", buffering=0) as pipe:
            for size in sizes:
                pipe.write(rest[:size])
                rest = rest[size:]
            pipe.write(rest)

    feeder = threading.Thread(target=feed)
    feeder.start()
    before = sys.stdin
    try:
        with os.fdopen(reading) as sys.stdin:
            options = StreamOptions(input_rate=rate)
            return np.concatenate(list(LiveSource("-", sample_rate=RATE, options=options).iter_blocks()))
    finally:
        sys.stdin = before
        feeder.join()
