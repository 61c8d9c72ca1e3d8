"""A folder with a script that ``murmur stream`` plays, and audio to play it to, for the tests of live sessions."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from murmur_cli.audio.backlog import Backlog
from murmur_cli.models.scripted import ScriptEntry

RATE = 16_000

SCRIPT = (
    ScriptEntry(0.5, 1.5, "Hello there", 0),
    ScriptEntry(1.5, 2.2, " everybody.", 0),
    ScriptEntry(2.5, 3.0, "Hi <you> & 東京.", 1),
    ScriptEntry(4.2, 9.0, "The long end", 0),
)


def write_model(folder: Path, script: tuple[ScriptEntry, ...] = SCRIPT) -> Path:
    """Write a model folder that plays a script."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text('{"model_type": "scripted"}')
    entries = [asdict(entry) for entry in script]
    (folder / "script.json").write_text(json.dumps({"language": "en", "sample_rate": RATE, "entries": entries}))
    return folder


def make_tone(seconds: float) -> bytes:
    """A soft tone as 16-bit samples at 16 kHz: no speech, and no noise either."""
    times = np.arange(round(seconds * RATE)) / RATE
    return (8000 * np.sin(2 * np.pi * 220 * times)).astype("<i2").tobytes()


class Bystander:
    """Watches a session, expects nothing to be said of it, and sees drafts if it is to; implements ``LiveObserver``."""

    def __init__(self, *, shows_drafts: bool = False) -> None:
        self.shows_drafts = shows_drafts
        self.backlog: Backlog | None = None

    def listening(self, backlog: Backlog) -> None:
        self.backlog = backlog

    def noted(self, text: str) -> None:
        pytest.fail(text)
