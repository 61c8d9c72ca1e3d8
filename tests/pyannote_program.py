"""A pipeline of pyannote.audio with the weights that come with murmur, in a hub cache made for it; run as a program.

    python tests/pyannote_program.py CACHE SIGNAL

prints turns, voices, who of them is the one of the first 15 s, and refusals, one a line, and fails where anything
asks for the network.
"""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from typing import NoReturn

REPOSITORY = "somebody/diarization"
OTHER_REPOSITORY = "somebody/silence"
_CONFIG = """
pipeline:
  name: pyannote_pipelines.LocalDiarization
params:
  segmentation: {min_duration_off: 0.0}
  clustering: {method: centroid, threshold: 0.85, min_cluster_size: 3}
"""


def make_cache(folder: Path) -> None:
    """Put two pipelines, nothing but their configurations, where huggingface_hub keeps what it has fetched."""
    _add_repository(folder, REPOSITORY, _CONFIG)
    _add_repository(folder, OTHER_REPOSITORY, "pipeline:\n  name: pyannote_pipelines.Silence\n")


def _add_repository(folder: Path, name: str, config: str) -> None:
    repository = folder / "hub" / f"models--{name.replace('/', '--')}"
    commit = "0123456789abcdef0123456789abcdef01234567"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(commit)
    (repository / "snapshots" / commit).mkdir(parents=True)
    (repository / "snapshots" / commit / "config.yaml").write_text(config)


def _refuse(*args: object, **kwargs: object) -> NoReturn:
    raise AssertionError(f"asked for the network: {args}")


def main(cache: str, signal: str) -> None:
    """Diarize a signal (.npy, 16 kHz) by one of the pipelines."""
    os.environ |= {"HF_HOME": cache}
    for name in ("getaddrinfo", "create_connection"):
        setattr(socket, name, _refuse)
    socket.socket.connect = _refuse  # type: ignore[method-assign]

    import numpy as np

    from murmur_cli.errors import UsageError
    from murmur_cli.models.pyannote import load_pyannote
    from murmur_cli.models.slots_diarizer import load_embedder, load_slots_diarizer
    from murmur_cli.speakers.diarize import describe_shortfall
    from murmur_cli.speakers.enrol import match_enrolled
    from murmur_cli.speakers.limits import ANY_NUMBER, SpeakerLimits
    from murmur_cli.types import Speaker

    assert not any(name.startswith("pyannote.") for name in sys.modules)
    diarizer = load_pyannote(REPOSITORY, embedder=load_embedder(), offline=True)
    assert os.environ["PYANNOTE_METRICS_ENABLED"] == "0"
    samples = np.load(signal)
    found = diarizer.turns(np.array_split(samples, 7), ANY_NUMBER)
    for turn in found.turns:
        sys.stdout.write(f"{turn.start:.3f} {turn.end:.3f} {turn.speaker}\n")
    for voice in found.voices:
        sys.stdout.write(f"{voice.speaker} {voice.speech_s:.1f} {float(np.linalg.norm(voice.vector)):.4f}\n")
    (known,) = load_slots_diarizer().turns([samples[: 15 * 16_000]], ANY_NUMBER).voices
    for speaker, name in match_enrolled({Speaker("Ann"): known.vector}, found.voices).items():
        sys.stdout.write(f"known {speaker} {name}\n")
    assert diarizer.turns([], ANY_NUMBER).turns == ()
    assert diarizer.turns([np.zeros(4_000, np.float32)], ANY_NUMBER).turns == ()
    few = diarizer.turns([samples[: 8 * 16_000]], SpeakerLimits(5, 5))
    sys.stdout.write(f"{describe_shortfall(few, SpeakerLimits(5, 5))}\n")
    try:
        load_pyannote(OTHER_REPOSITORY, embedder=load_embedder(), offline=True)
    except UsageError as error:
        sys.stdout.write(f"{error}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
