"""Conversations of spoken digits, which the tiny trained checkpoint understands.

The same arguments give the same samples. make_digits.py lies beside the test data.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import soundfile

__all__ = ["DIGITS_MODEL", "RATE", "make_digits", "write_digits"]

RATE = 24_000
_MODELS = os.environ.get("MURMUR_TEST_MODELS") or Path(__file__).resolve().parents[2] / "shared" / "models"
DIGITS_MODEL = Path(_MODELS).resolve() / "tiny-vibevoice-digits"


def make_digits(folder: Path, *, data: Path, seconds: float, n_speakers: int, seed: int) -> npt.NDArray[np.float32]:
    """Make a conversation of about ``seconds``, at 24 kHz, shape (n_samples,).

    Raises:
        subprocess.CalledProcessError: The tool failed.
    """
    stem = write_digits(folder, data=data, seconds=seconds, n_speakers=n_speakers, seed=seed)
    samples, rate = soundfile.read(f"{stem}.wav", dtype="float32")
    assert rate == RATE, "the tool makes no other"
    return np.asarray(samples, dtype=np.float32)


def write_digits(
    folder: Path, *, data: Path, seconds: float, n_speakers: int, seed: int, noise_db: float | None = None
) -> Path:
    """Write a conversation of about ``seconds`` and what is said in it; returns what .wav and .seglst.json go behind.

    With ``noise_db``, the level of the noise against the speech, it is the same conversation; None: -38 to -24 dB,
    drawn with the conversation, as the checkpoint was trained.

    Raises:
        subprocess.CalledProcessError: The tool failed.
    """
    noise = [] if noise_db is None else [f"{noise_db:g}"]
    stem = folder / "-".join(["digits", f"{seconds:.2f}", str(n_speakers), str(seed), *noise])
    tool = data.parent / "tools" / "make_digits.py"
    command = [sys.executable, tool, stem, str(seconds), str(n_speakers), str(seed), *noise]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return stem
