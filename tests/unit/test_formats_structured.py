"""json and jsonl against the schemas that are shipped."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from transcript_samples import make_segment, make_transcript, make_words

from murmur_cli.transcript.formats import render_transcript
from murmur_cli.types import BiasUse, Gap, KeywordHit, Transcript, Word

FOLDER = files("murmur_cli.transcript")
SCHEMAS = {name: json.loads((FOLDER / f"{name}.schema.json").read_text("utf-8")) for name in ("transcript", "events")}
REGISTRY = Registry().with_resources((schema["$id"], Resource.from_contents(schema)) for schema in SCHEMAS.values())


def rich() -> Transcript:
    words = [*make_words("Hello, 東京 & <you>", 1.0, 2.0), Word(2.0, 2.0, "!", math.nan)]
    return make_transcript(
        [
            make_segment(1.0, 2.0, "Hello, 東京 & <you>!", speaker="S1", words=words),
            make_segment(9.0004, 10.0006, "Bye.", language=None),
        ],
        duration=10.0006,
        gaps=[Gap(3.0, 4.5, "loop")],
        damage="torn after 10.0 s",
        recording_id=3,
        bias=BiasUse("ab" * 32, 3.0, 12, (KeywordHit(1.0, 1.5, "Hello", changed=True),)),
    )


def violations(instance: object, schema_name: str) -> list[str]:
    validator = Draft202012Validator(SCHEMAS[schema_name], registry=REGISTRY)
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(instance)]


def as_json(transcript: Transcript, *, word_times: bool = True) -> dict[str, object]:
    return json.loads(render_transcript(transcript, "json", word_times=word_times), parse_constant=pytest.fail)


def as_events(transcript: Transcript, *, word_times: bool = True) -> list[dict[str, object]]:
    lines = render_transcript(transcript, "jsonl", word_times=word_times).splitlines()
    return [json.loads(line, parse_constant=pytest.fail) for line in lines]


@pytest.mark.parametrize("schema_name", sorted(SCHEMAS))
def test_the_schemas_are_schemas(schema_name: str) -> None:
    Draft202012Validator.check_schema(SCHEMAS[schema_name])


@pytest.mark.parametrize("word_times", [True, False])
@pytest.mark.parametrize("transcript", [rich(), make_transcript(language=None, duration=0.0)], ids=["rich", "empty"])
def test_json_keeps_to_its_schema(transcript: Transcript, word_times: bool) -> None:  # noqa: FBT001
    assert violations(as_json(transcript, word_times=word_times), "transcript") == []


@pytest.mark.parametrize("word_times", [True, False])
@pytest.mark.parametrize("transcript", [rich(), make_transcript(language=None, duration=0.0)], ids=["rich", "empty"])
def test_every_event_keeps_to_its_schema(transcript: Transcript, word_times: bool) -> None:  # noqa: FBT001
    for event in as_events(transcript, word_times=word_times):
        assert violations(event, "events") == []


def test_the_schemas_find_what_is_wrong() -> None:
    broken = as_json(rich())
    del broken["gaps"]
    assert violations(broken, "transcript")
    assert violations({"type": "segment", "v": 1, "recording": 0}, "events")
    assert violations({"type": "end", "v": 2, "recording": 0, "n_segments": 0, "n_gaps": 0}, "events")
    assert not violations({"type": "something new", "v": 1, "recording": 0}, "events")


def named_fields(schema: object) -> Iterator[str]:
    """Every field that a schema describes, at any depth."""
    if isinstance(schema, dict):
        properties = schema.get("properties", {})
        yield from properties
        for part in (*schema.values(), *properties.values()):
            yield from named_fields(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from named_fields(part)


def written_fields(instance: object) -> Iterator[str]:
    if isinstance(instance, dict):
        yield from instance
        for part in instance.values():
            yield from written_fields(part)
    elif isinstance(instance, list):
        for part in instance:
            yield from written_fields(part)


def test_the_schemas_describe_every_field_that_is_written_and_no_other() -> None:
    live = {"times"}  # written by murmur stream alone
    assert set(written_fields(as_json(rich()))) | live == set(named_fields(SCHEMAS["transcript"]))
    described = set(named_fields(SCHEMAS["events"])) | set(named_fields(SCHEMAS["transcript"]))
    only_whole = {"segments", "gaps"}  # arrays of the whole transcript: events of their own in the stream
    assert set(written_fields(as_events(rich()))) == described - only_whole - live


def test_json_says_what_was_said_and_what_was_not() -> None:
    told = as_json(rich())
    assert told["audio"] == {"source": "talk.wav", "duration": 10.0}
    assert (told["language"], told["damage"]) == ("en", "torn after 10.0 s")
    first, second = told["segments"]
    assert (first["start"], first["end"], first["speaker"], first["text"]) == (1.0, 2.0, "S1", "Hello, 東京 & <you>!")
    assert [word["text"] for word in first["words"]] == ["Hello,", "東京", "&", "<you>", "!"]
    assert [word["probability"] for word in first["words"]] == [0.9, 0.9, 0.9, 0.9, None]
    assert (second["start"], second["end"], second["speaker"], second["language"]) == (9.0, 10.0, None, None)
    assert told["gaps"] == [{"start": 3.0, "end": 4.5, "reason": "loop"}]
    assert told["provenance"]["engine"]["weights_sha256"] == "0" * 64


def test_events_come_in_order_of_time_between_a_head_and_an_end() -> None:
    events = as_events(rich())
    assert [event["type"] for event in events] == ["recording", "segment", "gap", "segment", "end"]
    assert {event["recording"] for event in events} == {3}
    assert (events[-1]["n_segments"], events[-1]["n_gaps"]) == (2, 1)
    assert [event["type"] for event in as_events(make_transcript())] == ["recording", "end"]


def test_events_of_several_recordings_can_follow_one_another() -> None:
    stream = "".join(
        render_transcript(make_transcript([make_segment(0.0, 1.0, name)], recording_id=i), "jsonl", word_times=True)
        for i, name in enumerate("ab")
    )
    texts: dict[int, list[str]] = {}
    for event in map(json.loads, stream.splitlines()):
        if event["type"] == "segment":
            texts.setdefault(event["recording"], []).append(event["text"])
    assert texts == {0: ["a"], 1: ["b"]}


def test_an_event_is_one_line_whatever_the_text() -> None:
    transcript = make_transcript([make_segment(0.0, 1.0, "a\nb\u2028c\u2029d\x85e")])
    lines = render_transcript(transcript, "jsonl", word_times=True).splitlines()  # which breaks at all of these
    assert len(lines) == 3
    assert json.loads(lines[1])["text"] == "a\nb\u2028c\u2029d\x85e"


@pytest.mark.parametrize("format_name", ["json", "jsonl"])
def test_a_number_that_json_cannot_hold_is_refused(format_name: str) -> None:
    transcript = make_transcript()
    transcript = replace(transcript, provenance=replace(transcript.provenance, vad_threshold=math.nan))
    with pytest.raises(ValueError, match="JSON"):
        render_transcript(transcript, format_name, word_times=True)


def test_words_can_be_left_out() -> None:
    assert all("words" not in segment for segment in as_json(rich(), word_times=False)["segments"])
    assert all("words" not in event for event in as_events(rich(), word_times=False))


def test_text_is_written_as_it_is_and_bad_names_become_valid() -> None:
    text = render_transcript(
        make_transcript([make_segment(0.0, 1.0, "東京")], source="a\udcff.wav"), "json", word_times=True
    )
    assert "東京" in text
    assert json.loads(text.encode("utf-8"))["audio"]["source"] == "a\ufffd.wav"
