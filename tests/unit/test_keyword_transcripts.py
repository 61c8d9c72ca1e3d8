"""Keywords that were heard, on their way into files and back, and written as their list spells them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from scripted_stream import Bystander
from transcript_samples import PROVENANCE, make_chunk, make_hyp, make_segment, make_transcript, make_words

from murmur_cli.audio.live import LiveSource
from murmur_cli.bias.hits import HitFinder
from murmur_cli.bias.keywords import join_lists
from murmur_cli.bias.list_files import parse_phrase
from murmur_cli.engine import Bias, Extras, StreamDraft, StreamSegment, StreamUpdate
from murmur_cli.errors import TranscriptError
from murmur_cli.options import StreamOptions
from murmur_cli.speakers.channels import merge_channels
from murmur_cli.stream import Wishes, transcribe_live
from murmur_cli.transcript.events import Committed, LiveEvent, Relisted, SessionStart
from murmur_cli.transcript.formats import render_transcript
from murmur_cli.transcript.growing import GrowingFile
from murmur_cli.transcript.keywords import respell_transcript
from murmur_cli.transcript.live import make_writer
from murmur_cli.transcript.read import load_transcript
from murmur_cli.transcript.stitch import RecordingFacts, shift, stitch
from murmur_cli.types import (
    BiasUse,
    DecodeError,
    EngineInfo,
    Hypothesis,
    KeywordHit,
    RecordingId,
    Samples,
    Transcript,
    Word,
)

FOLDER = files("murmur_cli.transcript")
NAMES = ("transcript", "events", "session")
SCHEMAS = {name: json.loads((FOLDER / f"{name}.schema.json").read_text("utf-8")) for name in NAMES}
REGISTRY = Registry().with_resources((schema["$id"], Resource.from_contents(schema)) for schema in SCHEMAS.values())
USE = BiasUse("ab" * 32, 2.5, 412, (KeywordHit(1.0, 1.5, "ComfyUI", True), KeywordHit(2.25, 3.0, "東京", False)))


def violations(instance: object, name: str) -> list[str]:
    return [error.message for error in Draft202012Validator(SCHEMAS[name], registry=REGISTRY).iter_errors(instance)]


def heard() -> Transcript:
    words = make_words("In ComfyUI in 東京", 0.5, 3.0)
    return make_transcript([make_segment(0.5, 3.0, "In ComfyUI in 東京", words=words)], duration=4.0, bias=USE)


# --- from chunks to a recording


def test_hits_are_moved_to_the_time_of_the_recording_and_stay_in_it() -> None:
    facts = RecordingFacts(
        recording_id=RecordingId(0),
        source="talk.wav",
        duration=9.0,
        sample_rate=1000,
        language="en",
        damage=None,
        provenance=PROVENANCE,
        bias=replace(USE, hits=()),
    )
    first = Hypothesis((make_hyp(0.0, 1.0, "b"),), hits=(KeywordHit(0.5, 9.0, "b", False),))
    second = Hypothesis(
        (make_hyp(0.0, 1.0, "a"),),
        hits=(KeywordHit(0.5, 1.0, "a", True), KeywordHit(float("nan"), 1.0, "lost", False)),
    )
    answers = [
        (make_chunk(1, 6000, 8000), second),
        (make_chunk(0, 2000, 4000), first),
        (make_chunk(2, 8000, 9000), DecodeError("loop", "")),
    ]
    use = stitch(facts, answers).bias
    assert use == replace(
        USE,
        hits=(KeywordHit(2.5, 4.0, "b", False), KeywordHit(6.5, 7.0, "a", True), KeywordHit(6.0, 8.0, "lost", False)),
    )
    later = shift(stitch(facts, answers), 10.0).bias
    assert later is not None
    assert [(hit.start, hit.end) for hit in later.hits] == [(12.5, 14.0), (16.5, 17.0), (16.0, 18.0)]
    assert stitch(replace(facts, bias=None), answers).bias is None


def test_what_was_heard_on_several_channels_comes_in_order() -> None:
    left, right = (
        make_transcript(bias=replace(USE, hits=(KeywordHit(at, at + 1, name, False),)))
        for at, name in ((5.0, "late"), (2.0, "early"))
    )
    merged = merge_channels([left, right])
    assert merged.bias is not None
    assert [hit.phrase for hit in merged.bias.hits] == ["early", "late"]
    assert merge_channels([make_transcript(), make_transcript()]).bias is None


# --- files


def test_json_and_events_keep_to_their_schemas() -> None:
    written = json.loads(render_transcript(heard(), "json", word_times=True))
    assert violations(written, "transcript") == []
    assert written["bias"]["hits"][0] == {"phrase": "ComfyUI", "start": 1.0, "end": 1.5, "changed": True}
    assert {name: written["bias"][name] for name in ("sha", "strength", "phrases")} == {
        "sha": "ab" * 32,
        "strength": 2.5,
        "phrases": 412,
    }
    first, *_ = [json.loads(line) for line in render_transcript(heard(), "jsonl", word_times=True).splitlines()]
    assert violations(first, "events") == []
    assert first["bias"] == written["bias"]
    assert "bias" not in json.loads(render_transcript(replace(heard(), bias=None), "json", word_times=True))


def test_what_is_read_back_is_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    path.write_text(render_transcript(heard(), "json", word_times=True), encoding="utf-8")
    back = load_transcript(str(path), recording_id=RecordingId(0))
    assert back.bias == USE
    assert render_transcript(back, "json", word_times=True) == path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "value"), [("phrases", -1), ("phrases", True), ("sha", None), ("strength", "3"), ("hits", {})]
)
def test_a_use_that_makes_no_sense_is_an_error(tmp_path: Path, name: str, value: object) -> None:
    content = json.loads(render_transcript(heard(), "json", word_times=True))
    content["bias"][name] = value
    path = tmp_path / "talk.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(TranscriptError, match=f"bias.{name}"):
        load_transcript(str(path), recording_id=RecordingId(0))


# --- spelling


def spell(text: str, *phrases: str) -> Transcript:
    words = make_words(text, 0.0, 10.0)
    given = make_transcript([make_segment(0.0, 10.0, text, words=words)])
    return respell_transcript(given, HitFinder(join_lists(map(parse_phrase, phrases))))


@pytest.mark.parametrize(
    ("text", "phrases", "expected"),
    [
        ("i like comfyui, really", ["ComfyUI"], ["i", " like", " ComfyUI,", " really"]),
        ("in new york city.", ["New York City"], ["in", " New", " York", " City."]),
        ('say "comfy ui" now', ["ComfyUI | comfy ui"], ["say", ' "ComfyUI"', " now"]),
        ("covid 19 came", ["COVID-19 | covid 19"], ["COVID-19", " came"]),
        ("covidnineteen came", ["COVID 19 | covidnineteen"], ["COVID 19", " came"]),
        ("we saw szypanskiego", ["Szypansk*"], ["we", " saw", " szypanskiego"]),
        ("ann/bob speak", ["Ann", "Bob"], ["Ann/bob", " speak"]),
        ("nothing of it", ["ComfyUI"], ["nothing", " of", " it"]),
    ],
)
def test_words_and_text_are_spelled_as_in_the_list(text: str, phrases: list[str], expected: list[str]) -> None:
    (segment,) = spell(text, *phrases).segments
    assert [word.text for word in segment.words] == expected
    times = [time for word in segment.words for time in (word.start, word.end)]
    assert times == sorted(times)
    assert (times[0], times[-1]) == (0.0, 10.0)
    if "/" not in text:
        assert segment.text == "".join(expected)


# --- live


class Hearer:
    """Commits each block of 1 s as what it listens for."""

    sample_rate = 1000
    info = EngineInfo("hearer", "0", "cpu", "none")
    extras = Extras(bias=True)

    def __init__(self) -> None:
        self._now: Bias | None = None
        self._n_heard = 0

    @contextmanager
    def open(self, options: StreamOptions, *, bias: Bias | None = None) -> Iterator[Hearer]:
        del options
        self._now = bias
        yield self

    def rebias(self, bias: Bias | None) -> None:
        self._now = bias

    def push(self, samples: Samples) -> StreamUpdate:
        start = self._n_heard / 1000
        self._n_heard += len(samples)
        name = "nothing" if self._now is None else self._now.keywords.keywords[0].display
        hits = () if self._now is None else (KeywordHit(start, start + 5.0, name, True),)
        words = (Word(start, start + 1, name, 0.5),)
        return StreamUpdate((StreamSegment(start, start + 1, name, None, "model", True, words, hits),))

    def draft(self) -> StreamDraft | None:
        return None

    def finish(self) -> StreamUpdate:
        return StreamUpdate()


class Seconds(LiveSource):
    """Three blocks of a second."""

    def __init__(self) -> None:
        super().__init__("talk.wav", sample_rate=1000, options=StreamOptions())

    def iter_blocks(self) -> Iterator[Samples]:
        yield from (np.zeros(1000, np.float32) for _ in range(3))


def listen(*wanted: str | None) -> list[LiveEvent]:
    """Ask for one list after the other: at the start, and before each block."""
    lists = {phrase: Bias(parse_phrase(phrase), 3.0) for phrase in wanted if phrase is not None}
    biases = iter([None if phrase is None else lists[phrase] for phrase in wanted])
    wishes = Wishes(lambda: False, lambda: next(biases))
    events = transcribe_live(
        Seconds(), Hearer(), options=StreamOptions(), recorder=None, wishes=wishes, observer=Bystander()
    )
    return list(events)


def test_a_session_listens_for_what_is_wanted_now() -> None:
    events = listen("Ann", "Ann", "Bob", "Bob")
    assert [event.text for event in events if isinstance(event, Committed)] == ["Ann", "Bob", "Bob"]
    (start,) = [event for event in events if isinstance(event, SessionStart)]
    assert start.bias == Bias(parse_phrase("Ann"), 3.0).describe()
    assert [(event.at, event.bias) for event in events if isinstance(event, Relisted)] == [
        (1.0, Bias(parse_phrase("Bob"), 3.0).describe())
    ]


def test_what_is_written_of_a_session_keeps_to_the_schemas(tmp_path: Path) -> None:
    events = listen("Ann", "Ann", "Bob", "Bob")
    for name in ("jsonl", "json"):
        with GrowingFile(tmp_path / f"a.{name}") as place:
            writer = make_writer(name, place)
            for event in events:
                writer.write(event)
    lines = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text("utf-8").splitlines()]
    assert [violation for line in lines for violation in violations(line, "session")] == []
    assert [line["type"] for line in lines].count("bias") == 1
    assert [line["hits"][0]["phrase"] for line in lines if line["type"] == "committed"] == ["Ann", "Bob", "Bob"]
    whole = json.loads((tmp_path / "a.json").read_text("utf-8"))
    assert violations(whole, "transcript") == []
    assert [hit["end"] for hit in whole["bias"]["hits"]] == [1.0, 2.0, 3.0]
    back = load_transcript(str(tmp_path / "a.json"), recording_id=RecordingId(0))
    assert back.bias is not None
    assert back.bias.sha256 == parse_phrase("Bob").sha256


def test_a_session_without_keywords_says_nothing_of_them(tmp_path: Path) -> None:
    with GrowingFile(tmp_path / "a.jsonl") as place:
        writer = make_writer("jsonl", place)
        for event in listen(None, None, None, None):
            writer.write(event)
    assert "bias" not in (tmp_path / "a.jsonl").read_text("utf-8")
    assert "hits" not in (tmp_path / "a.jsonl").read_text("utf-8")
