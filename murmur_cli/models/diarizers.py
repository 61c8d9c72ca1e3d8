"""From what the user calls a diarizer to one that runs."""

from __future__ import annotations

from murmur_cli.speakers.diarize import Diarizer

__all__ = ["load_diarizer"]


def load_diarizer(name: str, *, offline: bool) -> Diarizer:
    """Load a diarizer.

    Args:
        name: ``slots``, which comes with murmur, or the hub id of a pyannote.audio pipeline.
        offline: Use no network; ``slots`` never does.

    Raises:
        ModelUnavailableError: The hub does not give the pipeline out, or bundled weights are damaged.
        UsageError: What the hub has under that id does not diarize.
    """
    from murmur_cli.models.slots_diarizer import load_embedder, load_slots_diarizer  # noqa: PLC0415 - loads torch

    if name == "slots":
        return load_slots_diarizer()
    from murmur_cli.models.pyannote import load_pyannote  # noqa: PLC0415 - loads huggingface_hub

    return load_pyannote(name, embedder=load_embedder(), offline=offline)
