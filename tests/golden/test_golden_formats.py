"""One transcript in every format, as it was agreed on. ``make golden`` renews the files; read the difference."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from transcript_samples import make_segment, make_transcript, make_words

from murmur_cli.options import FORMATS
from murmur_cli.transcript.formats import render_transcript
from murmur_cli.types import Gap, Transcript, Word

FOLDER = Path(__file__).parent / "formats"

LONG = (
    "We met on Monday, as we had done for years, and nobody expected that the vote would be close; "
    "then the lights went out, somebody laughed, and by the time they came back everything had changed."
)


def conversation() -> Transcript:
    """Two speakers and one unknown, at once for a while; a long turn, Japanese, a gap, and times on the edge."""
    japanese = [
        Word(20.0 + 0.4 * i, 20.4 + 0.4 * i, piece, 0.75) for i, piece in enumerate(["東京", "は、", "大きい。"])
    ]
    return make_transcript(
        [
            make_segment(0.48, 1.9, "Good morning.", speaker="S1", words=make_words("Good morning.", 0.48, 1.9)),
            make_segment(2.0, 2.25, "Hi!", speaker="Ann & Bob", words=make_words("Hi!", 2.0, 2.25)),
            make_segment(3.0, 17.5, LONG, speaker="S1", words=make_words(LONG, 3.0, 17.5)),
            make_segment(16.9, 17.3, "Really?", speaker="Ann & Bob", words=make_words("Really?", 16.9, 17.3)),
            make_segment(20.0, 21.2, "東京は、大きい。", speaker="S2", words=japanese, language="ja"),
            make_segment(
                40.0, 48.0, "No words here, but <markup> --> and a \t tab,\nand more than one line of it all."
            ),
            make_segment(59.9995, 61.2504, "The end.", words=make_words("The end.", 59.9995, 61.2504)),
        ],
        duration=61.2504375,
        gaps=[Gap(25.0, 39.5, "the model repeated itself")],
        damage="decoded 61.3 s of 90.0 s: the file is damaged at its end",
        source="talk \udcff.wav",
        recording_id=1,
    )


@pytest.mark.parametrize("format_name", FORMATS)
def test_every_format_is_as_agreed(format_name: str) -> None:
    text = render_transcript(conversation(), format_name, word_times=True).encode("utf-8")
    golden = FOLDER / f"conversation.{format_name}"
    if os.environ.get("MURMUR_UPDATE_GOLDEN") == "1":
        golden.parent.mkdir(exist_ok=True)
        golden.write_bytes(text)
    assert text.decode("utf-8") == golden.read_bytes().decode("utf-8")
