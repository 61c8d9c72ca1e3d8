"""A transcript as json is read back as it was written; anything else is one clear error."""

from __future__ import annotations

import io
import json
import math
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from transcript_samples import make_segment, make_transcript, make_words

from murmur_cli.errors import TranscriptError
from murmur_cli.options import FORMATS
from murmur_cli.transcript.formats import render_transcript
from murmur_cli.transcript.read import load_transcript
from murmur_cli.types import Gap, RecordingId, Transcript, Word


def conversation() -> Transcript:
    """Every kind of field, in whole milliseconds."""
    japanese = (Word(6.0, 6.4, "東京", 0.75), Word(6.4, 7.0, "は。", math.nan))
    return make_transcript(
        [
            make_segment(0.5, 2.0, "Good  morning.", speaker="S1", words=_words(0.5, "Good", "  morning.")),
            make_segment(1.5, 3.0, "No words,\nbut two lines"),
            make_segment(6.0, 7.0, "東京は。", speaker="Ann & Bob", words=japanese, language="ja"),
            make_segment(8.0, 9.0, "not what the words say", words=_words(8.0, "other", " words")),
        ],
        duration=12.345,
        gaps=[Gap(4.0, 5.0, "the model repeated itself"), Gap(10.0, 12.0, "again")],
        damage="decoded 12.3 s of 90.0 s",
        language=None,
        source="calls/my talk.mp3",
        recording_id=3,
    )


def _words(start: float, *texts: str) -> tuple[Word, ...]:
    return tuple(Word(start + i / 4, start + (i + 1) / 4, text, 0.5) for i, text in enumerate(texts))


def write(folder: Path, transcript: Transcript, *, word_times: bool = True) -> Path:
    path = folder / "talk.json"
    path.write_text(render_transcript(transcript, "json", word_times=word_times), encoding="utf-8")
    return path


def load(path: Path) -> Transcript:
    return load_transcript(str(path), recording_id=RecordingId(3))


def test_what_was_written_is_read(tmp_path: Path) -> None:
    written = replace(conversation(), segments=conversation().segments[:2])
    assert load(write(tmp_path, written)) == written


@pytest.mark.parametrize("format_name", FORMATS)
def test_every_format_is_the_same_after_a_round_trip(format_name: str, tmp_path: Path) -> None:
    written = conversation()
    read = load(write(tmp_path, written))
    assert render_transcript(read, format_name, word_times=True) == (
        render_transcript(written, format_name, word_times=True)
    )


def test_blanks_before_words_come_from_the_text(tmp_path: Path) -> None:
    first, _, third, fourth = load(write(tmp_path, conversation())).segments
    assert [word.text for word in first.words] == ["Good", "  morning."]
    assert [word.text for word in third.words] == ["東京", "は。"]
    assert math.isnan(third.words[1].probability)
    assert [word.text for word in fourth.words] == [" other", " words"]


@pytest.mark.parametrize("words", [("a", "c"), ("a", "b"), ("b", "c"), ("a", "b", "c", "d")])
def test_words_that_are_not_all_of_the_text_are_kept_as_they_are(words: tuple[str, ...], tmp_path: Path) -> None:
    written = make_transcript([make_segment(0, 2, "a b c", words=_words(0.0, *words))])
    (segment,) = load(write(tmp_path, written)).segments
    assert [word.text for word in segment.words] == [f" {word}" for word in words]


def test_words_may_be_left_out(tmp_path: Path) -> None:
    read = load(write(tmp_path, conversation(), word_times=False))
    assert [segment.words for segment in read.segments] == [()] * 4


def test_stdin_is_read_and_a_byte_order_mark_is_no_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    content = b"\xef\xbb\xbf" + render_transcript(conversation(), "json", word_times=True).encode()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    assert load_transcript("-", recording_id=RecordingId(3)).source == "calls/my talk.mp3"


def test_fields_of_a_later_murmur_are_passed_over(tmp_path: Path) -> None:
    path = write(tmp_path, conversation())
    content = json.loads(path.read_text(encoding="utf-8"))
    content["mood"] = content["segments"][0]["mood"] = content["provenance"]["mood"] = "good"
    path.write_text(json.dumps(content), encoding="utf-8")
    assert load(path).segments[0].text == "Good  morning."


def test_a_transcript_from_before_voices_could_be_known_is_read(tmp_path: Path) -> None:
    path = write(tmp_path, conversation())
    content = json.loads(path.read_text(encoding="utf-8"))
    assert content["provenance"].pop("enrolled") == ["Ann"]
    path.write_text(json.dumps(content), encoding="utf-8")
    assert load(path).provenance.enrolled == ()


Spoil = Callable[[dict[str, Any]], object]

SPOILED: dict[str, Spoil] = {
    "v ": lambda t: t.update(v=2),
    "v  ": lambda t: t.update(v=True),
    "'gaps'": lambda t: t.pop("gaps"),
    "segments": lambda t: t.update(segments={}),
    "segments[1]": lambda t: t["segments"].insert(1, "x"),
    "segments[0].start": lambda t: t["segments"][0].update(start="0"),
    "segments[0].end": lambda t: t["segments"][0].update(end=0.4),
    "segments[2].end": lambda t: t["segments"][2].update(end=12.346),
    "segments[3].start": lambda t: t["segments"][3].update(start=-1),
    "segments[1].start": lambda t: t["segments"][1].update(start=math.nan),
    "segments[0].text": lambda t: t["segments"][0].update(text=" "),
    "segments[0].speaker": lambda t: t["segments"][0].update(speaker=""),
    "segments[1].speaker": lambda t: t["segments"][1].update(speaker=5),
    "segments[0].words": lambda t: t["segments"][0].update(words=None),
    "segments[0].words[1].end": lambda t: t["segments"][0]["words"][1].update(end=10**400),
    "segments[0].words[0].probability": lambda t: t["segments"][0]["words"][0].update(probability=1.5),
    "segments[1] ": lambda t: t["segments"].insert(0, t["segments"].pop(1)),
    "gaps[1]": lambda t: t["gaps"].reverse(),
    "audio.duration": lambda t: t["audio"].update(duration=None),
    "provenance.engine": lambda t: t["provenance"]["engine"].pop("model"),
    "provenance.enrolled[0]": lambda t: t["provenance"].update(enrolled=[None]),
}


@pytest.mark.parametrize("place", SPOILED)
def test_what_makes_no_sense_is_an_error_that_names_the_place(place: str, tmp_path: Path) -> None:
    path = write(tmp_path, conversation())
    content = json.loads(path.read_text(encoding="utf-8"))
    SPOILED[place](content)
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(TranscriptError) as caught:
        load(path)
    assert caught.value.where == str(path)
    assert place.strip() in caught.value.problem


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"{}",
        b'{"type": "recording", "v": 1}\n{"type": "end", "v": 1}\n',
        b"\xff\xfe",
        b"[" * 99999,
    ],
)
def test_what_is_no_transcript_is_one_clear_error(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    path.write_bytes(content)
    with pytest.raises(TranscriptError) as caught:
        load(path)
    assert caught.value.where == str(path)
    assert caught.value.hint


def test_one_event_of_json_lines_is_named_as_such(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    path.write_text(render_transcript(make_transcript(), "jsonl", word_times=True).splitlines()[0], encoding="utf-8")
    with pytest.raises(TranscriptError, match="JSON lines"):
        load(path)


@pytest.mark.parametrize("name", ["missing.json", "."])
def test_a_file_that_cannot_be_read_is_one_clear_error(name: str, tmp_path: Path) -> None:
    with pytest.raises(TranscriptError, match="cannot be read"):
        load(tmp_path / name)


def test_long_segments_are_read_quickly(tmp_path: Path) -> None:
    text = " ".join(["word"] * 3000)
    long = make_transcript([make_segment(0, 50, text, words=make_words(text, 0, 50))])
    (segment,) = load(write(tmp_path, long)).segments
    assert "".join(word.text for word in segment.words) == text
