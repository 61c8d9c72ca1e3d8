"""``murmur batch`` with a script for a model, which writes down what it decodes; run as a program, it is killed.

    python benchmarks/resumable_run.py LOG SEED N_KILLS ARGUMENT...

runs ``murmur ARGUMENT...`` again and again in processes of their own, kills the first N_KILLS of them with SIGKILL at
random moments, and lets one more end. It prints how many were killed before they ended by themselves, and the exit code
of the last. The recordings are those of ``write_talk``.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import soundfile

from murmur_cli.batch import Listeners
from murmur_cli.cli import app
from murmur_cli.cli import transcribe as command
from murmur_cli.engine import Answer, Job
from murmur_cli.listen import SpeakerModels
from murmur_cli.models import load
from murmur_cli.models.scripted import ScriptedEngine, ScriptedVad, ScriptEntry
from murmur_cli.speakers.diarize import Diarization
from murmur_cli.speakers.limits import SpeakerLimits
from murmur_cli.speakers.voices import VOICE_SIZE, VoiceVector
from murmur_cli.types import Samples, Span, Speaker, Turn

RATE = 16_000
N_CHUNKS = 8
CHUNK_S = 10.0  # a chunk holds one stretch of speech of 9 s
DELAY_S = 0.02  # what a chunk takes

_BEGUN, _KEPT = "begun", "kept"


class LoggingEngine(ScriptedEngine):
    """Takes its time, and writes each chunk down when it begins and once its answer has been kept."""

    def __init__(self, log: Path, *, delay_s: float = DELAY_S) -> None:
        super().__init__(make_script(N_CHUNKS))
        self._log = log
        self._delay_s = delay_s

    def decode(self, jobs: Iterable[Job]) -> Iterator[Answer]:
        """Answer the jobs in order."""
        for job in jobs:
            self._write(job, _BEGUN)
            time.sleep(self._delay_s)
            yield from super().decode([job])
            self._write(job, _KEPT)

    def _write(self, job: Job, what: str) -> None:
        with self._log.open("a", encoding="utf-8") as log:
            log.write(f"{what} {job.recording_id}.{job.chunk.index}\n")


class TurnDiarizer:
    """Two people, or as many as there should be at least, take turns of 15 s."""

    def turns(self, blocks: Iterable[Samples], limits: SpeakerLimits) -> Diarization:
        """Give the turns, whatever is heard."""
        seconds = sum(len(block) for block in blocks) / RATE
        starts = np.arange(0.0, seconds, 15.0)
        n_people = max(2, limits.least)
        turns = [
            Turn(float(start), min(float(start) + 15.0, seconds), Speaker(f"S{i % n_people + 1}"))
            for i, start in enumerate(starts)
        ]
        return Diarization(tuple(turns), (), forced=False)


class SpectrumEmbedder:
    """A voice is how a signal is spread over frequencies."""

    def embed(self, samples: Samples) -> VoiceVector:
        """Give the spectrum, of length 1."""
        spectrum = np.abs(np.fft.rfft(samples, 2 * VOICE_SIZE))[:VOICE_SIZE]
        return np.asarray(spectrum / np.linalg.norm(spectrum), np.float32)


def make_script(n_chunks: int) -> list[ScriptEntry]:
    """Two people in every chunk, numbered anew in each."""
    entries = []
    for i in range(n_chunks):
        start = i * CHUNK_S
        entries.append(ScriptEntry(start + 0.6, start + 4.4, f"This is part {i} in 東京.", i % 2))
        entries.append(ScriptEntry(start + 4.5, start + 9.1, "It goes on.", (i + 1) % 2))
    return entries


def make_speech(n_chunks: int) -> list[Span]:
    """Where a VAD finds it."""
    return [Span(round((i * CHUNK_S + 0.5) * RATE), round((i * CHUNK_S + 9.5) * RATE)) for i in range(n_chunks)]


def write_talk(path: Path, n_chunks: int, *, seed: int) -> str:
    """Write a recording of so many chunks."""
    noise = np.random.default_rng(seed).normal(0, 0.02, round(n_chunks * CHUNK_S * RATE))
    soundfile.write(path, noise, RATE, subtype="PCM_16")
    return str(path)


def listeners(n_chunks: int) -> Listeners:
    """Find that speech, and those people."""
    return Listeners(ScriptedVad(make_speech(n_chunks)), SpeakerModels(TurnDiarizer(), SpectrumEmbedder()))


def install(engine: ScriptedEngine) -> None:
    """Put a script into the place of the models of ``murmur batch``, in this process."""
    load.load_engine = lambda *_, **__: engine  # type: ignore[assignment]
    command.load_listeners = lambda *_, **__: listeners(N_CHUNKS)  # type: ignore[assignment]


def read_log(log: Path) -> tuple[int, list[str]]:
    """Count the chunks that were decoded, and name those that were decoded although they had been kept."""
    begun, kept, again = set(), set(), []
    for line in log.read_text(encoding="utf-8").splitlines():
        what, chunk = line.split()
        if what == _KEPT:
            kept.add(chunk)
        else:
            begun.add(chunk)
            again += [chunk] if chunk in kept else []
    return len(begun), again


def kill_often(arguments: Sequence[str], log: Path, *, n_kills: int, seed: int) -> tuple[int, int]:
    """Run the command and kill it, over and over; then let it end. Gives kills and the last exit code.

    A run is killed at a random moment after it has written a random number of lines into its log, up to ten: however
    slow the machine is, runs get somewhere.
    """
    draw = random.Random(seed)
    n_killed = 0
    for _ in range(n_kills):
        child = _start(arguments)
        _wait_for(child, log, n_lines=_count_lines(log) + draw.randint(0, 10))
        time.sleep(draw.uniform(0.0, 2 * DELAY_S))
        os.kill(child, signal.SIGKILL)
        n_killed += os.WIFSIGNALED(os.waitpid(child, 0)[1])
    return n_killed, os.waitstatus_to_exitcode(os.waitpid(_start(arguments), 0)[1])


def _wait_for(child: int, log: Path, *, n_lines: int) -> None:
    """Wait until there are so many lines, or the run is over."""
    while _count_lines(log) < n_lines and os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        time.sleep(0.002)


def _count_lines(log: Path) -> int:
    return log.read_bytes().count(b"\n") if log.exists() else 0


def _start(arguments: Sequence[str]) -> int:
    child = os.fork()
    if child == 0:
        os._exit(app.run(arguments))
    return child


def main(log: str, seed: str, n_kills: str, *arguments: str) -> None:
    install(LoggingEngine(Path(log)))
    n_killed, code = kill_often(arguments, Path(log), n_kills=int(n_kills), seed=int(seed))
    sys.stdout.write(f"{n_killed} {code}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
