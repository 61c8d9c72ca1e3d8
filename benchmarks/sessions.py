"""Conversations of a known text for the programs that measure speed, made from LibriSpeech.

The same arguments give the same samples. make_session.py (beside the test data) mixes them; it is pure
Python and slow on hours, so long recordings are short sessions, one after the other.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import soundfile
from scoring import SpokenTurn, load_stm

__all__ = ["DATA_DIR", "Session", "make_long_session", "make_session"]

DATA_DIR = Path(os.environ.get("MURMUR_TEST_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data").resolve()

_RATE = 16_000
_PIECE_MINUTES = 7.0  # the 60 utterances last about that long: no sentence comes twice in a piece
_N_PIECES = 6  # distinct orders of the sentences; a longer recording starts again with the first
_N_SPEAKERS = 6  # all readers there are


@dataclass(frozen=True, slots=True)
class Session:
    """A recording and the turns that are heard in it, in order."""

    audio: Path
    turns: tuple[SpokenTurn, ...]
    duration_s: float

    @property
    def reference(self) -> str:
        """Everything that is said."""
        return " ".join(turn.text for turn in self.turns)


def make_session(
    folder: Path, *, data: Path, minutes: float, n_speakers: int, seed: int, overlap: float = 0.0
) -> Session:
    """Make a conversation in a folder, without noise, unless it is there.

    Args:
        folder: Where to.
        data: Folder of the test data; the tool lies beside it.
        minutes: Least length.
        n_speakers: How many readers, of six.
        seed: Who they are, and in which order they speak.
        overlap: How many of the turns begin before the one ahead has ended, from 0 to 1.

    Raises:
        subprocess.CalledProcessError: The tool failed (it needs ffmpeg).
    """
    overlapping = f"-overlap-{overlap:g}" if overlap else ""
    stem = folder / f"session-{n_speakers}-speakers-{minutes:g}-minutes{overlapping}-seed-{seed}"
    audio = folder / f"{stem.name}.flac"
    if not audio.exists():
        tool = data.parent / "tools" / "make_session.py"
        options = ["--speakers", str(n_speakers), "--minutes", str(minutes), "--seed", str(seed)]
        options += ["--overlap", str(overlap)] if overlap else []
        subprocess.run([sys.executable, tool, stem, *options], check=True, stdout=subprocess.DEVNULL)
    return Session(audio, tuple(load_stm(folder / f"{stem.name}.stm")), soundfile.info(audio).duration)


def make_long_session(folder: Path, *, data: Path, minutes: float) -> Session:
    """Make a recording of exactly ``minutes``, cut off wherever that is; a turn that is cut does not count."""
    audio = folder / f"long-{minutes:g}-minutes.flac"
    turns: list[SpokenTurn] = []
    missing, offset = round(minutes * 60 * _RATE), 0.0
    with soundfile.SoundFile(audio, "w", samplerate=_RATE, channels=1, subtype="PCM_16", format="FLAC") as out:
        for piece in itertools.cycle(_iter_pieces(folder, data=data, minutes=min(minutes, _PIECE_MINUTES))):
            samples, _ = soundfile.read(piece.audio, dtype="int16")
            out.write(samples[:missing])
            turns += [turn.delay(offset) for turn in piece.turns]
            offset += len(samples) / _RATE
            missing -= len(samples)
            if missing <= 0:
                break
    heard = tuple(turn for turn in turns if turn.end <= minutes * 60)
    return Session(audio, heard, minutes * 60)


def _iter_pieces(folder: Path, *, data: Path, minutes: float) -> Iterator[Session]:
    for seed in range(_N_PIECES):
        yield make_session(folder, data=data, minutes=minutes, n_speakers=_N_SPEAKERS, seed=seed)
