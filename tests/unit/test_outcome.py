"""What became of the recordings decides the exit code."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from murmur_cli.cli.outcome import Outcome
from murmur_cli.cli.render import Talk
from murmur_cli.errors import AudioError, DeviceError, ExitCode, MurmurError
from murmur_cli.options import RunOptions
from murmur_cli.types import EngineInfo, Gap, Provenance, RecordingId, Segment, Transcript

SEGMENT = Segment(0.0, 1.0, "hello", None, (), "en")
GAP = Gap(2.0, 3.0, "repetition loop")


def make_transcript(
    *segments: Segment, gaps: tuple[Gap, ...] = (), damage: str | None = None, source: str = "a.wav"
) -> Transcript:
    provenance = Provenance("0", EngineInfo("m", "0", "cpu", "none"), None, 300.0, 0.5, ())
    return Transcript(RecordingId(0), source, segments, 10.0, gaps, "en", damage, provenance)


def settle(*events: Transcript | MurmurError, fail_fast: bool = False) -> tuple[Outcome, str]:
    stream = io.StringIO()
    outcome = Outcome(Talk(Console(file=stream, width=200), RunOptions()), fail_fast=fail_fast)
    for event in events:
        if isinstance(event, MurmurError):
            outcome.failed(event)
        else:
            outcome.written(event)
    return outcome, stream.getvalue()


GOOD, BAD = make_transcript(SEGMENT), AudioError("not audio", where="b.wav")


@pytest.mark.parametrize(
    ("events", "code"),
    [
        ([GOOD], ExitCode.OK),
        ([make_transcript()], ExitCode.OK),
        ([GOOD, BAD], ExitCode.PARTIAL),
        ([BAD, GOOD], ExitCode.PARTIAL),
        ([BAD, BAD], ExitCode.ERROR),
        ([DeviceError("out of memory")], ExitCode.NO_DEVICE),
        ([make_transcript(SEGMENT, gaps=(GAP,))], ExitCode.PARTIAL),
        ([make_transcript(SEGMENT, damage="decoded 1 s of 10 s")], ExitCode.PARTIAL),
        ([make_transcript(gaps=(GAP,))], ExitCode.ERROR),
        ([make_transcript(gaps=(GAP,)), GOOD], ExitCode.PARTIAL),
    ],
)
def test_exit_code(events: list[Transcript | MurmurError], code: ExitCode) -> None:
    outcome, _ = settle(*events)
    assert outcome.exit_code == code


def test_every_trouble_is_said_in_one_line_with_its_place() -> None:
    _, said = settle(make_transcript(SEGMENT, gaps=(GAP,), damage="decoded 1 s of 10 s", source="x\ny.wav"), BAD)
    lines = said.splitlines()
    assert len(lines) == 3
    assert all("x\\ny.wav: " in line for line in lines[:2])
    assert "2.0 s to 3.0 s: repetition loop" in lines[1]
    assert lines[2] == "murmur: b.wav: not audio"


def test_only_fail_fast_stops() -> None:
    for event in (BAD, make_transcript(SEGMENT, gaps=(GAP,))):
        assert settle(event, fail_fast=True)[0].is_over()
        assert not settle(event)[0].is_over()
    assert not settle(GOOD, fail_fast=True)[0].is_over()
