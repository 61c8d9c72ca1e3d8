#!/usr/bin/env python3
"""Live captions of a call as it is played: words against the batch command, how long they take to come, what they cost.

The call is played at its own pace, so this takes as long as it lasts. The latency of a word is counted from its end to
the moment at which it is committed. Then, as fast as possible: 60 read sentences, each a session; two minutes of faint
noise; and a day of silence through a scripted engine into all formats.

Examples: python benchmarks/stream.py · python benchmarks/stream.py --fast --hours 1 --json stream.json
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from children import read_memory
from recognise import join_text, recognise
from report import Report, Table, describe_run, format_goal, format_report, write_report
from scoring import Utterance, WordErrors, count_errors, load_call, load_utterances
from sessions import DATA_DIR
from stream_digits import Session as InterleavedSession
from stream_digits import parse as parse_digits
from stream_digits import run_sessions

from murmur_cli.audio.backlog import Backlog
from murmur_cli.audio.live import LiveSource
from murmur_cli.bias.cache import ListCache
from murmur_cli.engine import Bias, Engine, Extras, StreamDecoder, StreamDraft, StreamEngine, StreamUpdate
from murmur_cli.models.scripted import ScriptedStreamEngine, ScriptEntry
from murmur_cli.options import LIVE_FORMATS, ModelOptions, StreamOptions, VadOptions
from murmur_cli.speech.vad import Vad
from murmur_cli.stream import Wishes, transcribe_live
from murmur_cli.transcript.events import Committed, Draft, LiveEvent, Missing
from murmur_cli.transcript.growing import GrowingFile
from murmur_cli.transcript.live import make_writer
from murmur_cli.types import EngineInfo, Samples

__all__ = ["Endless", "Errors", "Live", "main", "measure_endless", "measure_live", "measure_sentences"]

_WER_GOAL, _MEDIAN_GOAL, _P95_GOAL = 2.0, 5.0, 11.0  # points over batch, seconds, seconds
_COST_GOAL, _SILENCE_GOAL, _GROWTH_GOAL = 50.0, 3.0, 5.0  # percent, percent, MB
_DRAFT_GOAL = 1.5  # seconds
_SILENCE_S, _BLOCK = 120, 1600
_PAUSE_S = 0.4  # between utterances; words last a little beyond their sound
_PACED_S = 0.1  # of the first block of a file that is played at its own pace
_SETTLED_S = 600.0
_WISHES = Wishes(is_stopped=lambda: False)


@dataclass(slots=True)
class Costs:
    """What pushes took: seconds by the clock and of all threads, and the speech that was committed with them."""

    cpu_s: float = 0.0
    utterances: list[tuple[float, float]] = field(default_factory=list)  # seconds by the clock, of speech


@dataclass(frozen=True, slots=True)
class Live:
    """One session and what came of it."""

    duration_s: float
    errors: WordErrors
    latencies_s: tuple[float, ...]  # of every word
    cpu_s: float
    utterances: tuple[tuple[float, float], ...]
    n_gaps: int
    first_drafts_s: tuple[float, ...]  # how long after an utterance began its first draft came


@dataclass(frozen=True, slots=True)
class Endless:
    """What a session without end holds, in bytes."""

    hours: float
    settled_bytes: int
    peak_bytes: int


@dataclass(frozen=True, slots=True)
class Errors:
    """Words that are wrong in the same recordings."""

    batch: WordErrors
    live: WordErrors


class _Watcher:
    """Hears of a session; implements ``LiveObserver``."""

    def __init__(self, *, shows_drafts: bool = False) -> None:
        self.shows_drafts = shows_drafts

    def listening(self, backlog: Backlog) -> None:
        del backlog

    def noted(self, text: str) -> None:
        print(text)


class _Watched:
    """An engine whose pushes are timed; implements ``StreamEngine`` and ``StreamDecoder``."""

    def __init__(self, engine: StreamEngine, costs: Costs) -> None:
        self._engine = engine
        self._costs = costs
        self._decoder: StreamDecoder

    @property
    def sample_rate(self) -> int:
        return self._engine.sample_rate

    @property
    def info(self) -> EngineInfo:
        return self._engine.info

    @property
    def extras(self) -> Extras:
        return self._engine.extras

    def keyword_lists(self) -> ListCache:
        return self._engine.keyword_lists()

    @contextmanager
    def open(self, options: StreamOptions, *, bias: Bias | None = None) -> Iterator[StreamDecoder]:
        with self._engine.open(options, bias=bias) as self._decoder:
            yield self

    def rebias(self, bias: Bias | None) -> None:
        self._decoder.rebias(bias)

    def draft(self) -> StreamDraft | None:
        return self._decoder.draft()

    def push(self, samples: Samples) -> StreamUpdate:
        cpu, wall = time.process_time(), time.perf_counter()
        return self._count(self._decoder.push(samples), cpu, wall)

    def finish(self) -> StreamUpdate:
        cpu, wall = time.process_time(), time.perf_counter()
        return self._count(self._decoder.finish(), cpu, wall)

    def _count(self, update: StreamUpdate, cpu: float, wall: float) -> StreamUpdate:
        self._costs.cpu_s += time.process_time() - cpu
        if update.committed:
            speech_s = update.committed[-1].end - update.committed[0].start
            self._costs.utterances.append((time.perf_counter() - wall, speech_s))
        return update


def main(arguments: Sequence[str] | None = None) -> None:
    args = _parse(arguments)
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as the command does; it is read when torch is imported
    import torch  # noqa: PLC0415 - after the settings that are read when it is imported

    torch.set_num_threads(args.threads)
    from murmur_cli.models.load import load_engine, load_stream_engine  # noqa: PLC0415 - loads torch
    from murmur_cli.models.silero import load_silero  # noqa: PLC0415

    model = ModelOptions(model=args.model)
    path, reference = args.data / "calls" / "0.mp3", load_call(args.data / "calls" / "0.json")
    batch_engine = load_engine(model, on_note=lambda _: None)
    vad = load_silero(VadOptions())
    batch = recognise([path], batch_engine, vad=vad, language=None)
    batch_errors = count_errors(reference, join_text(batch.transcripts[0]))
    engine = load_stream_engine(model, on_note=lambda _: None)
    live = measure_live(path, reference, engine, is_realtime=not args.fast, shows_drafts=args.drafts)
    sentences = measure_sentences(load_utterances(args.data / "librispeech"), batch_engine, engine, vad=vad)
    silence = _measure_silence(engine)
    endless = measure_endless(args.hours)
    (interleaved,) = run_sessions(parse_digits(["--sessions", "1", "--data", str(args.data)]))
    words = Errors(batch_errors, live.errors), sentences
    report = _make_report(live, words, silence, endless, interleaved=interleaved, info=engine.info)
    print(format_report(report))
    if args.json:
        write_report(args.json, report, [asdict(live), asdict(endless)])


def measure_live(
    path: Path, reference: str, engine: StreamEngine, *, is_realtime: bool, shows_drafts: bool = False
) -> Live:
    """Play a recording to an engine."""
    options, costs = StreamOptions(realtime=is_realtime), Costs()
    source = LiveSource(str(path), sample_rate=engine.sample_rate, options=options)
    heard = transcribe_live(
        source,
        _Watched(engine, costs),
        options=options,
        recorder=None,
        wishes=_WISHES,
        observer=_Watcher(shows_drafts=shows_drafts),
    )
    events: list[LiveEvent] = []
    came_at: list[float] = []
    for event in heard:
        events.append(event)
        came_at.append(time.monotonic())
    committed = [event for event in events if isinstance(event, Committed)]
    latencies = [
        event.latency + event.end - word.end for event in committed if event.latency is not None for word in event.words
    ]
    return Live(
        duration_s=committed[-1].heard_s,
        errors=count_errors(reference, " ".join(event.text for event in committed)),
        latencies_s=tuple(latencies),
        cpu_s=costs.cpu_s,
        utterances=tuple(costs.utterances),
        n_gaps=sum(isinstance(event, Missing) for event in events),
        first_drafts_s=tuple(_time_first_drafts(events, came_at)),
    )


def _time_first_drafts(events: Sequence[LiveEvent], came_at: Sequence[float]) -> Iterator[float]:
    """Tell how long after each utterance began its first draft came; the session begins with its first block.

    What goes on without a pause behind a committed part was in the drafts before, so it is not counted.
    """
    began_at, drafted, told = came_at[0] - _PACED_S, -1.0, -1.0
    for event, at in zip(events, came_at, strict=True):
        if isinstance(event, Committed):
            told = event.end
        elif isinstance(event, Draft) and event.text and event.start > drafted:
            drafted = event.start
            if event.start - told >= _PAUSE_S:
                yield at - began_at - event.start


def measure_sentences(utterances: Sequence[Utterance], batch: Engine, live: StreamEngine, *, vad: Vad) -> Errors:
    """Read utterances one by one, each as a recording and as a session."""
    said = recognise([each.audio for each in utterances], batch, vad=vad, language=None).transcripts
    errors = Errors(WordErrors(), WordErrors())
    for each, transcript in zip(utterances, said, strict=True):
        heard = measure_live(each.audio, each.text, live, is_realtime=False)
        errors = Errors(errors.batch + count_errors(each.text, join_text(transcript)), errors.live + heard.errors)
    return errors


def measure_endless(hours: float) -> Endless:
    """Write a session of silence, in which somebody speaks every 10 s, in all formats, and watch the memory."""
    script = (ScriptEntry(10.0 * i + 1, 10.0 * i + 9, f"Sentence {i}.") for i in range(int(hours * 360)))
    engine = ScriptedStreamEngine(list(script))
    options = StreamOptions(input_format="s16le", duration=hours * 3600)
    source = LiveSource("/dev/zero", sample_rate=engine.sample_rate, options=options)
    settled = peak = 0
    with tempfile.TemporaryDirectory(prefix="murmur-benchmark-") as folder, ExitStack() as stack:
        places = [stack.enter_context(GrowingFile(Path(folder) / f"session.{name}")) for name in LIVE_FORMATS]
        writers = [make_writer(name, place) for name, place in zip(LIVE_FORMATS, places, strict=True)]
        for event in transcribe_live(
            source, engine, options=options, recorder=None, wishes=_WISHES, observer=_Watcher()
        ):
            for writer in writers:
                writer.write(event)
            if isinstance(event, Committed):
                held = read_memory(os.getpid()).anonymous_bytes
                settled = settled if settled and event.end > _SETTLED_S else held
                peak = max(peak, held) if event.end > _SETTLED_S else held
    return Endless(hours, settled, peak)


def _measure_silence(engine: StreamEngine) -> float:
    """Tell the share of a core that faint noise takes, in percent."""
    noise = np.random.default_rng(0).normal(scale=1e-3, size=(_SILENCE_S * engine.sample_rate)).astype(np.float32)
    with engine.open(StreamOptions()) as decoder:
        decoder.push(noise[: 2 * engine.sample_rate])  # what happens once
        began = time.process_time()
        for start in range(2 * engine.sample_rate, len(noise), _BLOCK):
            assert not decoder.push(noise[start : start + _BLOCK]).committed
        return 100.0 * (time.process_time() - began) / (_SILENCE_S - 2)


def _make_report(
    live: Live,
    words: tuple[Errors, Errors],
    silence_percent: float,
    endless: Endless,
    *,
    interleaved: InterleavedSession,
    info: EngineInfo,
) -> Report:
    shares = [100.0 * cost / max(speech, 0.1) for cost, speech in live.utterances]
    total = 100.0 * sum(cost for cost, _ in live.utterances) / sum(speech for _, speech in live.utterances)
    growth = (endless.peak_bytes - endless.settled_bytes) / 1e6
    call, sentences = words
    worse, also = (each.live.wer - each.batch.wer for each in words)
    rows = [
        ("WER of batch, %", f"{call.batch.wer:.2f}"),
        ("WER live, %", f"{live.errors.wer:.2f}"),
        ("read sentences: WER of batch, %", f"{sentences.batch.wer:.2f}"),
        ("  WER live, %", f"{sentences.live.wer:.2f}"),
        ("gaps", str(live.n_gaps)),
        ("CPU-s per audio-s", f"{live.cpu_s / live.duration_s:.3f}"),
        ("utterances", str(len(shares))),
        ("compute of an utterance, % of its length: all", f"{total:.1f}"),
        ("  median", f"{np.median(shares):.1f}"),
        ("  95 of 100 below", f"{np.percentile(shares, 95):.1f}"),
        ("silence, % of a core", f"{silence_percent:.2f}"),
        (f"growth over {endless.hours:g} h after 10 min, MB", f"{growth:.1f}"),
        ("interleaved decoder (tiny model), CPU-ms a chunk", f"{np.mean(interleaved.chunk_ms):.0f}"),
        ("  its last 20 chunks", f"{np.mean(interleaved.chunk_ms[-20:]):.0f}"),
    ]
    verdicts = [
        format_goal(f"WER <= batch + {_WER_GOAL:g}: {worse:+.2f}", reached=worse <= _WER_GOAL),
        format_goal(f"that of sentences, too: {also:+.2f}", reached=also <= _WER_GOAL),
        format_goal(f"utterances cost < {_COST_GOAL:g} % of their length", reached=total < _COST_GOAL),
        format_goal(f"silence < {_SILENCE_GOAL:g} % of a core", reached=silence_percent < _SILENCE_GOAL),
        format_goal(f"memory grows < {_GROWTH_GOAL:g} MB", reached=growth < _GROWTH_GOAL),
    ]
    if live.latencies_s:
        median, p95 = np.percentile(live.latencies_s, [50, 95])
        rows[5:5] = [("latency of a word, s: median", f"{median:.2f}"), ("  95 of 100 below", f"{p95:.2f}")]
        reached = bool(median <= _MEDIAN_GOAL and p95 <= _P95_GOAL)
        verdicts.append(format_goal(f"latency <= {_MEDIAN_GOAL:g} s, of 95 % <= {_P95_GOAL:g} s", reached=reached))
    if live.first_drafts_s:
        first_s = float(np.median(live.first_drafts_s))
        rows.insert(5, ("first draft after an utterance begins, s: median", f"{first_s:.2f}"))
        reached = first_s <= _DRAFT_GOAL
        verdicts.append(format_goal(f"first draft <= {_DRAFT_GOAL:g} s, in the median", reached=reached))
    about = {"model": f"{info.model}, {info.precision}", "audio": f"calls/0.mp3, {live.duration_s:.0f} s"}
    return Report("Live captions", describe_run(about), Table(("what", "value"), tuple(rows)), tuple(verdicts))


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="whisper-base", help="one for utterances (%(default)s)")
    parser.add_argument("--fast", action="store_true", help="do not keep the pace of the call: no latencies")
    parser.add_argument("--drafts", action="store_true", help="show drafts, which commits wait for now and then")
    parser.add_argument("--hours", type=float, default=24.0, help="of the session without end (%(default)s)")
    parser.add_argument("--threads", type=int, default=2, help="CPU threads (%(default)s)")
    parser.add_argument("--data", type=Path, default=DATA_DIR, help="the test data (%(default)s)")
    parser.add_argument("--json", type=Path, help="write all measurements to this file")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
