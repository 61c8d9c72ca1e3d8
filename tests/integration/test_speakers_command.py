"""Recordings that make it hard to tell who speaks, through the command with the real networks.

The engine is scripted: a word every quarter of a second, wherever speech is found.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile
from conftest import ROOT, Finished

from murmur_cli.types import Samples

RATE = 16_000
PIPELINE = "pyannote/speaker-diarization-community-1"


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder for the scripted engine, with words for 90 s."""
    folder = tmp_path_factory.mktemp("script")
    entries = [{"start": i * 0.25, "end": i * 0.25 + 0.2, "text": f"w{i}"} for i in range(360)]
    (folder / "config.json").write_text('{"model_type": "scripted"}')
    (folder / "script.json").write_text(json.dumps({"language": "en", "sample_rate": RATE, "entries": entries}))
    return folder


@pytest.fixture(scope="module")
def conversation() -> Samples:
    """Two readers in turns, 49 s; the second begins at 16.5 s."""
    samples, _ = soundfile.read(ROOT / "examples" / "conversation.flac", dtype="float32")
    return samples


def make_pink_noise(seconds: float, level: float) -> Samples:
    n_samples = round(seconds * RATE)
    spectrum = np.fft.rfft(np.random.default_rng(0).standard_normal(n_samples))
    noise = np.fft.irfft(spectrum / np.sqrt(np.arange(1, len(spectrum) + 1)))
    return (level * noise / noise.std()).astype(np.float32)


def read_turns(path: Path) -> list[tuple[float, float, str]]:
    """Start, end and speaker of each line of an rttm file."""
    lines = [line.split() for line in path.read_text(encoding="utf-8").splitlines()]
    return [(float(line[3]), float(line[3]) + float(line[4]), line[7]) for line in lines]


def test_people_are_counted_whatever_surrounds_them(
    call_murmur: Callable[..., Finished], script: Path, conversation: Samples, tmp_path: Path
) -> None:
    recordings = {
        "noise_first": np.concatenate([make_pink_noise(60, 0.03), conversation[: 27 * RATE]]),
        "one_reader": conversation[: 15 * RATE],
        "one_word": conversation[round(1.2 * RATE) : round(1.5 * RATE)],
        "shorter_than_a_window": conversation[round(11.5 * RATE) : round(20.5 * RATE)],
        "silence": np.zeros(5 * RATE, np.float32),
    }
    for name, samples in recordings.items():
        soundfile.write(tmp_path / f"{name}.wav", samples, RATE)

    paths = [f"{name}.wav" for name in recordings]
    done = call_murmur("batch", *paths, "--model", script, "-f", "rttm", "-o", "out/", "--progress", "none")

    assert (done.code, done.stdout, done.stderr) == (0, b"", "murmur: silence.wav: no speech found\n")
    turns = {name: read_turns(tmp_path / "out" / f"{name}.rttm") for name in recordings}
    speakers = {name: sorted({speaker for _, _, speaker in found}) for name, found in turns.items()}
    assert speakers == {
        "noise_first": ["S1", "S2"],
        "one_reader": ["S1"],
        "one_word": ["S1"],
        "shorter_than_a_window": ["S1", "S2"],
        "silence": [],
    }
    assert turns["noise_first"][0][0] > 60


def test_a_number_of_speakers_that_cannot_be_heard_is_obeyed_as_far_as_it_goes_and_said(
    call_murmur: Callable[..., Finished], script: Path, conversation: Samples, tmp_path: Path
) -> None:
    soundfile.write(tmp_path / "two_readers.wav", conversation[: 27 * RATE], RATE)
    soundfile.write(tmp_path / "three_seconds.wav", conversation[RATE : 4 * RATE], RATE)

    done = call_murmur(
        "batch",
        "two_readers.wav",
        "three_seconds.wav",
        "--model",
        script,
        "--speakers",
        "3",
        "-f",
        "rttm",
        "-o",
        "out/",
    )

    assert (done.code, done.stdout) == (0, b"")
    split, missing = sorted(done.stderr.splitlines(), key=lambda line: "three_seconds" in line)
    assert split.startswith("murmur: two_readers.wav: 3 speakers were asked for")
    assert missing.startswith("murmur: three_seconds.wav: 3 speakers were asked for, but only 1 ")
    counts = [len({turn[2] for turn in read_turns(path)}) for path in sorted((tmp_path / "out").iterdir())]
    assert counts == [1, 3]


def test_a_pipeline_without_a_token_for_it_is_no_model(
    run_murmur: Callable[..., Finished], script: Path, conversation: Samples, tmp_path: Path
) -> None:
    soundfile.write(tmp_path / "talk.wav", conversation[:RATE], RATE)
    env = {"HF_HOME": str(tmp_path / "cache")}

    done = run_murmur("batch", "talk.wav", "--model", script, "--diarizer", PIPELINE, "-o", "talk.txt", env=env)

    assert (done.code, done.stdout) == (4, b"")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"murmur: {PIPELINE}: ")
    assert f"accept the conditions on https://huggingface.co/{PIPELINE} " in line
    assert not (tmp_path / "talk.txt").exists()
