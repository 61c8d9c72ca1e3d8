"""A session in one of ``options.LIVE_FORMATS``, written while it lasts.

However the audio was split, the same is written in the end (the latencies of a live source apart).
"""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Protocol

from murmur_cli.transcript.events import Committed, Draft, Lag, LiveEvent, Missing, Relisted, SessionEnd, SessionStart
from murmur_cli.transcript.formats.structured import (
    VERSION,
    JsonObject,
    describe_hit,
    describe_list,
    describe_word,
    dump_json,
)
from murmur_cli.transcript.formats.subtitles import VTT_HEADER, render_srt_cues, render_vtt_cues
from murmur_cli.transcript.growing import GrowingText
from murmur_cli.transcript.line_breaks import ends_sentence
from murmur_cli.transcript.notation import floor_ms, replace_undecodable, to_one_line
from murmur_cli.transcript.subtitles import Cue, make_cues
from murmur_cli.types import BiasUse, Gap, KeywordHit, Provenance, RecordingId, Segment, Speaker, Transcript

__all__ = ["LiveWriter", "make_writer"]

_LONGEST_CAPTION_S = 7.0  # what goes on in the same sentence is one caption for so long; as in SubtitleOptions


class LiveWriter(Protocol):
    """Writes a session in one format."""

    def write(self, event: LiveEvent) -> None:
        """Write what happened, if it has a place in the format.

        Raises:
            OutputError: It cannot be written; what was written before stays.
            BrokenPipeError: Nobody reads it any more.
        """
        ...


def make_writer(format_name: str, place: GrowingText) -> LiveWriter:
    """Make the writer of a format.

    Raises:
        ValueError: It is none of ``options.LIVE_FORMATS``.
    """
    match format_name:
        case "txt":
            return _LineWriter(place)
        case "jsonl":
            return _EventWriter(place)
        case "srt" | "vtt":
            return _CaptionWriter(place, is_vtt=format_name == "vtt")
        case "json":
            return _JsonWriter(place)
        case _:
            raise ValueError(f"no such live format: {format_name}")


class _LineWriter:
    """A line for each piece of text, after its speaker where another one spoke before."""

    def __init__(self, place: GrowingText) -> None:
        self._place = place
        self._speaker: Speaker | None = None

    def write(self, event: LiveEvent) -> None:
        if isinstance(event, Committed):
            changes = event.speaker is not None and event.speaker != self._speaker
            label = f"{to_one_line(event.speaker or '')}: " if changes else ""
            self._speaker = event.speaker
            self._place.add(f"{label}{to_one_line(event.text)}\n")


class _EventWriter:
    """A line of JSON for each event; what it holds stands in ``session.schema.json``."""

    def __init__(self, place: GrowingText) -> None:
        self._place = place

    def write(self, event: LiveEvent) -> None:
        self._place.add(f"{dump_json(_describe(event))}\n")


def _describe(event: LiveEvent) -> JsonObject:
    match event:
        case SessionStart():
            provenance: JsonObject = asdict(event.provenance)
            about: JsonObject = {"source": replace_undecodable(event.source), "sample_rate": event.sample_rate}
            heard_for: JsonObject = {} if event.bias is None else {"bias": describe_list(event.bias)}
            return {"type": "session", "v": VERSION, **about, "provenance": provenance, **heard_for}
        case Committed():
            latency = None if event.latency is None else round(event.latency, 3)
            text: JsonObject = {"text": event.text, "starts_line": event.starts_line, "latency": latency}
            times: JsonObject = {**_describe_times(event), "times": event.times}
            return {
                "type": "committed",
                "v": VERSION,
                **times,
                **text,
                **_describe_words(event),
                **_describe_hits(event),
            }
        case Draft():
            start = _to_seconds(event.start)
            return {"type": "draft", "v": VERSION, "start": start, "speaker": event.speaker, "text": event.text}
        case Missing():
            return {"type": "gap", "v": VERSION, **_describe_gap(event.gap)}
        case Lag() | Relisted():
            return _describe_state(event)
        case SessionEnd():
            counts: JsonObject = {"n_segments": event.n_segments, "n_gaps": event.n_gaps}
            why: JsonObject = {"reason": event.reason, "damage": event.damage}
            return {"type": "end", "v": VERSION, "duration": _to_seconds(event.duration), **counts, **why}


def _describe_state(event: Lag | Relisted) -> JsonObject:
    place: JsonObject = {"v": VERSION, "at": _to_seconds(event.at)}
    if isinstance(event, Relisted):
        return {"type": "bias", **place, **describe_list(event.bias)}
    return {"type": "lag", **place, "behind": round(event.behind, 1)}


class _JsonWriter:
    """One object, as ``murmur batch`` writes it; the lists come first, so that they can grow."""

    def __init__(self, place: GrowingText) -> None:
        self._place = place
        self._start: SessionStart | None = None
        self._end: SessionEnd | None = None
        self._gaps: list[Gap] = []
        self._bias: BiasUse | None = None
        self._hits: list[KeywordHit] = []
        self._n_segments = 0
        self._duration = 0.0

    def write(self, event: LiveEvent) -> None:
        match event:
            case SessionStart():
                self._start, self._bias = event, event.bias
                self._add(f'{{\n  "v": {VERSION},\n  "segments": [')
            case Committed():
                self._duration = event.heard_s
                comma = "," if self._n_segments else ""
                self._n_segments += 1
                self._hits += event.hits
                self._add(f"{comma}\n    {dump_json(self._describe_segment(event))}")
            case Missing():
                self._gaps = sorted([*self._gaps, event.gap], key=lambda gap: gap.start)
                self._duration = max(self._duration, event.gap.end)
                self._add("")
            case SessionEnd():
                self._end, self._duration = event, event.duration
                self._add("")
            case Relisted():
                self._bias = event.bias
            case Draft() | Lag():
                pass

    def _add(self, text: str) -> None:
        self._place.add(text, tail=self._render_tail())

    def _describe_segment(self, event: Committed) -> JsonObject:
        assert self._start is not None
        language = self._start.provenance.language
        text: JsonObject = {"language": language, "text": event.text.strip(), "times": event.times}
        return {**_describe_times(event), **text, **_describe_words(event)}

    def _render_tail(self) -> str:
        assert self._start is not None
        provenance = self._start.provenance
        rest: JsonObject = {
            "gaps": [_describe_gap(gap) for gap in self._gaps],
            "audio": {"source": replace_undecodable(self._start.source), "duration": _to_seconds(self._duration)},
            "language": provenance.language,
            "damage": None if self._end is None else self._end.damage,
            "provenance": asdict(provenance),
        }
        if self._bias is not None:
            hits = [describe_hit(hit, floor_ms(self._duration) / 1000) for hit in self._hits]
            rest["bias"] = {**describe_list(self._bias), "hits": hits}
        return f"\n  ],{dump_json(rest, indent=2).removeprefix('{')}\n"


class _CaptionWriter:
    """Captions; the last one stays open, for its sentence may go on, and it is shown until the next comes."""

    def __init__(self, place: GrowingText, *, is_vtt: bool) -> None:
        self._place = place
        self._is_vtt = is_vtt
        self._open: Segment | None = None
        self._n_cues = 0
        self._free_from = 0.0
        self._provenance: Provenance | None = None

    def write(self, event: LiveEvent) -> None:
        match event:
            case SessionStart():
                self._provenance = event.provenance
                self._place.add(VTT_HEADER if self._is_vtt else "")
            case Committed():
                self._commit(event)
            case SessionEnd() if self._open is not None:
                self._place.add(self._close(self._open, until=event.duration))
                self._open = None
            case _:
                pass

    def _commit(self, event: Committed) -> None:
        fixed, segment = "", self._open
        if segment is not None and _goes_on(segment, event):
            segment = replace(segment, end=max(segment.end, event.end), text=segment.text + event.text)
        else:
            if segment is not None:
                fixed = self._close(segment, until=event.start)
            start = max(event.start, self._free_from)
            segment = Segment(start, max(start, event.end), event.text, event.speaker, (), None)
        self._open = segment
        cues = self._make_cues(segment, until=event.heard_s)
        self._place.add(fixed, tail=self._render(cues))

    def _close(self, segment: Segment, *, until: float) -> str:
        cues = self._make_cues(segment, until=until)
        text = self._render(cues)
        self._n_cues += len(cues)
        self._free_from = cues[-1].end_ms / 1000 if cues else self._free_from
        return text

    def _make_cues(self, segment: Segment, *, until: float) -> list[Cue]:
        """Cut one segment into cues; where it leaves room, they are shown ``until`` then."""
        assert self._provenance is not None
        duration = max(until, segment.end, segment.start + 0.001)
        one = Transcript(RecordingId(0), "", (segment,), duration, (), None, None, self._provenance)
        return make_cues(one, is_labelled=not self._is_vtt)

    def _render(self, cues: list[Cue]) -> str:
        return render_vtt_cues(cues) if self._is_vtt else render_srt_cues(cues, first_number=self._n_cues + 1)


def _goes_on(segment: Segment, event: Committed) -> bool:
    """Tell whether a piece belongs to the caption that is open."""
    is_same = not event.starts_line and event.speaker == segment.speaker
    return is_same and not ends_sentence(segment.text) and event.end - segment.start <= _LONGEST_CAPTION_S


def _describe_times(event: Committed) -> JsonObject:
    return {"start": _to_seconds(event.start), "end": _to_seconds(event.end), "speaker": event.speaker}


def _describe_words(event: Committed) -> JsonObject:
    return {"words": [describe_word(word, event.end) for word in event.words]} if event.words else {}


def _describe_hits(event: Committed) -> JsonObject:
    return {"hits": [describe_hit(hit, event.end) for hit in event.hits]} if event.hits else {}


def _describe_gap(gap: Gap) -> JsonObject:
    return {"start": _to_seconds(gap.start), "end": _to_seconds(gap.end), "reason": gap.reason}


def _to_seconds(seconds: float) -> float:
    """Cut a time to milliseconds: never beyond what was heard, and the same whenever it is written."""
    return floor_ms(seconds) / 1000
