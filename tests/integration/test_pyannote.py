"""Pipelines of pyannote.audio: without the network where all is there, and refused in one line where it is not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile
from pyannote_program import OTHER_REPOSITORY, make_cache

from murmur_cli.errors import ExitCode, ModelUnavailableError
from murmur_cli.models import pyannote
from murmur_cli.models.diarizers import load_speaker_models
from murmur_cli.models.pyannote import load_pyannote
from murmur_cli.models.slots_diarizer import SlotsDiarizer, load_slots_diarizer
from murmur_cli.speakers.diarize import Diarizer
from murmur_cli.speakers.limits import ANY_NUMBER
from murmur_cli.speakers.voices import VoiceVector
from murmur_cli.types import Samples

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "tests" / "pyannote_program.py"
PIPELINE = "pyannote/speaker-diarization-community-1"


class NoEmbedder:
    def embed(self, samples: Samples) -> VoiceVector:
        raise AssertionError("nothing to embed")


def test_a_pipeline_in_the_cache_runs_without_network_and_agrees_with_the_diarizer_of_murmur(tmp_path: Path) -> None:
    samples, _ = soundfile.read(ROOT / "examples" / "conversation.flac", dtype="float32")
    samples = samples[: 40 * 16_000]
    make_cache(tmp_path)
    np.save(tmp_path / "signal.npy", samples)

    program = [sys.executable, "-W", "error", PROGRAM, tmp_path, tmp_path / "signal.npy"]
    environment = {name: value for name, value in os.environ.items() if name != "PYANNOTE_METRICS_ENABLED"}
    done = subprocess.run(program, capture_output=True, text=True, check=False, env=environment)

    assert (done.returncode, done.stderr) == (0, "")
    *said, known, shortfall, refusal = done.stdout.splitlines()
    assert known == "known S1 Ann"
    assert "5 speakers were asked for, but only" in shortfall
    assert f"{OTHER_REPOSITORY} tells no speakers apart" in refusal
    lines = [line.split() for line in said]
    voices = [line for line in lines if line[0].startswith("S")]
    assert [voice[0] for voice in voices] == ["S1", "S2"]
    assert all(float(voice[1]) > 5 and float(voice[2]) == pytest.approx(1) for voice in voices)

    def mark(turns: list[tuple[float, float, str]], speaker: str) -> np.ndarray:
        times = np.arange(0, 40, 0.01)
        return np.any([(times >= start) & (times < end) for start, end, who in turns if who == speaker], axis=0)

    theirs = [(float(line[0]), float(line[1]), line[2]) for line in lines[: -len(voices)]]
    diarizer: Diarizer = load_slots_diarizer()
    ours = [(turn.start, turn.end, str(turn.speaker)) for turn in diarizer.turns([samples], ANY_NUMBER).turns]
    for speaker in ("S1", "S2"):
        assert (mark(theirs, speaker) != mark(ours, speaker)).mean() < 0.02


@pytest.fixture
def no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyannote, "try_to_load_from_cache", lambda repository, name: None)


@pytest.mark.usefixtures("no_cache")
def test_without_a_token_the_page_with_the_conditions_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyannote, "get_token", lambda: None)
    with pytest.raises(ModelUnavailableError, match=f"https://huggingface.co/{PIPELINE} .*HF_TOKEN") as raised:
        load_pyannote(PIPELINE, embedder=NoEmbedder(), offline=False)
    assert raised.value.exit_code is ExitCode.NO_MODEL


@pytest.mark.usefixtures("no_cache")
def test_with_a_token_that_the_hub_does_not_take_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyannote, "get_token", lambda: "hf_none")  # and the hub of the tests refuses everybody
    with pytest.raises(ModelUnavailableError, match=f"https://huggingface.co/{PIPELINE} "):
        load_pyannote(PIPELINE, embedder=NoEmbedder(), offline=False)


@pytest.mark.usefixtures("no_cache")
def test_offline_the_hub_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyannote, "snapshot_download", lambda *args, **kwargs: pytest.fail("asked the hub"))
    monkeypatch.setattr(pyannote, "get_token", lambda: "hf_none")
    with pytest.raises(ModelUnavailableError, match="offline"):
        load_pyannote(PIPELINE, embedder=NoEmbedder(), offline=True)
    with pytest.raises(ModelUnavailableError, match="offline"):
        load_speaker_models(PIPELINE, offline=True)
    assert isinstance(load_speaker_models("slots", offline=True).diarizer, SlotsDiarizer)


def test_pyannote_is_not_imported_before_a_pipeline_is_loaded() -> None:
    code = "import sys, murmur_cli.models.pyannote; print(*(n for n in sys.modules if n.startswith('pyannote')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
